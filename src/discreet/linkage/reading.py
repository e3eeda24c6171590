"""The one file of the comparison that opens tables: everything else is handed coded columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import ColumnError
from discreet.kernel import Coded


def columns_of(records: Any, names: Sequence[str]) -> dict[str, Coded]:
    """Some columns of records: dictionaries, columns, a frame, Arrow, a path, or a table that was read.

    A key that a dictionary does not have is a missing value; a column that no record has is an error.
    """
    if isinstance(records, Mapping):
        return {name: _coded(_required(records, name)) for name in names}
    if isinstance(records, Sequence) and not isinstance(records, str | bytes):
        return {name: _of_rows(records, name) for name in names}
    match type(records).__module__.partition(".")[0]:
        case "pandas":
            return {name: _pandas(_required(records, name)) for name in names}
        case "polars":
            frame = records.collect() if type(records).__name__ == "LazyFrame" else records
            return {name: Coded.of(_required(frame, name, frame.columns).to_list()) for name in names}
        case "pyarrow":
            return {name: _arrow(records, name) for name in names}
    return _of_table(records, names)


def _required(table: Any, name: str, names: Any = None) -> Any:
    if name not in (table if names is None else names):
        raise _no_column(name)
    return table[name]


def _of_rows(rows: Sequence[Any], name: str) -> Coded:
    if not all(isinstance(row, Mapping) for row in rows):
        raise ColumnError("A list of records holds something that is no dictionary.", remedy="Give one per record.")
    if rows and not any(name in row for row in rows):
        raise _no_column(name)
    return Coded.of([row.get(name) for row in rows])


def _coded(cells: Any) -> Coded:
    if isinstance(cells, Coded):
        return cells
    return Coded.of(cells.tolist() if isinstance(cells, np.ndarray) and cells.dtype.kind != "M" else list(cells))


def _pandas(column: Any) -> Coded:
    if hasattr(column, "cat"):
        values = [*column.cat.categories, None]
        codes = column.cat.codes.to_numpy().astype(np.int64)
        return Coded.merged(values, np.where(codes < 0, len(values) - 1, codes))
    return Coded.of(column.tolist())


def _arrow(table: Any, name: str) -> Coded:
    from discreet.sources.files import coded

    if name not in table.schema.names:
        raise _no_column(name)
    return coded(table.column(name))


def _of_table(table: Any, names: Sequence[str]) -> dict[str, Coded]:
    from discreet.sources import Table, read
    from discreet.sources.rows import fetch

    return fetch(table if isinstance(table, Table) else read(table), names)


def _no_column(name: str) -> ColumnError:
    return ColumnError(f"The records have no column '{name}'.", remedy="Check the names in kinds.")
