"""Planner: what a rational attacker does about one target, by backward induction.

The attack is a sequence of decisions (buy the external table, link it, try one candidate after another, stop) with
costs, a gain, a chance of detection and a penalty: a factored Markov decision process after Xia et al.,
"Process-Driven Data Privacy" (CIKM 2015). An action is taken only if it is worth strictly more than stopping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.attacker.belief import believe
from discreet.attacker.bellman import Horizon
from discreet.attacker.parameters import Parameters, group_sizes
from discreet.attacker.plan import Baseline, Gamble, Plan, Thresholds
from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints


@dataclass(frozen=True)
class Planner(Parameters):
    """A planning attacker, whose plans for group sizes are made as far as they are asked for."""

    def known(self, sizes: Sequence[int] | Ints) -> Plan:
        """The plan for targets in groups of these sizes."""
        asked = group_sizes(sizes)
        table = self.horizon.plans(asked)
        value = -self.access_cost + self.discount * table.access
        accesses = value > 0
        found, exploits, penalties = (part * accesses for part in (table.success, table.tries, table.penalties))
        return Plan(
            asked,
            table.start,
            table.access,
            value,
            accesses,
            table.exploits,
            found,
            exploits,
            exploits - found,
            penalties,
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
        beliefs = believe(density, external_size, belief, targets=len(actual))
        possible = beliefs.sizes(self.horizon.nobody_starts_from)
        value = -self.access_cost + self.discount * beliefs.expectation(possible, self.horizon.plans(possible).access)
        accesses = value > 0
        table = self.horizon.plans(actual)
        goes_on = accesses & (table.access > 0)
        found, exploits, penalties = (part * goes_on for part in (table.success, table.tries, table.penalties))
        return Gamble(value, accesses, found, exploits, exploits - found, penalties)

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
