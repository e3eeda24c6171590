"""The pieces of a page, each once: prose, card, table, figure, section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.report.charts.bars import Drawing, Group, bar_chart, picture
from discreet.report.findings import Finding
from discreet.report.toolkit.html import Child, Markup, element, join

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
