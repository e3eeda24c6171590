"""Uniques by the slide negative binomial: its moments, Shlosser's formula, recovery of known populations, edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.risk import population as model
from discreet.risk.population import Sample, observe, snb_uniques

MANY_ONES = np.repeat([1, 2, 3, 10], [600, 150, 60, 12])


@pytest.mark.parametrize("fraction", [0.02, 0.2, 0.7])
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.1), (0.05, 0.02), (3.0, 0.3), (40.0, 0.9)])
def test_snb_solves_for_the_shape_of_a_thinned_distribution(fraction: float, alpha: float, beta: float) -> None:
    sizes = np.arange(1, 20_000)
    spread = stats.nbinom.pmf(sizes - 1, alpha, beta)
    single, double = (float(spread @ stats.binom.pmf(j, sizes, fraction)) for j in (1, 2))
    odds = (1 - fraction) / fraction
    ratio = 2 * odds * double / single
    found = model._shape(math.log(single / fraction), ratio, odds)
    assert found is not None
    assert found == pytest.approx(alpha, rel=1e-6)
    sample = Sample(np.array([1.0]), np.array([single]), 1, 1)
    assert model._slid_ones(sample, found, model._tilt(found, ratio)) / fraction == pytest.approx(beta**alpha, rel=1e-7)


def test_snb_first_moment_rises_with_the_shape() -> None:
    rng = np.random.default_rng(3)
    for log_ratio, log_fraction in rng.uniform((-4, -3), (4, -0.001), (300, 2)):
        ratio, fraction = 10**log_ratio, 10**log_fraction
        odds = (1 - fraction) / fraction
        shapes = model._least_shape(ratio, odds) * np.geomspace(1 + 1e-9, 1e9, 60)
        heights = np.array([model._log_singles(float(shape), ratio, odds) for shape in shapes])
        assert (np.diff(heights) > -1e-9 * (1 + abs(heights[1:]))).all()


def test_shlosser_is_the_published_formula() -> None:
    sizes, population = MANY_ONES, 4000
    p = sizes.sum() / population
    n = {int(j): int((sizes == j).sum()) for j in np.unique(sizes)}
    first = sum(i * p**2 * (1 - p**2) ** (i - 1) * n[i] for i in n)
    first /= sum((1 - p) ** i * ((1 + p) ** i - 1) * n[i] for i in n)
    second = sum((1 - p) ** i * n[i] for i in n) / sum(i * p * (1 - p) ** (i - 1) * n[i] for i in n)
    assert model._shlosser(observe(sizes, population)) == pytest.approx(len(sizes) + n[1] * first * second**2)


@pytest.mark.parametrize("fraction", [0.2, 0.3, 0.5])
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.1), (1.0, 0.05), (2.0, 0.1)])
def test_snb_recovers_its_own_populations_within_15_percent(fraction: float, alpha: float, beta: float) -> None:
    rng = np.random.default_rng(7)
    people = rng.negative_binomial(alpha, beta, 100_000) + 1
    sampled = rng.binomial(people, fraction)
    found = snb_uniques(observe(sampled[sampled > 0], int(people.sum())))
    assert found == pytest.approx((people == 1).sum(), rel=0.15)


def test_snb_has_no_estimate_without_pairs_or_when_too_evenly_filled() -> None:
    assert snb_uniques(observe(np.array([1, 1, 3]), 10)) is None
    assert snb_uniques(observe(np.array([2, 2]), 10)) is None
    assert snb_uniques(observe(np.repeat([1, 2], [2, 500]), 1500)) is None
    assert snb_uniques(observe(np.ones(5, dtype=int), 20)) == 20
