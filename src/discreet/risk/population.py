"""Population uniqueness estimated from a sample: Pitman, slide negative binomial, Zayatz.

Three models, and the rule of Dankar, El Emam, Neisa & Roffey 2012 (BMC Med Inform Decis Mak 12:66) that
chooses among them. Throughout, u classes were sampled, n_j of them of size j; n people out of N; π = n / N.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of

_SMALL_SAMPLE = 0.1  # Dankar et al. 2012: up to this sampling fraction Pitman's model is the most accurate


@dataclass(frozen=True)
class PopulationUniqueness:
    """The share of a population that is unique: by each model, and by the rule that chooses one of them.

    >>> estimated = PopulationUniqueness(1000, 0.05, zayatz=0.2, pitman=0.1, snb=None, dankar=0.1, model="pitman")
    >>> estimated.to_dict()["dankar"]
    0.1
    """

    population: int
    sampling_fraction: float
    zayatz: float
    pitman: float | None
    snb: float | None
    dankar: float
    model: str

    to_dict = json_of()


def estimate(sizes: Sizes, population: int, *, people: Sizes | None = None) -> PopulationUniqueness:
    """Estimate the share of a population that is unique, by every model, from the class sizes of a sample.

    `people` counts everybody in one class, where some are in several; see `observe`.

    >>> found = estimate(np.repeat([1, 2, 3, 10], [600, 150, 60, 12]), 20_000)
    >>> found.model, round(found.dankar, 3), round(found.zayatz, 3)
    ('pitman', 0.108, 0.27)
    """
    sample = observe(sizes, population, people=people)
    by_zayatz, by_pitman, by_snb = zayatz_uniques(sample), pitman_uniques(sample), snb_uniques(sample)
    # The model that the decision rule of Dankar et al. 2012 trusts, and its estimate.
    model, chosen = "zayatz", by_zayatz
    if sample.ones == 0:
        model, chosen = "none", 0.0
    elif sample.fraction <= _SMALL_SAMPLE:
        if by_pitman is not None:
            model, chosen = "pitman", by_pitman
    elif by_snb is not None and by_snb < by_zayatz:
        model, chosen = "snb", by_snb
    return PopulationUniqueness(
        population=population,
        sampling_fraction=sample.fraction,
        zayatz=_share(by_zayatz, population),
        pitman=None if by_pitman is None else _share(by_pitman, population),
        snb=None if by_snb is None else _share(by_snb, population),
        dankar=_share(chosen, population),
        model=model,
    )


def _share(people: float, population: int) -> float:
    return min(1.0, max(0.0, people / population))


# The class sizes of a sample, as the models of a population take them.
#
# Throughout, u classes were sampled, n_j of them of size j; n people out of N; π = n / N.
Sizes = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Sample:
    """The distinct class sizes j of a sample, the number of classes n_j of each, and N."""

    sizes: NDArray[np.float64]
    counts: NDArray[np.float64]
    people: int
    population: int

    @property
    def fraction(self) -> float:
        """π, the share of the population that was sampled."""
        return self.people / self.population

    @property
    def is_census(self) -> bool:
        """Whether everybody was sampled."""
        return self.people == self.population

    @property
    def classes(self) -> float:
        """u, the number of classes."""
        return float(self.counts.sum())

    @property
    def ones(self) -> float:
        """n_1, the number of people who are unique in the sample."""
        return self.classes_of(1)

    def classes_of(self, size: int) -> float:
        """n_j, the number of classes of one size."""
        return float(self.counts[self.sizes == size].sum())

    def total(self, weights: NDArray[np.float64]) -> float:
        """Sum a weight per size over all classes."""
        return float(self.counts @ weights)


def observe(sizes: Sizes, population: int, *, people: Sizes | None = None) -> Sample:
    """Count how many classes of each size there are.

    Where people are in several classes, `people` counts each in one of them: so many as share a class of j there are
    n_j = people / j classes of, so that j n_j still adds up to n.

    >>> observe(np.array([1, 1, 2]), 100).ones
    2.0
    """
    values, place, counts = np.unique(np.asarray(sizes), return_inverse=True, return_counts=True)
    if not values.size or values.dtype.kind not in "iu" or values[0] <= 0:
        raise UsageError(
            "Class sizes have to be whole numbers of people, one or more in each class, and at least one class.",
            remedy="Leave empty classes out.",
        )
    number = sum(int(size) * int(count) for size, count in zip(values, counts, strict=True))
    classes = counts.astype(np.float64)
    if people is not None:
        number, classes = int(people.sum()), np.bincount(place, weights=people) / values
    if population < number:
        raise UsageError(
            f"A population of {population:,} people cannot have a sample of {number:,}.",
            remedy="Give the size of the population that the sample was drawn from.",
        )
    met = classes > 0
    return Sample(values[met].astype(np.float64), classes[met], number, population)


# Population uniques by Pitman 1995, as used by Hoshino 2001: classes appear as in Pitman's sampling formula.
_LOGIT_RANGE = (-30.0, 30.0)  # where Pitman's alpha is looked for: 1e-13 from either end


def pitman_uniques(sample: Sample) -> float | None:
    """The number of population uniques if classes appear as in Pitman's sampling formula; None without a fit.

    >>> round(pitman_uniques(observe(np.repeat([1, 2, 3, 10], [600, 150, 60, 12]), 20_000)))
    2165
    """
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
    within = sample.total(reciprocals(np.full_like(sample.sizes, rest), sample.sizes - 1))
    # The sum of (i + 1) / (θ + α + iα) over i < u − 1; as a power series where the difference would cancel.
    base, rungs = theta_plus - alpha, sample.classes - 1
    if rungs * alpha > 1e-5 * base:
        return (rungs - base * _ladder(theta_plus, alpha, rungs)) / alpha - within
    tilt, first = alpha / base, rungs * (rungs + 1) / 2
    return first * (1 - tilt * (2 * rungs + 1) / 3 + tilt * tilt * first) / base - within


def _ladder(start: float, step: float, rungs: float) -> float:
    """The sum of 1 / (start + i step) over i = 0 .. rungs − 1."""
    return reciprocals(start / step, rungs) / step if step else rungs / start


def _expit(logit: float) -> tuple[float, float]:
    """A probability and its complement, both exact where they are tiny."""
    return 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))


# Population uniques by Chen & Keller-McNulty 1998, the slide negative binomial: class sizes less one are spread so.
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


# Population uniques by Zayatz 1991: the population's class sizes are spread like the sample's.
def zayatz_uniques(sample: Sample) -> float:
    """The number of population uniques if the population's class sizes are spread like the sample's.

    >>> round(zayatz_uniques(observe(np.array([1, 1, 1, 2, 5]), 100)), 1)
    11.0
    """
    if sample.is_census or sample.ones == 0:
        return sample.ones
    # Zayatz 1991: P(F = 1 | f = 1) by Bayes' rule, with n_j / u for the population's spread; u cancels
    among_singles = sample.ones * sample.fraction / sample.total(_single(sample))
    return sample.ones * among_singles / sample.fraction


def _single(sample: Sample) -> NDArray[np.float64]:
    """The probability that a population class of each size leaves exactly one person in the sample."""
    rest = float(sample.population - sample.people)
    possible = np.minimum(sample.sizes, rest + 1)
    others = possible - 1
    # Hyp(1; N, j, n) = j (n / N) times, for each of the j - 1 others, the chance of being left out as well
    log_left_out = log_rising(rest - others + 1, others) - log_rising(sample.population - others, others)
    chances = sample.sizes * sample.fraction * np.exp(log_left_out)
    return np.where(possible < sample.sizes, 0.0, chances)


# Differences of the gamma family without cancellation, and root finding.
#
# The models need log Γ(x + k) − log Γ(x) and ψ(x + k) − ψ(x) where x can be a million times k. Both are lifted by
# recurrence to arguments of ten and more, where Stirling's series (Abramowitz & Stegun 1964, 6.1.41 and 6.3.18) are
# subtracted term by term.
Real = TypeVar("Real", float, NDArray[np.float64])

_LIFT = 10
# A&S 6.1.41: B_2m / (2m (2m − 1)); 6.3.18: B_2m / 2m. From ten upwards the first terms left out are below 1e-15.
_LOG_GAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)


def log_rising(x: Real, k: Real) -> Real:
    """The logarithm of x (x + 1) ... (x + k − 1): log Γ(x + k) − log Γ(x), for any x > 0 and k >= 0.

    >>> bool(np.isclose(log_rising(3.0, 4.0), np.log(3 * 4 * 5 * 6)))
    True
    """
    head = sum((np.log((x + i) / (x + k + i)) for i in range(_LIFT)), start=0 * k)
    a, b = x + _LIFT, x + k + _LIFT
    trunk = (a - 0.5) * np.log1p(k / a) + k * (np.log(b) - 1)
    value: Real = head + trunk + _series(_LOG_GAMMA, b) / b - _series(_LOG_GAMMA, a) / a
    return value


def reciprocals(x: Real, k: Real) -> Real:
    """The sum 1 / x + 1 / (x + 1) + ... + 1 / (x + k − 1): ψ(x + k) − ψ(x), for any x > 0 and k >= 0.

    >>> bool(np.isclose(reciprocals(2.0, 3.0), 1 / 2 + 1 / 3 + 1 / 4))
    True
    """
    head = sum((k / ((x + i) * (x + k + i)) for i in range(_LIFT)), start=0 * k)
    a, b = x + _LIFT, x + k + _LIFT
    trunk = np.log1p(k / a) + k / (2 * a * b)
    value: Real = head + trunk + _series(_DIGAMMA, a) / a / a - _series(_DIGAMMA, b) / b / b
    return value


def _series(terms: tuple[float, ...], x: Real) -> Real:
    square, value = 1 / x / x, 0 * x
    for term in reversed(terms):
        value = term + square * value
    return value


_DIGITS = 1e-13  # of a root
_MOST_STEPS = 200  # Ridders' method halves its bracket at each of them, so that a handful is the rule


def find_root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where a function crosses zero between low and high (Ridders 1979); the nearer end where it does not.

    >>> round(find_root(lambda x: x * x - 2, 0, 2), 12)
    1.414213562373
    """
    start, end, x = (low, f(low)), (high, f(high)), math.inf
    if (start[1] > 0) == (end[1] > 0):
        return min(start, end, key=lambda point: abs(point[1]))[0]
    for _ in range(_MOST_STEPS):
        middle = (start[0] + end[0]) / 2
        height, before = f(middle), x
        x = middle
        if height != 0:
            step = (middle - start[0]) * height / math.sqrt(height**2 - start[1] * end[1])
            x += step if start[1] > end[1] else -step
        if abs(x - before) <= _DIGITS * (1 + abs(x)):
            break
        # The narrowest bracket of these points.
        points = sorted([start, (middle, height), (x, f(x)), end])
        start, end = next((a, b) for a, b in pairwise(points) if (a[1] > 0) != (b[1] > 0))
    return x
