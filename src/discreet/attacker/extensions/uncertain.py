"""One uncertain amount: the exact distribution of the risk when the adversary's gain, or the penalty, is not known.

The risk is a step function, rising with the gain and falling with the penalty. All its steps are found exactly
(`discreet.attacker.piecewise`), so the probability of each risk is that of an interval of amounts: no simulation. An
amount that the distribution puts below 0 counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacker.checks import number, planned_through, probability
from discreet.attacker.piecewise import Along, Pieces, Steps, steps
from discreet.errors import UsageError
from discreet.kernel.arrays import Floats

if TYPE_CHECKING:
    from discreet.attacker.attack import Attack

Distribution = Mapping[float, float] | Callable[[float], float]
"""Probabilities by amount, or the distribution function P(amount <= x)."""


@dataclass(frozen=True, eq=False)
class RiskDistribution:
    """The risks that are possible, from low to high, with their probabilities."""

    risks: Floats
    probabilities: Floats

    @property
    def mean(self) -> float:
        """The expected risk."""
        return float(self.risks @ self.probabilities)

    def quantile(self, q: float) -> float:
        """The least risk that is not exceeded with probability `q` or more."""
        probability(q, "q", remedy="0.95 means: in 95 cases of 100.")
        reached = np.cumsum(self.probabilities) >= q - 1e-12
        return float(self.risks[int(np.argmax(reached)) if reached.any() else -1])

    def exceeds(self, limit: float) -> float:
        """The probability that the risk is above a limit."""
        number(limit, "limit", remedy="0.1 means: one in ten.")
        return float(self.probabilities[self.risks > limit + 1e-12].sum())


def risk_distribution(attack: Attack, size: int, **amount: Distribution) -> RiskDistribution:
    """The exact distribution of the risk in a known group, with `gain=` or `penalty=` uncertain.

    >>> from discreet.attacker import Attack
    >>> a = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000)
    >>> found = risk_distribution(a, 10, penalty=uniform(0, 100_000))
    >>> found.risks.round(4).tolist(), found.probabilities.round(4).tolist()
    ([0.0, 0.63], [0.3872, 0.6128])
    """
    along, given = _one(amount)
    group = planned_through(size)
    if isinstance(given, Mapping):
        values, chances = _atoms(given, along)
        risks = Pieces.of(attack, np.repeat(group, len(values)), along=along, varied={along: values}).risk
        return _gathered(risks, chances)
    if not callable(given):
        raise UsageError(
            f"The distribution of {along} is not one.",
            remedy="Give probabilities by amount, or a function such as lognormal(8000, 0.5).",
        )
    found = steps(attack, group, along)[0]
    return _gathered(found.risks, _between(found, along, given))


def uniform(low: float, high: float) -> Callable[[float], float]:
    """The distribution function of an amount between two bounds, each as likely as another."""
    remedy = "Give the lower bound first, then the upper one."
    if not number(low, "A bound", remedy=remedy) < number(high, "A bound", remedy=remedy):
        raise UsageError("A uniform distribution lies between two bounds.", remedy="Give the lower one first.")
    return lambda amount: min(1.0, max(0.0, (amount - low) / (high - low)))


def normal(mean: float, deviation: float) -> Callable[[float], float]:
    """The distribution function of a normal amount."""
    number(mean, "A mean", remedy="Check the distribution.")
    _positive(deviation)
    return lambda amount: 0.5 * math.erfc(-(amount - mean) / (deviation * math.sqrt(2)))


def lognormal(median: float, spread: float) -> Callable[[float], float]:
    """The distribution function of an amount whose logarithm is normal with standard deviation `spread`."""
    _positive(median)
    by_log = normal(math.log(median), spread)
    return lambda amount: by_log(math.log(amount)) if amount > 0 else 0.0


def from_quantiles(quantile: Callable[[float], float]) -> Callable[[float], float]:
    """The distribution function of an amount whose quantile function is given: the largest u with Q(u) <= x."""

    def distribution(amount: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(64):
            middle = (low + high) / 2
            low, high = (middle, high) if quantile(middle) <= amount else (low, middle)
        return high if low == 0 and quantile(high) <= amount else low

    return distribution


def _between(found: Steps, along: Along, distribution: Callable[[float], float]) -> Floats:
    """The probability of each step. At the amount where an act is worth 0 he does not act: the step has begun."""
    edges = [_checked(distribution, edge, along) for edge in found.starts[1:].tolist()]
    below = np.array([0.0, *edges, 1.0])
    return np.diff(below)


def _checked(distribution: Callable[[float], float], edge: float, along: Along) -> float:
    """The probability of a point before an edge: a smaller penalty, or a larger gain."""
    amount = math.nextafter(edge, -math.inf) if along == "penalty" else -edge
    chance = number(distribution(amount), "P(amount <= x)", remedy="A distribution function gives numbers.")
    if not -1e-12 <= chance <= 1 + 1e-12:
        raise UsageError(f"The distribution of {along} is not one.", remedy="P(amount <= x) lies between 0 and 1.")
    chance = min(1.0, max(0.0, chance))
    return chance if along == "penalty" else 1 - chance


def _gathered(risks: Floats, chances: Floats) -> RiskDistribution:
    """Each possible risk once."""
    if (chances < -1e-12).any():
        raise UsageError("A distribution function never falls.", remedy="Give P(amount <= x).")
    distinct, place = np.unique(risks, return_inverse=True)
    together: Floats = np.bincount(place, weights=np.maximum(chances, 0.0)).astype(np.float64)
    return RiskDistribution(distinct[together > 0], together[together > 0])


def _atoms(given: Mapping[float, float], along: Along) -> tuple[Floats, Floats]:
    remedy = "Give numbers: probabilities by amount."
    values, chances = (
        np.array([number(one, f"The distribution of {along}", remedy=remedy) for one in part])
        for part in (given.keys(), given.values())
    )
    fine = len(values) and np.isfinite(values).all() and (chances >= 0).all() and abs(chances.sum() - 1) < 1e-9
    if not fine:
        raise UsageError(
            f"The distribution of {along} is not one.", remedy="Give probabilities by amount that add up to 1."
        )
    return np.maximum(values, 0.0), chances


def _one(amount: dict[str, Distribution]) -> tuple[Along, Distribution]:
    match list(amount.items()):
        case [("penalty", given)]:
            return "penalty", given
        case [("gain", given)]:
            return "gain", given
    raise UsageError("Give gain= or penalty=, one of them.", remedy="For several uncertain amounts use simulated().")


def _positive(amount: float) -> None:
    if not 0 < number(amount, "A spread or median", remedy="Check the distribution.") < math.inf:
        raise UsageError("Spreads and medians of distributions are above 0.", remedy="Check the distribution.")
