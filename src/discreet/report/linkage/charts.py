"""Charts of candidate pairs: weights with three zones, errors by threshold."""

from __future__ import annotations

import math

from discreet.linkage.matching.thresholds import Distribution
from discreet.report.charts.axes import FOOT, Axes, Frame, Line, Mark, Scale, foot, line_chart, logarithmic, marked
from discreet.report.charts.bars import Drawing, number, percentage, stripes, text
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import plural

HEIGHT, TOP = 220, 70
KEY = "zones"
STEPS = (1, 2, 5, 10, 20, 50, 100)
MOST_TICKS = 9
FAINTEST = 0.1
"""Expected errors below this are drawn as this: the axis counts in powers of ten."""


def zones_figure(data: Distribution) -> Figure:
    """How many pairs have which weight, and who decides them."""
    zones = data.zones
    return Figure(
        key=KEY,
        title="Pairs by what speaks for one person",
        about=(
            f"{zones.different:,} pairs are different by machine, {zones.people:,} go to people and {zones.same:,} are the same by "
            "machine, in the order of their weight."
        ),
        reading=(
            "One more point of weight doubles the odds that two records are one person. Bars count pairs in powers of ten.",
            "Striped bars go to people; the dotted lines are the two thresholds.",
        ),
        groups=(),
        table=_zones_table(data),
        drawing=_bars(data),
    )


def errors_figure(data: Distribution) -> Figure:
    """What a single threshold would cost."""
    wrong = Line("wrongly the same, if everything from here on is called the same", _points(data, data.false_same))
    lost = Line("missed, if everything below is called different", _points(data, data.missed))
    x = _weights(data)
    y = logarithmic([FAINTEST, *(max(FAINTEST, one) for one in (*data.false_same, *data.missed))])
    return Figure(
        key="errors",
        title="Expected errors by threshold",
        about="The expected number of wrong and of missed pairs for every threshold of the weight.",
        reading=(
            "People look at the pairs between the thresholds: the machine errs right of the upper and left of the lower only.",
            (
                "Both numbers are sums of the model's probabilities. They hold for pairs like those it was estimated on or labelled with, "
                "and are far too low where relatives or namesakes are in the tables."
            ),
        ),
        groups=(),
        table=_errors_table(data),
        drawing=line_chart([wrong, lost], Axes(x, y, "Weight", "Pairs", _count), marks=_marks(data)),
    )


def _count(value: float) -> str:
    return f"{value:,.10g}"


def _points(data: Distribution, values: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    return tuple((at, max(FAINTEST, value)) for at, value in zip(data.thresholds, values, strict=True))


def _weights(data: Distribution) -> Scale:
    low, high = data.edges[0], data.edges[-1]
    step = next((step for step in STEPS if (high - low) / step <= MOST_TICKS), STEPS[-1])
    ticks = range(math.ceil(low / step), math.floor(high / step) + 1)
    return Scale(low, high, tuple(float(tick * step) for tick in ticks))


def _marks(data: Distribution) -> list[Mark]:
    zones = data.zones
    found = [Mark(zones.lower, "people from here on"), Mark(zones.upper, "same by machine from here on")]
    inside = [mark for mark in found if data.edges[0] <= mark.at <= data.edges[-1]]
    return inside if zones.people else inside[1:] or inside[:1]


def _bars(data: Distribution) -> Drawing:
    counts = [count for count in data.counts if count]
    frame = Frame(_weights(data), logarithmic([0.9, *counts]), TOP, HEIGHT)
    bars = [_bar(frame, data, place) for place, count in enumerate(data.counts) if count]
    parts = join(
        element("defs", stripes(f"{KEY}-people", 6, kind="ruled")),
        text("Pairs", x="-64", y=14, class_="note"),
        frame.grid(written=_count),
        bars,
        marked(frame, _marks(data), 30),
        foot(frame.x.labelled(), y=frame.bottom, title="Weight"),
    )
    return Drawing(parts, frame.bottom + FOOT, "chart axes")


def _bar(frame: Frame, data: Distribution, place: int) -> Markup:
    left, right = (frame.x.share(edge) * 100 for edge in data.edges[place : place + 2])
    top = frame.down(data.counts[place])
    people = _zone(data, place) == "people"
    return element(
        "rect",
        x=percentage(left),
        y=number(top),
        width=percentage(max(right - left - 0.3, 0.2)),
        height=number(max(frame.bottom - top, 1.0)),
        class_="bar" if people else "bar plain",
        fill=f"url(#{KEY}-people)" if people else None,
    )


def _zone(data: Distribution, place: int) -> str:
    """Who decides the middle of a bar."""
    middle = (data.edges[place] + data.edges[place + 1]) / 2
    if middle >= data.zones.upper:
        return "same"
    return "people" if middle >= data.zones.lower else "different"


def _zones_table(data: Distribution) -> Table:
    rows = tuple(
        (
            f"{data.edges[place]:.1f} to {data.edges[place + 1]:.1f}",
            f"{count:,}",
            f"{data.expected[place]:,.1f}",
            _zone(data, place),
        )
        for place, count in enumerate(data.counts)
        if count
    )
    return Table("Pairs by weight", ("Weight", "Pairs", "Expected the same", "Decided by"), rows, (1, 2))


def _errors_table(data: Distribution) -> Table:
    rows = tuple(
        (f"{at:.1f}", f"{wrong:,.1f}", f"{lost:,.1f}")
        for at, wrong, lost in zip(data.thresholds, data.false_same, data.missed, strict=True)
    )
    caption = f"Expected errors at {plural(len(rows), 'threshold', 'thresholds')}"
    return Table(caption, ("Threshold", "Wrongly the same", "Missed"), rows, (1, 2))
