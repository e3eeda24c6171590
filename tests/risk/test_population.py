"""Population uniqueness from a sample: the rule that chooses a model, all of it together, edges, speed."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.risk.population import estimate, observe, pitman_uniques, snb_uniques, zayatz_uniques
from tests.examples import examples

Ints = NDArray[np.int64]
MANY_ONES = np.repeat([1, 2, 3, 10], [600, 150, 60, 12])


@pytest.mark.parametrize(
    ("classes", "spread", "factors"),
    [(100_000, 2.0, (4.5, 2.5, 1.3)), (1_000_000, 2.0, (2.5, 1.7, 1.25)), (100_000, 1.0, (4.5, 2.2, 1.8))],
)
def test_lognormal_populations_are_estimated_within_a_factor_from_above(
    classes: int, spread: float, factors: tuple[float, ...]
) -> None:
    """Uniques are overrated, less so the larger the sample, and less than by Zayatz, as Dankar et al. 2012 found."""
    rng, people = np.random.default_rng(11), 200_000
    weights = rng.lognormal(0, spread, classes)
    member_of = rng.choice(classes, people, p=weights / weights.sum())
    truth = (np.bincount(member_of) == 1).sum() / people
    for fraction, factor in zip((0.01, 0.05, 0.2), factors, strict=True):
        sampled = np.bincount(member_of[: int(fraction * people)])
        found = estimate(sampled[sampled > 0], people)
        assert 0.9 < found.dankar / truth < factor
        assert found.dankar < found.zayatz


def test_the_rule_follows_the_sampling_fraction() -> None:
    assert estimate(MANY_ONES, 12_000).model == "pitman"
    assert estimate(MANY_ONES, 11_000).model == "snb"
    assert estimate(np.ones(5, dtype=int), 1000).model == "zayatz"
    assert estimate(np.array([1, 1, 3]), 10).model == "zayatz"
    assert estimate(np.array([2, 2, 3]), 1000).model == "none"


def test_shares_are_the_counts_over_the_population() -> None:
    for population in (20_000, 4000):
        found, sample = estimate(MANY_ONES, population), observe(MANY_ONES, population)
        assert found.zayatz == zayatz_uniques(sample) / population
        assert found.pitman == pytest.approx((pitman_uniques(sample) or 0) / population)
        assert found.snb == pytest.approx((snb_uniques(sample) or 0) / population)
        assert found.dankar == getattr(found, found.model)
        assert found.sampling_fraction == MANY_ONES.sum() / population


def test_a_census_is_counted_not_estimated() -> None:
    found = estimate(np.array([1, 1, 2, 6]), 10)
    assert (found.zayatz, found.pitman, found.snb, found.dankar) == (0.2, 0.2, 0.2, 0.2)


@pytest.mark.parametrize(
    ("sizes", "population", "share"),
    [([1] * 30, 500, 1.0), ([1], 500, 1.0), ([1], 1, 1.0), ([40], 500, 0.0), ([2, 2, 3], 8, 0.0), ([5], 5, 0.0)],
)
def test_edges(sizes: list[int], population: int, share: float) -> None:
    assert estimate(np.array(sizes), population).dankar == pytest.approx(share)


def test_order_does_not_matter() -> None:
    assert estimate(MANY_ONES[::-1], 20_000) == estimate(MANY_ONES, 20_000)


def test_an_estimate_is_plain_json() -> None:
    found = estimate(MANY_ONES, 20_000).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert {type(value) for value in found.values()} == {int, float, str}


def test_a_population_smaller_than_its_sample_is_refused() -> None:
    with pytest.raises(UsageError, match="population of 4 people cannot have a sample of 5") as error:
        estimate(np.array([2, 3]), 4)
    assert error.value.remedy


@pytest.mark.parametrize("sizes", [np.array([], dtype=int), np.array([0, 2]), np.array([1.0, 2.0])])
def test_sizes_that_are_no_sizes_are_refused(sizes: Ints) -> None:
    with pytest.raises(UsageError, match="whole numbers"):
        estimate(sizes, 100)


sizes_of_any_kind = st.one_of(
    st.lists(st.integers(1, 4), min_size=1, max_size=60),
    st.lists(st.integers(1, 10**7), min_size=1, max_size=12),
    st.builds(
        lambda ones, twos, rest: [1] * ones + [2] * twos + rest,
        st.integers(1, 3000),
        st.integers(0, 40),
        st.lists(st.integers(3, 10**6), max_size=3),
    ),
)


@settings(max_examples=examples(300), deadline=None)
@given(sizes_of_any_kind, st.one_of(st.integers(0, 50), st.integers(0, 10**12)))
def test_every_estimate_is_a_share(sizes: list[int], unsampled: int) -> None:
    found = estimate(np.array(sizes), sum(sizes) + unsampled)
    for share in (found.zayatz, found.pitman, found.snb, found.dankar):
        assert share is None or 0 <= share <= 1


def test_thirteen_million_people_in_800_000_classes_take_less_than_half_a_second() -> None:
    sizes = np.minimum(np.random.default_rng(2).zipf(1.7, 800_000), 100_000) * 2 - 1
    sizes[:1000] += 8000
    start = time.process_time()
    found = estimate(sizes, 20 * int(sizes.sum()))
    assert time.process_time() - start < 0.5
    assert sizes.sum() > 13_000_000
    assert found.model == "pitman"
