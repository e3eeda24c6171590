"""What is kept of each column, and at which level it is published."""

from __future__ import annotations

from discreet.report.anonymised.case import Case, Kept
from discreet.report.charts.bars import Bar, Group
from discreet.report.components import Figure, Table
from discreet.report.toolkit.html import join
from discreet.report.toolkit.words import listed, plural
from discreet.wording import brief_percent, percent


def kept(case: Case) -> Figure:
    """Per column, the share of its information that is kept, with its level."""
    return Figure(
        key="kept",
        title="What is kept of each column",
        about=_about(case),
        reading=_reading(case),
        groups=(Group(tuple(_bar(column, case) for column in case.columns)),),
        table=_table(case),
    )


def _about(case: Case) -> str:
    shares = [f"{column.name} {brief_percent(column.share)}" for column in case.columns]
    return f"Kept of {plural(len(shares), 'column', 'columns')}: {listed(shares, most=12)}."


def _reading(case: Case) -> tuple[str, ...]:
    full = "A full bar is a column as it was; an empty one says nothing any more."
    levels = (
        "Values were recoded class by class, so that a column has no single level."
        if case.by_class
        else "The chips are the steps that its hierarchy offers, filled as far as they were taken: level 0 is the value itself."
    )
    return (full, levels, *_left_out(case))


def _left_out(case: Case) -> tuple[str, ...]:
    if not case.suppressed:
        return ()
    share = percent(1 - case.suppressed / case.records)
    return (f"Ticks mark the {share} of people who are published: more can be kept of no column.",)


def _bar(column: Kept, case: Case) -> Bar:
    return Bar(
        column.name,
        brief_percent(column.share),
        column.share,
        note=_standing(column),
        mark=1 - case.suppressed / case.records if case.suppressed else None,
        steps=None if column.level is None else (column.level, column.top),
    )


def _standing(column: Kept) -> str:
    if column.untouched:
        return f"{_level(column)}, as it was"
    return f"{_level(column)}, one value for all" if column.after == 1 else _level(column)


def _level(column: Kept) -> str:
    return "by class" if column.level is None else f"level {column.level} of {column.top}"


def _table(case: Case) -> Table:
    head = ("Column", "Level", "Kept", "Values before", "Values published")
    rows = tuple(
        (
            join(column.name),
            _standing(column),
            brief_percent(column.share),
            f"{column.before:,}",
            f"{column.after:,}",
        )
        for column in case.columns
    )
    return Table("What is kept of each column", head, rows, (2, 3, 4))
