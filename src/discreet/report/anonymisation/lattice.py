"""Lattice chart: every combination of levels, its loss, and the certificate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from discreet.anonymity import Certificate, Seen
from discreet.report.anonymisation.findings import Case
from discreet.report.charts.axes import FOOT, Frame, Scale, anchor, dot, fitting, foot
from discreet.report.charts.bars import THINNEST, Drawing, number, percentage, rect, stripes, text
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import agree, plural
from discreet.wording import brief_percent, measure

MOST_DOTS = 2_000
"""Beyond, combinations are counted in cells."""
MOST_STEPS, ROWS = 48, 24
"""Cells across and upwards: few enough for a small file and a phone."""
TOP, HEIGHT = 28, 264
ROOM = 48
"""Between the axes and the strip below them, for words."""
STRIP = 18
GOLDEN = 0.6180339887


@dataclass(frozen=True)
class Step:
    """All combinations whose levels add up to one number, or to one of a few."""

    low: int
    high: int
    refused: int
    allowed: tuple[Seen, ...]

    @property
    def label(self) -> str:
        """The sum of levels."""
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"

    @property
    def least(self) -> float | None:
        """The least loss of an allowed combination."""
        return min((seen.loss for seen in self.allowed), default=None)


@dataclass(frozen=True)
class Lattice:
    """All combinations by the sum of their levels, and the one that was chosen."""

    steps: tuple[Step, ...]
    chosen: Seen | None

    @property
    def nodes(self) -> int:
        """How many there are."""
        return self.refused + len(self.losses)

    @property
    def refused(self) -> int:
        """How many are not allowed."""
        return sum(step.refused for step in self.steps)

    @cached_property
    def losses(self) -> list[float]:
        """Of all that are allowed."""
        return [seen.loss for step in self.steps for seen in step.allowed]

    @property
    def crowded(self) -> bool:
        """Whether there are too many for dots."""
        return self.nodes > MOST_DOTS

    @cached_property
    def frame(self) -> Frame:
        """The axes."""
        return Frame(Scale(0, len(self.steps), ()), fitting(self.losses, zero=True), TOP, HEIGHT)

    @cached_property
    def span(self) -> tuple[float, float]:
        """Where the lowest row of cells begins, so that nothing seems to lose less than the least, and how high one is."""
        shares = [self.frame.y.share(loss) for loss in self.losses]
        low, high = min(shares, default=0.0), max(shares, default=1.0)
        return low, (high - low) / ROWS or 1 / ROWS

    @cached_property
    def cells(self) -> Counter[tuple[int, int]]:
        """Allowed combinations by step and row from the bottom."""
        low, high = self.span
        return Counter(
            (place, min(ROWS - 1, int((self.frame.y.share(seen.loss) - low) / high)))
            for place, step in enumerate(self.steps)
            for seen in step.allowed
        )

    @property
    def darkest(self) -> int:
        """The most in one cell."""
        return max(self.cells.values(), default=0)


def lattice(case: Case, nodes: Sequence[Seen]) -> Figure:
    """All combinations by sum of levels and loss, with this table marked."""
    found = Lattice(steps_of(nodes), _chosen(case, nodes))
    return Figure(
        key="lattice",
        title="Every combination of levels",
        about=_about(found),
        reading=tuple(_reading(found)),
        groups=(),
        table=_table(found),
        drawing=_drawing(found),
    )


def steps_of(nodes: Sequence[Seen]) -> tuple[Step, ...]:
    """Combinations by the sum of their levels, in at most so many steps."""
    top = max(sum(seen.node) for seen in nodes)
    wide = math.ceil((top + 1) / MOST_STEPS)
    groups: list[list[Seen]] = [[] for _ in range(0, top + 1, wide)]
    for seen in nodes:
        groups[sum(seen.node) // wide].append(seen)
    return tuple(_step(place * wide, min(top, (place + 1) * wide - 1), group) for place, group in enumerate(groups))


def _step(low: int, high: int, group: Sequence[Seen]) -> Step:
    allowed = tuple(seen for seen in group if _drawable(seen))
    return Step(low, high, len(group) - len(allowed), allowed)


def _drawable(seen: Seen) -> bool:
    return seen.allowed and math.isfinite(seen.loss)


def _chosen(case: Case, nodes: Sequence[Seen]) -> Seen | None:
    if case.by_class:
        return None
    node = tuple(case.result.levels[name] for name in case.result.recoding.classes.names)
    return next((seen for seen in nodes if seen.node == node and _drawable(seen)), None)


def _about(found: Lattice) -> str:
    allowed = len(found.losses)
    this = f" This table loses {measure(found.chosen.loss)}." if found.chosen else ""
    return f"{_combinations(found.nodes)}, of which {allowed:,} {agree(allowed, 'is', 'are')} allowed.{this}"


def _combinations(count: int) -> str:
    return plural(count, "combination", "combinations")


def _reading(found: Lattice) -> Iterator[str]:
    every = _combinations(found.nodes) if found.nodes == 1 else f"All {_combinations(found.nodes)}"
    yield (
        f"{every} of levels, from the data as they were at the left to the coarsest at the right. Further down, less is lost"
        f"{', in powers of ten' if found.frame.y.log else ''}."
    )
    if found.crowded:
        yield f"Each cell counts allowed combinations: the fuller the colour, the more, up to {found.darkest:,} in one cell."
    else:
        yield "Each dot is an allowed combination; dots of one sum are spread sideways, to be seen."
    if found.refused:
        yield "The strip below counts those that are not allowed, because too many people would have to be left out."
    if found.chosen is not None and len(found.losses) > 1:
        yield _rank(found, found.chosen)


def _rank(found: Lattice, chosen: Seen) -> str:
    better = sum(loss < chosen.loss * (1 - 1e-12) for loss in found.losses)
    verb = f"{better:,} {agree(better, 'loses', 'lose')}" if better else "none loses"
    return f"Of the {len(found.losses):,} allowed, {verb} less than this table: {measure(chosen.loss)}."


def _drawing(found: Lattice) -> Drawing:
    strip = found.frame.bottom + ROOM
    parts = join(
        text(_title(found.frame.y), x="-64", y=14, class_="note"),
        text(f"Allowed: {len(found.losses):,}", x="100%", y=14, class_="label", text_anchor="end"),
        found.frame.grid() if found.losses else None,
        _cells(found) if found.crowded else _dots(found),
        None if found.chosen is None else _this(found, found.chosen),
        text(f"Not allowed: {found.refused:,}", x="100%", y=strip - 7, class_="label", text_anchor="end"),
        _strip(found.steps, strip),
        _foot(found.steps, strip + STRIP),
    )
    return Drawing(parts, strip + STRIP + FOOT, "chart axes")


def _title(scale: Scale) -> str:
    _, unit = scale.unit
    return f"Loss{f', in {unit}' if unit else ''}"


def _dots(found: Lattice) -> list[Markup]:
    return [
        dot(_aside(found, place, rank), found.frame.down(seen.loss), r=3, class_="node")
        for place, step in enumerate(found.steps)
        for rank, seen in enumerate(step.allowed)
    ]


def _aside(found: Lattice, place: int, rank: int) -> str:
    """Dots of one step side by side, without a pattern and always the same."""
    spread = 0.15 + 0.7 * ((rank + 0.5) * GOLDEN % 1)
    return percentage((place + spread) / len(found.steps) * 100)


def _cells(found: Lattice) -> Markup:
    low, high = (share * found.frame.height for share in found.span)
    cells = [
        element(
            "rect",
            **_across(place, len(found.steps)),
            y=number(found.frame.bottom - low - (row + 1) * high),
            height=number(high - 0.5),
            fill_opacity=_shade(count, found.darkest),
        )
        for (place, row), count in found.cells.items()
    ]
    return element("g", cells, class_="cells")


def _across(place: int, steps: int) -> dict[str, str]:
    wide = 100 / steps
    return {"x": percentage(place * wide + wide * 0.03), "width": percentage(wide * 0.94)}


def _shade(count: int, most: int) -> str:
    """Lightest where it is one of many, never invisible."""
    return number(0.2 + 0.8 * math.sqrt(count / most))


def _this(found: Lattice, chosen: Seen) -> Markup:
    place = next(place for place, step in enumerate(found.steps) if chosen in step.allowed)
    middle, y = (place + 0.5) / len(found.steps), found.frame.down(chosen.loss)
    rank = found.steps[place].allowed.index(chosen)
    x = percentage(middle * 100) if found.crowded else _aside(found, place, rank)
    side = "middle" if 0.2 < middle < 0.8 else anchor(middle)
    words = text("this table", x=x, y=round(y) + 24, class_="heading lifted", text_anchor=side)
    return join(dot(x, y, r=7, class_="ring"), dot(x, y, r=3, class_="node this"), words)


def _strip(steps: Sequence[Step], y: int) -> Markup:
    most = max(step.refused for step in steps)
    size = {"y": str(y), "height": str(STRIP)}
    cells = [
        element("rect", **_across(place, len(steps)), **size, fill_opacity=_shade(step.refused, most))
        for place, step in enumerate(steps)
        if step.refused
    ]
    return join(
        element("rect", x="0", width="100%", **size, class_="track"), element("g", cells, class_="cells refused")
    )


def _foot(steps: Sequence[Step], y: int) -> Markup:
    every = next(every for every in (1, 2, 5, 10) if len(steps) <= every * 10)
    ticks = [((place + 0.5) / len(steps), f"{step.low:,}") for place, step in enumerate(steps) if place % every == 0]
    return foot(ticks, y=y, title="Sum of levels")


def _table(found: Lattice) -> Table:
    head = ("Sum of levels", "Combinations", "Not allowed", "Allowed", "Least loss")
    rows = [_row(step, found.chosen) for step in found.steps]
    least = min(found.losses, default=None)
    every = ("All", *_counts(found.refused, len(found.losses)), _loss(least))
    return Table("Combinations by the sum of their levels", head, (*rows, every), (1, 2, 3, 4))


def _row(step: Step, chosen: Seen | None) -> tuple[str, ...]:
    this = " (this table)" if chosen is not None and step.low <= sum(chosen.node) <= step.high else ""
    return (f"{step.label}{this}", *_counts(step.refused, len(step.allowed)), _loss(step.least))


def _counts(refused: int, allowed: int) -> tuple[str, str, str]:
    return f"{refused + allowed:,}", f"{refused:,}", f"{allowed:,}"


def _loss(least: float | None) -> str:
    return "none allowed" if least is None else measure(least)


# Why nothing better exists: what became of every combination of levels during the search.
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
        title=_title_certificate(found),
        about="; ".join(f"{fate.label}: {fate.number:,}" for fate in fates) + f". All: {found.nodes:,}.",
        reading=tuple(_reading_certificate(found)),
        groups=(),
        table=_table_certificate(found, fates),
        drawing=_drawing_certificate(found, fates),
    )


def _title_certificate(found: Certificate) -> str:
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


def _reading_certificate(found: Certificate) -> Iterator[str]:
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


def _drawing_certificate(found: Certificate, fates: tuple[Fate, ...]) -> Drawing:
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


def _table_certificate(found: Certificate, fates: tuple[Fate, ...]) -> Table:
    rows = [(fate.label, f"{fate.number:,}", brief_percent(fate.number / found.nodes)) for fate in fates]
    head = ("What became of them", "Combinations", "Share")
    return Table("The search in numbers", head, (*rows, ("All", f"{found.nodes:,}", "100 %")), (1, 2))
