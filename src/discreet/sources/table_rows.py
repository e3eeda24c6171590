"""Rows of a table, for results small enough to be looked at row by row.

Whole tables are counted or exported instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from discreet.kernel import Coded, Recoding
from discreet.sources.engine import Cells
from discreet.sources.table import Table

if TYPE_CHECKING:
    from discreet.sources.duckdb_scratch import DuckDBDesk


def fetch(table: Table, names: Sequence[str]) -> dict[str, Coded]:
    """The cells of some columns, row by row: see `Engine.fetch`."""
    table.require(names)
    return table.engine.fetch(names) if names else {}


def rows_of(table: Table, recoding: Recoding, *, drop: Sequence[str] = ()) -> Cells:
    """The rows that a recoding publishes, column by column: see `Engine.chosen`."""
    table.require([*recoding.names, *drop])
    return table.engine.chosen(recoding, drop=drop)


def local_desk(table: Table, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
    """A DuckDB connection on which at least these columns of the table are the table `source`."""
    table.require(names)
    return table.engine.desk(names)
