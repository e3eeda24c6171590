"""Line and strip charts over axes: strokes, bars over a range, a legend, marks with their words."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from discreet.report.charts.axes import FOOT, MARGIN, Frame, Scale, anchor, beside, dot, foot, level, upright
from discreet.report.charts.bars import SWATCH, Drawing, Fill, number, paint, percentage, rect, risk_stripes, text
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
class SinglePoint:
    """A single value with words of its own, such as one that is printed elsewhere."""

    x: float
    y: float
    label: str = ""


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


def line_chart(
    lines: Sequence[Line], axes: Axes, *, marks: Sequence[Mark] = (), points: Sequence[SinglePoint] = ()
) -> Drawing:
    """Lines with their legend, marks with their words below each other, and single points over all of it."""
    words = len(lines) * LEGEND
    frame = Frame(axes.x, axes.y, words + AXIS + len(marks) * MARK, HEIGHT)
    legend, paths = [], []
    for place, line in enumerate(lines):
        middle, stroke = str(place * LEGEND + 10), f"stroke {STROKES[place % len(STROKES)]}"
        legend += [
            element("line", x1=str(MARGIN), x2=str(MARGIN + 40), y1=middle, y2=middle, class_=stroke),
            text(line.label, x=str(MARGIN + 50), y=place * LEGEND + 15, class_="label"),
        ]
        places = [(number(axes.x.share(x) * WIDTH), number(HEIGHT * (1 - axes.y.share(y)))) for x, y in line.points]
        commands = [f"M{x} {y}" for x, y in places[:1]]
        for (_, before), (x, y) in itertools.pairwise(places):
            if not line.steps:
                commands.append(f"L{x} {y}")
                continue
            if commands[-1].startswith("H"):
                commands.pop()  # of two strokes in the same direction the first is left out
            commands.append(f"H{x}")
            if y != before:
                commands.append(f"V{y}")
        paths.append(element("path", d="".join(commands), class_=stroke))
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
        pointed(frame, points),
        foot(ticks, y=frame.bottom, title=across),
    )
    return Drawing(parts, frame.bottom + FOOT, "chart axes")


def pointed(frame: Frame, points: Sequence[SinglePoint]) -> Markup:
    """Rings around single values, their words beside them on the side where there is room."""
    drawn = []
    for point in points:
        x, y, share = frame.across(point.x), frame.down(point.y), frame.x.share(point.x)
        drawn.append(dot(x, y, r=5.5, class_="ring"))
        if point.label:
            drawn.append(beside(point.label, x, y - 9, share=share, away=9, class_="note lifted"))
    return join(drawn)


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


STRIP, BAND, GAP = 160, 20, 8
"""Pixels of the bars of a strip chart, of the band below them, and between the two."""


@dataclass(frozen=True)
class Bin:
    """A range of sizes, its people, and what becomes of them."""

    first: int
    last: int
    people: int
    fate: Fill

    @property
    def words(self) -> str:
        """The sizes."""
        return f"{self.first:,}" if self.first == self.last else f"{self.first:,} to {self.last:,}"


def span(
    frame: Frame,
    ends: tuple[float, float],
    y: float,
    height: float,
    *,
    class_: str,
    fill: str | None,
    gap: float = 0.15,
) -> Markup:
    """A bar from one value to another; neighbours are a small gap apart."""
    left, right = (frame.x.share(end) * 100 for end in ends)
    width = percentage(max(min(gap, 0.2), right - left - gap))
    return rect(x=percentage(left), y=y, width=width, height=height, class_=class_, fill=fill)


def strip_chart(
    bins: Sequence[Bin], *, key: str, legend: Sequence[tuple[Fill, str, str]], marks: Sequence[Mark], across: str
) -> Drawing:
    """People by size (as areas) above a band that says what becomes of them."""
    words = len(legend) * LEGEND + 10
    frame = Frame(size_scale(bins[-1].last), Scale(0, 1, ()), words + len(marks) * MARK, STRIP)

    def piece(data: Bin, y: int, height: int) -> Markup:
        ends = data.first - 0.5, data.last + 0.5
        return span(frame, ends, y, height, class_=f"bar {data.fate}", fill=paint(data.fate, key))

    named = []
    for place, (fill, label, value) in enumerate(legend):
        y = place * LEGEND
        sample = {"x": str(MARGIN), "width": str(SWATCH), "class_": f"bar {fill}"}
        named += [
            rect(**sample, y=y + 3, height=SWATCH, fill=paint(fill, key)),
            text(label, x=str(MARGIN + SWATCH + 10), y=y + 15, class_="label"),
            text(value, x="100%", y=y + 15, class_="value", text_anchor="end"),
        ]
    densities = [data.people / (frame.x.share(data.last + 0.5) - frame.x.share(data.first - 0.5)) for data in bins]
    tallest = max(densities, default=0.0) or 1.0
    bars = []
    for data, density in zip(bins, densities, strict=True):
        if data.people:
            high = max(1, round(density / tallest * frame.height))
            bars.append(piece(data, frame.bottom - high, high))
    runs: list[Bin] = []
    for data in bins:
        if runs and runs[-1].fate == data.fate:
            runs[-1] = replace(runs[-1], last=data.last)
        else:
            runs.append(data)
    band = frame.bottom + GAP
    parts = join(
        risk_stripes(key),
        named,
        bars,
        level(frame.bottom, class_="grid"),
        [piece(run, band, BAND) for run in runs],
        marked(frame, marks, words),
        foot(frame.x.labelled(), y=band + BAND, title=across),
    )
    return Drawing(parts, band + BAND + FOOT, "chart axes")


def size_scale(most: int) -> Scale:
    """A scale of sizes on which each size has room of its own."""
    powers = [float(10**power) for power in range(12) if 10**power <= most]
    ticks = powers if len(powers) > 2 else [tick for tick in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0) if tick <= most]
    return Scale(0.5, most + 0.5, tuple(ticks), log=True)
