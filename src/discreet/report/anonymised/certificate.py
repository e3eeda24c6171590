"""Why nothing better exists: what became of every combination of levels during the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from discreet.anonymity import Certificate
from discreet.report.charts.bars import THINNEST, Drawing, percentage, rect, stripes, text
from discreet.report.components import Figure, Table
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.words import agree
from discreet.wording import brief_percent, measure

Fill = Literal["counted", "ruled", "open"]
BAR, LINE, SWATCH = 24, 26, 14


@dataclass(frozen=True)
class Fate:
    """What became of some combinations."""

    label: str
    number: int
    fill: Fill


def certificate(found: Certificate) -> Figure:
    """The account of the search as one bar."""
    fates = fates_of(found)
    return Figure(
        key="certificate",
        title=_title(found),
        about="; ".join(f"{fate.label}: {fate.number:,}" for fate in fates) + f". All: {found.nodes:,}.",
        reading=tuple(_reading(found)),
        groups=(),
        table=_table(found, fates),
        drawing=_drawing(found, fates),
    )


def _title(found: Certificate) -> str:
    return "Why nothing better exists" if found.optimal else "What the search looked at"


def fates_of(found: Certificate) -> tuple[Fate, ...]:
    """Parts that add up to all combinations."""
    if found.search == "ola":
        # OLA knows of every node whether it is allowed; which of them were counted is no part of that.
        return (
            Fate("Leaves out too many", found.too_much_suppressed, "ruled"),
            Fate("Allowed, finest compared", found.nodes - found.too_much_suppressed, "counted"),
        )
    rest = found.nodes - found.evaluated - found.too_much_suppressed
    return (
        Fate("Counted", found.evaluated, "counted"),
        Fate("Leaves out too many", found.too_much_suppressed, "ruled"),
        Fate("Cannot lose less" if found.optimal else "Not looked at", rest, "open"),
    )


def _reading(found: Certificate) -> Iterator[str]:
    if found.search == "ola":
        yield (
            f"{found.evaluated:,} of {found.nodes:,} combinations {agree(found.evaluated, 'was', 'were')} counted; what is "
            "finer than one that leaves out too many, or coarser than an allowed one, needs no look."
        )
        yield "The finest allowed ones were compared. A coarser one may lose less, so nothing is proven."
        return
    yield (
        "To count a combination is to count the people of its classes. One that leaves out too many of them, to be allowed "
        "or to be better, rules out all finer ones: their classes are smaller still."
    )
    if found.optimal:
        yield (
            "What a combination loses at least is known before anybody is counted: where that is no less than the loss of "
            "this table, no look is needed."
        )
    else:
        yield (
            f"The search was stopped. No combination loses less than {measure(found.lower_bound, digits=4)}; this table "
            f"loses {measure(found.loss, digits=4)}."
        )


def _drawing(found: Certificate, fates: tuple[Fate, ...]) -> Drawing:
    shares = [fate.number / found.nodes * 100 for fate in fates]
    starts = [0.0, *accumulate(shares)]
    pieces = [_piece(fate, start, share) for fate, start, share in zip(fates, starts, shares, strict=False)]
    lines = [_line(fate, found.nodes, BAR + 14 + place * LINE) for place, fate in enumerate(fates)]
    patterns = element("defs", stripes("certificate-ruled", 7, kind="ruled"))
    return Drawing(join(patterns, pieces, lines), BAR + 14 + len(fates) * LINE)


def _piece(fate: Fate, start: float, share: float) -> Markup | None:
    if not fate.number:
        return None
    return _filled(
        fate, x=percentage(min(start, 100 - THINNEST)), y=0, width=percentage(max(share, THINNEST)), height=BAR
    )


def _filled(fate: Fate, *, x: str, y: int, width: str, height: int) -> Markup:
    paint = "url(#certificate-ruled)" if fate.fill == "ruled" else None
    return rect(x=x, y=y, width=width, height=height, class_=f"fate {fate.fill}", fill=paint)


def _line(fate: Fate, nodes: int, y: int) -> Markup:
    swatch = _filled(fate, x="1", y=y + 3, width=str(SWATCH), height=SWATCH)
    value = text(_value(fate, nodes), x="100%", y=y + 15, class_="value", text_anchor="end")
    return join(swatch, text(fate.label, x=str(SWATCH + 10), y=y + 15, class_="label"), value)


def _value(fate: Fate, nodes: int) -> str:
    return f"{fate.number:,} · {brief_percent(fate.number / nodes)}"


def _table(found: Certificate, fates: tuple[Fate, ...]) -> Table:
    rows = [(fate.label, f"{fate.number:,}", brief_percent(fate.number / found.nodes)) for fate in fates]
    head = ("What became of them", "Combinations", "Share")
    return Table("The search in numbers", head, (*rows, ("All", f"{found.nodes:,}", "100 %")), (1, 2))
