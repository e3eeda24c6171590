"""Rows as they are, for results small enough to be looked at row by row. Tables of people are counted instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.kernel import Coded
from discreet.sources import arrow
from discreet.sources.table import Table


def fetch(table: Table, names: Sequence[str]) -> dict[str, Coded]:
    """The cells of some columns in the order of the rows, coded as `Table.classes` codes them.

    PostgreSQL and Spark promise no order; theirs is the order in which the rows come.
    """
    from discreet.sources.duckdb.engine import DuckDBEngine, RelationEngine
    from discreet.sources.postgres.engine import PostgresEngine

    table.require(names)
    if not names:
        return {}
    engine: Any = table.engine
    if isinstance(engine, (DuckDBEngine, RelationEngine)):
        return _from_duckdb(engine, names)
    if isinstance(engine, PostgresEngine):
        return _from_postgres(engine, names)
    return _from_spark(engine, names)


def _from_duckdb(engine: Any, names: Sequence[str]) -> dict[str, Coded]:
    from discreet.sources.duckdb.engine import RELATION, DuckDBEngine, bare, cell, fetched, quote, translated

    with translated(engine.name):
        if isinstance(engine, DuckDBEngine):
            types = engine.types
            engine.connection.execute("SET preserve_insertion_order = true")
        else:
            types = dict(zip(engine.relation.columns, engine.relation.types, strict=True))
        kinds = {name: bare(types[name]) for name in names}
        columns = ", ".join(f"{quote(name)} AS c{place}" for place, name in enumerate(names))
        cells = ", ".join(cell(f"c{place}", kinds[name]) for place, name in enumerate(names))
        sql = f"SELECT {cells} FROM (SELECT {columns} FROM {RELATION})"
        if isinstance(engine, DuckDBEngine):
            found = engine.connection.execute(sql).fetchnumpy()
        else:
            found = engine.relation.query(RELATION, sql).fetchnumpy()
    return {name: fetched(found[f"c{place}"], kinds[name]) for place, name in enumerate(names)}


def _from_postgres(engine: Any, names: Sequence[str]) -> dict[str, Coded]:
    rows = engine.rows(names)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: Coded.of(cells) for name, cells in zip(names, columns, strict=True)}


def _from_spark(engine: Any, names: Sequence[str]) -> dict[str, Coded]:
    from discreet.sources.spark.engine import translated

    with translated("read"):
        found = engine.frame.select(*[engine.frame[f"`{name.replace('`', '``')}`"] for name in names]).toArrow()
    return {name: arrow.coded(found.column(place)) for place, name in enumerate(names)}
