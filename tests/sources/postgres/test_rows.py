"""What is particular to tables in PostgreSQL: one transaction, types, permissions, and secrets that stay secret."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import psycopg
import pyarrow
import pyarrow.parquet
import pytest

import discreet
from discreet.errors import DataError, DiscreetError, IntegrityError, SourceNotFound, UsageError
from discreet.kernel import Classes, Recoding
from discreet.sources.export.recode import Outline
from discreet.sources.postgres import rows as reading
from discreet.sources.postgres.engine import PostgresEngine
from tests.servers import fresh_database

pytestmark = pytest.mark.postgres
KINDS = {
    "sex": ("text", "F"),
    "small": ("int2", 1),
    "large": ("int8", 2**40),
    "real": ("float4", 0.5),
    "double": ("float8", 0.1),
    "exact": ("numeric(10,3)", Decimal("1.500")),
    "free": ("numeric", Decimal("12345678901234567890.123456789012345678901234567890")),
    "ok": ("boolean", True),
    "day": ("date", datetime.date(2000, 2, 29)),
    "hour": ("time", datetime.time(12, 30, 1)),
    "moment": ("timestamp", datetime.datetime(2000, 2, 29, 12, 30, 1, 5)),
    "instant": ("timestamptz", datetime.datetime(2000, 2, 29, 12, 30, tzinfo=datetime.UTC)),
    "key": ("uuid", uuid.UUID(int=7)),
    "raw": ("bytea", b"\x00\xff"),
    "several": ("int4[]", [1, 2]),
    "empty": ("text", ""),
}
POLICY = discreet.Policy.from_dict(
    {"columns": {**{name: {"role": "other"} for name in (*KINDS, "age", "secret", "note")}, "sex": {"role": "quasi"}}}
)


@pytest.fixture(scope="module")
def postgres_url(postgres_url: str) -> Iterator[str]:
    """A database that no other test has left anything in."""
    with fresh_database(postgres_url) as url:
        yield url


@pytest.fixture
def server(postgres_url: str) -> Iterator[Any]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS released CASCADE")
        connection.execute("CREATE SCHEMA released")
        connection.execute("DROP TABLE IF EXISTS people, published CASCADE")
        connection.execute("CREATE TABLE people (sex text, age int, secret text)")
        connection.execute("INSERT INTO people VALUES ('F', 39, 'CANARY'), ('F', 40, 'CANARY'), ('M', 41, 'CANARY')")
        yield connection


def at(url: str, table: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}table={table}"


def as_it_is(table: discreet.Table) -> Recoding:
    return Recoding.of_levels(table.classes(), {}, kept=np.ones(len(table.classes()), dtype=bool))


def tables(server: Any) -> list[str]:
    found = server.execute(
        "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname IN ('released', 'public')"
    )
    return sorted(name for (name,) in found)


def failure(url: str, target: str, **options: Any) -> DiscreetError:
    table = discreet.read(url, policy=POLICY, table="people")
    with pytest.raises(DiscreetError) as caught:
        table.export(as_it_is(table), target, **options)
    assert "CANARY" not in str(caught.value)
    assert caught.value.remedy
    return caught.value


def test_a_table_without_a_schema_goes_to_the_first_one(server: Any, postgres_url: str) -> None:
    table = discreet.read(postgres_url, policy=POLICY, table="people")
    assert table.export(as_it_is(table), at(postgres_url, "published")) == 3
    assert tables(server) == ["public.people", "public.published"]


def test_a_query_is_exported_like_a_table(server: Any, postgres_url: str) -> None:
    table = discreet.read(postgres_url, policy=POLICY, query="SELECT sex, age FROM people WHERE secret LIKE '%A%';")
    assert table.export(as_it_is(table), at(postgres_url, "released.published")) == 3
    assert server.execute("SELECT * FROM released.published ORDER BY age").fetchall() == [
        ("F", 39),
        ("F", 40),
        ("M", 41),
    ]


def test_a_query_that_writes_is_undone(server: Any, postgres_url: str, tmp_path: Path) -> None:
    server.execute(
        "CREATE OR REPLACE FUNCTION noted() RETURNS int LANGUAGE sql AS $$ INSERT INTO people VALUES ('F', 1) RETURNING 1 $$"
    )
    classes = discreet.read(postgres_url, policy=POLICY, table="people").classes()
    recoding = Recoding.of_levels(classes, {}, kept=np.ones(2, dtype=bool))
    sneaky = discreet.read(postgres_url, policy=POLICY, query="SELECT sex, noted() AS note FROM people")
    with pytest.raises(IntegrityError):
        sneaky.export(recoding, tmp_path / "a.csv")
    assert server.execute("SELECT COUNT(*) FROM people").fetchone() == (3,)


def test_a_refusal_inside_the_transaction_undoes_everything(server: Any, postgres_url: str) -> None:
    def refuse(_: Classes) -> None:
        assert tables(server) == ["public.people"]
        raise IntegrityError("No.", remedy="None.")

    failure(postgres_url, at(postgres_url, "released.published"), verify=refuse)
    assert tables(server) == ["public.people"]


def test_a_table_may_replace_its_own_source(server: Any, postgres_url: str) -> None:
    table = discreet.read(
        postgres_url,
        table="people",
        policy=discreet.Policy.from_dict(
            {"columns": {"sex": {"role": "quasi"}, "age": {"role": "other"}, "secret": {"role": "identifier"}}}
        ),
    )
    table.export(as_it_is(table), at(postgres_url, "people"), overwrite=True)
    assert server.execute("SELECT * FROM people WHERE sex = 'M'").fetchall() == [("M", 41)]


def test_what_is_in_the_way(server: Any, postgres_url: str) -> None:
    server.execute("CREATE VIEW released.published AS SELECT 1 AS x")
    target = at(postgres_url, "released.published")
    assert "overwrite" in failure(postgres_url, target).remedy
    assert isinstance(failure(postgres_url, target, overwrite=True), UsageError)
    server.execute("CREATE TABLE released.base AS SELECT 1 AS x")
    server.execute("CREATE VIEW released.leaning AS SELECT x FROM released.base")
    assert "depend" in str(failure(postgres_url, at(postgres_url, "released.base"), overwrite=True))
    assert tables(server) == ["public.people", "released.base"]


def test_a_table_that_appears_meanwhile_is_not_replaced(server: Any, postgres_url: str) -> None:
    def meanwhile(_: Classes) -> None:
        server.execute("CREATE TABLE released.published AS SELECT 1 AS x")

    assert isinstance(failure(postgres_url, at(postgres_url, "released.published"), verify=meanwhile), UsageError)
    assert server.execute("SELECT * FROM released.published").fetchall() == [(1,)]


@pytest.mark.parametrize("options", ["table=nowhere.published", "table=a.b.c", "table=.x", "query=SELECT%201", "x=1"])
def test_addresses_that_cannot_be(server: Any, postgres_url: str, options: str) -> None:
    error = failure(postgres_url, f"{postgres_url}{'&' if '?' in postgres_url else '?'}{options}")
    assert isinstance(error, UsageError)


def test_an_unreachable_server_keeps_the_password(server: Any, postgres_url: str) -> None:
    error = failure(postgres_url, "postgresql://me:hunter2@127.0.0.1:1/db?table=a.b")
    assert isinstance(error, SourceNotFound)
    assert "hunter2" not in f"{error}{error!r}"


def test_a_user_who_may_not_create(server: Any, postgres_url: str) -> None:
    server.execute("DROP ROLE IF EXISTS onlooker")
    server.execute("CREATE ROLE onlooker LOGIN")
    server.execute("GRANT SELECT ON people TO onlooker")
    parts = urlsplit(postgres_url)
    host = parts.netloc.rpartition("@")[2]
    guest = urlunsplit(parts._replace(netloc=f"onlooker@{host}"))
    try:
        error = failure(guest, at(guest, "released.published"))
    finally:
        server.execute("DROP OWNED BY onlooker; DROP ROLE onlooker")
    assert isinstance(error, UsageError)
    assert "CREATE" in error.remedy


@pytest.fixture
def typed(server: Any) -> None:
    server.execute("DROP TABLE IF EXISTS people")
    server.execute(f"CREATE TABLE people ({', '.join(f'{name} {kind}' for name, (kind, _) in KINDS.items())})")
    holes = ", ".join(["%s"] * len(KINDS))
    server.execute(f"INSERT INTO people VALUES ({holes})", [value for _, value in KINDS.values()])
    server.execute("INSERT INTO people VALUES ('F')")


def row(server: Any, table: str) -> dict[str, Any]:
    cursor = server.execute(f"SELECT * FROM {table} WHERE small IS NOT NULL")
    return dict(zip([column.name for column in cursor.description], cursor.fetchone(), strict=True))


@pytest.mark.usefixtures("typed")
def test_types_and_values_stay_in_a_table_beside_and_in_another_database(server: Any, postgres_url: str) -> None:
    server.execute("DROP DATABASE IF EXISTS elsewhere")
    server.execute("CREATE DATABASE elsewhere")
    elsewhere = urlunsplit(urlsplit(postgres_url)._replace(path="/elsewhere"))
    table = discreet.read(postgres_url, policy=POLICY, table="people")
    wanted = {name: value for name, (_, value) in KINDS.items()}
    assert table.export(as_it_is(table), at(postgres_url, "released.published")) == 2
    assert row(server, "released.published") == wanted
    assert table.export(as_it_is(table), at(elsewhere, "published")) == 2
    with psycopg.connect(elsewhere) as there:
        assert row(there, "published") == {**wanted, "several": "{1,2}"}
        kinds: dict[str, str] = dict(
            there.execute(
                "SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = 'published'"
            ).fetchall()
        )
    assert (kinds["exact"], kinds["instant"], kinds["raw"]) == ("numeric", "timestamptz", "bytea")
    server.execute("DROP DATABASE elsewhere WITH (FORCE)")


@pytest.mark.usefixtures("typed")
def test_types_and_values_stay_in_parquet_and_come_back(server: Any, postgres_url: str, tmp_path: Path) -> None:
    table = discreet.read(postgres_url, policy=POLICY, table="people")
    table.export(as_it_is(table), tmp_path / "a.parquet")
    written = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    kinds = {field.name: str(field.type) for field in written.schema}
    assert (kinds["small"], kinds["exact"], kinds["day"]) == ("int16", "decimal128(10, 3)", "date32[day]")
    assert (kinds["instant"], kinds["free"], kinds["raw"]) == ("timestamp[us, tz=UTC]", "string", "binary")
    back = discreet.read(tmp_path / "a.parquet", policy=POLICY)
    assert back.export(as_it_is(back), at(postgres_url, "released.published")) == 2
    wanted = {name: value for name, (_, value) in KINDS.items()}
    texts = {"several": "{1,2}", "free": str(wanted["free"])}
    assert row(server, "released.published") == {**wanted, **texts}


def test_values_that_postgresql_cannot_hold(server: Any, postgres_url: str) -> None:
    table = discreet.read(pyarrow.table({"sex": ["F"], "note": ["CANARY\0"]}), policy=POLICY)
    with pytest.raises(DataError) as caught:
        table.export(as_it_is(table), at(postgres_url, "released.published"))
    assert "CANARY" not in str(caught.value)
    assert tables(server) == ["public.people"]


def test_no_temporary_table_outlives_an_export(server: Any, postgres_url: str, tmp_path: Path) -> None:
    table = discreet.read(postgres_url, policy=POLICY, table="people")
    table.export(as_it_is(table), tmp_path / "a.csv")
    table.export(as_it_is(table), at(postgres_url, "released.published"))
    assert (
        server.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'discreet%' AND relname NOT LIKE 'discreet_version%'"
        ).fetchall()
        == []
    )


@pytest.mark.usefixtures("typed")
def test_values_of_every_type_find_their_class(postgres_url: str, tmp_path: Path) -> None:
    policy = discreet.Policy.from_dict({"columns": {name: {"role": "quasi"} for name in KINDS}})
    table = discreet.read(postgres_url, policy=policy, table="people")
    assert table.export(as_it_is(table), tmp_path / "a.parquet") == 2
    assert table.export(as_it_is(table), at(postgres_url, "released.published")) == 2


def test_classes_are_joined_once_all_codes_are_known(server: Any, postgres_url: str) -> None:
    """Otherwise the planner, which takes codes for independent, makes far more rows than there are."""
    server.execute("TRUNCATE people")
    server.execute(
        "INSERT INTO people SELECT (i % 97)::text, i % 89, (i % 83)::text FROM generate_series(1, 30000) AS i"
    )
    policy = discreet.Policy.from_dict({"columns": {name: {"role": "quasi"} for name in ("sex", "age", "secret")}})
    table = discreet.read(postgres_url, policy=policy, table="people")
    engine = table.engine
    assert isinstance(engine, PostgresEngine)
    outline = Outline.of(table.columns, as_it_is(table), drop=())
    with engine.source.transaction() as cursor:
        select = reading.recoded(engine.source, outline, cursor, str)
        plan = "\n".join(line for (line,) in cursor.execute(f"EXPLAIN {select}"))
    assert plan.startswith(("Hash Join", "Merge Join"))
    assert all(f"s.b{place} = k.b{place}" in plan or f"k.b{place} = s.b{place}" in plan for place in range(3))
    assert "Nested Loop" not in plan
