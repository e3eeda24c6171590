"""`Attack`: will a rational adversary bother, how far will he go, and with what probability does he succeed?

The attack is a sequence of decisions (buy the external table, link it, try one candidate after another, stop) with
costs, a gain, a chance of detection and a penalty: a factored Markov decision process after Xia et al.,
"Process-Driven Data Privacy" (CIKM 2015). An action is taken only if it is worth strictly more than stopping.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.attacker.attacked import Attacked, strike
from discreet.attacker.belief import believe
from discreet.attacker.parameters import Floats, Parameters
from discreet.attacker.plan import Baseline, Gamble, Marks, Plan, Thresholds
from discreet.attacker.table import PlanTable
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.hierarchy import Ints

if TYPE_CHECKING:
    from discreet.attacker.several import External, Shopping
    from discreet.attacker.shared import Shared
    from discreet.attacker.simulated import Sampler, Simulated
    from discreet.attacker.uncertain import Distribution, RiskDistribution
    from discreet.attacker.unconfirmed import Unconfirmed

FIRST = 64
"""Sizes in the first table; it is doubled until nobody starts."""


@dataclass(frozen=True)
class Reach:
    """How far plans are made; who has to answer at once looks less far."""

    table: int = 2**13
    """Sizes in the last table."""
    formula: int = 2**20
    """The same where there is a closed form."""
    single: int = 2**16
    """Larger groups are not planned through step by step."""


@dataclass(frozen=True)
class Attack(Parameters):
    """A planning adversary.

    >>> fined_once = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000,
    ...                     max_penalties=1)
    >>> fined_once.thresholds()
    Thresholds(stops_early=54, no_access=48, no_exploit=54)
    """

    reach: ClassVar[Reach] = Reach()

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Attack:
        """From names and numbers, such as a TOML file holds; `max_penalties = "unlimited"` is None."""
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                close = difflib.get_close_matches(name, names, n=1)
                advice = f"Did you mean '{close[0]}'?" if close else f"Known are {', '.join(names)}."
                raise UsageError(f"An attack has no parameter '{name}'.", remedy=advice)
        missing = [field.name for field in fields(cls) if field.default is MISSING and field.name not in given]
        if missing:
            raise UsageError(
                f"The attack lacks {', '.join(missing)}.", remedy="discreet attack init writes a file with all of them."
            )
        most = given.get("max_penalties")
        return cls(**{**given, "max_penalties": None if most == "unlimited" else most})

    def on(
        self, sample: Classes, external: Classes, *, population: Classes | None = None, loss: float | str = 1.0
    ) -> Attacked:
        """What he would do to every class of people in a table, `external` being the table that names people."""
        return strike(self, sample, external, population=population, loss=loss)

    def known(self, sizes: Sequence[int] | Ints) -> Plan:
        """The plan for targets in groups of these sizes."""
        asked = _sizes(sizes)
        table = self._plans(asked)
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
        """What he does when he learns a group's size only after buying the table.

        He believes that it is Binomial(external_size, density), or whatever `belief` says: one row per target, the
        probability of each size from 0 on. `sizes` are the real ones, on which the risk depends.
        """
        if sizes is None:
            raise UsageError(
                "The real group sizes are needed.", remedy="Give sizes=: the people in the external table per target."
            )
        actual = _sizes(sizes)
        beliefs = believe(density, external_size, belief, targets=len(actual))
        possible = beliefs.sizes(self._nobody_starts_from)
        value = -self.access_cost + self.discount * beliefs.expectation(possible, self._plans(possible).access)
        accesses = value > 0
        table = self._plans(actual)
        goes_on = accesses & (table.access > 0)
        found, exploits, penalties = (part * goes_on for part in (table.success, table.tries, table.penalties))
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
        most, last = FIRST, self.reach.formula if self.risks_the_same_at_every_exploit else self.reach.table
        while True:
            table = PlanTable.of(self, np.arange(most + 1))
            if table.start[-1] <= 0 or most >= last:
                return table
            most *= 2

    @cached_property
    def _nobody_starts_from(self) -> int | None:
        """The smallest group that he leaves alone, if there is one in the table."""
        table = self._until_nobody_starts
        return None if table.start[-1] > 0 else 1 + int(np.count_nonzero(table.start > 0))

    def _plans(self, sizes: Ints) -> PlanTable:
        """The plan for each of these sizes; groups too large to be attacked are not planned through."""
        largest = int(sizes.max(initial=0))
        if largest < FIRST and "_until_nobody_starts" not in self.__dict__:
            return PlanTable.of(self, np.arange(largest + 1)).at(sizes)
        whole = self._until_nobody_starts
        if self._nobody_starts_from is not None or largest < len(whole.sizes):
            return whole.at(np.minimum(sizes, len(whole.sizes) - 1))
        single = self.reach.single
        if largest > single and not self.risks_the_same_at_every_exploit:
            if PlanTable.of(self, np.array([single])).start[0] > 0:
                raise UsageError(
                    f"This adversary attacks even groups of {single:,}; larger ones are too large to plan through.",
                    remedy="Give him a cost per exploit, or set max_penalties to None or 0 with detection_slope 0.",
                )
            sizes = np.minimum(sizes, single)
        distinct, place = np.unique(sizes, return_inverse=True)
        return PlanTable.of(self, distinct).at(place)

    def deterring_penalty(self, size: int, max_risk: float = 0.0) -> float:
        """The least penalty at which the risk in a known group of this size is at most `max_risk`; infinite if none."""
        from discreet.attacker.deterrence import deterring_penalty

        return deterring_penalty(self, size, max_risk)

    def deterring_price(self, size: int | None = None, max_risk: float = 0.0, **belief: Any) -> float:
        """The least access cost at which it is, for a known group or a belief (`density=, external_size=`, `belief=`)."""
        from discreet.attacker.deterrence import deterring_price

        return deterring_price(self, size, max_risk, **belief)

    def least_size(self, max_risk: float = 0.0) -> int | None:
        """The least group size from which on the risk is at most `max_risk`; None if there is none."""
        from discreet.attacker.deterrence import least_size

        return least_size(self, max_risk)

    def shared(self, sizes: Sequence[int] | Ints, counts: Sequence[int] | Ints | None = None, **belief: Any) -> Shared:
        """What he does when one purchase of the external table serves all records."""
        from discreet.attacker.shared import share

        return share(self, sizes, counts, **belief)

    def several(self, candidates: int, tables: Mapping[str, External], *, links: bool = True) -> Shopping:
        """What he does when several external tables, each with some of the candidates, are for sale."""
        from discreet.attacker.several import shop

        return shop(self, candidates, tables, links=links)

    def uncertain(self, size: int, **amount: Distribution) -> RiskDistribution:
        """The exact distribution of the risk when his gain, or the penalty, has a distribution."""
        from discreet.attacker.uncertain import risk_distribution

        return risk_distribution(self, size, **amount)

    def simulated(self, size: int, random: np.random.Generator, draws: int = 10_000, **amounts: Sampler) -> Simulated:
        """The distribution of the risk when several amounts have distributions, by Monte Carlo."""
        from discreet.attacker.simulated import simulate

        return simulate(self, size, random, draws, **amounts)

    def unconfirmed(
        self, sizes: Sequence[int] | Ints, *, true_positive: float = 1.0, false_positive: float = 0.0
    ) -> Unconfirmed:
        """What he does when he cannot be sure that he found the right person."""
        from discreet.attacker.unconfirmed import unconfirmed

        return unconfirmed(self, sizes, true_positive=true_positive, false_positive=false_positive)


def _sizes(sizes: Sequence[int] | Ints) -> Ints:
    groups = np.atleast_1d(np.asarray(sizes))
    if groups.ndim != 1 or (groups.size and (groups.dtype.kind not in "iu" or groups.min() < 0)):
        raise UsageError(
            "Group sizes are whole numbers from 0 up, in one list.",
            remedy="Give how many people look like each target.",
        )
    return groups.astype(np.int64)


def _first(sizes: Ints, marked: Marks) -> int | None:
    found = np.flatnonzero(marked)
    return int(sizes[found[0]]) if len(found) else None
