"""Bar charts as inline SVG; text keeps its size on screen and paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from discreet.report.toolkit.html import Child, Markup, element, join
from discreet.report.toolkit.words import clip
from discreet.wording import brief_percent

Fill = Literal["plain", "risk", "partly"]

LABEL = 44
"""Characters of a label that fit beside its value on a narrow screen."""
NOTE = 60
LINE, BAR, GAP, HEADING, BREAK = 21, 12, 13, 28, 12
THIN = 4
"""Height of the bar of what was before."""
STEP, MOST_STEPS = 16, 8
SPARK_WIDTH, SPARK_HEIGHT = 112, 24
SEGMENT, SEGMENT_LINE, SWATCH = 24, 26, 14
"""Height of a bar in segments, of a line in its legend, and of the sample in it."""
THINNEST = 0.4
"""Percent of the width: what is there is seen."""


# The elements of every chart.
@dataclass(frozen=True)
class Drawing:
    """What is drawn where bars do not do."""

    parts: Markup
    height: int
    class_: str = "chart"


def picture(drawn: Sequence[Child], *, key: str, title: str, about: str, **attributes: str) -> Markup:
    """An image that can be read aloud."""
    named = {"role": "img", "aria_labelledby": f"{key}-title {key}-about"}
    words = [element("title", title, id=f"{key}-title"), element("desc", about, id=f"{key}-about")]
    return element("svg", words, drawn, **named, **attributes)


def stripes(name: str, apart: int, *, kind: str = "") -> Markup:
    """A striped pattern, so that colour is never the only sign; `kind` chooses colours."""
    size = {"width": str(apart), "height": str(apart), "patternTransform": "rotate(45)"}
    ground = element("rect", width=str(apart), height=str(apart), class_=f"ground {kind}".strip())
    stripe = element("rect", width="2", height=str(apart), class_=f"stripe {kind}".strip())
    return element("pattern", ground, stripe, id=name, patternUnits="userSpaceOnUse", **size)


def risk_stripes(key: str) -> Markup:
    """Stripes for people at risk, sparser ones where only some of a band are."""
    return element("defs", stripes(f"{key}-risk", 6), stripes(f"{key}-partly", 14))


def paint(fill: str, key: str) -> str | None:
    """The pattern of a fill; plain bars are painted by the style sheet."""
    return None if fill == "plain" else f"url(#{key}-{fill})"


def rect(
    *,
    width: str,
    y: float,
    class_: str,
    x: str = "0",
    height: float = BAR,
    fill: str | None = None,
    rx: str | None = None,
) -> Markup:
    """A bar, from the left edge on unless `x` says otherwise."""
    return element("rect", x=x, y=number(y), width=width, height=number(height), class_=class_, fill=fill, rx=rx)


def text(words: str, *, y: float, x: str = "0", class_: str, text_anchor: str | None = None) -> Markup:
    """A line of text."""
    return element("text", words, x=x, y=number(y), class_=class_, text_anchor=text_anchor)


def percentage(share: float) -> str:
    """A position or a width."""
    return f"{number(share)}%"


def number(value: float) -> str:
    """Short and the same everywhere.

    >>> number(64.65751), number(12.0), number(10)
    ('64.66', '12', '10')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


# Bars under headings, each a share of the same whole.
@dataclass(frozen=True)
class Bar:
    """A labelled share of a whole."""

    label: str
    value: str
    """The number as it is written beside the bar and in the table."""
    share: float
    note: str = ""
    fill: Fill = "plain"
    mark: float | None = None
    """Where a limit is on the same scale."""
    before: float | None = None
    """What the share was before, as a thin bar above."""
    steps: tuple[int, int] | None = None
    """Steps taken out of steps there are, as chips before the note."""

    @property
    def chips(self) -> int:
        """How many chips are drawn: none where there would be too many."""
        return self.steps[1] if self.steps and self.steps[1] <= MOST_STEPS else 0


@dataclass(frozen=True)
class Group:
    """Bars under a heading of their own."""

    bars: tuple[Bar, ...]
    title: str = ""
    total: str = ""


def share_bar(label: str, share: float, *, limit: float | None = None, fill: Fill = "plain") -> Bar:
    """A share that is its own length; beyond a limit it is striped."""
    beyond = limit is not None and share > limit
    return Bar(label, brief_percent(share), share, mark=limit, fill="risk" if beyond else fill)


def count_bar(label: str, count: int, whole: int, *, fill: Fill = "plain") -> Bar:
    """A number with its share of the whole."""
    return Bar(label, counted(count, whole), count / whole, fill=fill)


def counted(count: int, whole: int) -> str:
    """A number with its share.

    >>> counted(3, 12)
    '3 · 25 %'
    """
    return f"{count:,} · {brief_percent(count / whole)}"


