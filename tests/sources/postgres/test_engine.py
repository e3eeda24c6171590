"""What is particular to PostgreSQL: addressing, errors that keep secrets, counting inside the database."""

from __future__ import annotations

import psycopg
import pytest

import discreet
from discreet.errors import ColumnError, CountError, SourceNotFound, SourceUnreadable, UsageError

pytestmark = pytest.mark.postgres
POLICY = discreet.Policy.from_dict({"columns": {"sex": {"role": "quasi"}}})


@pytest.fixture
def people(postgres_url: str) -> str:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute("CREATE TABLE people (sex text, age int, secret text)")
        connection.execute("INSERT INTO people VALUES ('F', 39, 'CANARY'), ('F', 40, 'CANARY'), ('M', 41, 'CANARY')")
    return postgres_url


def with_options(url: str, options: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{options}"


@pytest.mark.parametrize("options", ["table=people", "table=public.people", "query=SELECT%20*%20FROM%20people%3B"])
def test_a_table_or_query_is_named_in_the_url(people: str, options: str) -> None:
    assert discreet.read(with_options(people, options), policy=POLICY).classes().sizes.tolist() == [2, 1]


def test_only_the_histogram_crosses_the_wire(people: str) -> None:
    with psycopg.connect(people, autocommit=True) as connection:
        connection.execute("TRUNCATE people")
        connection.execute(
            "INSERT INTO people SELECT CASE i % 2 WHEN 0 THEN 'F' ELSE 'M' END, i FROM generate_series(1, 100000) i"
        )
    classes = discreet.read(people, policy=POLICY, table="people").classes()
    assert classes.sizes.tolist() == [50_000, 50_000]


def test_nothing_can_be_written_through_a_query(people: str) -> None:
    table = None
    with pytest.raises(SourceUnreadable):
        table = discreet.read(people, query="DELETE FROM people RETURNING sex", policy=POLICY)
    assert table is None
    assert discreet.read(people, policy=POLICY, table="people").records == 3


def test_neither_or_both_of_table_and_query(people: str) -> None:
    with pytest.raises(UsageError):
        discreet.read(people, policy=POLICY)
    with pytest.raises(UsageError):
        discreet.read(people, policy=POLICY, table="people", query="SELECT 1")


def test_a_missing_table(people: str) -> None:
    with pytest.raises(SourceNotFound, match="nowhere"):
        discreet.read(people, policy=POLICY, table="nowhere")


def test_an_unreachable_server_keeps_the_password() -> None:
    with pytest.raises(SourceNotFound) as caught:
        discreet.read("postgresql://me:hunter2@127.0.0.1:1/db", policy=POLICY, table="people")
    assert "hunter2" not in f"{caught.value}{caught.value!r}"


def test_errors_of_the_server_do_not_quote_values(people: str) -> None:
    with pytest.raises(SourceUnreadable) as caught:
        discreet.read(people, policy=POLICY, query="SELECT secret::int AS sex FROM people").classes()
    assert "CANARY" not in str(caught.value)
    assert "22P02" in str(caught.value)


def test_columns_of_the_same_name(people: str) -> None:
    with pytest.raises(ColumnError):
        discreet.read(people, policy=POLICY, query="SELECT 'F' AS sex, 'M' AS sex")


def test_counts_must_be_of_a_number_type(people: str) -> None:
    policy = discreet.Policy.from_dict({"data": {"count": "secret"}, "columns": {"sex": {"role": "quasi"}}})
    with pytest.raises(CountError):
        discreet.read(people, policy=policy, table="people").classes()


def test_the_name_of_a_table_never_holds_the_url(people: str) -> None:
    assert people not in repr(discreet.read(people, policy=POLICY, table="people"))
