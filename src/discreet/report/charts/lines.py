"""Line charts over two axes: strokes, a legend, and marks with their words.

The strokes are in a picture of their own that is stretched to the width there is: text and strokes are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.report.charts.axes import FOOT, MARGIN, Frame, Scale, anchor, beside, foot, upright
from discreet.report.charts.bars import Drawing, number, text
from discreet.report.toolkit.html import Markup, element, join

HEIGHT = 240
LEGEND, MARK, AXIS = 22, 19, 32
"""Pixels of a line in the legend, of the words of a mark, and of the name of the vertical axis."""
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
    """A position on the horizontal axis that has a name."""

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
    frame = Frame(axes.x, axes.y, words + AXIS + len(marks) * MARK, HEIGHT)
    legend, paths = [], []
    for place, line in enumerate(lines):
        middle, stroke = str(place * LEGEND + 10), f"stroke {STROKES[place % len(STROKES)]}"
        legend += [
            element("line", x1=str(MARGIN), x2=str(MARGIN + 40), y1=middle, y2=middle, class_=stroke),
            text(line.label, x=str(MARGIN + 50), y=place * LEGEND + 15, class_="label"),
        ]
        paths.append(element("path", d=_path(frame, line), class_=stroke))
    stretched = {"viewBox": f"0 0 {WIDTH} {frame.height}", "preserveAspectRatio": "none"}
    size = {"x": "0", "y": str(frame.top), "width": "100%", "height": str(frame.height), "class_": "strokes"}
    if axes.dated is None:
        ticks, across = axes.x.labelled(), axes.x.named(axes.across)
    else:
        ticks, across = [(axes.x.share(tick), axes.dated(tick)) for tick in axes.x.ticks], axes.across
    upwards = axes.y.named(axes.upwards) if axes.written is None else axes.upwards
    parts = join(
        legend,
        text(upwards, x=str(MARGIN), y=words + 16, class_="note"),
        frame.grid(written=axes.written),
        # The first line is on top of the others: it is drawn last.
        element("svg", paths[::-1], **size, **stretched),
        marked(frame, marks, words + AXIS),
        foot(ticks, y=frame.bottom, title=across),
    )
    return Drawing(parts, frame.bottom + FOOT, "chart axes")


def _path(frame: Frame, line: Line) -> str:
    """The strokes of a line; of two in the same direction the first is left out."""
    points = [(number(frame.x.share(x) * WIDTH), number(frame.height * (1 - frame.y.share(y)))) for x, y in line.points]
    if not points:
        return ""
    commands = [f"M{points[0][0]} {points[0][1]}"]
    for (_, before), (x, y) in itertools.pairwise(points):
        if not line.steps:
            commands.append(f"L{x} {y}")
            continue
        if commands[-1].startswith("H"):
            commands.pop()
        commands.append(f"H{x}")
        if y != before:
            commands.append(f"V{y}")
    return "".join(commands)


def marked(frame: Frame, marks: Sequence[Mark], top: int) -> Markup:
    """Upright lines through the plot, each with its words above it."""

    def row(mark: Mark) -> tuple[bool, float]:
        # Words run away from the nearer edge: the mark nearest to it comes first, so that no line crosses the words.
        share = frame.x.share(mark.at)
        return anchor(share) == "start", min(share, 1 - share)

    uprights, words = [], []
    for place, mark in enumerate(sorted(marks, key=row)):
        x, y = frame.across(mark.at), top + place * MARK
        uprights.append(upright(x, y - 2, frame.bottom, class_="lead"))
        words.append(beside(mark.label, x, y + 8, share=frame.x.share(mark.at), away=5, class_="note lifted"))
    return join(uprights, words)


def stacked(*drawings: Drawing, gap: int = 28) -> Drawing:
    """Drawings under each other."""
    parts, y = [], 0
    for drawing in drawings:
        parts.append(element("g", drawing.parts, transform=f"translate(0 {y})"))
        y += drawing.height + gap
    return Drawing(join(parts), y - gap, drawings[0].class_)
