"""Ways around the gateway that are open: what the page of limitations says of it is so.

A test here that fails is good news. Take what it shows off the page, and move the way to those that are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.gateway.governed import CANARIES

pytestmark = pytest.mark.postgres
GUESSES = [(number, canary) for number in range(1, 21) for canary in CANARIES[:20]]
"""Every diagnosis for each of twenty patients, of whom a limit of 2 allows four."""
TRUE = set(enumerate(CANARIES[:20], start=1))


@pytest.fixture
def session(attacker: Callable[[], str]) -> Iterator[psycopg.Connection]:
    """A user with a table of guesses, in the session of the user alone."""
    with psycopg.connect(attacker(), autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE guess (id int, d text)")
        with connection.cursor().copy("COPY guess FROM STDIN") as copying:
            for guess in GUESSES:
                copying.write_row(guess)
        yield connection


def test_a_table_of_guesses_tells_every_diagnosis(session: psycopg.Connection) -> None:
    matched = "FROM guess g JOIN patients p ON p.id = g.id AND p.diagnosis = g.d"
    found = session.execute(f"SELECT array_agg(g.id || ':' || g.d) {matched}").fetchone()
    assert found is not None
    assert {(int(one.split(":")[0]), one.split(":")[1]) for one in found[0]} == TRUE


def test_a_statement_that_was_refused_has_run(session: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("SELECT g.id FROM guess g JOIN patients p ON p.id = g.id AND p.diagnosis = g.d FOR UPDATE OF g")
    assert set(session.execute("SELECT id, d FROM guess WHERE xmax::text <> '0'").fetchall()) == TRUE


def test_sums_that_differ_by_one_person_tell_that_person(session: psycopg.Connection) -> None:
    def total(condition: str) -> int:
        found = session.execute(f"SELECT sum(income), count(*) FROM patients WHERE {condition}").fetchone()
        assert found is not None
        return int(found[0])

    everybody = total("true")
    assert [everybody - total(f"id <> {number}") for number in range(1, 21)] == [70_000_000 + n for n in range(1, 21)]
