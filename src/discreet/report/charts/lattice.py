"""Lattice charts: combinations of levels by their sum and loss, and those refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.report.charts.axes import FOOT, MARGIN, Frame, Scale, anchor, dot, fitting, foot
from discreet.report.charts.bars import Drawing, number, percentage, text
from discreet.report.toolkit.html import Markup, element, join

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
    """Combinations whose levels add up to one number or a few."""

    low: int
    high: int
    refused: int
    losses: tuple[float, ...]
    """Of the allowed ones."""
    addresses: tuple[str, ...] = ()
    """Where each of the allowed ones leads, on a page."""

    @property
    def label(self) -> str:
        """The sum of levels."""
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True)
class Lattice:
    """All combinations by the sum of their levels, and the one that was chosen."""

    steps: tuple[Step, ...]
    chosen: tuple[int, int] | None
    """Its step, and its place among the allowed ones of that step."""

    @property
    def refused(self) -> int:
        """How many are not allowed."""
        return sum(step.refused for step in self.steps)

    @cached_property
    def losses(self) -> list[float]:
        """Of all that are allowed."""
        return [loss for step in self.steps for loss in step.losses]

    @property
    def loss(self) -> float | None:
        """Of the chosen one."""
        return None if self.chosen is None else self.steps[self.chosen[0]].losses[self.chosen[1]]

    @property
    def crowded(self) -> bool:
        """Whether there are too many for dots."""
        return self.refused + len(self.losses) > MOST_DOTS

    @cached_property
    def frame(self) -> Frame:
        return Frame(Scale(0, len(self.steps), ()), fitting(self.losses, zero=True), TOP, HEIGHT)

    @cached_property
    def span(self) -> tuple[float, float]:
        """Start of the lowest row of cells, at the least loss, and their height."""
        shares = [self.frame.y.share(loss) for loss in self.losses]
        low, high = min(shares, default=0.0), max(shares, default=1.0)
        return low, (high - low) / ROWS or 1 / ROWS

    @cached_property
    def cells(self) -> Counter[tuple[int, int]]:
        """Allowed combinations by step and row from the bottom."""
        return Counter((place, self._row(loss)) for place, step in enumerate(self.steps) for loss in step.losses)

    @cached_property
    def ways(self) -> dict[tuple[int, int], str]:
        """Per cell, where the one of least loss in it leads."""
        least: dict[tuple[int, int], tuple[float, str]] = {}
        for place, step in enumerate(self.steps):
            for loss, address in zip(step.losses, step.addresses, strict=bool(step.addresses)):
                cell = place, self._row(loss)
                least[cell] = min(least.get(cell, (math.inf, "")), (loss, address))
        return {cell: address for cell, (_, address) in least.items()}

    def _row(self, loss: float) -> int:
        low, high = self.span
        return min(ROWS - 1, int((self.frame.y.share(loss) - low) / high))


def lattice_chart(lattice: Lattice) -> Drawing:
    """Allowed combinations as dots or cells over a strip of those that are not."""
    frame, steps, strip = lattice.frame, lattice.steps, lattice.frame.bottom + ROOM
    every = next(every for every in (1, 2, 5, 10) if len(steps) <= every * 10)
    ticks = [((place + 0.5) / len(steps), f"{step.low:,}") for place, step in enumerate(steps) if place % every == 0]
    if lattice.crowded:
        low, high = (share * frame.height for share in lattice.span)
        most, cells = max(lattice.cells.values(), default=0), []
        for (place, row), count in lattice.cells.items():
            y = number(frame.bottom - low - (row + 1) * high)
            cell = _cell(place, len(steps), y=y, height=number(high - 0.5), count=count, most=most)
            cells.append(_way(cell, lattice.ways.get((place, row)), f"The best of {count:,} at {steps[place].label}"))
        nodes = element("g", cells, class_="cells")
    else:
        dots = []
        for place, step in enumerate(steps):
            for rank, loss in enumerate(step.losses):
                mark = dot(_aside(steps, place, rank), frame.down(loss), r=3, class_="node")
                dots.append(_way(mark, step.addresses[rank] if step.addresses else None, f"One at {step.label}"))
        nodes = join(dots)
    chosen = None
    if lattice.chosen is not None and lattice.loss is not None:
        place, rank = lattice.chosen
        middle, down = (place + 0.5) / len(steps), frame.down(lattice.loss)
        x = percentage(middle * 100) if lattice.crowded else _aside(steps, place, rank)
        side = "middle" if 0.2 < middle < 0.8 else anchor(middle)
        words = text("this table", x=x, y=round(down) + 24, class_="heading lifted", text_anchor=side)
        chosen = join(dot(x, down, r=7, class_="ring"), dot(x, down, r=3, class_="node this"), words)
    most, size = max(step.refused for step in steps), {"y": str(strip), "height": str(STRIP)}
    refused = [
        _cell(place, len(steps), **size, count=step.refused, most=most)
        for place, step in enumerate(steps)
        if step.refused
    ]
    parts = join(
        text(frame.y.named("Loss"), x=str(MARGIN), y=14, class_="note"),
        text(f"Allowed: {len(lattice.losses):,}", x="100%", y=14, class_="label", text_anchor="end"),
        frame.grid() if lattice.losses else None,
        nodes,
        chosen,
        text(f"Not allowed: {lattice.refused:,}", x="100%", y=strip - 7, class_="label", text_anchor="end"),
        element("rect", x="0", width="100%", **size, class_="track"),
        element("g", refused, class_="cells refused"),
        foot(ticks, y=strip + STRIP, title="Sum of levels"),
    )
    return Drawing(parts, strip + STRIP + FOOT, "chart axes")


def _way(mark: Markup, address: str | None, words: str) -> Markup:
    """A mark that leads somewhere; not in the order of the keyboard, which has the table of levels."""
    if address is None:
        return mark
    return element("a", mark, href=address, tabindex="-1", aria_label=words)


def _aside(steps: Sequence[Step], step: int, rank: int) -> str:
    """Dots of one step side by side, without a pattern and always the same."""
    spread = 0.15 + 0.7 * ((rank + 0.5) * GOLDEN % 1)
    return percentage((step + spread) / len(steps) * 100)


def _cell(place: int, steps: int, *, y: str, height: str, count: int, most: int) -> Markup:
    """A cell of the grid; lightest where it is one of many, never invisible."""
    wide = 100 / steps
    size = {"x": percentage(place * wide + wide * 0.03), "width": percentage(wide * 0.94), "y": y, "height": height}
    return element("rect", **size, fill_opacity=number(0.2 + 0.8 * math.sqrt(count / most)))
