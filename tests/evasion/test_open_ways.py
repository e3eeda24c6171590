"""Ways that led past the first design: effects of refused statements, tables of guesses, sums that differ by one person."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.evasion.test_evasion import patients_in
from tests.gateway.governed import CANARIES

pytestmark = pytest.mark.postgres
GUESSES = [(number, canary) for number in range(1, 21) for canary in CANARIES[:20]]
"""Every diagnosis for each of twenty patients, of whom a limit of 2 allows four."""


@pytest.fixture
def session(attacker: Callable[[], str]) -> Iterator[psycopg.Connection]:
    """A user with a table of guesses, in the session of the user alone."""
    with psycopg.connect(attacker(), autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE guess (id int, d text)")
        with connection.cursor().copy("COPY guess FROM STDIN") as copying:
            for guess in GUESSES:
                copying.write_row(guess)
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT array_agg(g.id || ':' || g.d) FROM guess g JOIN patients p ON p.id = g.id AND p.diagnosis = g.d",
        "SELECT g.id FROM guess g JOIN patients p ON p.id = g.id AND p.diagnosis = g.d",
        "SELECT count(*) FROM guess g WHERE EXISTS (SELECT 1 FROM patients p WHERE p.id = g.id AND p.diagnosis = g.d)",
        "UPDATE guess SET d = 'x' FROM patients p WHERE p.id = guess.id AND p.diagnosis = guess.d",
    ],
)
def test_a_table_of_guesses_tells_nothing(session: psycopg.Connection, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(statement)


def test_a_statement_that_was_refused_has_not_run(session: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("SELECT g.id FROM guess g JOIN patients p ON p.id = g.id AND p.diagnosis = g.d FOR UPDATE OF g")
    assert session.execute("SELECT id, d FROM guess WHERE xmax::text <> '0'").fetchall() == []


@pytest.mark.parametrize("condition", ["id <> {n}", "id + 0 <> {n}", "name <> 'name{n}'", "income <> 7000000{n}"])
def test_sums_may_not_differ_by_one_person(session: psycopg.Connection, condition: str) -> None:
    for number in range(1, 4):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(f"SELECT sum(income), count(*) FROM patients WHERE {condition.format(n=number)}")


def test_two_lists_side_by_side_have_no_common_order(session: psycopg.Connection) -> None:
    names = [name for (name,) in session.execute("SELECT name FROM patients").fetchall()]
    assert names != sorted(names, key=lambda name: int(name[4:]))
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        session.execute("SELECT diagnosis FROM patients")
    assert patients_in(str(caught.value)) == set()
