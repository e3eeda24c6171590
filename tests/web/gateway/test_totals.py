"""The sums are what the entries say: however they are cut into pieces, on both stores, with every kind of entry."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update

from discreet.ledger import Ledger
from discreet.store.tables.gateway import DAY, READ, REFUSAL, USER, WATCHED
from discreet.web.gateway import users
from discreet.web.gateway.entry_view import result_of
from discreet.web.gateway.users import follow
from tests.examples import examples
from tests.web.client import BOTH_STORES, Clock
from tests.web.gateway_data import answered, not_run, refused, repeated, started
from tests.web.snapshot import snapshot

TABLES = (DAY, REFUSAL, USER, WATCHED)


def rows(ledger: Ledger) -> dict[str, list[dict[str, Any]]]:
    with ledger.store.reading() as connection:
        return {
            table.name: sorted((dict(row._mapping) for row in connection.execute(select(table))), key=repr)
            for table in TABLES
        }


def forget(ledger: Ledger) -> None:
    """As if nobody had ever looked."""
    with ledger.store.writing() as connection:
        for table in TABLES:
            connection.execute(delete(table))
        connection.execute(update(READ).values(upto=-1))


@BOTH_STORES
def test_every_kind_of_entry_counts_as_what_it_is(app: FastAPI, clock: Clock) -> None:
    ledger = app.state.site.ledger
    started(ledger, mode="shadow")
    started(ledger, mode="enforce")
    answered(ledger, "eve", "0", "0.5", rows=4)
    clock.wait(days=1)
    answered(ledger, "eve", "0.5", "1.25", rows=6)
    answered(ledger, "eve", "1.25", "1.75", rows=100, taken_back=True)
    answered(ledger, "eve", "1.25", "2.5", decision="alert", limit="2.25", rule="gateway.limits 2")
    refused(ledger, "eve", "2.5", "3.5", limit="2.25", rule="gateway.limits 2")
    not_run(ledger, "eve", "Refused: no.")
    repeated(ledger, "eve", 12)
    assert follow(ledger.store)
    found = rows(ledger)
    (eve,) = found["gateway_user"]
    expected = {"exposure": 2_500_000, "allowed": 2_250_000, "rule": "gateway.limits 2", "answers": 3, "repeated": 12}
    expected |= {"refused": 2, "would": 0, "over": 1, "streak": 2, "seen": app.state.site.stamp()}
    assert {name: eve[name] for name in expected} == expected
    first, second = found["gateway_day"]
    assert (first["opened"], first["closed"], first["rows"]) == (0, 500_000, 4)
    assert (second["opened"], second["closed"], second["rows"]) == (500_000, 2_500_000, 9)
    assert (second["streak"], second["over"], second["answers"]) == (2, 1, 2)
    assert [one["mode"] for one in found["gateway_database"]] == ["enforce"]
    assert [one["enforced"] for one in found["gateway_refusal"]] == [True, True]


@BOTH_STORES
def test_shadow_mode_counts_what_would_have_been(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    answered(ledger, "eve", "0", "3", decision="deny", enforced=False)
    answered(ledger, "eve", "3", "4", decision="mask", enforced=False)
    answered(ledger, "eve", "4", "4.5", decision="release", enforced=False)
    answered(ledger, "eve", "4.5", "5", decision="subset", enforced=False, taken_back=True)
    not_run(ledger, "eve", "Refused: no.", enforced=False)
    assert follow(ledger.store)
    found = rows(ledger)
    (eve,) = found["gateway_user"]
    assert (eve["answers"], eve["refused"], eve["would"], eve["over"], eve["exposure"]) == (3, 0, 3, 2, 4_500_000)
    assert [one["enforced"] for one in found["gateway_refusal"]] == [False, False, False]


NAMES = st.sampled_from(["eve", "a/user:eve", "Ünï \"x'", "database:x", "*", "a b", "%_"])
STEP = st.tuples(
    st.sampled_from(["give", "refuse", "shadow", "back", "not run", "repeat", "other"]),
    NAMES,
    st.sampled_from(["clinic", "a/user:eve/b", "x%_'"]),
    st.integers(0, 5),
)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=25), chunk=st.integers(1, 7))
def test_however_entries_are_cut_the_sums_are_those_of_a_plain_count(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, str, str, int]], chunk: int
) -> None:
    ledger = app.state.site.ledger
    for kind, user, database, growth in steps:
        after = str(Fraction(growth, 8))
        match kind:
            case "give" | "back":
                answered(ledger, user, "0.5", after, database=database, taken_back=kind == "back")
            case "shadow":
                answered(ledger, user, "0.5", after, database=database, decision="deny", enforced=False)
            case "refuse":
                refused(ledger, user, "0.5", after, database=database)
            case "not run":
                not_run(ledger, user, "Refused: no.", database=database)
            case "repeat":
                repeated(ledger, user, growth, database=database)
            case _:
                ledger.record(actor=user, event="web.shown", subject=f"database:{database}/user:{user}")
    with monkeypatch.context() as smaller:
        smaller.setattr(users, "CHUNK", chunk)
        assert follow(ledger.store)
    with ledger.store.reading() as connection:
        found = users.ranked(connection, now=app.state.site.stamp())
    entries = list(ledger.entries(room="gateway"))
    back = {one.budget.reservation for one in entries if one.outcome == "released" and one.budget}
    told = [one for one in map(result_of, entries) if one is not None and one.entry.sequence not in back]
    for user in found.users:
        mine = [one for one in told if (one.database, one.user) == (user.database, user.name)]
        assert user.answers == sum(one.answered for one in mine)
        assert user.refused == sum(one.refused for one in mine)
        assert user.would == sum(one.would for one in mine)
    assert {(one.database, one.user) for one in told} <= {(one.database, one.name) for one in found.users}
    whole = rows(ledger)
    forget(ledger)
    assert follow(ledger.store)
    again = rows(ledger)
    assert {name: len(its) for name, its in again.items()} == {name: len(its) for name, its in whole.items()}
    assert [_known(one) for one in again["gateway_user"]] == [_known(one) for one in whole["gateway_user"]]


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "id"}


def test_looking_twice_writes_nothing(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    answered(ledger, "eve", "0", "0.5")
    assert follow(ledger.store)
    before = snapshot(app)
    assert follow(ledger.store)
    assert snapshot(app) == before


def test_more_than_one_look_takes_is_said(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = app.state.site.ledger
    for number in range(5):
        not_run(ledger, f"user{number}", "Refused: no.")
    monkeypatch.setattr(users, "CHUNK", 1)
    monkeypatch.setattr(users, "MOST", 2)
    assert not follow(ledger.store)
    assert not follow(ledger.store)
    assert follow(ledger.store)


def test_entries_of_other_rooms_are_passed_over(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "FAR", 2)
    site = app.state.site
    for _ in range(5):
        site.ledger.record(actor="x", event="web.shown", subject="ledger")
    assert follow(site.store)
    with site.store.reading() as connection:
        assert connection.execute(select(READ.c.upto)).scalar_one() == site.ledger.head()["size"] - 1
