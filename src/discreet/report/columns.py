"""The columns of a profile as a table with little distributions; shapes and shares, never values."""

from __future__ import annotations

from discreet.report.charts.bars import spark
from discreet.report.components import Table, shown_on_demand, table
from discreet.report.toolkit.html import Markup, join
from discreet.risk import ColumnProfile, Profile
from discreet.wording import brief_percent

ROLES = {
    "identifier": "identifier",
    "quasi": "quasi\N{NON-BREAKING HYPHEN}identifier",
    "sensitive": "sensitive",
    "other": "other",
}


def columns_table(profile: Profile) -> Markup:
    """Role, distinct values, share unique and shape of each column."""
    head = ("Column", "May be", "Distinct", "People alone", "Shape", "Missing", "Looks like", "Because")
    rows = tuple(_row(column, place, profile.records) for place, column in enumerate(profile.columns))
    return join(
        table(Table("The columns and what they may be to an adversary", head, rows, (2, 3, 5))),
        shown_on_demand(_shapes(profile)),
    )


def _row(column: ColumnProfile, place: int, records: int) -> tuple[str | Markup, ...]:
    return (
        join(column.name),
        ROLES[column.role],
        f"{column.distinct:,}",
        brief_percent(column.share_unique),
        _shape(column, place, records),
        f"{column.missing:,}",
        column.looks,
        join(column.reason),
    )


def _shares(column: ColumnProfile, records: int) -> tuple[float, ...]:
    return tuple(share.records / records for share in column.distribution)


def _shape(column: ColumnProfile, place: int, records: int) -> Markup | str:
    shares = _shares(column, records)
    if not shares:
        return "not shown"
    about = f"{len(shares)} bars; the tallest stands for {brief_percent(max(shares))} of people."
    return spark(shares, key=f"shape-{place}", title=f"Distribution of {column.name}", about=about)


def _shapes(profile: Profile) -> Table:
    rows = tuple(_shape_row(column, profile.records) for column in profile.columns)
    head = ("Column", "Share of people in each bar, from the left", "In no bar")
    return Table("The shapes in numbers", head, rows, (2,))


def _shape_row(column: ColumnProfile, records: int) -> tuple[str | Markup, ...]:
    bars = ", ".join(brief_percent(share) for share in _shares(column, records))
    hidden = (column.hidden + column.missing) / records
    return (join(column.name), bars or "not shown", brief_percent(hidden))
