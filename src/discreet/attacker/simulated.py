"""Several uncertain amounts: the distribution of the risk by Monte Carlo, with its error.

Randomness comes from the caller's generator, so that the same seed gives the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attacker.checks import number, planned_through, probability, whole
from discreet.attacker.piecewise import AMOUNTS, Pieces
from discreet.errors import UsageError
from discreet.kernel.arrays import Floats

if TYPE_CHECKING:
    from discreet.attacker.attack import Attack

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
            raise UsageError("confidence lies between 0 and 1.", remedy="0.95 is usual.")
        self.quantile(q)
        many = len(self.risks)
        below = np.cumsum(_binomial(many, q))
        tail = (1 - confidence) / 2
        low = int(np.searchsorted(below, tail, side="right"))
        high = int(np.searchsorted(below, 1 - tail, side="left"))
        return float(self.risks[low - 1]) if low else 0.0, float(self.risks[high]) if high < many else 1.0


def simulate(attack: Attack, size: int, random: np.random.Generator, draws: int, **amounts: Sampler) -> Simulated:
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
    drawn = {name: _checked(name, sampler(random, draws), draws) for name, sampler in amounts.items()}
    return Simulated(np.sort(Pieces.of(attack, np.repeat(group, draws), varied=drawn).risk))


def _checked(name: str, values: Floats, draws: int) -> Floats:
    """Drawn amounts that an adversary can have."""
    try:
        drawn = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"The sampler of {name} must draw numbers.", remedy="Return an array of floats.") from None
    if drawn.shape != (draws,):
        raise UsageError(f"The sampler of {name} must draw one value per adversary.", remedy="Use its second argument.")
    fine = np.isfinite(drawn)
    if name in ("prior", "discount"):
        fine &= (drawn > 0) & (drawn <= 1)
    elif not name.startswith("detection"):
        fine &= drawn >= 0
    if not fine.all():
        raise UsageError(
            f"{int((~fine).sum()):,} of {draws:,} draws of {name} are out of its range.",
            remedy="Cut the distribution off, for example with numpy.clip.",
        )
    return drawn


def _binomial(many: int, q: float) -> Floats:
    """P(k of many) for k from 0 on."""
    if q in (0, 1):
        return np.asarray(np.arange(many + 1) == (0 if q == 0 else many), dtype=np.float64)
    ways = [math.lgamma(many + 1) - math.lgamma(k + 1) - math.lgamma(many - k + 1) for k in range(many + 1)]
    k = np.arange(many + 1)
    return np.asarray(np.exp(np.array(ways) + k * math.log(q) + (many - k) * math.log1p(-q)))
