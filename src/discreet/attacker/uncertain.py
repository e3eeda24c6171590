"""Uncertain amounts: the distribution of the risk, exact for one, Monte Carlo for several.

The risk is a step function, rising with the gain and falling with the penalty. All its steps are found exactly
(`discreet.attacker.piecewise`), so the probability of each risk is that of an interval of amounts: no simulation. An
amount that the distribution puts below 0 counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attacker.parameters import number, planned_through, probability, whole
from discreet.attacker.piecewise import AMOUNTS, Along, Pieces, steps
from discreet.attacker.planner import Planner
from discreet.errors import UsageError
from discreet.kernel.arrays import Floats

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


def risk_distribution(attack: Planner, size: int, **amount: Distribution) -> RiskDistribution:
    """The exact distribution of the risk in a known group, with `gain=` or `penalty=` uncertain.

    >>> from discreet.attacker import Attack
    >>> a = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000)
    >>> found = risk_distribution(a, 10, penalty=uniform(0, 100_000))
    >>> found.risks.round(4).tolist(), found.probabilities.round(4).tolist()
    ([0.0, 0.63], [0.3872, 0.6128])
    """
    if amount.keys() not in ({"gain"}, {"penalty"}):
        raise UsageError(
            "Give gain= or penalty=, one of them.", remedy="For several uncertain amounts use simulated()."
        )
    along: Along = "gain" if "gain" in amount else "penalty"
    given: Any = amount[along]
    group, no_distribution = planned_through(size), f"The distribution of {along} is not one."
    if isinstance(given, Mapping):
        remedy = "Give numbers: probabilities by amount."
        values, chances = (
            np.array([number(value, f"The distribution of {along}", remedy=remedy) for value in part])
            for part in (given.keys(), given.values())
        )
        fine = len(values) and np.isfinite(values).all() and (chances >= 0).all() and abs(chances.sum() - 1) < 1e-9
        if not fine:
            raise UsageError(no_distribution, remedy="Give probabilities by amount that add up to 1.")
        varied: dict[str, Floats] = {along: np.maximum(values, 0.0)}
        return _gathered(Pieces.of(attack, np.repeat(group, len(values)), along=along, varied=varied).risk, chances)
    if not callable(given):
        raise UsageError(
            no_distribution, remedy="Give probabilities by amount, or a function such as lognormal(8000, 0.5)."
        )
    risk = steps(attack, group, along)[0]
    # The probability of each step: that of a point before its edge (a smaller penalty, or a larger gain), because at the
    # amount where an act is worth 0 there is no act: the step has begun.
    below = [0.0]
    for edge in risk.starts[1:].tolist():
        point = math.nextafter(edge, -math.inf) if along == "penalty" else -edge
        chance = number(given(point), "P(amount <= x)", remedy="A distribution function gives numbers.")
        if not -1e-12 <= chance <= 1 + 1e-12:
            raise UsageError(no_distribution, remedy="P(amount <= x) must be between 0 and 1.")
        chance = min(1.0, max(0.0, chance))
        below.append(chance if along == "penalty" else 1 - chance)
    return _gathered(risk.risks, np.diff([*below, 1.0]))


def uniform(low: float, high: float) -> Callable[[float], float]:
    """The distribution function of an amount between two bounds, each as likely as another."""
    remedy = "Give the lower bound first, then the upper one."
    if not number(low, "A bound", remedy=remedy) < number(high, "A bound", remedy=remedy):
        raise UsageError("A uniform distribution needs two bounds.", remedy="Give the lower one first.")
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


def _gathered(risks: Floats, chances: Floats) -> RiskDistribution:
    """Each possible risk once."""
    if (chances < -1e-12).any():
        raise UsageError("A distribution function never falls.", remedy="Give P(amount <= x).")
    distinct, place = np.unique(risks, return_inverse=True)
    together: Floats = np.bincount(place, weights=np.maximum(chances, 0.0)).astype(np.float64)
    return RiskDistribution(distinct[together > 0], together[together > 0])


def _positive(amount: float) -> None:
    if not 0 < number(amount, "A spread or median", remedy="Check the distribution.") < math.inf:
        raise UsageError("Spreads and medians of distributions are above 0.", remedy="Check the distribution.")


# Several uncertain amounts: the distribution of the risk by Monte Carlo, with its error.
#
# Randomness comes from the caller's generator, so that the same seed gives the same answer.
Sampler = Callable[[np.random.Generator, int], Floats]
"""Draws so many values with a generator."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Drawn risks, from low to high."""

    risks: Floats

    @property
    def mean(self) -> float:
        """The mean risk."""
        return float(self.risks.mean())

    @property
    def mean_error(self) -> float:
        """The standard error of the mean."""
        return float(self.risks.std(ddof=1) / math.sqrt(len(self.risks))) if len(self.risks) > 1 else math.inf

    def exceeds(self, limit: float) -> tuple[float, float]:
        """The probability that the risk is above a limit, and its standard error."""
        number(limit, "limit", remedy="0.1 means: one in ten.")
        share = float((self.risks > limit + 1e-12).mean())
        return share, math.sqrt(share * (1 - share) / len(self.risks))

    def quantile(self, q: float) -> float:
        """The risk that is not exceeded in a share `q` of the draws."""
        probability(q, "q", remedy="0.95 means: in 95 cases of 100.")
        return float(self.risks[max(0, math.ceil(q * len(self.risks) - 1e-9) - 1)])

    def quantile_between(self, q: float, confidence: float = 0.95) -> tuple[float, float]:
        """Bounds that hold the true quantile with at least this confidence, whatever the distribution.

        The number of draws below the true quantile is Binomial(n, q), so two ranks of the draws are bounds.
        """
        if not 0 < confidence < 1:
            raise UsageError("confidence must be between 0 and 1.", remedy="0.95 is usual.")
        self.quantile(q)
        many = len(self.risks)
        k = np.arange(many + 1)
        if q in (0, 1):
            mass = np.asarray(k == (0 if q == 0 else many), dtype=np.float64)
        else:
            ways = [math.lgamma(many + 1) - math.lgamma(i + 1) - math.lgamma(many - i + 1) for i in range(many + 1)]
            mass = np.asarray(np.exp(np.array(ways) + k * math.log(q) + (many - k) * math.log1p(-q)))
        below = np.cumsum(mass)
        tail = (1 - confidence) / 2
        low = int(np.searchsorted(below, tail, side="right"))
        high = int(np.searchsorted(below, 1 - tail, side="left"))
        return float(self.risks[low - 1]) if low else 0.0, float(self.risks[high]) if high < many else 1.0


