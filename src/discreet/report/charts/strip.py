"""Strip charts: bars over a range of values, each kind with its own fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.report.charts.axes import FOOT, MARGIN, Frame, Scale, foot, level
from discreet.report.charts.bars import SWATCH, Drawing, Fill, paint, percentage, rect, risk_stripes, text
from discreet.report.charts.lines import LEGEND, MARK, Mark, marked
from discreet.report.toolkit.html import Markup, join

HEIGHT, BAND, GAP = 160, 20, 8


@dataclass(frozen=True)
class Bin:
    """Sizes from one to another, the people who have them, and what becomes of such people."""

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
    """A bar from one value to another; neighbours are a small gap apart, and what is there is seen."""
    left, right = (frame.x.share(end) * 100 for end in ends)
    width = percentage(max(min(gap, 0.2), right - left - gap))
    return rect(x=percentage(left), y=y, width=width, height=height, class_=class_, fill=fill)


def strip_chart(
    bins: Sequence[Bin], *, key: str, legend: Sequence[tuple[Fill, str, str]], marks: Sequence[Mark], across: str
) -> Drawing:
    """People by size above a band that says what becomes of every size; areas count people."""
    words = len(legend) * LEGEND + 10
    frame = Frame(size_scale(bins[-1].last), Scale(0, 1, ()), words + len(marks) * MARK, HEIGHT)

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
    """From half a person to half a person beyond the largest size: each size has room of its own."""
    powers = [float(10**power) for power in range(12) if 10**power <= most]
    ticks = powers if len(powers) > 2 else [tick for tick in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0) if tick <= most]
    return Scale(0.5, most + 0.5, tuple(ticks), log=True)
