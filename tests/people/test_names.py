"""Given names and surnames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.people import People
from discreet.people.recipes import LEFT, MEN, RIGHT, STRIDE, WOMEN, _combine, given_labels, scatter, surname_labels
from tests.examples import examples


def test_eighty_common_given_names_of_each_sex() -> None:
    assert len(set(WOMEN)) == len(set(MEN)) == 80
    assert not set(WOMEN) & set(MEN)


def test_labels_are_distinct_and_plain() -> None:
    for labels in (given_labels(), surname_labels(400_000)):
        assert len(set(labels.tolist())) == len(labels)
        assert all(label.isalpha() and label.istitle() for label in labels.tolist())


@pytest.mark.parametrize(("people", "labels"), [(1, 2_000), (1_000_000, 50_000), (13_000_000, 250_000)])
def test_more_people_have_more_surnames(people: int, labels: int) -> None:
    assert len(surname_labels(people)) == labels


@given(st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_combinations_meet_every_way_once(lengths: list[int]) -> None:
    parts = [[f"{part}.{syllable}/" for syllable in range(length)] for part, length in enumerate(lengths)]
    ways = int(np.prod(lengths))
    assert STRIDE % ways != 0 or ways == 1
    assert len(set(_combine(parts, 10 * ways).tolist())) == ways


def test_surnames_are_common_rare_and_unique(people: People) -> None:
    counts = np.unique(people.column("surname"), return_counts=True)[1]
    assert counts.max() > 200
    assert ((counts > 1) & (counts < 10)).sum() > 100
    assert (counts == 1).sum() > 10


def test_women_and_men_do_not_share_given_names(people: People) -> None:
    women = people.column("sex") == "F"
    names = people.column("given_name")
    assert not set(names[women]) & set(names[~women])


def test_given_names_have_their_era(people: People) -> None:
    names, years = people.column("given_name"), people.column("birth_year")
    assert years[names == "Dorothy"].mean() + 30 < years[names == "Brittany"].mean()
    assert years[names == "Harold"].mean() + 30 < years[names == "Hunter"].mean()


def test_all_ten_digit_numbers_can_occur() -> None:
    assert LEFT * RIGHT == 10**10 - 10**9


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(1, 250_000), st.integers(0, 2**32))
def test_identifiers_are_distinct_and_have_ten_digits(people: int, seed: int) -> None:
    found = scatter(people, np.random.default_rng(seed))
    assert len(np.unique(found)) == people
    assert found.min() >= 10**9
    assert found.max() < 10**10


def test_identifiers_do_not_tell_the_row() -> None:
    found = scatter(200_000, np.random.default_rng(1))
    assert abs(np.corrcoef(found, np.arange(len(found)))[0, 1]) < 0.02
    assert len(np.unique(np.diff(found))) > 199_000
