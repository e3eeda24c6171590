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
    """The cells of some columns, row by row, coded as `Table.classes` codes them.

    Files keep the order of their rows. PostgreSQL and Spark promise none.
    """
    table.require(names)
    return table.engine.fetch(names) if names else {}


def rows_of(table: Table, recoding: Recoding, *, drop: Sequence[str] = ()) -> Cells:
    """The rows that a recoding publishes, column by column.

    Recoded columns are as published, others as they are. Rows come in no particular order, and columns in the order
    of the table.
    """
    table.require([*recoding.names, *drop])
    return table.engine.chosen(recoding, drop=drop)


def local_desk(table: Table, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
    """A desk with at least these columns of the table, called `source`."""
    table.require(names)
    return table.engine.desk(names)
