"""Triage against every set of attributes tried one by one; what is shown is positions and columns, never values."""

from __future__ import annotations

import datetime
import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.misuse.generated import sample
from discreet.misuse.incidents import alerted, triage
from discreet.misuse.log import Scored
from tests.examples import examples

COLUMNS = ("debt", "diagnosis")


@st.composite
def results(draw: st.DrawFn, *, users: str = "a", number: int = 0) -> Scored:
    rows = draw(st.integers(1, 3))
    columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=2, unique=True))
    every = {"min_size": rows, "max_size": rows}
    weight = st.sampled_from([0.0, 0.1, 0.4, 0.7, 1.0])
    base = sample(user=draw(st.sampled_from(users)), day=number, score=0.0, rows=rows)
    return replace(
        base,
        id=f"r{number}",
        columns=tuple(columns),
        entities=tuple(draw(st.lists(st.integers(0, 4), **every, unique=True))),
        weights={column: tuple(draw(st.lists(weight, **every))) for column in columns},
        alike=tuple(draw(st.lists(st.integers(1, 4), **every))),
    )


@st.composite
def logs(draw: st.DrawFn) -> list[Scored]:
    return [draw(results(users="ab", number=number)) for number in range(draw(st.integers(1, 5)))]


def ensemble(received: list[Scored], x: float, columns: tuple[str, ...] = COLUMNS) -> float:
    """The definition: for every set of attributes, everybody of whom at least these are known."""
    cells: dict[int, dict[str, float]] = {}
    alike: dict[int, int] = {}
    for one in received:
        assert one.entities is not None
        assert one.weights is not None
        assert one.alike is not None
        for place, entity in enumerate(one.entities):
            alike[entity] = min(alike.get(entity, 99), one.alike[place])
            for column, weights in one.weights.items():
                known = cells.setdefault(int(entity), {})
                known[column] = max(known.get(column, 0.0), weights[place])
    best = 0.0
    for size in range(1, len(columns) + 1):
        for chosen in itertools.combinations(columns, size):
            inside = [entity for entity, known in cells.items() if set(chosen) <= set(known)]
            if inside:
                worst = max(
                    min(1.0, sum(cells[entity][column] for column in chosen)) / alike[entity] for entity in inside
                )
                best = max(best, len(inside) ** (1 / x) * worst)
    return best


@settings(max_examples=examples(60))
@given(logs())
def test_the_score_is_that_of_everything_held(log: list[Scored]) -> None:
    found = triage(log, leaked=[one.id for one in log])
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for incident in found:
        held = [one for one in log if one.user == incident.result.user and one.time <= incident.result.time]
        assert incident.held == len(held) - 1
        assert incident.score == pytest.approx(ensemble(held, 2.0))
        for column in incident.columns:
            without = ensemble(held, 2.0, tuple(name for name in COLUMNS if name != column.column))
            assert column.weight == pytest.approx(incident.score - without)


@given(logs())
def test_heavy_rows_are_positions_in_order_of_weight(log: list[Scored]) -> None:
    for incident in triage(log, leaked=[one.id for one in log]):
        scores = [row.score for row in incident.rows]
        assert scores == sorted(scores, reverse=True)
        assert {row.row for row in incident.rows} <= set(range(1, incident.result.rows + 1))


@given(logs())
def test_a_shorter_memory_never_makes_it_worse(log: list[Scored]) -> None:
    names = [one.id for one in log]
    whole = {one.result.id: one.score for one in triage(log, leaked=names)}
    for one in triage(log, leaked=names, frame=datetime.timedelta(days=1)):
        assert one.score <= whole[one.result.id] + 1e-9


def test_what_was_held_before_can_be_the_worse_part() -> None:
    names = replace(sample(day=0, rows=1), id="r1", entities=(7,), weights={"diagnosis": (0.2,)}, alike=(1,), score=0.2)
    harmless = replace(
        sample(day=1, rows=1),
        id="r2",
        columns=("debt",),
        entities=(7,),
        weights={"debt": (0.7,)},
        alike=(50,),
        score=0.014,
    )
    (found,) = triage([names, harmless], leaked=["r2"])
    assert found.score == pytest.approx(0.9)
    assert found.rows[0].columns == ("debt", "diagnosis")
    assert [column.column for column in found.columns] == ["debt", "diagnosis"]


def test_alerts_are_incidents_unless_results_are_named() -> None:
    quiet, loud = sample(), replace(sample(day=1), id="r2", decision="alert")
    shadow = replace(sample(day=2), id="r3", decision="deny", enforced=False)
    stopped = replace(sample(day=3), id="r4", decision="deny")
    assert [alerted(one) for one in (quiet, loud, shadow, stopped)] == [False, True, True, False]
    assert {one.result.id for one in triage([quiet, loud, shadow, stopped])} == {"r2", "r3"}
    assert triage([quiet]) == []


def test_results_without_detail_count_by_themselves() -> None:
    vague = replace(sample(day=0, score=7.0), id="r1")
    (found,) = triage([vague, replace(sample(day=1, score=1.0), id="r2", decision="alert")])
    assert (found.score, found.held, found.unknown) == (7.0, 1, 2)
    assert found.rows == ()


def test_what_was_denied_did_not_leak_and_is_not_held() -> None:
    denied = replace(sample(day=0, score=9.0), id="r1", decision="deny")
    leaked = replace(sample(day=1, score=1.0), id="r2")
    (found,) = triage([denied, leaked], leaked=["r2"])
    assert (found.score, found.held) == (1.0, 0)
    with pytest.raises(UsageError, match="denied"):
        triage([denied, leaked], leaked=["r1"])
    with pytest.raises(UsageError, match="1 of the leaked results"):
        triage([denied, leaked], leaked=["r9"])
