"""Uniques by Zayatz: Bayes' rule in exact fractions, hypergeometrics up to a billion people."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.risk import population as model
from discreet.risk.population import observe, zayatz_uniques

MANY_ONES = np.repeat([1, 2, 3, 10], [600, 150, 60, 12])


def exact_zayatz(sizes: list[int], population: int) -> Fraction:
    n, ones = sum(sizes), sizes.count(1)
    draws = math.comb(population, n)
    single = sum(Fraction(j * math.comb(population - j, n - 1), draws) for j in sizes)
    return ones * Fraction(ones) / single


@pytest.mark.parametrize(
    ("sizes", "population"),
    [([1], 2), ([1, 1, 1, 2, 5], 100), ([1, 2, 2, 9], 15), ([1, 7], 9), ([1] * 40 + [2] * 9 + [30], 5000)],
)
def test_zayatz_is_bayes_rule_with_exact_hypergeometrics(sizes: list[int], population: int) -> None:
    assert zayatz_uniques(observe(np.array(sizes), population)) == pytest.approx(
        float(exact_zayatz(sizes, population)), rel=1e-12
    )


def test_zayatz_chances_agree_with_scipy_up_to_a_billion_people() -> None:
    for sizes, population in ((MANY_ONES, 20_000), (np.array([1, 50, 900]), 1000), (MANY_ONES, 10**9)):
        sample = observe(sizes, population)
        expected = stats.hypergeom.pmf(1, population, sample.sizes, sample.people)
        assert model._single(sample) == pytest.approx(expected, rel=1e-6 if population > 10**6 else 1e-10, abs=1e-300)
