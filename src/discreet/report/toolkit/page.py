"""Page frame of every report: one offline HTML file, and its components."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from discreet.policy import Policy
from discreet.report.charts.bars import Drawing, Group, bar_chart, picture
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


# The pieces of a page, each once: prose, card, table, figure, section.
Cell = str | Markup


@dataclass(frozen=True)
class Table:
    """A real table: the first cell of each row names it; `numeric` columns are aligned to the right."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A chart with its words, and the table of the same numbers."""

    key: str
    title: str
    about: str
    """What it shows, read aloud in place of the picture."""
    reading: tuple[str, ...]
    """How to read it, beside the picture."""
    groups: tuple[Group, ...]
    table: Table
    drawing: Drawing | None = None
    """What is drawn where bars do not do; then there are no groups."""


def prose(text: str) -> Markup:
    """Words for people: `code` in backticks, and no line break before a per cent sign or at an equals sign.

    >>> str(prose("3.7 % with `--k`"))
    '3.7\\xa0% with <code>--k</code>'
    """
    pieces = re.split(r"`([^`]+)`", _held(text))
    return join([element("code", piece) if place % 2 else piece for place, piece in enumerate(pieces)])


def _held(text: str) -> str:
    return text.replace(" %", "\N{NO-BREAK SPACE}%").replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def paragraphs(texts: Sequence[str]) -> list[Markup]:
    """One paragraph each."""
    return [element("p", prose(text)) for text in texts]


def bullets(texts: Sequence[Cell]) -> Markup:
    """A list of points."""
    return element("ul", [element("li", prose(text) if isinstance(text, str) else text) for text in texts])


def section(key: str, title: str, *children: Child) -> Markup:
    """A part of the page with its heading."""
    return element(
        "section", element("h2", title, id=f"{key}-heading"), children, id=key, aria_labelledby=f"{key}-heading"
    )


def card(finding: Finding, *, link: tuple[str, str] | None = None) -> Markup:
    """A finding; `link` leads to what proves it."""
    proof = element("p", element("a", link[1], href=f"#{link[0]}"), class_="proof") if link else None
    headline = element("p", prose(finding.headline), class_="headline")
    step = element("p", element("b", "Next "), prose(finding.next_step), class_="next")
    return element("li", headline, step, proof, class_="card")


def cards(items: Sequence[Markup], *, pairs: bool = False) -> Markup:
    """Findings side by side."""
    # Lists without bullets lose their meaning in one screen reader unless the role is named.
    return element("ul", items, class_="cards pairs" if pairs else "cards", role="list")


def table(data: Table) -> Markup:
    """The table, in a frame that scrolls sideways where it must."""
    head = element("tr", [_heading(data, place, name) for place, name in enumerate(data.head)])
    body = [element("tr", [_cell(data, place, cell) for place, cell in enumerate(row)]) for row in data.rows]
    whole = element("table", element("caption", prose(data.caption)), element("thead", head), element("tbody", body))
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=data.caption)


def _heading(data: Table, place: int, name: str) -> Markup:
    return element("th", name, scope="col", class_=_alignment(data, place))


def _cell(data: Table, place: int, cell: Cell) -> Markup:
    content = prose(cell) if isinstance(cell, str) else cell
    if place == 0:
        return element("th", content, scope="row", class_=_alignment(data, place))
    return element("td", content, class_=_alignment(data, place))


def _alignment(data: Table, place: int) -> str | None:
    return "number" if place in data.numeric else None


def figure(data: Figure, number: int) -> Markup:
    """The words, the picture, and the table on demand."""
    kicker = element("p", f"Figure {number}", class_="kicker")
    words = element("figcaption", kicker, element("h3", data.title), paragraphs(data.reading))
    shown = element("div", _chart(data), shown_on_demand(data.table), class_="plot")
    return element("figure", words, shown, id=data.key)


def _chart(data: Figure) -> Markup:
    named = {"key": f"{data.key}-chart", "title": data.title, "about": data.about}
    if data.drawing is None:
        return bar_chart(data.groups, **named)
    drawn = data.drawing
    return picture([drawn.parts], **named, class_=drawn.class_, width="100%", height=str(drawn.height))


def shown_on_demand(data: Table) -> Markup:
    """A table that is folded on screen and open on paper."""
    return element("details", element("summary", "Show the table"), table(data))


# One finding.
@dataclass(frozen=True)
class Finding:
    """A sentence that says what was found, and what to do about it."""

    headline: str
    next_step: str
