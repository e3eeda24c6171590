"""Uncertainty: amounts that are not known exactly, and success that is not confirmed.

The risk is a step function, rising with the gain and falling with the penalty. All its steps are found exactly
(`discreet.attacker.piecewise`), so the probability of each risk is that of an interval of amounts: no simulation. An
amount that the distribution puts below 0 counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attacker.optimal_plan import Planner
from discreet.attacker.parameters import number, planned_through, probability
from discreet.attacker.piecewise import AMOUNTS, Along, Pieces, steps
from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats, Ints, whole

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


# Unconfirmed success. Each exploit comes with an answer, yes or no. The target answers yes with the true-positive rate
# alpha, anybody else with the false-positive rate beta. The attack ends at the first yes; the gain comes only if it was
# the target. Nobody is asked twice. After i times no, the next candidate is the target with probability (Bayes)
#     pi_i = 1 / (g/p - i + i (1 - alpha) / (1 - beta)),
# because an untried candidate and an absent target have weight (1-beta)^i per head, a tried one (1-alpha) (1-beta)^(i-1).
# With penalties distinguished as in the base model (detection does not depend on the answer):
#     Q_j(i) = -C_e + gamma [alpha pi_i G - d_i C_p 1{j<n_f} + n_i ((1-d_i) W_j(i+1) + d_i W_min(j+1,n_f)(i+1))],
#     n_i = 1 - alpha pi_i - beta (1 - pi_i).
# With alpha = 1 and beta = 0 this is the base model.
@dataclass(frozen=True, eq=False)
class Unconfirmed:
    """What the attacker does with targets in groups of known size; one entry per size."""

    sizes: Ints
    start_value: Floats
    """What the first exploit is worth once the tables are linked."""
    value_raw: Floats
    """What buying the external table is worth."""
    accesses: Flags
    exploits: Ints
    """Exploits on the way without detection on which every answer is no; none if linking does not pay."""
    reidentification: Floats
    """Probability that the attack ends at the target."""
    mistaken: Floats
    """Probability that it ends at another person."""
    missed: Floats
    """Probability that the target is exploited and answers no."""
    expected_exploits: Floats
    expected_wrong: Floats
    """Expected number of innocent people exploited, including the one it ends at."""
    expected_penalties: Floats

    @property
    def value(self) -> Floats:
        """What the attack is worth to the attacker."""
        return np.maximum(self.value_raw, 0)


def plan_unconfirmed(
    attack: Planner, sizes: Sequence[int] | Ints, *, true_positive: float = 1.0, false_positive: float = 0.0
) -> Unconfirmed:
    """The plan against groups of these sizes when answers can be wrong.

    >>> from discreet.attacker import Attack
    >>> a = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000)
    >>> found = plan_unconfirmed(a, [5], true_positive=0.9, false_positive=0.1)
    >>> found.reidentification.round(4).tolist(), found.mistaken.round(4).tolist()
    ([0.4644], [0.2758])
    """
    remedy = "How often does the attacker take a person for the target?"
    alpha = probability(true_positive, "true_positive", remedy=remedy)
    beta = probability(false_positive, "false_positive", remedy=remedy)
    asked = attack.known(sizes).sizes
    # Being sure is never worth less: people left alone then are left alone now.
    groups, place = np.unique(attack.horizon.clipped(asked), return_inverse=True)
    most = int(groups.max(initial=0))
    p = attack.within(most)
    charged = p.chargeable[:, None]
    # What is ahead: the worth, then expectations that follow the plan undiscounted: exploits on the way without
    # detection or yes, exploits, and the chances and penalties below.
    ahead = np.zeros((7, p.levels, len(groups)))
    for left in range(1, most + 1):
        tried = np.maximum(groups - left, 0)
        # pi_i; where everybody answers yes, a no can only have come from the target, who is then found and gone.
        untried = np.maximum(groups / p.prior - tried, 1.0)
        if beta == 1:
            target = np.where(tried > 0, 0.0, 1 / untried)
        else:
            target = np.asarray(1 / (untried + tried * (1 - alpha) / (1 - beta)))
        right, mistaken, caught = alpha * target, beta * (1 - target), p.detection(tried)
        after = np.concatenate([ahead[:, 1:], ahead[:, -1:]], axis=1)
        then = np.maximum(1 - right - mistaken, 0.0) * ((1 - caught) * ahead + caught * after)
        worth = -p.exploit_cost + p.discount * (right * p.gain - caught * charged * p.penalty + then[0])
        now = (1.0, right, mistaken, (1 - alpha) * target, caught * charged)
        expected = [chance + later for chance, later in zip(now, then[2:], strict=True)]
        earlier = np.stack([worth, 1 + ahead[1], *expected]) * (worth > 0)
        ahead = np.where(groups < left, ahead, earlier)
    start, path, *parts = ahead[:, 0, place]
    access = np.maximum(0, -p.link_cost + p.discount * start) * (asked > 0)
    value = -p.access_cost + p.discount * access
    tries, right, mistaken, missed, penalties = (part * (value > 0) for part in parts)
    exploits, wrong = (path * (access > 0)).astype(np.int64), tries - right - missed
    return Unconfirmed(asked, start, value, value > 0, exploits, right, mistaken, missed, tries, wrong, penalties)
