"""Components of a page: finding, pill, table, figure, and text in prose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from discreet.report.charts.bars import Drawing, Group, bar_chart, picture
from discreet.report.toolkit.html import Markup, element, join

Cell: TypeAlias = str | Markup
Row: TypeAlias = tuple[Cell, ...]


@dataclass(frozen=True)
class Finding:
    """A sentence that says what was found, and what to do about it."""

    headline: str
    next_step: str


def topic(key: str, headline: str, next_step: str) -> tuple[str, Finding]:
    """A finding with the key of the figure or section that proves it."""
    return key, Finding(headline, next_step)


@dataclass(frozen=True)
class Pill:
    """A verdict in two or three words; the sign says the same to readers who do not see colours."""

    sign: str
    words: str
    kind: Literal["good", "danger", "plain"]


@dataclass(frozen=True)
class Table:
    """A real table: the first cell of each row names it; `numeric` columns are aligned to the right."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
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
    chart: tuple[Group, ...] | Drawing
    """Bars, or what is drawn where bars do not do."""
    table: Table


def prose(text: str) -> Markup:
    """Words for people: `code` in backticks, and no line break before a per cent sign or at an equals sign.

    >>> str(prose("3.7 % with `--k`"))
    '3.7\\xa0% with <code>--k</code>'
    """
    unbroken = text.replace(" %", "\N{NO-BREAK SPACE}%").replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    pieces = re.split(r"`([^`]+)`", unbroken)
    return join([element("code", piece) if place % 2 else piece for place, piece in enumerate(pieces)])


def paragraphs(texts: Sequence[str]) -> list[Markup]:
    """One paragraph each."""
    return [element("p", prose(text)) for text in texts]


def bullets(texts: Sequence[Cell]) -> Markup:
    """A list of points."""
    return element("ul", [element("li", prose(text) if isinstance(text, str) else text) for text in texts])


def pill(data: Pill) -> Markup:
    """The verdict."""
    return element("span", element("span", data.sign, aria_hidden="true"), f" {data.words}", class_=f"pill {data.kind}")


def card(finding: Finding, *, link: tuple[str, str] | None = None, tag: Markup | None = None, kind: str = "") -> Markup:
    """A finding; `link` leads to what proves it, `tag` and `kind` say how it is to be taken."""
    return element(
        "li",
        tag,
        element("p", prose(finding.headline), class_="headline"),
        element("p", element("b", "Next "), prose(finding.next_step), class_="next"),
        element("p", element("a", link[1], href=f"#{link[0]}"), class_="proof") if link else None,
        class_=f"card {kind}".strip(),
    )


def cards(items: Sequence[Markup], *, kind: str = "") -> Markup:
    """Findings side by side."""
    # Lists without bullets lose their meaning in one screen reader unless the role is named.
    return element("ul", items, class_=f"cards {kind}".strip(), role="list")


def table(data: Table) -> Markup:
    """The table, in a frame that scrolls sideways where it must."""

    def cell(column: int, content: Cell, *, heading: str | None) -> Markup:
        aligned = "number" if column in data.numeric else None
        if heading is None:
            return element("td", content, class_=aligned)
        return element("th", content, scope=heading, class_=aligned)

    head = element("tr", [cell(column, name, heading="col") for column, name in enumerate(data.head)])
    body = [
        element(
            "tr",
            [
                cell(column, prose(shown) if isinstance(shown, str) else shown, heading=None if column else "row")
                for column, shown in enumerate(row)
            ],
        )
        for row in data.rows
    ]
    whole = element("table", element("caption", prose(data.caption)), element("thead", head), element("tbody", body))
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=data.caption)


def folded_table(data: Table) -> Markup:
    """A table that is folded on screen and open on paper."""
    return element("details", element("summary", "Show the table"), table(data))


def figure(data: Figure, number: int) -> Markup:
    """The words, the picture, and the table on demand."""
    named = {"key": f"{data.key}-chart", "title": data.title, "about": data.about}
    if isinstance(data.chart, Drawing):
        size = {"class_": data.chart.class_, "width": "100%", "height": str(data.chart.height)}
        chart = picture([data.chart.parts], **named, **size)
    else:
        chart = bar_chart(data.chart, **named)
    kicker = element("p", f"Figure {number}", class_="kicker")
    words = element("figcaption", kicker, element("h3", data.title), paragraphs(data.reading))
    return element("figure", words, element("div", chart, folded_table(data.table), class_="plot"), id=data.key)


def figures(data: Sequence[Figure], *, first: int = 1) -> list[Markup]:
    """Figures in order, numbered from `first` on."""
    return [figure(shown, number) for number, shown in enumerate(data, start=first)]