def simulate(
    attack: Planner, size: int, random: np.random.Generator, draws: int = 10_000, **amounts: Sampler
) -> Simulated:
    """The risk in a known group for so many drawn adversaries; each amount has a sampler.

    >>> from discreet.attacker import Attack
    >>> a = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000)
    >>> def gains(random, many): return random.lognormal(9, 0.5, many)
    >>> def priors(random, many): return random.uniform(0.4, 0.8, many)
    >>> simulate(a, 40, np.random.default_rng(1), 1000, gain=gains, prior=priors).quantile(0.95) <= 0.8
    True
    """
    draws = whole(draws, "draws", remedy="10,000 is a good start.")
    unknown = [name for name in amounts if name not in AMOUNTS]
    if unknown or not amounts:
        raise UsageError(
            f"There is no amount named '{unknown[0]}'." if unknown else "No amount is uncertain.",
            remedy=f"Choose among: {', '.join(AMOUNTS)}.",
        )
    given: dict[str, Any] = {**amounts}
    constant = [name for name, sampler in given.items() if not callable(sampler)]
    if constant or not isinstance(random, np.random.Generator):
        raise UsageError(
            f"'{constant[0]}' needs a sampler." if constant else "Randomness comes from a generator.",
            remedy="For example gain=lambda random, many: random.lognormal(9, 0.5, many), with numpy.random.default_rng(1).",
        )
    group = planned_through(size)
    drawn: dict[str, Floats] = {}
    for name, sampler in amounts.items():
        values: Any = sampler(random, draws)
        try:
            drawn[name] = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise UsageError(f"The sampler of {name} must draw numbers.", remedy="Return an array of floats.") from None
        if drawn[name].shape != (draws,):
            raise UsageError(
                f"The sampler of {name} must draw one value per adversary.", remedy="Use its second argument."
            )
        fine = np.isfinite(drawn[name])
        if name in ("prior", "discount"):
            fine &= (drawn[name] > 0) & (drawn[name] <= 1)
        elif not name.startswith("detection"):
            fine &= drawn[name] >= 0
        if not fine.all():
            raise UsageError(
                f"{int((~fine).sum()):,} of {draws:,} draws of {name} are out of its range.",
                remedy="Cut the distribution off, for example with numpy.clip.",
            )
    return Simulated(np.sort(Pieces.of(attack, np.repeat(group, draws), varied=drawn).risk))
