"""Puts one and the same Arrow table onto every engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars
import psycopg
import pyarrow
import pyarrow.parquet
import pytest

import discreet
from discreet import sources
from tests.contract.memory.rows import MemoryRows

Reader = Callable[[pyarrow.Table, discreet.Policy | None], discreet.Table]
POSTGRES, SPARK = pytest.mark.postgres, pytest.mark.spark
LOCAL = ("csv", "csv.gz", "parquet", "arrow", "pandas", "polars", "relation", "memory", "ibis-sqlite")
SERVERS = [pytest.param("postgres", marks=POSTGRES), pytest.param("spark", marks=SPARK)]
ENGINES = [*LOCAL, *SERVERS]
"""Whatever can be read: for tests of reading and counting."""
TYPELESS, TYPED = "csv", "pandas"
IBIS = ["ibis-sqlite", pytest.param("ibis-duckdb", marks=pytest.mark.slow)]
HOLDERS = [TYPELESS, TYPED, "memory", *IBIS, *SERVERS]
"""Each engine once, DuckDB with cells of text and with cells that have types: for all that comes after reading."""


def file_reader(suffix: str) -> Callable[[pytest.FixtureRequest, Path], Reader]:
    def build(_: pytest.FixtureRequest, folder: Path) -> Reader:
        def read(table: pyarrow.Table, policy: discreet.Policy | None) -> discreet.Table:
            path = folder / f"people.{suffix}"
            duckdb.connect().from_arrow(table).write_parquet(str(path)) if suffix == "parquet" else write_csv(
                table, path
            )
            return discreet.read(path, policy=policy)

        return read

    return build


def write_csv(table: pyarrow.Table, path: Path) -> None:
    connection = duckdb.connect()
    connection.register("handed", table)
    compression = "gzip" if path.suffix == ".gz" else "none"
    connection.execute(f"COPY handed TO '{path}' (HEADER, DELIMITER ';', COMPRESSION {compression})")


def frame_reader(convert: Callable[[pyarrow.Table], Any]) -> Callable[[pytest.FixtureRequest, Path], Reader]:
    return lambda _request, _folder: lambda table, policy: discreet.read(convert(table), policy=policy)


def relation(table: pyarrow.Table) -> Any:
    return duckdb.connect().from_arrow(table)


def memory_reader(request: pytest.FixtureRequest, _: Path) -> Reader:
    """The fourth engine, which becomes one of the product by its folder alone."""
    monkeypatch = request.getfixturevalue("monkeypatch")
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(Path(__file__).parent)])
    return lambda table, policy: discreet.read(MemoryRows.of(table), policy=policy)


def ibis_reader(name: str) -> Callable[[pytest.FixtureRequest, Path], Reader]:
    """A database that Ibis reaches; SQLite by its URL, as most people would name one."""

    def build(_: pytest.FixtureRequest, folder: Path) -> Reader:
        def read(table: pyarrow.Table, policy: discreet.Policy | None) -> discreet.Table:
            if name == "duckdb":
                import ibis  # takes more than a second

                backend = ibis.duckdb.connect()
                backend.con.register("handed", table)
                backend.raw_sql("CREATE TABLE people AS SELECT * FROM handed")
                return discreet.read(backend.table("people"), policy=policy)
            load_sqlite(folder / "people.db", table)
            return discreet.read(f"sqlite://{folder}/people.db?table=people", policy=policy)

        return read

    return build


def load_sqlite(path: Path, table: pyarrow.Table) -> None:
    path.unlink(missing_ok=True)
    kinds = {
        "string": "TEXT",
        "large_string": "TEXT",
        "int32": "INTEGER",
        "int64": "INTEGER",
        "double": "REAL",
        "date32[day]": "DATE",
        "decimal128(6, 2)": "DECIMAL(6,2)",
        "bool": "BOOLEAN",
    }
    declared = ", ".join('"' + field.name.replace('"', '""') + f'" {kinds[str(field.type)]}' for field in table.schema)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE people ({declared})")
        cells = [
            [str(cell) if isinstance(cell, (date, Decimal)) else cell for cell in row.values()]
            for row in table.to_pylist()
        ]
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * table.num_columns)})", cells)


def postgres_reader(request: pytest.FixtureRequest, _: Path) -> Reader:
    url = request.getfixturevalue("postgres_url")

    def read(table: pyarrow.Table, policy: discreet.Policy | None) -> discreet.Table:
        load_postgres(url, table)
        return discreet.read(url, policy=policy, table="Room 1.people")

    return read


def load_postgres(url: str, table: pyarrow.Table) -> None:
    kinds = {
        "string": "text",
        "large_string": "text",
        "int32": "int4",
        "int64": "int8",
        "double": "float8",
        "date32[day]": "date",
        "decimal128(6, 2)": "numeric(6,2)",
        "bool": "boolean",
    }
    columns = [(field.name.replace('"', '""'), kinds[str(field.type)]) for field in table.schema]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute('DROP SCHEMA IF EXISTS "Room 1" CASCADE')
        connection.execute('CREATE SCHEMA "Room 1"')
        declared = ", ".join(f'"{name}" {kind}' for name, kind in columns)
        connection.execute(f'CREATE TABLE "Room 1".people ({declared})'.encode())
        holes = ", ".join(["%s"] * len(columns))
        rows = [tuple(row.values()) for row in table.to_pylist()]
        connection.cursor().executemany(f'INSERT INTO "Room 1".people VALUES ({holes})'.encode(), rows)


def spark_reader(request: pytest.FixtureRequest, folder: Path) -> Reader:
    session = request.getfixturevalue("spark")

    def read(table: pyarrow.Table, policy: discreet.Policy | None) -> discreet.Table:
        pyarrow.parquet.write_table(table, folder / "people.parquet")
        return discreet.read(session.read.parquet(str(folder / "people.parquet")), policy=policy)

    return read


READERS: dict[str, Callable[[pytest.FixtureRequest, Path], Reader]] = {
    "csv": file_reader("csv"),
    "csv.gz": file_reader("csv.gz"),
    "parquet": file_reader("parquet"),
    "arrow": frame_reader(lambda table: table),
    "pandas": frame_reader(lambda table: table.to_pandas()),
    "polars": frame_reader(polars.from_arrow),
    "relation": frame_reader(relation),
    "memory": memory_reader,
    "ibis-duckdb": ibis_reader("duckdb"),
    "ibis-sqlite": ibis_reader("sqlite"),
    "postgres": postgres_reader,
    "spark": spark_reader,
}
