"""The rows of a few chosen classes, each cell as its engine types it. Whole tables are counted or exported instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.kernel import Recoding
from discreet.sources.table import Table

Cells = dict[str, list[Any]]


def rows_of(table: Table, recoding: Recoding, *, drop: Sequence[str] = ()) -> Cells:
    """The rows that a recoding publishes, column by column: recoded columns as published, others as they are.

    Rows come in no particular order, and columns in the order of the table.
    """
    from discreet.sources.duckdb.engine import DuckDBEngine, RelationEngine
    from discreet.sources.postgres.engine import PostgresEngine

    table.require([*recoding.names, *drop])
    engine: Any = table.engine
    if isinstance(engine, (DuckDBEngine, RelationEngine)):
        return _from_duckdb(engine, recoding, drop)
    if isinstance(engine, PostgresEngine):
        return _from_postgres(engine, recoding, drop)
    return _from_spark(engine, recoding, drop)


def _from_duckdb(engine: Any, recoding: Recoding, drop: Sequence[str]) -> Cells:
    from discreet.sources.duckdb.export import chosen, desk_of

    return _columns(*chosen(desk_of(engine), recoding, drop=drop))


def _from_postgres(engine: Any, recoding: Recoding, drop: Sequence[str]) -> Cells:
    from discreet.sources.postgres.export import chosen

    return _columns(*chosen(engine, recoding, drop=drop))


def _from_spark(engine: Any, recoding: Recoding, drop: Sequence[str]) -> Cells:
    from discreet.sources.spark.export import chosen

    found = chosen(engine, recoding, drop=drop)
    return {name: found.column(place).to_pylist() for place, name in enumerate(found.column_names)}


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Cells:
    cells = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: list(column) for name, column in zip(names, cells, strict=True)}
