"""Population uniques by Pitman 1995, as used by Hoshino 2001: classes appear as in Pitman's sampling formula."""

from __future__ import annotations

import math

import numpy as np

from discreet.risk.numerics import log_rising, reciprocals
from discreet.risk.roots import find_root
from discreet.risk.sample import Sample

__all__ = ["pitman_uniques"]

_LOGIT_RANGE = (-30.0, 30.0)  # where Pitman's alpha is looked for: 1e-13 from either end


def pitman_uniques(sample: Sample) -> float | None:
    """The number of population uniques if classes appear as in Pitman's sampling formula; None without a fit."""
    if sample.is_census:
        return sample.ones
    # With one class, or with uniques alone, the likelihood only grows towards the edge of its domain.
    if sample.classes in (1, sample.people):
        return None
    theta_plus, alpha, rest = _fit(sample)
    # Hoshino 2001: E[S_1] ~ Γ(θ + 1) / Γ(θ + α) N^α, for N far above θ; elsewhere it can exceed N
    uniques = math.exp(log_rising(theta_plus, rest) + alpha * math.log(sample.population))
    return uniques if uniques <= sample.population else None


def _fit(sample: Sample) -> tuple[float, float, float]:
    """The maximum of Pitman's likelihood, as θ + α, α and 1 − α: each is needed exact where it is tiny.

    For a given α one θ is best (`_best_theta`). Along that ridge the slope in α changes sign at most once: the
    tests try every partition of up to 18 people. Where it falls from α = 0 on, the maximum is Ewens' model.
    """
    if _slope(sample, 0.0, 1.0) <= 0:
        return _best_theta(sample, 0.0, 1.0), 0.0, 1.0
    logit = find_root(lambda v: _slope(sample, *_expit(v)), *_LOGIT_RANGE)
    alpha, rest = _expit(logit)
    return _best_theta(sample, alpha, rest), alpha, rest


def _slope(sample: Sample, alpha: float, rest: float) -> float:
    """How log L rises with α along the ridge, damped where it falls without bound, near α = 1."""
    return rest * _score_alpha(sample, _best_theta(sample, alpha, rest), alpha, rest)


def _best_theta(sample: Sample, alpha: float, rest: float) -> float:
    """The θ + α at which d log L / dθ = 0 for a given α.

    There is exactly one. At any root the x_i = 1 / (θ + iα), i < u, and the y_i = 1 / (θ + i), i < n, have
    the same sum, and x_i > y_i: x majorises y, and the second derivative Σ y² − Σ x² is negative. At the
    lower end of the bracket 1 / (θ + α) outweighs all y_i; at the upper end all terms are nearly 1 / θ, and
    there are more y_i.
    """
    n = sample.people
    low, high = math.log(rest / (10 + 2 * math.log(n))), 2 * math.log(n)
    log_theta = find_root(lambda s: math.exp(s) * _score_theta(sample, math.exp(s), alpha, rest), low, high)
    return math.exp(log_theta)


# Pitman's sampling formula (Hoshino 2001), without its constant and with each i from 1, has the logarithm
# Σ_{i<u} log(θ + iα) − Σ_{i<n} log(θ + i) + Σ_j n_j Σ_{i<j} log(i − α). Its derivatives:


def _score_theta(sample: Sample, theta_plus: float, alpha: float, rest: float) -> float:
    ladder = _ladder(theta_plus, alpha, sample.classes - 1)
    return ladder - reciprocals(theta_plus + rest, sample.people - 1.0)


def _score_alpha(sample: Sample, theta_plus: float, alpha: float, rest: float) -> float:
    within = reciprocals(np.full_like(sample.sizes, rest), sample.sizes - 1)
    return _climbing_ladder(theta_plus, alpha, sample.classes - 1) - sample.total(within)


def _ladder(start: float, step: float, rungs: float) -> float:
    """The sum of 1 / (start + i step) over i = 0 .. rungs − 1."""
    return reciprocals(start / step, rungs) / step if step else rungs / start


def _climbing_ladder(start: float, step: float, rungs: float) -> float:
    """The sum of (i + 1) / (start + i step) over i = 0 .. rungs − 1."""
    base = start - step
    if rungs * step > 1e-5 * base:
        return (rungs - base * _ladder(start, step, rungs)) / step
    # The same as a power series: the difference above would cancel.
    tilt, first = step / base, rungs * (rungs + 1) / 2
    return first * (1 - tilt * (2 * rungs + 1) / 3 + tilt * tilt * first) / base


def _expit(logit: float) -> tuple[float, float]:
    """A probability and its complement, both exact where they are tiny."""
    return 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))
