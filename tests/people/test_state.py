"""The figures of a state, and the two states of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.people import Coded, People, State, generate

CLASS = ("zip", "sex", "birth_year")


def number_of_classes(people: People) -> int:
    """Distinct tuples, counted on codes."""
    key = np.zeros(len(people), dtype=np.int64)
    for column in people.columns.values():
        codes = column.codes if isinstance(column, Coded) else column - column.min()
        key = key * (int(codes.max()) + 1) + codes
    return int(np.count_nonzero(np.bincount(key)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_state_three_has_the_classes_of_the_paper(seed: int) -> None:
    people = generate(State.three(), seed=seed, columns=CLASS)
    assert number_of_classes(people) == pytest.approx(73_600, rel=0.02)
    assert len(np.unique(people.column("zip"))) == 535


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_state_one_has_the_classes_of_the_paper(seed: int) -> None:
    people = generate(State.one(), seed=seed, columns=(*CLASS, "race"))
    assert number_of_classes(people) == pytest.approx(778_000, rel=0.02)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_tenth_of_state_three_has_a_tenth_of_its_classes(seed: int) -> None:
    people = generate(State.three(350_000), seed=seed, columns=CLASS)
    assert number_of_classes(people) == pytest.approx(7_360, rel=0.04)


@given(st.integers(1, 9_000_000_000), st.integers(1, 9_000_000_000))
def test_more_people_never_live_in_fewer_zips(one: int, other: int) -> None:
    few, many = sorted((one, other))
    assert 5 <= State.of(few).zips <= State.of(many).zips


@pytest.mark.parametrize(
    "wrong",
    [
        {"people": 0},
        {"zips": 0},
        {"zips": 60_000},
        {"first_year": 2010},
        {"last_year": 2050},
        {"evenness": 0.0},
        {"race_mixing": float("nan")},
        {"races": ()},
        {"first_zip": 99_000},
    ],
)
def test_impossible_states_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))) as refusal:
        State(**{"people": 1_000, "zips": 5} | wrong)  # type: ignore[arg-type]
    assert refusal.value.remedy


def test_other_figures_than_the_usual_work() -> None:
    state = State(people=2_000, zips=1, first_year=2000, last_year=2000, races=(("Any", 1.0),), first_zip=10_000)
    people = generate(state, seed=1)
    assert set(people.column("birth_year")) == {2000}
    assert set(people.column("race")) == {"Any"}
    assert people.column("zip")[0].startswith("10")
