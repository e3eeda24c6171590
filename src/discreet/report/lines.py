"""Lines over two axes, each with its own stroke; marks with their words above, and text that keeps its size.

The strokes stand in a picture of their own that is stretched to the width there is: text and strokes are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.report.charts.axes import FOOT, Frame, Scale, anchor, foot, upright
from discreet.report.charts.bars import Drawing, number, text
from discreet.report.toolkit.html import Markup, element, join

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
