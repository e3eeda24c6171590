"""Given names and surnames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.people import People
from discreet.people.names import MEN, STRIDE, WOMEN, _combine, given_labels, surname_labels


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
