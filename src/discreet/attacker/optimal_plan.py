"""Optimal plan of a rational attacker about one target, by backward induction.

The attack is a sequence of decisions (buy the external table, link it, try one candidate after another, stop) with
costs, a gain, a chance of detection and a penalty: a factored Markov decision process after Xia et al.,
"Process-Driven Data Privacy" (CIKM 2015). An action is taken only if it is worth strictly more than stopping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.attacker.belief import Binomial, Explicit
from discreet.attacker.bellman import Horizon, Thresholds
from discreet.attacker.parameters import Parameters, group_sizes
from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.kernel.serialise import card
from discreet.wording import brief_percent

SHOWN = 20
"""Groups that a notebook lists."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What the adversary does with targets whose group size is known; one entry per size asked for."""

    sizes: Ints
    start_value: Floats
    """What the first exploit is worth once the tables are linked."""
    access_value: Floats
    """What having the external table is worth."""
    value_raw: Floats
    """What buying it is worth; done only if it is above 0."""
    accesses: Flags
    exploits: Ints
    """Exploits on the way without detection or success, once access is paid; none if linking does not pay."""
    reidentification: Floats
    """Probability that the target is re-identified."""
    expected_exploits: Floats
    expected_wrong: Floats
    """Expected number of innocent people exploited."""
    expected_penalties: Floats

    @property
    def value(self) -> Floats:
        """What the attack is worth to the attacker."""
        return np.maximum(self.value_raw, 0)

    def _repr_html_(self) -> str:
        columns = (self.sizes, self.exploits, self.reidentification, self.value)
        listed = zip(*(np.atleast_1d(column)[:SHOWN].tolist() for column in columns), strict=True)
        rows = [(f"{size:,}", tried, brief_percent(found), f"{worth:,.0f}") for size, tried, found, worth in listed]
        head = ("people who look alike", "candidates tried", "re-identified", "worth to the attacker")
        return card("What the adversary plans, by the size of the group.", rows, head=head)


@dataclass(frozen=True, eq=False)
class Gamble:
    """What the adversary does with targets whose group size is only believed; one entry per target."""

    value_raw: Floats
    accesses: Flags
    reidentification: Floats
    expected_exploits: Floats
    expected_wrong: Floats
    expected_penalties: Floats

    @property
    def value(self) -> Floats:
        """What the attack is worth to the attacker."""
        return np.maximum(self.value_raw, 0)


@dataclass(frozen=True, eq=False)
class Baseline:
    """The single-shot model (Wan et al. 2015): one random candidate, if that pays."""

    payoff: Floats
    attacks: Flags
    risk: Floats


@dataclass(frozen=True)
class Planner(Parameters):
    """A planning attacker, whose plans for group sizes are made as far as they are asked for."""

    def known(self, sizes: Sequence[int] | Ints) -> Plan:
        """The plan for targets in groups of these sizes."""
        asked = group_sizes(sizes)
        table = self.horizon.plans(asked)
        value = -self.access_cost + self.discount * table.access
        buys = value > 0
        found, tries, penalties = (part * buys for part in (table.success, table.tries, table.penalties))
        return Plan(
            asked, table.start, table.access, value, buys, table.exploits, found, tries, tries - found, penalties
        )

    def unknown(
        self,
        density: Sequence[float] | Floats | None = None,
        external_size: int | None = None,
        sizes: Sequence[int] | Ints | None = None,
        *,
        belief: Sequence[Sequence[float]] | Floats | None = None,
    ) -> Gamble:
        """What the attacker does who learns a group's size only after buying the table.

        The attacker believes that it is Binomial(external_size, density), or whatever `belief` says: one row per target, the
        probability of each size from 0 on. `sizes` are the real ones, on which the risk depends.
        """
        if sizes is None:
            raise UsageError(
                "The real group sizes are needed.", remedy="Give sizes=: the people in the external table per target."
            )
        actual = group_sizes(sizes)
        if (density is None) == (belief is None):
            raise UsageError(
                "Give density= with external_size=, or belief=.", remedy="A belief is one distribution per target."
            )
        beliefs: Binomial | Explicit = (
            Binomial.of(density, external_size, len(actual)) if belief is None else Explicit.of(belief, len(actual))
        )
        possible = beliefs.sizes(self.horizon.nobody_starts_from)
        value = -self.access_cost + self.discount * beliefs.expectation(possible, self.horizon.plans(possible).access)
        buys, table = value > 0, self.horizon.plans(actual)
        goes_on = buys & (table.access > 0)
        found, tries, penalties = (part * goes_on for part in (table.success, table.tries, table.penalties))
        return Gamble(value, buys, found, tries, tries - found, penalties)

    def thresholds(self) -> Thresholds:
        """The group sizes from which on the attacker stops early, does not buy, does not start."""
        return self.horizon.thresholds()

    def baseline(self, sizes: Sequence[int] | Ints) -> Baseline:
        """One random candidate: (p/g) G - C_d - C_e - d_0 C_p, tried if it is above 0."""
        groups = group_sizes(sizes)
        chance = np.where(groups > 0, self.prior / np.maximum(groups, 1), 0.0)
        caught = float(self.detection(np.array(0)))
        payoff = chance * self.gain - self.access_cost - self.exploit_cost - caught * self.penalty
        attacks = payoff > 0
        return Baseline(payoff, attacks, np.where(attacks, chance, 0.0))

    @cached_property
    def horizon(self) -> Horizon:
        """The plans so far."""
        return Horizon(self)
