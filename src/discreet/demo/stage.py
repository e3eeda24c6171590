"""Stage of the demo: its store, and the picture of what its chapters contrast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from discreet.cli.output import paragraph
from discreet.errors import UsageError
from discreet.people import DemoFiles
from discreet.report.charts.bars import THINNEST, number, picture, rect, stripes, text
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import stylesheet

if TYPE_CHECKING:
    from discreet.ledger import Ledger

DEMO_FLAG = "store.db.demo"
"""Beside a store that a demo made, and that the next one may replace."""
WIDTH, MARGIN, TOP, ROW, FOOT = 880, 28, 92, 84, 40
LONGEST = 560
"""Pixels of a bar for the whole; its words follow it."""
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
class DemoStage:
    """What the chapters share."""

    folder: Path
    people: int
    seed: int
    files: DemoFiles
    store: Path
    """Where the last chapters record what they disclose."""


@dataclass(frozen=True)
class ContrastSide:
    """A share, and how it is put in words."""

    share: float
    words: str


@dataclass(frozen=True)
class Contrast:
    """One risk of a disclosure, without and with Discreet."""

    label: str
    before: ContrastSide
    after: ContrastSide
    by: str = ""
    """The command that does it."""


Contrasts: TypeAlias = tuple[Contrast, ...]
"""What a chapter adds to the picture."""


def share_of(part: int, whole: int) -> ContrastSide:
    """A number of people as a share of all of them."""
    return ContrastSide(part / whole, f"{part:,} of {whole:,}")


def narrate(text: str) -> None:
    """Tell what happens, in lines of readable length."""
    click.echo(paragraph(text))


def show_files(*paths: Path) -> None:
    """Say which files a chapter wrote."""
    click.secho(f"  wrote    {', '.join(str(path) for path in paths)}", dim=True)


def show_command(command: str) -> None:
    """Say which command does the same with other data."""
    click.secho(f"  yours    {command}", dim=True)


def fresh_store(folder: Path) -> Path:
    """A new store for the demo; replaces that of an earlier demo, never another."""
    store = folder / "store.db"
    if store.exists() and not (folder / DEMO_FLAG).exists():
        raise UsageError(
            f"{store} was not made by a demo, which would replace it.", remedy="Name another folder with --out."
        )
    for old in folder.glob("store.db*"):
        old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DEMO_FLAG).write_text(
        "The store beside this file was made by discreet demo; the next run replaces it.\n", encoding="utf-8"
    )
    return store


def open_ledger(store: Path) -> Ledger:
    """The ledger of the demo, with keys beside it, never the user's own."""
    from discreet.ledger import Keys, Ledger
    from discreet.store import Store  # first: says in words if the extra is missing

    keys = store.with_name(f"{store.name}.keys")
    return Ledger(Store.open(store), keys=Keys.load(keys) if keys.exists() else Keys.make(keys))


def contrast_picture(contrasts: Sequence[Contrast], *, title: str, source: str) -> str:
    """The contrasts as an SVG file that follows the reader's light or dark mode.

    >>> one = Contrast("People who can be singled out", ContrastSide(0.5, "5 of 10"), ContrastSide(0.0, "0 of 10"))
    >>> "5 of 10 as it is, 0 of 10 with Discreet" in contrast_picture([one], title="Ten people", source="made up")
    True
    """
    height = TOP + ROW * len(contrasts) + FOOT
    about = " ".join(f"{each.label}: {each.before.words} {BEFORE}, {each.after.words} {AFTER}." for each in contrasts)
    # The colours of every report, light and dark: the first paragraph of its style.
    tokens = stylesheet().partition("\n\n")[0].partition("*/")[2]
    key = join(
        rect(x=str(MARGIN), y=57, width="28", class_="risk", fill="url(#contrast-risk)"),
        text(BEFORE, x=str(MARGIN + 36), y=68, class_="note"),
        rect(x=str(MARGIN + 120), y=57, width="28", class_="with"),
        text(AFTER, x=str(MARGIN + 156), y=68, class_="note"),
    )
    drawn = [
        element("style", Markup(tokens + STYLE)),
        element("defs", stripes("contrast-risk", 6)),
        rect(x="0.5", y=0, width=str(WIDTH - 1), height=height, rx="6", class_="sheet"),
        text(title, x=str(MARGIN), y=40, class_="title"),
        key,
        *(_row(contrast, TOP + ROW * index) for index, contrast in enumerate(contrasts)),
        text(source, x=str(MARGIN), y=height - 18, class_="note"),
    ]
    size = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {height}", "width": str(WIDTH)}
    return str(picture(drawn, key="contrast", title=title, about=about, height=str(height), **size))


def _row(contrast: Contrast, top: int) -> Markup:
    before = _bar(contrast.before, top + 27, "risk", "url(#contrast-risk)")
    bars = (before, _bar(contrast.after, top + 47, "with", None))
    by = text(contrast.by, x=str(WIDTH - MARGIN), y=top + 58, class_="by", text_anchor="end") if contrast.by else None
    return join(text(contrast.label, x=str(MARGIN), y=top + 18, class_="label"), *bars, by)


def _bar(side: ContrastSide, y: int, class_: str, fill: str | None) -> Markup:
    """A bar and its words; a share of nothing has no bar."""
    long = max(side.share, THINNEST / 100) * LONGEST if side.share > 0 else 0.0
    drawn = rect(x=str(MARGIN), y=y, width=number(long), class_=class_, fill=fill) if long else None
    return join(drawn, text(side.words, x=number(MARGIN + long + (8 if long else 0)), y=y + 11, class_="note"))
