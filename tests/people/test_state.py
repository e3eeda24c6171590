"""The figures of a state, and the two states of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.people import Coded, People, State, generate
from discreet.people.population import female_share, settle, sizes, year_weights
from tests.examples import examples

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


def test_sizes_are_skewed_and_no_zip_is_nearly_empty() -> None:
    people = np.sort(sizes(State.three())) * 3_500_000
    assert people.max() > 10 * people.mean()
    assert people.mean() > 2 * np.median(people)
    assert people.min() > 20


@given(st.integers(1, 5_000), st.floats(0.3, 3))
def test_sizes_add_up_to_one(zips: int, evenness: float) -> None:
    shares = sizes(State(people=10, zips=zips, evenness=evenness))
    assert shares.sum() == pytest.approx(1)
    assert (shares > 0).all()


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(1, 33_000), st.integers(0, 9))
def test_labels_are_five_digits_sorted_and_distinct(zips: int, seed: int) -> None:
    labels = settle(State(people=10, zips=zips), seed=seed).labels.tolist()
    assert labels == sorted(set(labels))
    assert {len(label) for label in labels} == {5}
    assert all(label.isdigit() for label in (labels[0], labels[-1]))


def test_small_states_share_their_first_two_digits() -> None:
    assert {label[:2] for label in settle(State.three(), seed=1).labels} == {"43"}


def test_races_differ_between_zips_around_the_shares_of_the_state() -> None:
    state = State.three()
    races = settle(state, seed=1).races
    assert np.abs(races.mean(axis=0) - [share for _, share in state.races]).max() < 0.05
    assert races[:, 0].std() > 0.15


def test_few_are_very_old_and_most_of_them_are_women() -> None:
    state = State.three()
    years = year_weights(state, np.zeros(1))[0]
    assert years[0] < 0.01 * years.max()
    women = female_share(state)
    assert women[0] > 0.7
    assert women[-1] == pytest.approx(0.5, abs=0.01)


def test_a_tilt_makes_a_zip_older() -> None:
    state = State.three()
    years = np.array(state.years)
    young, old = (np.average(years, weights=row) for row in year_weights(state, np.array([-0.5, 0.5])))
    assert young > old + 5
