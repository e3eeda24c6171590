"""`Attack`: will a rational adversary bother, how far will he go, and with what probability does he succeed?

The attack is a sequence of decisions (buy the external table, link it, try one candidate after another, stop) with
costs, a gain, a chance of detection and a penalty: a factored Markov decision process after Xia et al.,
"Process-Driven Data Privacy" (CIKM 2015). An action is taken only if it is worth strictly more than stopping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.attacker.belief import Belief
from discreet.attacker.parameters import Floats, Parameters
from discreet.attacker.table import FIRST, MOST, PlanTable
from discreet.errors import UsageError
from discreet.kernel.hierarchy import Ints

Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Plan:
    """What the adversary does with targets whose group size he knows; one entry per size asked for."""

    sizes: Ints
    start_value: Floats
    """What the first exploit is worth once the tables are linked."""
    access_value: Floats
    """What having the external table is worth."""
    value_raw: Floats
    """What buying it is worth; he does so only if it is above 0."""
    accesses: Marks
    exploits: Ints
    """Exploits on the way on which he is never detected and never right, once access is paid."""
    reidentification: Floats
    """Probability that he re-identifies the target."""
    expected_exploits: Floats
    expected_wrong: Floats
    """Expected number of innocent people exploited."""
    expected_penalties: Floats

    @property
    def value(self) -> Floats:
        """What the attack is worth to him."""
        return np.maximum(self.value_raw, 0)


@dataclass(frozen=True, eq=False)
class Gamble:
    """What he does with targets whose group size he only believes; one entry per target."""

    value_raw: Floats
    accesses: Marks
    reidentification: Floats
    expected_exploits: Floats
    expected_wrong: Floats
    expected_penalties: Floats

    @property
    def value(self) -> Floats:
        """What the attack is worth to him."""
        return np.maximum(self.value_raw, 0)


@dataclass(frozen=True)
class Thresholds:
    """Group sizes from which the adversary changes his mind; None where he never does."""

    stops_early: int | None
    """The smallest group in which he stops before the last candidate."""
    no_access: int | None
    """The smallest group for which he does not buy the external table."""
    no_exploit: int | None
    """The smallest group which he leaves alone even if he has the table."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """The single-shot model (Wan et al. 2015): one random candidate, if that pays."""

    payoff: Floats
    attacks: Marks
    risk: Floats


@dataclass(frozen=True)
class Attack(Parameters):
    """A planning adversary.

    >>> fined_once = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000,
    ...                     max_penalties=1)
    >>> fined_once.thresholds()
    Thresholds(stops_early=54, no_access=48, no_exploit=54)
    """

    def known(self, sizes: Sequence[int] | Ints) -> Plan:
        """The plan for targets in groups of these sizes."""
        asked = _sizes(sizes)
        distinct, place = np.unique(asked, return_inverse=True)
        table = self._table(distinct)
        value = -self.access_cost + self.discount * table.access
        accesses = value > 0
        found, exploits, penalties = (part * accesses for part in (table.success, table.tries, table.penalties))
        return Plan(
            asked,
            table.start[place],
            table.access[place],
            value[place],
            accesses[place],
            table.exploits[place],
            found[place],
            exploits[place],
            (exploits - found)[place],
            penalties[place],
        )

    def unknown(
        self,
        density: Sequence[float] | Floats | None = None,
        external_size: int | None = None,
        sizes: Sequence[int] | Ints | None = None,
        *,
        belief: Sequence[Sequence[float]] | Floats | None = None,
    ) -> Gamble:
        """What he does when he learns a group's size only after buying the table.

        He believes that it is Binomial(external_size, density), or whatever `belief` says: one row per target, the
        probability of each size from 0 on. `sizes` are the real ones, on which the risk depends.
        """
        if sizes is None:
            raise UsageError(
                "The real group sizes are needed.", remedy="Give sizes=: the people in the external table per target."
            )
        actual = _sizes(sizes)
        beliefs = Belief.of(density, external_size, belief, targets=len(actual))
        value = -self.access_cost + self.discount * beliefs.expectation(self.access_values)
        accesses = value > 0
        distinct, place = np.unique(actual, return_inverse=True)
        table = self._table(distinct)
        goes_on = table.access > 0
        parts = (table.success, table.tries, table.penalties)
        found, exploits, penalties = ((part * goes_on)[place] * accesses for part in parts)
        return Gamble(value, accesses, found, exploits, exploits - found, penalties)

    def thresholds(self) -> Thresholds:
        """The group sizes from which he stops early, does not buy, does not start."""
        table = self._until_nobody_starts
        sizes = table.sizes[1:]
        raw = -self.access_cost + self.discount * table.access[1:]
        return Thresholds(
            _first(sizes, table.exploits[1:] < sizes), _first(sizes, raw <= 0), _first(sizes, table.start[1:] <= 0)
        )

    def baseline(self, sizes: Sequence[int] | Ints) -> Baseline:
        """One random candidate: (p/g) G - C_d - C_e - d_0 C_p, tried if it is above 0."""
        groups = _sizes(sizes)
        chance = np.where(groups > 0, self.prior / np.maximum(groups, 1), 0.0)
        caught = float(self.detection(np.array(0)))
        payoff = chance * self.gain - self.access_cost - self.exploit_cost - caught * self.penalty
        attacks = payoff > 0
        return Baseline(payoff, attacks, np.where(attacks, chance, 0.0))

    @cached_property
    def access_values(self) -> Floats:
        """What having the external table is worth for each group size from 0 on, as far as it is worth anything."""
        return self._until_nobody_starts.access

    @cached_property
    def _until_nobody_starts(self) -> PlanTable:
        """V_start never grows with the group, so the table ends where it reaches 0."""
        most = FIRST
        while True:
            table = PlanTable.of(self, np.arange(most + 1))
            if table.start[-1] <= 0 or most >= MOST:
                return table
            most *= 2

    def _table(self, sizes: Ints) -> PlanTable:
        """A table for these sizes; groups too large to be attacked are not planned through."""
        if not len(sizes) or sizes[-1] <= FIRST:
            return PlanTable.of(self, sizes)
        whole = self._until_nobody_starts
        if whole.start[-1] > 0 and sizes[-1] >= len(whole.sizes):
            return PlanTable.of(self, sizes)
        return whole.at(np.minimum(sizes, len(whole.sizes) - 1))


def _sizes(sizes: Sequence[int] | Ints) -> Ints:
    groups = np.asarray(sizes)
    if groups.ndim != 1 or (groups.size and (groups.dtype.kind not in "iu" or groups.min() < 0)):
        raise UsageError(
            "Group sizes are whole numbers from 0 up, in one list.",
            remedy="Give how many people look like each target.",
        )
    return groups.astype(np.int64)


def _first(sizes: Ints, marked: Marks) -> int | None:
    found = np.flatnonzero(marked)
    return int(sizes[found[0]]) if len(found) else None