def bar_chart(groups: Sequence[Group], *, key: str, title: str, about: str) -> Markup:
    """Bars under each other, each below its label and value."""
    # Notes begin below each other, wherever the chips before them end.
    chips = max((bar.chips for group in groups for bar in group.bars), default=0)
    indent = chips * STEP + 4 if chips else 0
    drawn, y = [risk_stripes(key)], 0

    def add(height: int, *pieces: Child) -> None:
        nonlocal y
        drawn.append(element("g", *pieces, transform=f"translate(0 {y})"))
        y += height

    def line(label: str, value: str, *, class_: str = "label") -> Markup:
        left = text(clip(label, LABEL), y=14, class_=class_)
        return element("g", left, text(value, x="100%", y=14, class_="value", text_anchor="end"))

    for place, group in enumerate(groups):
        if place:
            add(BREAK)
        if group.title:
            add(HEADING, line(group.title, group.total, class_="heading"))
        for bar in group.bars:
            top = LINE + (LINE if bar.note or bar.steps else 0)
            main = top + (THIN + 2 if bar.before is not None else 0)
            parts: list[Child] = [line(bar.label, bar.value)]
            for chip in range(bar.chips):
                class_ = "chip on" if bar.steps and chip < bar.steps[0] else "chip"
                parts.append(rect(x=str(chip * STEP + 1), y=LINE + 4, width="12", height=9, rx="2", class_=class_))
            if bar.note:
                parts.append(text(clip(bar.note, NOTE), x=str(indent), y=LINE + 13, class_="note"))
            if bar.before is not None:
                parts.append(rect(width="100%", y=top, height=THIN, class_="track"))
                if bar.before > 0:
                    parts.append(rect(width=_long(bar.before), y=top, height=THIN, class_="before"))
            parts.append(rect(width="100%", y=main, class_="track"))
            if bar.share > 0:
                fill = paint(bar.fill, key)
                parts.append(rect(width=_long(bar.share), y=main, class_=f"bar {bar.fill}", fill=fill))
            if bar.mark is not None:
                # At 0 and 100 % half of a centred line would be cut off.
                x = percentage(min(max(bar.mark * 100, 0.2), 99.8))
                ends = {"x1": x, "x2": x, "y1": str(main), "y2": str(main + BAR + 5)}
                parts += [element("line", **ends, class_=class_) for class_ in ("halo", "mark")]
            add(main + BAR + GAP, element("g", parts))
    return picture(drawn, key=key, title=title, about=about, class_="chart", width="100%", height=str(y))


def _long(share: float) -> str:
    """The width of a bar: what is there is seen."""
    return percentage(max(share * 100, THINNEST))


def spark(shares: Sequence[float], *, key: str, title: str, about: str) -> Markup:
    """A little distribution: one bar per value or range, scaled to the tallest."""
    tallest = max(shares, default=0) or 1
    step = SPARK_WIDTH / max(len(shares), 10)
    heights = [max(1.0, share / tallest * (SPARK_HEIGHT - 1)) for share in shares]
    bars = [
        element(
            "rect", x=number(place * step), y=number(SPARK_HEIGHT - tall), width=number(step - 2), height=number(tall)
        )
        for place, tall in enumerate(heights)
    ]
    size = {"width": str(SPARK_WIDTH), "height": str(SPARK_HEIGHT)}
    return picture(bars, key=key, title=title, about=about, class_="spark", **size)


# One bar that is divided into segments, with a legend below it.
@dataclass(frozen=True)
class Segment:
    """A part of the whole; `fill` is its class in the style sheet."""

    label: str
    number: int
    fill: Literal["counted", "ruled", "open"]


def segmented_bar(segments: Sequence[Segment], *, whole: int, key: str) -> Drawing:
    """Segments that add up to the whole."""

    def filled(segment: Segment, *, x: str, y: int, width: str, height: int) -> Markup:
        ruled = f"url(#{key}-ruled)" if segment.fill == "ruled" else None
        return rect(x=x, y=y, width=width, height=height, class_=f"fate {segment.fill}", fill=ruled)

    shares = [segment.number / whole * 100 for segment in segments]
    starts = [0.0, *accumulate(shares)]
    pieces, legend = [], []
    for place, (segment, start, share) in enumerate(zip(segments, starts, shares, strict=False)):
        if segment.number:
            x, width = percentage(min(start, 100 - THINNEST)), percentage(max(share, THINNEST))
            pieces.append(filled(segment, x=x, y=0, width=width, height=SEGMENT))
        y = SEGMENT + 14 + place * SEGMENT_LINE
        legend += [
            filled(segment, x="1", y=y + 3, width=str(SWATCH), height=SWATCH),
            text(segment.label, x=str(SWATCH + 10), y=y + 15, class_="label"),
            text(counted(segment.number, whole), x="100%", y=y + 15, class_="value", text_anchor="end"),
        ]
    patterns = element("defs", stripes(f"{key}-ruled", 7, kind="ruled"))
    return Drawing(join(patterns, pieces, legend), SEGMENT + 14 + len(segments) * SEGMENT_LINE)
