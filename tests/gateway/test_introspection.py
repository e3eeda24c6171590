"""Which tables are governed where the policy names none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import PolicyError
from discreet.gateway import Upstream
from discreet.gateway.introspection import find_governed
from discreet.policy import Policy
from tests.gateway.governed import Guarding, connected

WARD = """
DROP SCHEMA IF EXISTS "Ward" CASCADE; CREATE SCHEMA "Ward";
CREATE TABLE "Ward".people ("Number" int PRIMARY KEY, name text, zip text, diagnosis text);
INSERT INTO "Ward".people SELECT g, 'name' || g, '1' || g % 3, 'secret' || g FROM generate_series(1, 60) g;
CREATE TABLE "Ward".more (person int PRIMARY KEY REFERENCES "Ward".people, diagnosis text);
CREATE TABLE "Ward".stays (stay int PRIMARY KEY, "to" int REFERENCES "Ward".more, diagnosis text, ward text);
CREATE TABLE "Ward".bills (bill int PRIMARY KEY, stay int REFERENCES "Ward".stays, diagnosis text);
CREATE TABLE "Ward".heap (diagnosis text, zip text);
CREATE TABLE "Ward".friends (id int PRIMARY KEY, friend int REFERENCES "Ward".friends, name text);
CREATE TABLE "Ward".towns (zip text PRIMARY KEY, town text);
CREATE TABLE "Ward".parts (id int, diagnosis text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE "Ward".part_one PARTITION OF "Ward".parts FOR VALUES FROM (0) TO (100);
"""
POLICY = """
[columns.name]
role = "identifier"
[columns.zip]
role = "quasi"
[columns.diagnosis]
role = "sensitive"
[misuse]
limit = 1.0
"""


@pytest.fixture
def ward(postgres_url: str) -> Iterator[str]:
    with connected(postgres_url) as connection:
        connection.execute("SET client_min_messages TO error")
        connection.execute(WARD.encode())
        yield postgres_url
        connection.execute('DROP SCHEMA "Ward" CASCADE')


def test_tables_are_found_by_their_columns_and_people_by_keys(ward: str) -> None:
    with connected(ward) as connection, connection.cursor() as cursor:
        found = find_governed(cursor, Policy.parse(POLICY))
    told = {name: (table.key, table.entity) for name, table in found.items() if name.startswith("Ward.")}
    assert told == {
        "Ward.people": (("Number",), "Ward.people"),
        "Ward.more": (("person",), "Ward.people"),
        "Ward.stays": (("to",), "Ward.people"),
        "Ward.bills": (("bill",), "Ward.bills"),
        "Ward.heap": ((), "Ward.heap"),
        "Ward.friends": (("id",), "Ward.friends"),
        "Ward.parts": (("id",), "Ward.parts"),
    }
    people = found["Ward.people"]
    assert (people.identifiers, people.quasi, people.sensitive) == (("name",), ("zip",), ("diagnosis",))


def test_a_column_with_weights_is_sensitive(ward: str) -> None:
    policy = Policy.parse("[sensitivity.town]\notherwise = 1.0\n[misuse]\nlimit = 1\n")
    with connected(ward) as connection, connection.cursor() as cursor:
        assert find_governed(cursor, policy)["Ward.towns"].sensitive == ("town",)


def test_what_is_found_is_governed_and_so_is_what_comes_later(ward: str, upstream: Upstream, tmp_path: Path) -> None:
    import psycopg

    policy = Policy.parse(POLICY + '[gateway]\nmode = "enforce"\nexempt = ["postgres"]\n')
    with connected(ward) as direct:
        direct.execute("""DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'walter') THEN
          CREATE ROLE walter LOGIN; END IF; END $$""")
        direct.execute(
            'REVOKE ALL ON ALL TABLES IN SCHEMA "Ward" FROM walter; GRANT USAGE ON SCHEMA "Ward" TO walter;'
            'GRANT REFERENCES (name) ON "Ward".people TO walter'
        )
    with (
        Guarding(upstream, ward, tmp_path / "store.db", policy) as guarding,
        connected(guarding.url("walter")) as client,
        connected(ward) as direct,
    ):
        assert len(client.execute('SELECT "Number", name FROM "Ward".people').fetchall()) == 60
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="your limit is 1"):
            client.execute('SELECT name, diagnosis FROM "Ward".people')
        direct.execute('CREATE TABLE "Ward".late AS SELECT * FROM "Ward".people')
        direct.execute('GRANT REFERENCES (name) ON "Ward".late TO walter')
        asyncio.run_coroutine_threadsafe(guarding.governor.look_again(), guarding.loop).result(10)
        assert len(client.execute('SELECT name FROM "Ward".late').fetchall()) == 60
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            client.execute('SELECT * FROM "Ward".late')


def test_a_database_without_such_columns_is_not_taken_for_governed(
    postgres_url: str, upstream: Upstream, tmp_path: Path
) -> None:
    policy = Policy.parse('[columns.nowhere_to_be_found]\nrole = "sensitive"\n[misuse]\nlimit = 1\n')
    with (
        pytest.raises(PolicyError, match="no table of the database"),
        Guarding(upstream, postgres_url, tmp_path / "store.db", policy),
    ):
        pass
