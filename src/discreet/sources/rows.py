"""Rows of a table: small results as they are, chosen classes, or into DuckDB."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.kernel import Coded, Recoding
from discreet.sources import files
from discreet.sources.duckdb.engine import RELATION, DuckDBEngine, RelationEngine, connect, literal, quote, translated
from discreet.sources.duckdb.export import POSTGRES_CSV, BorrowedDesk, DuckDBDesk, PrivateDesk
from discreet.sources.postgres.engine import PostgresEngine
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
        rows = engine.rows(names)
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return {name: Coded.of(cells) for name, cells in zip(names, columns, strict=True)}
    from discreet.sources.spark.engine import translated

    with translated("read"):
        found = engine.frame.select(*[engine.frame[f"`{name.replace('`', '``')}`"] for name in names]).toArrow()
    return {name: files.coded(found.column(place)) for place, name in enumerate(names)}


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


# The rows of a few chosen classes, each cell as its engine types it. Whole tables are counted or exported instead.
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
        from discreet.sources.duckdb.export import chosen, desk_of

        return _columns(*chosen(desk_of(engine), recoding, drop=drop))
    if isinstance(engine, PostgresEngine):
        return _chosen_from_postgres(engine, recoding, drop)
    return _chosen_from_spark(engine, recoding, drop)


def _chosen_from_postgres(engine: Any, recoding: Recoding, drop: Sequence[str]) -> Cells:
    from discreet.sources.postgres.export import chosen

    return _columns(*chosen(engine, recoding, drop=drop))


def _chosen_from_spark(engine: Any, recoding: Recoding, drop: Sequence[str]) -> Cells:
    from discreet.sources.spark.export import chosen

    found = chosen(engine, recoding, drop=drop)
    return {name: found.column(place).to_pylist() for place, name in enumerate(found.column_names)}


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Cells:
    cells = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: list(column) for name, column in zip(names, cells, strict=True)}


# The rows of any table on a DuckDB connection of this process, where they can be rearranged without Python touching one.
#
# Files and frames are there already. Rows from PostgreSQL come as a CSV that the server writes, rows from Spark as Arrow.
@contextmanager
def local_desk(table: Table, names: Sequence[str]) -> Iterator[DuckDBDesk]:
    """A desk on which the table is called `source` and has at least these columns."""
    table.require(names)
    engine: Any = table.engine
    if isinstance(engine, DuckDBEngine):
        yield PrivateDesk(engine.name, engine.types, engine.connection)
    elif isinstance(engine, RelationEngine):
        types = dict(zip(engine.relation.columns, map(str, engine.relation.types), strict=True))
        yield BorrowedDesk(engine.name, types, engine.relation)
    elif isinstance(engine, PostgresEngine):
        with _postgres_to_duckdb(engine, names) as desk:
            yield desk
    else:
        with _spark_to_duckdb(engine, names) as desk:
            yield desk


@contextmanager
def _postgres_to_duckdb(engine: PostgresEngine, names: Sequence[str]) -> Iterator[DuckDBDesk]:
    from discreet.sources.export.recode import duckdb_type
    from discreet.sources.postgres.export import FAITHFUL

    kinds = {name: duckdb_type(engine.types[name]).replace("BLOB", "VARCHAR") for name in names}
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder, connect() as own:
        rows = Path(folder) / "rows.csv"
        columns = ", ".join(quote(name) for name in names)
        with (
            engine.transaction() as cursor,
            rows.open("wb") as file,
            cursor.execute(FAITHFUL).copy(
                f"COPY (SELECT {columns} FROM {engine.relation}) TO STDOUT (FORMAT csv)"
            ) as came,
        ):
            for block in came:
                file.write(block)
        with translated(engine.name):
            own.execute(f"CREATE VIEW {RELATION} AS {_read(rows, kinds)}")
        yield PrivateDesk(engine.name, kinds, own)


def _read(rows: Path, kinds: dict[str, str]) -> str:
    columns = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in kinds.items())
    return f"SELECT * FROM read_csv({literal(str(rows))}, {POSTGRES_CSV}, columns = {{{columns}}})"


@contextmanager
def _spark_to_duckdb(engine: Any, names: Sequence[str]) -> Iterator[DuckDBDesk]:
    from discreet.sources.spark.engine import translated as spark_translated

    with spark_translated("read"):
        came = engine.frame.select(*[engine.frame[f"`{name.replace('`', '``')}`"] for name in names]).toArrow()
    held = DuckDBEngine.from_frame(came)
    yield PrivateDesk(engine.name, held.types, held.connection)
