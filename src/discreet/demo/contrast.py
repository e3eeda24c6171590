"""Contrast picture: what a disclosure risks as it is, and with Discreet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.report.charts.bars import THINNEST, number, picture, rect, stripes, text
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import stylesheet

WIDTH, MARGIN, TOP, ROW, FOOT = 880, 28, 92, 84, 40
LONGEST = 560
"""Pixels of a bar that stands for the whole; its words follow it."""
BEFORE, AFTER = "as it is", "with Discreet"

STYLE = """
svg { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; }
text { font-size: 15px; fill: var(--ink); font-variant-numeric: tabular-nums; }
.title { font-size: 20px; font-weight: 650; }
.label { font-weight: 600; }
.note { fill: var(--quiet); font-size: 14px; }
.by { fill: var(--quiet); font: 13px ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; }
.sheet { fill: var(--sheet); stroke: var(--line); }
.with { fill: var(--accent); }
.ground { fill: var(--danger); }
.stripe { fill: var(--stripe); }
"""


@dataclass(frozen=True)
class Side:
    """A share of something, and how it is said."""

    share: float
    words: str


@dataclass(frozen=True)
class Contrast:
    """One thing that a disclosure risks, without and with what this software does about it."""

    label: str
    before: Side
    after: Side
    by: str = ""
    """The command that does it."""


def contrast_picture(contrasts: Sequence[Contrast], *, title: str, source: str) -> str:
    """The contrasts under each other, as the text of an SVG file that is light or dark as its reader's screen.

    >>> one = Contrast("People who can be singled out", Side(0.5, "5 of 10"), Side(0.0, "0 of 10"))
    >>> "5 of 10 as it is, 0 of 10 with Discreet" in contrast_picture([one], title="Ten people", source="made up")
    True
    """
    height = TOP + ROW * len(contrasts) + FOOT
    about = " ".join(f"{one.label}: {one.before.words} {BEFORE}, {one.after.words} {AFTER}." for one in contrasts)
    drawn = [
        element("style", Markup(_tokens() + STYLE)),
        element("defs", stripes("contrast-risk", 6)),
        rect(x="0.5", y=0, width=str(WIDTH - 1), height=height, rx="6", class_="sheet"),
        text(title, x=str(MARGIN), y=40, class_="title"),
        _key(),
        *(_row(one, TOP + ROW * place) for place, one in enumerate(contrasts)),
        text(source, x=str(MARGIN), y=height - 18, class_="note"),
    ]
    size = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {height}", "width": str(WIDTH)}
    return str(picture(drawn, key="contrast", title=title, about=about, height=str(height), **size))


def _key() -> Markup:
    """Which bar is which."""
    return join(
        rect(x=str(MARGIN), y=57, width="28", class_="risk", fill="url(#contrast-risk)"),
        text(BEFORE, x=str(MARGIN + 36), y=68, class_="note"),
        rect(x=str(MARGIN + 120), y=57, width="28", class_="with"),
        text(AFTER, x=str(MARGIN + 156), y=68, class_="note"),
    )


def _row(one: Contrast, top: int) -> Markup:
    bars = (_bar(one.before, top + 27, "risk", "url(#contrast-risk)"), _bar(one.after, top + 47, "with", None))
    by = text(one.by, x=str(WIDTH - MARGIN), y=top + 58, class_="by", text_anchor="end") if one.by else None
    return join(text(one.label, x=str(MARGIN), y=top + 18, class_="label"), *bars, by)


def _bar(side: Side, y: int, class_: str, fill: str | None) -> Markup:
    """A bar, and its words behind it; what is there is seen, what is not has no bar."""
    long = max(side.share, THINNEST / 100) * LONGEST if side.share > 0 else 0.0
    drawn = rect(x=str(MARGIN), y=y, width=number(long), class_=class_, fill=fill) if long else None
    return join(drawn, text(side.words, x=number(MARGIN + long + (8 if long else 0)), y=y + 11, class_="note"))


def _tokens() -> str:
    """The colours of every report, light and dark: the first paragraph of its style."""
    return stylesheet().partition("\n\n")[0].partition("*/")[2]
