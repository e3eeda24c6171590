"""The frame of every report: one HTML file without a script that loads nothing, opens offline and prints."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from discreet.policy import Policy
from discreet.report.components import Figure, bullets, card, cards, figure, paragraphs, prose, section
from discreet.report.findings import Finding
from discreet.report.toolkit.html import Child, Markup, element, join
from discreet.report.toolkit.words import moment

CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
MOST_CARDS = 6
"""Beyond, findings are a list."""


@dataclass(frozen=True)
class Pill:
    """A verdict in two or three words; the sign says the same to those who do not see colours."""

    sign: str
    words: str
    kind: Literal["good", "danger", "plain"]


@dataclass(frozen=True)
class Part:
    """A section and its name in the contents."""

    key: str
    name: str
    content: Markup | None
    """None leaves it out."""


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
    body = [
        _header(kicker, title, about, pills, created),
        _contents(shown),
        element("main", [part.content for part in shown]),
        _footer(version, created),
    ]
    return str(
        join(Markup("<!doctype html>\n"), element("html", _head(title, style), element("body", body), lang="en-GB"))
    )


def _head(title: str, style: str) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=CONTENT_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(stylesheet() + style)),
    )


@cache
def stylesheet() -> str:
    """The page's own style sheet."""
    return resources.files("discreet.report").joinpath("style.css").read_text(encoding="utf-8")


def _header(kicker: str, title: str, about: Sequence[str], pills: Sequence[Pill], created: datetime.datetime) -> Markup:
    when = element("time", moment(created), datetime=created.isoformat())
    source, *facts = about
    line = element("p", element("b", source), "".join(f" · {fact}" for fact in facts), " · ", when, class_="about")
    return element("header", element("p", kicker, class_="kicker"), element("h1", title), line, _pills(pills))


def _pills(pills: Sequence[Pill]) -> Markup:
    return element("p", [_pill(pill) for pill in pills], class_="pills")


def _pill(pill: Pill) -> Markup:
    sign = element("span", pill.sign, aria_hidden="true")
    return element("span", sign, f" {pill.words}", class_=f"pill {pill.kind}")


def verdict(*, exceeded: bool) -> Pill:
    """Whether a limit is kept."""
    return Pill("▲", "Above the limit", "danger") if exceeded else Pill("✓", "Within the limit", "good")


def _contents(parts: Sequence[Part]) -> Markup:
    links = [element("li", element("a", part.name, href=f"#{part.key}")) for part in parts]
    return element("nav", element("ul", links, role="list"), aria_label="Contents")


def findings_part(
    found: Sequence[tuple[str, Finding]],
    figures: Sequence[Figure],
    *,
    elsewhere: Mapping[str, tuple[str, str]],
    first: int = 1,
) -> Part:
    """Findings by topic, each with a link to its picture, or to what proves it `elsewhere`."""
    numbers = {shown.key: number for number, shown in enumerate(figures, start=first)}
    links = {**elsewhere, **{key: (key, f"See figure {number}") for key, number in numbers.items()}}
    shown = cards([card(finding, link=links.get(topic)) for topic, finding in found[:MOST_CARDS]])
    more = _more([finding for _, finding in found[MOST_CARDS:]])
    return Part("findings", "Findings", section("findings", "Findings", shown, more))


def _more(found: Sequence[Finding]) -> list[Markup] | None:
    if not found:
        return None
    return [element("p", element("b", "Further findings")), bullets([finding.headline for finding in found])]


def evidence_part(figures: Sequence[Figure], *, first: int = 1) -> Part:
    """The pictures in order, numbered from `first` on."""
    shown = [figure(one, number) for number, one in enumerate(figures, start=first)]
    return Part("evidence", "Evidence", section("evidence", "Evidence", shown))


def remains_part(lead: str, points: Sequence[str]) -> Part:
    """What is not protected, or not measured."""
    return Part("remains", "What remains", section("remains", "What remains", element("p", lead), bullets(points)))


def method_part(texts: Sequence[str], references: Sequence[str]) -> Part:
    """How it was done, and whose work it rests on."""
    sources = element("div", element("h3", "References"), bullets(references), class_="references")
    return Part("method", "Method", section("method", "Method", paragraphs(texts), sources))


def reproduce_part(command: str, policy: Policy | None) -> Part:
    """The command that gives the same report."""
    lead = element("p", "The same data and policy give the same report with this command:")
    shown = element("pre", element("code", without_password(command)))
    return Part("reproduce", "Reproduce", section("reproduce", "Reproduce", _policy(policy), lead, shown))


def _policy(policy: Policy | None) -> Child:
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
