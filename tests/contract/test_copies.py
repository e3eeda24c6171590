"""Copies of a release are the same rows whatever engine holds the table."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from discreet.errors import UsageError
from discreet.ledger import Ledger
from discreet.policy.schema import Formulas
from discreet.releases.delivery.copies import Copying
from discreet.releases.delivery.service import Registry
from discreet.releases.manifest import Manifest
from discreet.sources import Table, read
from tests.contract.readers import READERS
from tests.releases.delivery.test_copies import meant, numeric, spelt
from tests.releases.made import draft
from tests.releases.world import POLICY, World, town

ENGINES = [
    "parquet",
    "csv",
    "relation",
    "memory",
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("spark", marks=pytest.mark.spark),
]
NAMES = ["north", "south"]
COLUMNS = "zip, year, sex, illness, amount, day, note"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return town(tmp_path_factory.mktemp("town"), zips=5, years=4)


@pytest.fixture(params=ENGINES)
def table(request: pytest.FixtureRequest, world: World, tmp_path: Path) -> Table:
    match request.param:
        case "parquet":
            return world.again()
        case "csv":
            duckdb.sql(f"COPY (SELECT * FROM '{world.path}') TO '{tmp_path}/town.csv' (FORMAT csv, HEADER true)")
            return read(tmp_path / "town.csv", policy=POLICY)
        case "relation":
            return read(duckdb.connect().sql(f"SELECT * FROM '{world.path}'"), policy=POLICY)
        case "memory":
            rows = duckdb.sql(f"SELECT * FROM '{world.path}'").to_arrow_table()
            return READERS["memory"](request, tmp_path)(rows, POLICY)
        case "postgres":
            return in_postgres(world, request.getfixturevalue("postgres_url"))
    session = request.getfixturevalue("spark")
    return read(session.read.parquet(str(world.path)), policy=POLICY)


def in_postgres(world: World, url: str) -> Table:
    rows = duckdb.sql(f"SELECT * FROM '{world.path}'").fetchall()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS town")
        kinds = "name text, zip text, year smallint, sex text, illness text, amount float8, day date, note text"
        connection.execute(f"CREATE TABLE town ({kinds})")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO town VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", rows)
    return read(url, table="town", policy=POLICY)


def copied(table: Table, world: World, folder: Path, form: Any) -> tuple[Manifest, list[Any]]:
    with Ledger.open(folder / "store.db") as ledger:
        registry = Registry(ledger)
        manifest = draft(world, NAMES, key=registry.key("spring"))
        kept = registry.seal(manifest, actor="ann")
        work = Copying(registry, kept, manifest, table, str(folder / "out"), form, "ann")
        first = work.write(NAMES)
        again = Copying(registry, registry.require("spring"), manifest, table, str(folder / "out"), form, "ann")
        assert [(copy.file, copy.new) for copy in again.write(NAMES)] == [(copy.file, False) for copy in first]
    return manifest, first


def found(folder: Path, form: str) -> tuple[list[int], Counter[Any]]:
    data = folder / f"data.{form}"
    pattern = f"{data}/part-*" if data.is_dir() else str(data)
    source = f"read_parquet('{pattern}')" if form == "parquet" else f"read_csv('{pattern}', all_varchar = true)"
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        numbers = [int(row[0]) for row in connection.execute(f"SELECT row FROM {source}").fetchall()]
        rows = connection.execute(f"SELECT {COLUMNS} FROM {source}").fetchall()
    return numbers, Counter(tuple(map(spelt, row)) for row in rows)


@pytest.mark.parametrize(("form", "formulas"), [("parquet", "quote"), ("csv", "quote"), ("csv", "keep")])
def test_copies_are_the_same_rows_on_every_engine(
    table: Table, world: World, tmp_path: Path, form: str, formulas: Formulas
) -> None:
    assert table.policy is not None
    table = replace(table, policy=replace(table.policy, formulas=formulas))
    manifest, done = copied(table, world, tmp_path, form)
    for copy in done:
        numbers, rows = found(Path(copy.folder), form)
        assert sorted(numbers) == list(range(1, copy.rows + 1))
        assert numbers == sorted(numbers)
        people, decoys = meant(manifest, world, copy.recipient)
        wanted = numeric(people + decoys)
        if form == "csv" and formulas == "quote":
            wanted = Counter({(*row[:3], guarded(row[3]), *row[4:]): times for row, times in wanted.items()})
        assert numeric(rows) == wanted
        names = sorted(path.name for path in Path(copy.folder).iterdir() if not path.name.startswith("."))
        assert names == ["AGREEMENT.md", "README.md", f"data.{form}"]
        data = Path(copy.folder) / f"data.{form}"
        if data.is_file():
            assert hashlib.sha256(data.read_bytes()).hexdigest() == copy.file


def guarded(cell: str | None) -> str | None:
    return f"'{cell}" if cell and cell.startswith("=") else cell


@pytest.mark.spark
def test_a_folder_on_spark_that_is_taken_is_left_alone(spark: Any, world: World, tmp_path: Path) -> None:
    table = read(spark.read.parquet(str(world.path)), policy=POLICY)
    (tmp_path / "out" / "north").mkdir(parents=True)
    with pytest.raises(UsageError, match="exists already"):
        copied(table, world, tmp_path, "parquet")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["north"]
