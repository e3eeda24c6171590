"""Differences of the gamma family: scipy, plain sums, arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from discreet.risk.population import log_rising, reciprocals


@pytest.mark.parametrize("x", [1e-9, 1e-3, 0.5, 1.0, 1.4616, 7.3, 100.0, 12345.6])
@pytest.mark.parametrize("k", [0.0, 0.25, 1.0, 2.0, 30.5, 1e4, 1e7])
def test_gamma_differences_agree_with_scipy(x: float, k: float) -> None:
    assert log_rising(x, k) == pytest.approx(
        special.gammaln(x + k) - special.gammaln(x), rel=1e-12, abs=1e-10 if x > 10 else 1e-13
    )
    assert reciprocals(x, k) == pytest.approx(special.digamma(x + k) - special.digamma(x), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("x", [3e-7, 0.7, 50.0, 1e6, 1e12, 1e15])
@pytest.mark.parametrize("k", [1, 2, 17, 4000])
def test_gamma_differences_agree_with_plain_sums_where_subtraction_would_cancel(x: float, k: int) -> None:
    assert reciprocals(x, float(k)) == pytest.approx(math.fsum(1 / (x + i) for i in range(k)), rel=1e-12)
    assert log_rising(x, float(k)) == pytest.approx(math.fsum(math.log(x + i) for i in range(k)), rel=1e-12, abs=1e-13)


def test_gamma_differences_take_arrays() -> None:
    x, k = np.array([0.3, 2.0, 9.0]), np.array([4.0, 0.0, 7.0])
    one_by_one = [reciprocals(a, b) for a, b in zip(x.tolist(), k.tolist(), strict=True)]
    assert reciprocals(x, k).tolist() == pytest.approx(one_by_one, rel=1e-15)  # since 3.12 sum() rounds floats once
    assert log_rising(x, k)[1] == 0
