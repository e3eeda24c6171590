"""Population uniques by Chen & Keller-McNulty 1998, the slide negative binomial: class sizes less one are spread so."""

from __future__ import annotations

import math

import numpy as np

from discreet.risk.roots import find_root
from discreet.risk.sample import Sample

__all__ = ["snb_uniques"]

_NEARLY_POISSON = 1e8  # from this shape on a negative binomial is a Poisson distribution to eight digits
_NOT_QUITE_MINUS_ONE = -1 + 2**-53


def snb_uniques(sample: Sample) -> float | None:
    """The number of population uniques if class sizes less one are negative binomial; None without a fit.

    Solves E[n_1] = n_1 and E[n_2] = n_2 for the shape α and the success probability β.

    Keeping each person with probability π gives a class the generating function s (β / (1 − (1 − β) s))^α at
    s = 1 − π + π z. With d = (1 − π)(1 − β) and x = α d / (1 − d), its derivatives at z = 0 say

        E[n_1] = K π (β / (1 − d))^α (1 + x)
        2 (1 − π) E[n_2] / (π E[n_1]) = x (2 + x + x / α) / (1 + x)

    so that n_2 / n_1 gives x for any α, and n_1 then gives α, as E[n_1] rises with α along that line.
    """
    if sample.is_census or sample.ones == sample.people:
        return sample.ones / sample.fraction
    if sample.ones == 0 or sample.classes_of(2) == 0:
        return None
    odds = (1 - sample.fraction) / sample.fraction
    ratio = 2 * odds * sample.classes_of(2) / sample.ones
    alpha = _shape(math.log(sample.ones / (sample.fraction * _shlosser(sample))), ratio, odds)
    return None if alpha is None else _slid_ones(sample, alpha, _tilt(alpha, ratio))


def _slid_ones(sample: Sample, alpha: float, x: float) -> float:
    # K β^α = n_1 (1 − d)^α / (π (1 + x)) by the first equation, and 1 − d = α / (α + x)
    return sample.ones / sample.fraction / (1 + x) * math.exp(-alpha * math.log1p(x / alpha))


def _shape(target: float, ratio: float, odds: float) -> float | None:
    """The α at which log E[n_1] / (K π) meets its target; None when even a Poisson spread falls short."""

    def excess(log_alpha: float) -> float:
        return _log_singles(math.exp(log_alpha), ratio, odds) - target

    low, high = math.log(_least_shape(ratio, odds)) + 1e-12, math.log(_NEARLY_POISSON)
    if low >= high or excess(high) <= 0:
        return None
    # An α too close to its lower bound, β = 0, to be told from it is not bracketed: the bound will do.
    return math.exp(find_root(excess, low, high))


def _log_singles(alpha: float, ratio: float, odds: float) -> float:
    x = _tilt(alpha, ratio)
    # log of (β / (1 − d))^α (1 + x), where β / (1 − d) = 1 − x π / ((1 − π) α): never zero, but for rounding
    return alpha * math.log1p(max(-x / (odds * alpha), _NOT_QUITE_MINUS_ONE)) + math.log1p(x)


def _tilt(alpha: float, ratio: float) -> float:
    """The x > 0 with x (2 + x + x / α) / (1 + x) = ratio."""
    return _positive_root(1 + 1 / alpha, 2 - ratio, -ratio)


def _least_shape(ratio: float, odds: float) -> float:
    """The α at which β = 0, that is x = α (1 − π) / π: below it the ratio cannot be met."""
    return _positive_root(odds * odds, odds * (odds + 2 - ratio), -ratio)


def _positive_root(a: float, b: float, c: float) -> float:
    """The positive root of a x² + b x + c, for a > 0 > c, without cancellation."""
    spread = math.sqrt(b * b - 4 * a * c)
    return (spread - b) / (2 * a) if b < 0 else -2 * c / (spread + b)


def _shlosser(sample: Sample) -> float:
    """The number of classes in the population, by Shlosser's estimator as modified by Haas & Stokes 1998."""
    i, p = sample.sizes, sample.fraction
    missed = np.exp(i * np.log1p(-p))  # (1 − π)^i
    kept = np.exp((i - 1) * np.log1p(-p * p))  # (1 − π²)^(i−1)
    # Haas & Stokes 1998, eq. for D_Sh3; (1 − π)^i ((1 + π)^i − 1) is written so that no power overflows
    twice = sample.total(i * p * p * kept) / sample.total(-kept * (1 - p * p) * np.expm1(-i * np.log1p(p)))
    unseen = sample.total(missed) / sample.total(i * p * missed / (1 - p))
    return sample.classes + sample.ones * twice * unseen**2
