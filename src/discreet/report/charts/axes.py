"""Axes of a chart: scales with round ticks, a quiet grid, points and labels.

Horizontal positions are percentages of the room right of the labels, which are in the left margin that the class `axes`
leaves free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from discreet.report.charts.bars import Drawing, number, percentage, text
from discreet.report.toolkit.html import Child, Markup, element, join

UNITS = ((1e10, 1e9, "billions"), (1e7, 1e6, "millions"), (1e4, 1e3, "thousands"))
WIDE = 20
"""Largest over smallest value from which a scale counts in powers of ten."""
SAME = 1e-7
"""Relative difference up to which values are drawn as one."""
TINIEST = 1e-300
"""Steps below this cannot be counted with floats."""
MARGIN = -64
"""Where the left margin begins."""
FOOT = 42
"""Pixels that the numbers and the title of a horizontal axis need."""
PHONE, DESK, LETTER = 240, 400, 7.5
"""Width of the room on a phone and on a small desk, and of a character, in pixels."""


@dataclass(frozen=True)
class Scale:
    """Where a value is between the ends of an axis."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def share(self, value: float) -> float:
        """From 0 at the low end to 1 at the high end.

        >>> linear([0, 10]).share(5), round(logarithmic([1, 100]).share(10), 9)
        (0.5, 0.5)
        """
        low, high, at = (math.log10(end) if self.log else end for end in (self.low, self.high, value))
        return min(1.0, max(0.0, (at - low) / (high - low)))

    def named(self, name: str) -> str:
        """The name of the axis, with the unit of its ticks.

        >>> linear([0, 50_000]).named("Fine")
        'Fine, in thousands'
        """
        return f"{name}, in {self.unit[1]}" if self.unit[1] else name

    @property
    def unit(self) -> tuple[float, str]:
        """What ticks are counted in where they are large, and its name."""
        size = self.low if self.log else self.high
        return next(((unit, name) for least, unit, name in UNITS if size >= least), (1.0, ""))

    def labelled(self) -> list[tuple[float, str]]:
        """The ticks as positions with their numbers."""
        unit, _ = self.unit
        return [(self.share(tick), f"{tick / unit:,.10g}") for tick in self.ticks]


def linear(values: Sequence[float], *, zero: bool = False, most: int = 5) -> Scale:
    """Equal steps between round numbers around all values, none of which is negative.

    >>> linear([0.17, 0.47]).ticks
    (0.1, 0.2, 0.3, 0.4, 0.5)
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    low = 0.0 if zero or high - low <= high * SAME else low
    high = high if high - low > TINIEST else low + 1
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(float(f"{place * step:.10g}") for place in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def logarithmic(values: Sequence[float]) -> Scale:
    """Powers of ten, or 1, 2, 5 between them; values must be positive."""
    low, high = min(values, default=0.1), max(values, default=1.0)
    wider = 1.25 if high / low >= 5 else 3.0
    low, high = low / wider, high * wider
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        every = [float(f"{factor}e{power}") for power in powers for factor in factors]
        ticks = tuple(tick for tick in every if low <= tick <= high)
        if len(ticks) > 1:
            break
    return Scale(low, high, ticks, log=True)


def fitting(values: Sequence[float], *, zero: bool = False) -> Scale:
    """Equal steps, or powers of ten where values are of very different size.

    >>> fitting([0.2, 1.0]).log, fitting([30, 30_000]).log
    (False, True)
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    return logarithmic(values) if low > 0 and high / low > WIDE else linear(values, zero=zero)


@dataclass(frozen=True)
class Frame:
    """Two axes; points are below `top`, in an area `height` pixels high."""

    x: Scale
    y: Scale
    top: int
    height: int

    @property
    def bottom(self) -> int:
        """The line of the horizontal axis."""
        return self.top + self.height

    def across(self, value: float) -> str:
        """The horizontal position of a value."""
        return percentage(self.x.share(value) * 100)

    def down(self, value: float) -> float:
        """The vertical position of a value."""
        return self.bottom - self.y.share(value) * self.height

    def grid(self, *, written: Callable[[float], str] | None = None) -> Markup:
        """Quiet lines with their numbers at the left; `written` puts them into words."""
        labels = (
            self.y.labelled() if written is None else [(self.y.share(tick), written(tick)) for tick in self.y.ticks]
        )
        drawn = []
        for share, label in labels:
            y = self.bottom - share * self.height
            drawn.append(level(y, class_="grid"))
            drawn.append(text(label, x="-8", y=round(y) + 4, class_="note", text_anchor="end"))
        return join(drawn)

    def drawing(
        self,
        *parts: Child,
        upwards: str,
        across: str,
        ticks: Sequence[tuple[float, str]] | None = None,
        written: Callable[[float], str] | None = None,
    ) -> Drawing:
        """What is drawn over the grid, between the names of the two axes."""
        name = text(upwards, x=str(MARGIN), y=14, class_="note")
        below = foot(self.x.labelled() if ticks is None else ticks, y=self.bottom, title=across)
        return Drawing(join(name, self.grid(written=written), parts, below), self.bottom + FOOT, "chart axes")


def foot(ticks: Sequence[tuple[float, str]], *, y: int, title: str) -> Markup:
    """Numbers and title of a horizontal axis, in the two lines below `y`."""
    numbers = [
        text(label, x=percentage(share * 100), y=y + 16, class_="note", text_anchor="middle") for share, label in ticks
    ]
    return join(numbers, text(title, x="100%", y=y + 36, class_="note", text_anchor="end"))


def dot(x: str, y: float, *, r: float, class_: str) -> Markup:
    """A point."""
    return element("circle", cx=x, cy=number(y), r=number(r), class_=class_)


def upright(x: str, top: float, bottom: float, *, class_: str) -> Markup:
    """A vertical line."""
    return element("line", x1=x, x2=x, y1=number(top), y2=number(bottom), class_=class_)


def level(y: float, *, class_: str) -> Markup:
    """A horizontal line from edge to edge."""
    return element("line", x1="0", x2="100%", y1=number(y), y2=number(y), class_=class_)


def beside(words: str, x: str, y: float, *, share: float, away: int, class_: str) -> Markup:
    """Words beside a position, on the side where they stay inside."""
    side = anchor(share)
    shift = str(away if side == "start" else -away)
    return element("text", words, x=x, dx=shift, y=number(y), class_=class_, text_anchor=side)


def anchor(share: float) -> str:
    """Which side of a text is at a position, so that it stays inside.

    >>> anchor(0.1), anchor(0.9)
    ('start', 'end')
    """
    return "start" if share < 0.5 else "end"


@dataclass(frozen=True)
class Box:
    """Room that something takes, in pixels."""

    left: float
    right: float
    top: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether they overlap.

        >>> Box(0, 10, 0, 10).meets(Box(9, 19, 0, 10)), Box(0, 10, 0, 10).meets(Box(11, 19, 0, 10))
        (True, False)
        """
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def readable(labels: Mapping[int, Box], marks: Sequence[Box]) -> list[int]:
    """Labels that overlap no other mark and no label before them.

    Each label has the number of the mark that it belongs to.

    >>> readable({0: Box(5, 15, 0, 9), 1: Box(12, 22, 0, 9)}, [Box(0, 5, 0, 9), Box(22, 30, 0, 9)])
    [0]
    """
    shown: list[int] = []
    for own, box in labels.items():
        others = [mark for place, mark in enumerate(marks) if place != own]
        if not any(box.meets(other) for other in [*others, *(labels[place] for place in shown)]):
            shown.append(own)
    return shown
