"""Rows of a table: whole columns, chosen classes, or onto a DuckDB desk.

Whole tables are counted or exported instead; these are for results small enough to be looked at row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from discreet.kernel import Coded, Recoding
from discreet.sources.desk import DuckDBDesk
from discreet.sources.engine import Cells
from discreet.sources.table import Table

__all__ = ["Cells", "fetch", "local_desk", "rows_of"]


def fetch(table: Table, names: Sequence[str]) -> dict[str, Coded]:
    """The cells of some columns in the order of the rows, coded as `Table.classes` codes them.

    PostgreSQL and Spark promise no order; theirs is the order in which the rows come.
    """
    table.require(names)
    return table.engine.fetch(names) if names else {}


def rows_of(table: Table, recoding: Recoding, *, drop: Sequence[str] = ()) -> Cells:
    """The rows that a recoding publishes, column by column: recoded columns as published, others as they are.

    Rows come in no particular order, and columns in the order of the table.
    """
    table.require([*recoding.names, *drop])
    return table.engine.chosen(recoding, drop=drop)


def local_desk(table: Table, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
    """A desk on which the table is called `source` and has at least these columns."""
    table.require(names)
    return table.engine.desk(names)
