"""How few columns single people out."""

from __future__ import annotations

from discreet.report.charts.bars import Bar, Group
from discreet.report.components import Figure, Table
from discreet.report.toolkit.words import plural
from discreet.risk import Profile
from discreet.wording import brief_percent, percent


def combinations(profile: Profile) -> Figure:
    """The most telling combination of each size."""
    best = profile.telling[-1]
    return Figure(
        key="combinations",
        title="How few columns single people out",
        about=f"With {plural(len(best.columns), 'column', 'columns')}, {percent(best.share)} of people are alone.",
        reading=(
            "Of all combinations of one, two or more columns, the one of each size that singles out most people.",
            _reach(profile),
        ),
        groups=(
            Group(
                tuple(_combination_bar(len(one.columns), one.columns, one.unique, one.share) for one in profile.telling)
            ),
        ),
        table=_combination_table(profile),
    )


def _reach(profile: Profile) -> str:
    tried = plural(profile.singling_out.largest, "column", "columns")
    return f"Combinations of up to {tried} were tried, without columns that are nearly unique by themselves."


def _combination_bar(size: int, columns: tuple[str, ...], unique: int, share: float) -> Bar:
    value = f"{unique:,} · {brief_percent(share)}"
    return Bar(plural(size, "column", "columns"), value, share, note=", ".join(columns))


def _combination_table(profile: Profile) -> Table:
    rows = tuple(
        (f"{len(one.columns):,}", ", ".join(one.columns), f"{one.unique:,}", brief_percent(one.share))
        for one in profile.telling
    )
    return Table(
        "The most telling combination of each size", ("Columns", "Which", "People alone", "Share"), rows, (0, 2, 3)
    )
