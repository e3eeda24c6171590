"""Reading of files, frames and databases: the only file of this room that opens them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.errors import ColumnError
from discreet.kernel import Classes, Coded, Countable
from discreet.misuse.source.columns import Cells, Columns, is_rows


def columns_of(table: Any) -> Columns:
    """A result as columns, whatever it is: dictionaries, columns, a frame, Arrow, a path, or a table that was read."""
    if isinstance(table, Columns):
        return table
    if is_rows(table):
        return Columns.of_rows(table)
    if isinstance(table, Mapping):
        return Columns.of_columns(table)
    match type(table).__module__.partition(".")[0]:
        case "pandas":
            places = {str(name): place for place, name in enumerate(table.columns)}
            names = [str(name) for name in table.columns]
            return _of_frame(names, len(table), lambda name: _pandas(table.iloc[:, places[name]]))
        case "polars":
            frame = _collected(table)
            return _of_frame(frame.columns, frame.height, lambda name: _polars(frame[name]))
        case "pyarrow":
            return _of_frame(table.schema.names, table.num_rows, lambda name: _arrow(table.column(name)))
    # A path, a URL, a relation or a `Table`; rows come in the order of the file.
    from discreet.sources import Table, read
    from discreet.sources.rows import fetch

    opened = table if isinstance(table, Table) else read(table)
    # All columns at once: a database may give its rows in another order when it is asked again.
    return Columns.of_columns(fetch(opened, opened.columns))


def countable(source: Any) -> Countable | Classes:
    """A source that can be counted: what already can, rows and columns in memory, else what `discreet.read` reads."""
    if isinstance(source, (Classes, Columns)):
        return source
    if is_rows(source):
        return Columns.of_rows(source)
    if isinstance(source, Mapping):
        return Columns.of_columns(source)
    if isinstance(source, Countable):
        return source
    from discreet.sources import read

    return read(_collected(source))


def _collected(frame: Any) -> Any:
    """A lazy frame of polars as a frame."""
    return frame.collect() if type(frame).__name__ == "LazyFrame" else frame


def _of_frame(names: Any, rows: int, decode: Any) -> Columns:
    if len(set(names)) < len(names):
        raise ColumnError("The result has two columns of the same name.", remedy="Give every column a name of its own.")
    return Columns(tuple(names), rows, decode)


def _pandas(column: Any) -> Cells:
    if hasattr(column, "cat"):
        values = [*column.cat.categories, None]
        codes = column.cat.codes.to_numpy().astype(np.int64)
        return Coded.merged(values, np.where(codes < 0, len(values) - 1, codes))
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufbM":
        return np.asarray(column.to_numpy())
    cells: list[Any] = column.tolist()
    return cells


def _polars(column: Any) -> Cells:
    if column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count():
        return np.asarray(column.to_numpy())
    cells: list[Any] = column.to_list()
    return cells


def _arrow(column: Any) -> Cells:
    import pyarrow as arrow

    from discreet.sources.files import coded

    kind = column.type
    if (arrow.types.is_integer(kind) or arrow.types.is_floating(kind)) and not column.null_count:
        return np.asarray(column.to_numpy())
    return coded(column)
