"""Concurrent writers never make a forbidden move, never lose one, and never make the same one twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, Text, insert, select

from discreet.errors import Outdated
from discreet.linkage.project import PROJECTS
from discreet.linkage.review.held_pair import ASSIGNMENTS
from discreet.releases.delivery.repository import COPIES
from discreet.store import Store
from discreet.store.gateway_limits import LIMITS, WITHDRAWALS
from discreet.store.transitions import StateMachine, update_one
from discreet.web.releases.store import PLANS
from tests.examples import examples

STATES = ("a", "b", "c", "d")
THING = Table("thing", MetaData(), Column("id", Integer, primary_key=True), Column("state", Text), Column("n", Integer))
HISTORY = Table(
    "thing_history",
    THING.metadata,
    Column("id", Integer, primary_key=True),
    Column("thing", Integer),
    Column("source", Text),
    Column("target", Text),
    sqlite_autoincrement=True,
)
MOVES = [(source, target) for source in STATES for target in STATES]
WRITERS = 4


def too_late() -> Outdated:
    return Outdated("Changed meanwhile.", remedy="Look again.")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with Store.open(store_url) as store:
        with store.writing() as connection:
            THING.metadata.create_all(connection)
        yield store


def new_thing(store: Store, state: str = "a") -> int:
    with store.writing() as connection:
        made = insert(THING).values(state=state, n=0).returning(THING.c.id)
        return int(connection.execute(made).scalar_one())


def thing(store: Store, number: int) -> tuple[str, int]:
    with store.reading() as connection:
        row = connection.execute(select(THING).where(THING.c.id == number)).one()
    return row.state, row.n


def history(store: Store, number: int) -> list[tuple[str, str]]:
    wanted = select(HISTORY.c.source, HISTORY.c.target).where(HISTORY.c.thing == number).order_by(HISTORY.c.id)
    with store.reading() as connection:
        return [(row.source, row.target) for row in connection.execute(wanted)]


@dataclass(frozen=True)
class Writer:
    """Attempts moves one after the other; what succeeds is written down in the same transaction."""

    store: Store
    machine: StateMachine
    number: int

    def __call__(self, moves: list[tuple[str, str]]) -> int:
        return sum(self.attempt(source, target) for source, target in moves)

    def attempt(self, source: str, target: str) -> bool:
        with self.store.writing() as connection:
            mine, counted = THING.c.id == self.number, THING.c.n + 1
            try:
                done = self.machine.attempt(connection, mine, to=target, was=[source], n=counted)
            except ValueError:
                assert target not in self.machine.transitions[source]
                return False
            if done:
                connection.execute(insert(HISTORY).values(thing=self.number, source=source, target=target))
            return done


@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    allowed=st.sets(st.sampled_from(MOVES), min_size=1),
    tried=st.lists(st.lists(st.sampled_from(MOVES), max_size=6), min_size=WRITERS, max_size=WRITERS),
)
def test_concurrent_moves_form_one_path_of_allowed_transitions(
    store: Store, allowed: set[tuple[str, str]], tried: list[list[tuple[str, str]]]
) -> None:
    transitions = {source: [target for target in STATES if (source, target) in allowed] for source in STATES}
    machine, number = StateMachine(THING, transitions, too_late), new_thing(store)
    with ThreadPoolExecutor(WRITERS) as pool:
        succeeded = sum(pool.map(Writer(store, machine, number), tried))
    path = history(store, number)
    assert set(path) <= allowed
    assert [source for source, _ in path] == ["a", *(target for _, target in path)][:-1] if path else True
    assert thing(store, number) == (path[-1][1] if path else "a", len(path))
    assert succeeded == len(path)


def test_of_many_who_make_the_same_move_at_once_one_succeeds(store: Store) -> None:
    machine = StateMachine(THING, {"a": "b", "b": "c", "c": ""}, too_late)
    number = new_thing(store)
    start = Barrier(8)

    def once(_: int) -> bool:
        if store.address.embedded:
            start.wait()  # before the transaction: SQLite admits only one that writes
        with store.writing() as connection:
            if not store.address.embedded:
                connection.execute(select(THING)).all()
                start.wait()
            return machine.attempt(connection, THING.c.id == number, to="b", n=THING.c.n + 1)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(once, range(8))) == 1
    assert thing(store, number) == ("b", 1)


def test_a_move_that_comes_too_late_undoes_its_transaction(store: Store) -> None:
    machine = StateMachine(THING, {"a": "b", "b": ""}, too_late)
    number = new_thing(store, "b")

    def write_and_move() -> None:
        with store.writing() as connection:
            connection.execute(insert(HISTORY).values(thing=number, source="a", target="b"))
            machine.move(connection, THING.c.id == number, to="b")

    with pytest.raises(Outdated):
        write_and_move()
    assert history(store, number) == []
    assert thing(store, number) == ("b", 0)


def test_a_change_without_a_target_keeps_the_state(store: Store) -> None:
    machine = StateMachine(THING, {"a": "b", "b": ""}, too_late)
    number = new_thing(store)
    with store.writing() as connection:
        machine.move(connection, THING.c.id == number, was=["a"], n=7)
        assert not machine.attempt(connection, THING.c.id == number, was=["b"], n=8)
    assert thing(store, number) == ("a", 7)


def test_one_row_is_changed_only_as_it_was_read(store: Store) -> None:
    number = new_thing(store)
    with store.writing() as connection:
        assert update_one(connection, THING, THING.c.id == number, THING.c.n == 0, n=1)
        assert not update_one(connection, THING, THING.c.id == number, THING.c.n == 0, n=2)
    assert thing(store, number) == ("a", 1)


@pytest.mark.parametrize("to", ["a", "d"])
def test_a_state_that_nothing_leads_to_is_an_error_of_the_program(to: str) -> None:
    with pytest.raises(ValueError, match="no transition"):
        StateMachine(THING, {"a": "b", "b": ""}, too_late).update(to=to)


@pytest.mark.parametrize(
    "machine", [COPIES, LIMITS, WITHDRAWALS, PLANS, ASSIGNMENTS, PROJECTS], ids=lambda machine: machine.table.name
)
def test_machines_name_exactly_the_states_that_the_database_admits(machine: StateMachine) -> None:
    rules = " ".join(str(one.sqltext) for one in machine.table.constraints if hasattr(one, "sqltext"))
    for state in machine.transitions:
        assert f"'{state}'" in rules
    assert {target for following in machine.transitions.values() for target in following} <= set(machine.transitions)
