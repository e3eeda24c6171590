"""ZIPs: sizes, labels, ages and races."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.people import State
from discreet.people.places import female_share, settle, sizes, year_weights
from tests.examples import examples


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
