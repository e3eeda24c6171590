"""An assessment as one HTML file: no script, nothing loaded, opens offline, prints."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

from discreet.policy import Policy
from discreet.report.charts import pictures
from discreet.report.columns import columns_table
from discreet.report.components import Figure, bullets, card, cards, figure, paragraphs, prose, section, table
from discreet.report.findings import Finding, by_topic, profile_findings
from discreet.report.markup import Markup, element, join
from discreet.report.measures import measured, parameters
from discreet.report.method import method, references, remains
from discreet.report.words import moment, people
from discreet.risk import Assessment, Profile

CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
MOST_CARDS = 6
"""Beyond, findings are a list."""
CONTENTS = (
    ("findings", "Findings"),
    ("evidence", "Evidence"),
    ("columns", "Columns"),
    ("measured", "Measures"),
    ("remains", "What remains"),
    ("parameters", "Parameters"),
    ("method", "Method"),
    ("reproduce", "Reproduce"),
)


def assessment_page(
    assessment: Assessment,
    *,
    title: str,
    source: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
    profile: Profile | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    figures = pictures(assessment, profile)
    sections = [
        _findings(assessment, source, figures),
        _evidence(figures),
        _columns(profile),
        section("measured", "What was measured", table(measured(assessment))),
        _remains(assessment),
        section("parameters", "Parameters", table(parameters(assessment, policy=policy))),
        _method(assessment),
        _reproduce(command, policy),
    ]
    top = _header(assessment, title=title, source=source, created=created)
    body = [top, _contents(profile), element("main", sections), _footer(version, created)]
    return str(join(Markup("<!doctype html>\n"), element("html", _head(title), element("body", body), lang="en-GB")))


def _head(title: str) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=CONTENT_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(stylesheet())),
    )


@cache
def stylesheet() -> str:
    """The page's own style sheet."""
    return resources.files("discreet.report").joinpath("style.css").read_text(encoding="utf-8")


def _header(assessment: Assessment, *, title: str, source: str, created: datetime.datetime) -> Markup:
    when = element("time", moment(created), datetime=created.isoformat())
    about = element("p", element("b", source), f" · {people(assessment.records)} · ", when, class_="about")
    return element(
        "header", element("p", "Risk assessment", class_="kicker"), element("h1", title), about, _verdict(assessment)
    )


def _verdict(assessment: Assessment) -> Markup:
    sign, words, kind = ("▲", "Above the limit", "danger") if assessment.exceeded else ("✓", "Within the limit", "good")
    return element("p", element("span", sign, aria_hidden="true"), f" {words}", class_=f"pill {kind}")


def _contents(profile: Profile | None) -> Markup:
    shown = [(key, title) for key, title in CONTENTS if key != "columns" or profile is not None]
    links = [element("li", element("a", title, href=f"#{key}")) for key, title in shown]
    return element("nav", element("ul", links, role="list"), aria_label="Contents")


def _findings(assessment: Assessment, source: str, figures: Sequence[Figure]) -> Markup:
    numbers = {shown.key: number for number, shown in enumerate(figures, start=1)}
    found = by_topic(assessment, source)
    shown = cards([card(finding, link=_proof(topic, numbers)) for topic, finding in found[:MOST_CARDS]])
    return section("findings", "Findings", shown, _more([finding for _, finding in found[MOST_CARDS:]]))


def _more(found: Sequence[Finding]) -> list[Markup] | None:
    if not found:
        return None
    return [element("p", element("b", "Further findings")), bullets([finding.headline for finding in found])]


def _proof(topic: str, numbers: dict[str, int]) -> tuple[str, str]:
    if topic in numbers:
        return topic, f"See figure {numbers[topic]}"
    return ("measured", "See the measures") if topic == "economics" else ("remains", "See what remains")


def _evidence(figures: Sequence[Figure]) -> Markup:
    return section("evidence", "Evidence", [figure(shown, number) for number, shown in enumerate(figures, start=1)])


def _columns(profile: Profile | None) -> Markup | None:
    if profile is None:
        return None
    found = cards([card(finding) for finding in profile_findings(profile)], pairs=True)
    note = "Shapes show how people spread over values or ranges. Values are left out, so that this report can be passed on."
    return section("columns", "The columns", found, element("p", note), columns_table(profile))


def _remains(assessment: Assessment) -> Markup:
    return section(
        "remains", "What remains", element("p", "These measures do not say everything:"), bullets(remains(assessment))
    )


def _method(assessment: Assessment) -> Markup:
    sources = element("div", element("h3", "References"), bullets(references(assessment)), class_="references")
    return section("method", "Method", paragraphs(method(assessment)), sources)


def _reproduce(command: str, policy: Policy | None) -> Markup:
    return section(
        "reproduce",
        "Reproduce",
        _policy(policy),
        element("p", "The same data and policy give the same report with this command:"),
        element("pre", element("code", without_password(command))),
    )


def _policy(policy: Policy | None) -> Markup:
    if policy is None:
        return element("p", "No policy was given: limits are the defaults.")
    note = "Policy digest (SHA-256 of the policy and its hierarchies): "
    return element("p", note, element("code", policy.digest, class_="digest"))


def without_password(command: str) -> str:
    """A command that can be passed on: addresses keep their user, not the password.

    >>> without_password("discreet assess 'postgresql://ann:secret@host/db?table=t&password=x'")
    "discreet assess 'postgresql://ann:***@host/db?table=t&password=***'"
    """
    hidden = re.sub(r"(://[^/\s:@]*):[^\s']*@", r"\1:***@", command)
    return re.sub(r"""([?&\s'"](?:ssl)?password=)[^&\s'"]*""", r"\1***", hidden)


def _footer(version: str, created: datetime.datetime) -> Markup:
    promise = "This report counts people and names columns; it holds no value of any person and loads nothing."
    made = f"Made with Discreet {version} on {moment(created)}."
    return element("footer", element("p", prose(f"{made} {promise}")))
