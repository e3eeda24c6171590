"""Input tables: results and sources read from frames, files, databases and joins as columns.

The only file of this room that opens files and databases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import ColumnError, UsageError
from discreet.kernel import Classes, Coded, Countable
from discreet.kernel.arrays import Ints, Label
from discreet.misuse.result_formats import Cells, Columns, collected, is_rows, labels

Side = tuple[str, str]
"""A table and one of its columns."""


def columns_of(table: Any) -> Columns:
    """A result as columns: dictionaries, columns, a frame, Arrow, a path, or a table."""
    columns = _in_memory(table)
    if columns is not None:
        return columns
    library = type(table).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow"):
        frame = collected(table)
        names = [str(name) for name in (frame.schema.names if library == "pyarrow" else frame.columns)]
        if len(set(names)) < len(names):
            raise ColumnError(
                "The result has two columns of the same name.", remedy="Give every column a name of its own."
            )
        return Columns(
            tuple(names),
            frame.num_rows if library == "pyarrow" else len(frame),
            lambda name: _cells(frame, library, names.index(name)),
        )
    # A path, a URL, a relation or a `Table`; rows come in the order of the file.
    from discreet.sources import Table, read
    from discreet.sources.table_rows import fetch

    opened = table if isinstance(table, Table) else read(table)
    # All columns at once: a database may give its rows in another order when it is asked again.
    return Columns.of_columns(fetch(opened, opened.columns))


def countable(source: Any) -> Countable | Classes:
    """Source that can be counted: in memory, or opened by `discreet.read`."""
    columns = _in_memory(source)
    if columns is not None:
        return columns
    if isinstance(source, (Classes, Countable)):
        return source
    from discreet.sources import read

    return read(collected(source))


def _in_memory(table: Any) -> Columns | None:
    if isinstance(table, Columns):
        return table
    if is_rows(table):
        return Columns.of_rows(table)
    return Columns.of_columns(table) if isinstance(table, Mapping) else None


def _cells(frame: Any, library: str, place: int) -> Cells:
    """Column of a frame: an array of numbers, codes, or a list."""
    if library == "pandas":
        column = frame.iloc[:, place]
        if hasattr(column, "cat"):
            values = [*column.cat.categories, None]
            codes = column.cat.codes.to_numpy().astype(np.int64)
            return Coded.merged(values, np.where(codes < 0, len(values) - 1, codes))
        plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufbM"
        return np.asarray(column.to_numpy()) if plain else list(column.tolist())
    if library == "polars":
        column = frame.to_series(place)
        plain = column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count()
        return np.asarray(column.to_numpy()) if plain else list(column.to_list())
    import pyarrow as arrow

    from discreet.sources.files.parquet import coded

    column = frame.column(place)
    plain = arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)
    return np.asarray(column.to_numpy()) if plain and not column.null_count else coded(column)


# Several tables about the same entities: JT = PT join T1 .. Tn, scored entity by entity. Per entity the weights of its
# *distinct* sensitive values over all its rows are added up; its D is the least D of its rows; r is the number of entities.
def join(tables: Mapping[str, Any], on: Sequence[str]) -> Columns:
    """Join tables over declared keys; all rows of the first table stay.

    `on` holds conditions such as "customers.id = bills.customer"; each table but the first is reached by one of them,
    from a table before it. Columns keep their names; a name that several tables have is written "table.column".

    >>> people = [{"id": 1, "job": "Lawyer"}, {"id": 2, "job": "Teacher"}]
    >>> bills = [{"customer": 1, "bill": 100}, {"customer": 1, "bill": 900}]
    >>> joined = join({"people": people, "bills": bills}, on=["people.id = bills.customer"])
    >>> joined.names, joined.cells("bill")
    (('id', 'job', 'customer', 'bill'), ['100', '900', None])
    """
    opened = {name: columns_of(table) for name, table in tables.items()}
    if not opened:
        raise UsageError("There is nothing to join.", remedy='join({"people": ..., "bills": ...}, on=[...])')
    conditions: list[tuple[Side, Side]] = []
    for written in on:
        sides: list[Side] = []
        for part in written.split("="):
            table, _, column = part.strip().partition(".")
            if table not in opened:
                raise UsageError(f"There is no table '{table}' to join.", remedy=f"Known: {', '.join(opened)}.")
            if column not in opened[table].names:
                raise ColumnError(
                    f"Table '{table}' has no column '{column}'.", remedy="Check the names of the columns."
                )
            sides.append((table, column))
        if len(sides) != 2 or sides[0][0] == sides[1][0]:
            raise UsageError(f"'{written}' joins no two tables.", remedy="Write: customers.id = bills.customer")
        conditions.append((sides[0], sides[1]))
    places = _places(opened, conditions)
    times = Counter(name for columns in opened.values() for name in columns.names)
    names = {
        name if times[name] == 1 else f"{table}.{name}": (table, name)
        for table, columns in opened.items()
        for name in columns.names
    }

    def decode(name: str) -> list[Label]:
        table, column = names[name]
        cells = [*labels(opened[table].cells(column)), None]
        return [cells[place] for place in places[table].tolist()]

    return Columns(tuple(names), len(next(iter(places.values()))), decode)


def _places(tables: Mapping[str, Columns], conditions: Sequence[tuple[Side, Side]]) -> dict[str, Ints]:
    """Row of each table in each row of the join, or -1."""
    first, *rest = tables
    places = {first: np.arange(tables[first].rows)}
    for name in rest:
        links = [pair if pair[1][0] == name else pair[::-1] for pair in conditions if name in (pair[0][0], pair[1][0])]
        links = [(near, far) for near, far in links if near[0] in places]
        if len(links) != 1:
            raise UsageError(
                f"Table '{name}' is reached by {len(links)} conditions from the tables before it.",
                remedy="Declare exactly one, such as customers.id = bills.customer; order the tables from the first outwards.",
            )
        (near, near_column), (_, far_column) = links[0]
        rows_of: dict[Label, list[int]] = {}
        for row, key in enumerate(labels(tables[name].cells(far_column))):
            if key is not None:
                rows_of.setdefault(key, []).append(row)
        keys = [*labels(tables[near].cells(near_column)), None]
        # Each row of the join so far, as often as it has matches; rows without a match stay.
        matches = [rows_of.get(keys[at], [-1]) for at in places[near].tolist()]
        repeat = np.repeat(np.arange(len(matches)), np.array([len(rows) for rows in matches], dtype=np.int64))
        joined = np.array([row for rows in matches for row in rows], dtype=np.int64)
        places = {table: its[repeat] for table, its in places.items()} | {name: joined}
    return places
