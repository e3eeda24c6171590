"""The ambiguity band: exact chances, and who is in it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.kernel import Classes
from discreet.releases.band import Band, ambiguous, chances
from discreet.releases.population_link import Linked


@given(
    st.lists(st.integers(0, 200_000), min_size=1, max_size=20),
    st.floats(1e-4, 0.999),
    st.integers(1, 60),
)
def test_chances_are_those_of_the_binomial_law(links: list[int], sampling: float, k: int) -> None:
    found = chances(np.array(links), sampling=sampling, k=k)
    np.testing.assert_allclose(found, binom.sf(k - 1, links, sampling), rtol=1e-7, atol=1e-11)


def test_a_large_k_where_the_first_terms_are_below_the_least_float() -> None:
    links = np.array([90_000, 100_000, 110_000])
    np.testing.assert_allclose(chances(links, sampling=0.01, k=1000), binom.sf(999, links, 0.01), rtol=1e-6)


def test_everybody_in_the_data_leaves_nothing_in_doubt() -> None:
    assert chances(np.array([4, 5]), sampling=1.0, k=5).tolist() == [0.0, 1.0]
    assert not ambiguous(np.arange(1, 100), sampling=1.0, k=5).any()


def test_the_band_has_both_ends() -> None:
    links = np.arange(1, 2000)
    chance = binom.sf(4, links, 0.01)
    assert np.array_equal(ambiguous(links, sampling=0.01, k=5), (chance >= 0.02) & (chance <= 0.85))


@pytest.mark.parametrize("subjects", [0, 2])
def test_suppressed_people_in_a_class_change_nothing(subjects: int) -> None:
    """If decoys avoided suppressed people, an uncovered decoy would tell that nobody of its class is in the data."""
    labels = [("a",), ("b",), ("c",), ("d",)]
    everybody = Classes.of(["zip"], labels, [40, 42, 40, 878])
    rows = [("a",), ("b",), ("d",)]
    people = Classes.of(
        ["zip"], [*rows, *([("c",)] if subjects else [])], [6, 7, 87, *([subjects] if subjects else [])]
    )
    band = Band.of(Linked.at_node(people, everybody, {"zip": 0}, k=5))
    assert (band.real.tolist(), band.free.tolist()) == ([0, 1], [2])
