"""Bar charts as inline SVG; text keeps its size on screen and paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.report.toolkit.html import Child, Markup, element, join
from discreet.report.toolkit.words import clip

Fill = Literal["plain", "risk", "partly"]

LABEL = 44
"""Characters of a label that fit beside its value on a narrow screen."""
NOTE = 60
LINE, BAR, GAP, HEADING, BREAK = 21, 12, 13, 28, 12
THIN = 4
"""Height of the bar of what was before."""
STEP, MOST_STEPS = 16, 8
SPARK_WIDTH, SPARK_HEIGHT = 112, 24
THINNEST = 0.4
"""Percent of the width: what is there is seen."""


@dataclass(frozen=True)
class Bar:
    """A labelled share of a whole."""

    label: str
    value: str
    """The number as it stands beside the bar and in the table."""
    share: float
    note: str = ""
    fill: Fill = "plain"
    mark: float | None = None
    """Where a limit lies on the same scale."""
    before: float | None = None
    """What the share was before, as a thin bar above."""
    steps: tuple[int, int] | None = None
    """Steps taken out of steps there are, as chips before the note."""


@dataclass(frozen=True)
class Group:
    """Bars under a heading of their own."""

    bars: tuple[Bar, ...]
    title: str = ""
    total: str = ""


@dataclass(frozen=True)
class Drawing:
    """What is drawn where bars do not do."""

    parts: Markup
    height: int
    class_: str = "chart"


def bar_chart(groups: Sequence[Group], *, key: str, title: str, about: str) -> Markup:
    """Bars under each other, each with its label above and its value at the end of that line."""
    drawn, y = [_patterns(key)], 0
    for piece, height in _pieces(groups, key):
        drawn.append(element("g", piece, transform=f"translate(0 {y})"))
        y += height
    return picture(drawn, key=key, title=title, about=about, class_="chart", width="100%", height=str(y))


def spark(shares: Sequence[float], *, key: str, title: str, about: str) -> Markup:
    """A little distribution: one bar per value or range, scaled to the tallest."""
    tallest = max(shares, default=0) or 1
    step = SPARK_WIDTH / max(len(shares), 10)
    bars = [_spark_bar(place * step, step, share / tallest) for place, share in enumerate(shares)]
    size = {"width": str(SPARK_WIDTH), "height": str(SPARK_HEIGHT)}
    return picture(bars, key=key, title=title, about=about, class_="spark", **size)


def picture(drawn: Sequence[Child], *, key: str, title: str, about: str, **attributes: str) -> Markup:
    """An image that can be read aloud."""
    named = {"role": "img", "aria_labelledby": f"{key}-title {key}-about"}
    words = [element("title", title, id=f"{key}-title"), element("desc", about, id=f"{key}-about")]
    return element("svg", words, drawn, **named, **attributes)


def _pieces(groups: Sequence[Group], key: str) -> Iterator[tuple[Markup, int]]:
    indent = max((_indent(bar) for group in groups for bar in group.bars), default=0)
    for place, group in enumerate(groups):
        if place:
            yield Markup(""), BREAK
        if group.title:
            yield _line(group.title, group.total, class_="heading"), HEADING
        for bar in group.bars:
            yield _bar(bar, key, indent)


def _bar(bar: Bar, key: str, indent: int) -> tuple[Markup, int]:
    top = LINE + (LINE if bar.note or bar.steps else 0)
    main = top + (THIN + 2 if bar.before is not None else 0)
    drawn = [_line(bar.label, bar.value), _note(bar, indent), _before(bar, top)]
    return element("g", drawn, _track(main), _fill(bar, main, key), _mark(bar, main)), main + BAR + GAP


def _note(bar: Bar, indent: int) -> Markup:
    note = text(clip(bar.note, NOTE), x=str(indent), y=LINE + 13, class_="note") if bar.note else None
    return join(_chips(bar), note)


def _indent(bar: Bar) -> int:
    """Room for the chips; notes begin below each other."""
    return bar.steps[1] * STEP + 4 if bar.steps and 0 < bar.steps[1] <= MOST_STEPS else 0


def _chips(bar: Bar) -> list[Markup]:
    if bar.steps is None or not _indent(bar):
        return []
    taken, there = bar.steps
    return [_chip(place, class_="chip on" if place < taken else "chip") for place in range(there)]


def _chip(place: int, *, class_: str) -> Markup:
    return rect(x=str(place * STEP + 1), y=LINE + 4, width="12", height=9, rx="2", class_=class_)


def _before(bar: Bar, y: int) -> Markup | None:
    if bar.before is None:
        return None
    filled = rect(width=percentage(max(bar.before * 100, THINNEST)), y=y, height=THIN, class_="before")
    return join(rect(width="100%", y=y, height=THIN, class_="track"), filled if bar.before > 0 else None)


def _line(label: str, value: str, *, class_: str = "label") -> Markup:
    """A label at the left, its value at the right."""
    left = text(clip(label, LABEL), y=14, class_=class_)
    return element("g", left, text(value, x="100%", y=14, class_="value", text_anchor="end"))


def _track(y: int) -> Markup:
    return rect(width="100%", y=y, class_="track")


def _fill(bar: Bar, y: int, key: str) -> Markup | None:
    if bar.share <= 0:
        return None
    paint = None if bar.fill == "plain" else f"url(#{key}-{bar.fill})"
    return rect(width=percentage(max(bar.share * 100, THINNEST)), y=y, class_=f"bar {bar.fill}", fill=paint)


def _mark(bar: Bar, y: int) -> Markup | None:
    if bar.mark is None:
        return None
    # At 0 and 100 % half of a centred line would be cut off.
    x = percentage(min(max(bar.mark * 100, 0.2), 99.8))
    return join([_tick(x, y, name) for name in ("halo", "mark")])


def _tick(x: str, y: int, class_: str) -> Markup:
    return element("line", x1=x, x2=x, y1=str(y), y2=str(y + BAR + 5), class_=class_)


def _spark_bar(x: float, step: float, height: float) -> Markup:
    tall = max(1.0, height * (SPARK_HEIGHT - 1))
    place = {"x": number(x), "y": number(SPARK_HEIGHT - tall), "width": number(step - 2), "height": number(tall)}
    return element("rect", **place)


def _patterns(key: str) -> Markup:
    """Stripes for people at risk, sparser ones where only some of a band are: never colour alone."""
    return element("defs", stripes(f"{key}-risk", 6), stripes(f"{key}-partly", 14))


def stripes(name: str, apart: int, *, kind: str = "") -> Markup:
    """A pattern to fill bars with; `kind` chooses other colours."""
    place = {"width": str(apart), "height": str(apart), "patternTransform": "rotate(45)"}
    ground = element("rect", width=str(apart), height=str(apart), class_=f"ground {kind}".strip())
    stripe = element("rect", width="2", height=str(apart), class_=f"stripe {kind}".strip())
    return element("pattern", ground, stripe, id=name, patternUnits="userSpaceOnUse", **place)


def rect(
    *, width: str, y: int, class_: str, x: str = "0", height: int = BAR, fill: str | None = None, rx: str | None = None
) -> Markup:
    """A bar, from the left edge on unless told otherwise."""
    return element("rect", x=x, y=str(y), width=width, height=str(height), class_=class_, fill=fill, rx=rx)


def text(words: str, *, y: int, x: str = "0", class_: str, text_anchor: str | None = None) -> Markup:
    """A line of text."""
    return element("text", words, x=x, y=str(y), class_=class_, text_anchor=text_anchor)


def percentage(share: float) -> str:
    """A position or a width."""
    return f"{number(share)}%"


def number(value: float) -> str:
    """Short and the same everywhere.

    >>> number(64.65751), number(12.0)
    ('64.66', '12')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")
