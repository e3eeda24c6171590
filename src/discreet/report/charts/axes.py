"""Axes of a chart: scales with round ticks, a quiet grid, and lines.

Horizontal positions are percentages of the room right of the labels; those stand in the left margin that the class
`axes` leaves free.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.report.charts.bars import Drawing, number, percentage, text
from discreet.report.toolkit.html import Markup, element, join

UNITS = ((1e10, 1e9, "billions"), (1e7, 1e6, "millions"), (1e4, 1e3, "thousands"))
WIDE = 20
"""Largest over smallest value from which a scale counts in powers of ten."""
SAME = 1e-7
"""Relative difference up to which values are drawn as one."""
TINIEST = 1e-300
"""Steps below this cannot be counted with floats."""


@dataclass(frozen=True)
class Scale:
    """Where a value lies between the ends of an axis."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def share(self, value: float) -> float:
        """From 0 at the low end to 1 at the high end.

        >>> linear([0, 10]).share(5), round(logarithmic([1, 100]).share(10), 9)
        (0.5, 0.5)
        """
        low, high, at = (_log(one) if self.log else one for one in (self.low, self.high, value))
        return min(1.0, max(0.0, (at - low) / (high - low)))

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
    step = _round_step((high - low) / most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(float(f"{place * step:.10g}") for place in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def logarithmic(values: Sequence[float]) -> Scale:
    """Powers of ten, or 1, 2, 5 where they are too far apart; values must be positive."""
    low, high = min(values, default=0.1), max(values, default=1.0)
    wider = 1.25 if high / low >= 5 else 3.0
    low, high = low / wider, high * wider
    powers = range(math.floor(_log(low)), math.ceil(_log(high)) + 1)
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


def _log(value: float) -> float:
    return math.log10(value)


@dataclass(frozen=True)
class Frame:
    """Where two axes stand in a drawing; points below `top`, `height` pixels high."""

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
        return join([self._line(share, label) for share, label in labels])

    def _line(self, share: float, label: str) -> Markup:
        y = self.bottom - share * self.height
        line = element("line", x1="0", x2="100%", y1=number(y), y2=number(y), class_="grid")
        return join(line, text(label, x="-8", y=round(y) + 4, class_="note", text_anchor="end"))


def foot(ticks: Sequence[tuple[float, str]], *, y: int, title: str) -> Markup:
    """The numbers of a horizontal axis, and what they are, in the two lines below `y`."""
    numbers = [
        text(label, x=percentage(share * 100), y=y + 16, class_="note", text_anchor="middle") for share, label in ticks
    ]
    return join(numbers, text(title, x="100%", y=y + 36, class_="note", text_anchor="end"))


FOOT = 42
"""Pixels that the numbers and the title of a horizontal axis need."""


def dot(x: str, y: float, *, r: float, class_: str) -> Markup:
    """A point."""
    return element("circle", cx=x, cy=number(y), r=number(r), class_=class_)


def upright(x: str, top: float, bottom: float, *, class_: str) -> Markup:
    """A vertical line."""
    return element("line", x1=x, x2=x, y1=number(top), y2=number(bottom), class_=class_)


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


def anchor(share: float) -> str:
    """Which side of a text stands at a position, so that it stays inside.

    >>> anchor(0.1), anchor(0.9)
    ('start', 'end')
    """
    return "start" if share < 0.5 else "end"


# Lines over two axes, each with its own stroke; marks with their words above, and text that keeps its size.
#
# The strokes stand in a picture of their own that is stretched to the width there is: text and strokes are not.
HEIGHT = 240
LEGEND, MARK, AXIS = 22, 19, 32
"""Pixels of a line in the legend, of the words of a mark, and of the name of the vertical axis."""
MARGIN = -64
"""Where the left margin begins."""
WIDTH = 1000
STROKES = ("one", "two", "three", "four", "five")


@dataclass(frozen=True)
class Line:
    """A name and points from left to right."""

    label: str
    points: tuple[tuple[float, float], ...]
    steps: bool = True
    """Whether a value holds until the next point; otherwise points are joined."""


@dataclass(frozen=True)
class Mark:
    """A place on the horizontal axis that has a name."""

    at: float
    label: str


@dataclass(frozen=True)
class Axes:
    """The two scales and what they count."""

    x: Scale
    y: Scale
    across: str
    upwards: str
    written: Callable[[float], str] | None = None
    """How numbers on the vertical axis are written."""
    dated: Callable[[float], str] | None = None
    """How those on the horizontal axis are, where they are moments and not amounts."""


def line_chart(lines: Sequence[Line], axes: Axes, *, marks: Sequence[Mark] = ()) -> Drawing:
    """Lines with their legend, and marks with their words below each other."""
    words = len(lines) * LEGEND
    top = words + AXIS + len(marks) * MARK
    frame = Frame(axes.x, axes.y, top, HEIGHT)
    parts = join(
        [_legend(line.label, place) for place, line in enumerate(lines)],
        text(_named(axes.upwards, axes.y, axes.written), x=str(MARGIN), y=words + 16, class_="note"),
        frame.grid(written=axes.written),
        _strokes(frame, lines),
        marked(frame, marks, words + AXIS),
        foot(_ticks(axes), y=frame.bottom, title=_named(axes.across, axes.x, axes.dated)),
    )
    return Drawing(parts, frame.bottom + FOOT, "chart axes")


def _named(name: str, scale: Scale, written: Callable[[float], str] | None) -> str:
    _, unit = scale.unit
    return f"{name}, in {unit}" if unit and written is None else name


def _ticks(axes: Axes) -> list[tuple[float, str]]:
    if axes.dated is None:
        return axes.x.labelled()
    return [(axes.x.share(tick), axes.dated(tick)) for tick in axes.x.ticks]


def _legend(label: str, place: int) -> Markup:
    middle = str(place * LEGEND + 10)
    sample = element("line", x1=str(MARGIN), x2=str(MARGIN + 40), y1=middle, y2=middle, class_=_stroke(place))
    return join(sample, text(label, x=str(MARGIN + 50), y=place * LEGEND + 15, class_="label"))


def _stroke(place: int) -> str:
    return f"stroke {STROKES[place % len(STROKES)]}"


def marked(frame: Frame, marks: Sequence[Mark], top: int) -> Markup:
    """Upright lines through the plot, each with its words above it."""
    rows = sorted(marks, key=lambda mark: _row(frame, mark))
    uprights = [
        upright(frame.across(mark.at), top + place * MARK - 2, frame.bottom, class_="lead")
        for place, mark in enumerate(rows)
    ]
    words = [_words(frame, mark, top + place * MARK + 8) for place, mark in enumerate(rows)]
    return join(uprights, words)


def _row(frame: Frame, mark: Mark) -> tuple[bool, float]:
    """Words run away from the nearer edge: whoever is nearest to it comes first, so that no line crosses the words."""
    share = frame.x.share(mark.at)
    return anchor(share) == "start", min(share, 1 - share)


def _words(frame: Frame, mark: Mark, y: int) -> Markup:
    share = frame.x.share(mark.at)
    side = anchor(share)
    return element(
        "text",
        mark.label,
        x=frame.across(mark.at),
        dx="5" if side == "start" else "-5",
        y=str(y),
        class_="note lifted",
        text_anchor=side,
    )


def _strokes(frame: Frame, lines: Sequence[Line]) -> Markup:
    room = {"viewBox": f"0 0 {WIDTH} {frame.height}", "preserveAspectRatio": "none"}
    # The first line lies on top of the others: it is drawn last.
    paths = [
        element("path", d=_path(frame, line), class_=_stroke(place)) for place, line in reversed([*enumerate(lines)])
    ]
    return element(
        "svg", paths, x="0", y=str(frame.top), width="100%", height=str(frame.height), class_="strokes", **room
    )


def _path(frame: Frame, line: Line) -> str:
    places = [(number(frame.x.share(x) * WIDTH), number(frame.height * (1 - frame.y.share(y)))) for x, y in line.points]
    if not places:
        return ""
    commands = [f"M{places[0][0]} {places[0][1]}"]
    for (_, before), (x, y) in itertools.pairwise(places):
        if not line.steps:
            commands.append(f"L{x} {y}")
            continue
        commands.append(f"H{x}")
        if y != before:
            commands.append(f"V{y}")
    return "".join(_shortened(commands))


def _shortened(commands: Sequence[str]) -> list[str]:
    """Without the first of two strokes in the same direction."""
    kept: list[str] = []
    for command in commands:
        if kept and command[0] == kept[-1][0] == "H":
            kept.pop()
        kept.append(command)
    return kept


def stacked(*drawings: Drawing, gap: int = 28) -> Drawing:
    """Drawings under each other."""
    parts, y = [], 0
    for drawing in drawings:
        parts.append(element("g", drawing.parts, transform=f"translate(0 {y})"))
        y += drawing.height + gap
    return Drawing(join(parts), y - gap, drawings[0].class_)
