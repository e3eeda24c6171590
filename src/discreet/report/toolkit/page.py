"""Page builder: a report is a list of sections in one offline HTML file."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from discreet.policy import Policy
from discreet.report.toolkit.components import (
    Figure,
    Finding,
    Pill,
    Table,
    bullets,
    card,
    cards,
    figures,
    paragraphs,
    pill,
    prose,
    table,
)
from discreet.report.toolkit.html import Child, Markup, element, join
from discreet.report.toolkit.words import moment

CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
MOST_CARDS = 6
"""Beyond, findings are a list."""
SEE = {
    "measured": "See the measures",
    "method": "See the method",
    "remains": "See what remains",
    "rules": "See the rules",
}
"""The words of a link to a section that proves a finding."""
SAME_POLICY = "The same data and policy give the same report with this command:"


@dataclass(frozen=True)
class Part:
    """A section and its name in the contents."""

    key: str
    name: str
    content: Markup | None
    """None leaves it out."""


def section(key: str, name: str, *content: Child | Table, title: str = "") -> Part:
    """A section of the page; texts are paragraphs, tables are drawn, and without content it is left out."""
    drawn: list[Child] = []
    for item in content:
        if isinstance(item, str):
            drawn += paragraphs([item])
        elif item is not None:
            drawn.append(table(item) if isinstance(item, Table) else item)
    if not drawn:
        return Part(key, name, None)
    heading = element("h2", title or name, id=f"{key}-heading")
    return Part(key, name, element("section", heading, drawn, id=key, aria_labelledby=f"{key}-heading"))


def findings(
    topics: Iterable[tuple[str, Finding]], shown: Sequence[Figure], *, elsewhere: Mapping[str, str] | None = None
) -> Part:
    """Findings by topic, each with a link to its picture, or to the section that proves it `elsewhere`."""
    links = {topic: (key, SEE[key]) for topic, key in (elsewhere or {}).items()}
    links |= {figure.key: (figure.key, f"See figure {number}") for number, figure in enumerate(shown, start=1)}
    found = list(topics)
    further = [finding.headline for _, finding in found[MOST_CARDS:]]
    return section(
        "findings",
        "Findings",
        cards([card(finding, link=links.get(topic)) for topic, finding in found[:MOST_CARDS]]),
        [element("p", element("b", "Further findings")), bullets(further)] if further else None,
    )


def evidence(shown: Sequence[Figure]) -> Part:
    """The pictures in order, numbered."""
    return section("evidence", "Evidence", figures(shown) or None)


def remains(lead: str, points: Iterable[str]) -> Part:
    """What is not protected, or not measured."""
    return section("remains", "What remains", lead, bullets(list(points)))


def method(texts: Iterable[str], references: Sequence[str]) -> Part:
    """How it was done, and whose work it rests on."""
    sources = element("div", element("h3", "References"), bullets(references), class_="references")
    return section("method", "Method", paragraphs(list(texts)), sources)


def reproduce(command: str, *, lead: str = SAME_POLICY, note: Markup | None = None) -> Part:
    """The command that gives the same report; `note` says with which policy."""
    return section("reproduce", "Reproduce", note, lead, element("pre", element("code", without_password(command))))


def policy_note(policy: Policy | None) -> Markup:
    """Which policy a report rests on."""
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


def verdict(*, exceeded: bool) -> Pill:
    """Whether the result is within its limit."""
    return Pill("▲", "Above the limit", "danger") if exceeded else Pill("✓", "Within the limit", "good")


@cache
def stylesheet() -> str:
    """The page's own style sheet."""
    return resources.files("discreet.report").joinpath("style.css").read_text(encoding="utf-8")


def document(
    parts: Sequence[Part],
    *,
    kicker: str,
    title: str,
    about: Sequence[str],
    pills: Sequence[Pill],
    created: datetime.datetime,
    version: str,
    style: str = "",
) -> str:
    """The whole file; `about` begins with the data set, `style` comes after the style sheet of all reports."""
    shown = [part for part in parts if part.content is not None]
    source, *facts = about
    when = element("time", moment(created), datetime=created.isoformat())
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=CONTENT_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(stylesheet() + style)),
    )
    header = element(
        "header",
        element("p", kicker, class_="kicker"),
        element("h1", title),
        element("p", element("b", source), "".join(f" · {fact}" for fact in facts), " · ", when, class_="about"),
        element("p", [pill(data) for data in pills], class_="pills"),
    )
    links = [element("li", element("a", part.name, href=f"#{part.key}")) for part in shown]
    contents = element("nav", element("ul", links, role="list"), aria_label="Contents")
    made = f"Made with Discreet {version} on {moment(created)}."
    promise = "This report counts people and names columns; it holds no value of any person and loads nothing."
    footer = element("footer", element("p", prose(f"{made} {promise}")))
    body = element("body", header, contents, element("main", [part.content for part in shown]), footer)
    return str(join(Markup("<!doctype html>\n"), element("html", head, body, lang="en-GB")))
