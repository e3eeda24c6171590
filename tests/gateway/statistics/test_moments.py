"""Statistics from moments against numpy, on numbers without noise; and what noise cannot break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.gateway.statistics import moments

BOUNDS = (0.0, 100.0)
ROWS: Any = st.lists(st.tuples(st.integers(0, 100), st.integers(-20, 20)), min_size=3, max_size=30)
NUMBERS: Any = st.floats(-1e6, 1e6)


@given(ROWS)
def test_exact_moments_give_what_numpy_gives(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows, dtype=float).T
    a, b, n = x - 50, y, len(rows)
    sums = (a.sum(), b.sum(), (a * a).sum(), (b * b).sum(), (a * b).sum())
    assert moments.total(n, sums[0], BOUNDS) == pytest.approx(x.sum())
    assert moments.average(n, sums[0], BOUNDS) == pytest.approx(x.mean())
    assert moments.variance(n, sums[0], sums[2]) == pytest.approx(x.var(ddof=1), abs=1e-6)
    assert moments.deviation(n, sums[0], sums[2], sample=False) == pytest.approx(x.std(), abs=1e-3)
    assert moments.covariance(n, sums[0], sums[1], sums[4]) == pytest.approx(np.cov(x, y, ddof=0)[0, 1], abs=1e-6)
    if x.std() > 0 and y.std() > 0:
        assert moments.correlation(n, *sums) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-6)
        steep, base = np.polyfit(x, y, 1)
        assert moments.slope(n, sums[0], sums[1], sums[2], sums[4]) == pytest.approx(steep, abs=1e-6)
        bounds = {"x_bounds": BOUNDS, "y_bounds": (-20.0, 20.0)}
        assert moments.intercept(n, sums[0], sums[1], sums[2], sums[4], **bounds) == pytest.approx(base, abs=1e-4)


@given(st.integers(0, 50), NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_noise_gives_nothing_impossible(n: int, x: float, y: float, xx: float, yy: float, xy: float) -> None:
    mean, spread = moments.average(n, x, BOUNDS), moments.variance(n, x, xx)
    assert mean is None or BOUNDS[0] <= mean <= BOUNDS[1]
    assert spread is None or spread >= 0
    together = moments.correlation(n, x, y, xx, yy, xy)
    assert together is None or -1 <= together <= 1


def test_nobody_has_no_average() -> None:
    assert moments.average(0, 5.0, BOUNDS) is None
    assert moments.correlation(0, 0, 0, 0, 0, 0) is None
    assert moments.slope(5, 0, 0, 0.0, 1.0) is None
    assert moments.percentile(0.5, [0.0, -1.0], 0, 1) is None


@given(st.lists(st.integers(0, 99), min_size=200, max_size=400), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]))
def test_a_percentile_is_right_to_a_bin(values: list[int], fraction: float) -> None:
    bins = np.bincount(values, minlength=100).astype(float)
    found = moments.percentile(fraction, bins.tolist(), 0, 100)
    assert found is not None
    below, upto = np.mean(np.array(values) < found - 1), np.mean(np.array(values) <= found)
    assert below <= fraction + 1e-9
    assert upto >= fraction - 1e-9


def test_the_median_of_many_survives_the_noise() -> None:
    rng = np.random.default_rng(4)
    incomes = np.clip(rng.lognormal(10.6, 0.4, 1000), 0, 150_000)
    bins = np.histogram(incomes, bins=100, range=(0, 150_000))[0] + rng.normal(0, 2, 100)
    found = moments.percentile(0.5, bins.tolist(), 0, 150_000)
    assert found == pytest.approx(float(np.median(incomes)), rel=0.05)


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=12), st.floats(0.1, 20))
def test_a_histogram_becomes_possible_and_keeps_its_order(bins: list[float], number: float) -> None:
    """Percentiles grow with their fraction, and lie within the bounds."""
    found = [moments.percentile(step / 10, bins, 0, 1, number) for step in range(11)]
    assert all(one is not None and 0 <= one <= 1 for one in found)
    assert found == sorted(found)
