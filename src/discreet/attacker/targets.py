"""People by what the adversary sees of them, so that changing his mind a hundred times costs little.

Two classes of people are the same to him if as many people in the external table look like them and if he expects as
many there. A table of a million classes has a few thousand such kinds of target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attacker.belief import Binomial
from discreet.attacker.population import Attacked, expectations, plan_for
from discreet.attacker.table import PlanTable
from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from discreet.attacker.attack import Attack


@dataclass(frozen=True)
class Expected:
    """What comes of an attack on a whole table."""

    known: float
    """People he is expected to re-identify if he knows the size of every group."""
    unknown: float
    """The same if he learns it only from the external table."""
    largest: int
    """The largest group in the data that he still attacks, knowing its size; 0 if none."""


@dataclass(frozen=True, eq=False)
class Staircase:
    """A number of people that falls in steps as a price rises: `people[i]` below `prices[i]`, none from the last on."""

    prices: Floats
    people: Floats

    @classmethod
    def of(cls, worth: Floats, people: Floats) -> Staircase:
        """People of whom he buys the table while its price is below what that is worth."""
        prices, place = np.unique(worth[people > 0], return_inverse=True)
        each = np.bincount(place, weights=people[people > 0], minlength=len(prices)).astype(np.float64)
        return cls(prices, np.cumsum(each[::-1])[::-1])

    def at(self, price: float) -> float:
        """The people at a price.

        >>> stairs = Staircase.of(np.array([5.0, 9.0]), np.array([3.0, 1.0]))
        >>> stairs.at(0), stairs.at(5), stairs.at(9)
        (4.0, 1.0, 0.0)
        """
        above = int(np.searchsorted(self.prices, price, side="right"))
        return float(self.people[above]) if above < len(self.prices) else 0.0


@dataclass(frozen=True, eq=False)
class Targets:
    """Every kind of target once, with the people of that kind."""

    people: Ints
    groups: Ints
    densities: Floats
    external_size: int

    @classmethod
    def of(cls, struck: Attacked) -> Targets:
        """The kinds of target in a table under attack."""
        return cls.grouped(struck.people, struck.groups, struck.densities, struck.external_size)

    @classmethod
    def among(cls, sample: Classes, external: Classes, *, population: Classes | None = None) -> Targets:
        """The kinds of target in a table, before anybody attacks; `external` is the table that names people."""
        return cls.grouped(sample.sizes, *expectations(sample, external, population), external.records)

    @classmethod
    def grouped(cls, people: Ints, groups: Ints, densities: Floats, external_size: int) -> Targets:
        """Those that are the same to him together.

        >>> Targets.grouped(np.array([5, 2, 1]), np.array([9, 4, 9]), np.array([0.09, 0.04, 0.09]), 100).people.tolist()
        [2, 6]
        """
        order = np.lexsort((densities, groups))
        sizes, shares = groups[order], densities[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(sizes) != 0) | (np.diff(shares) != 0)
        first = np.flatnonzero(new)
        counts = np.add.reduceat(people[order], first) if len(first) else people[:0]
        return cls(counts.astype(np.int64), sizes[first].astype(np.int64), shares[first], external_size)

    def to_dict(self) -> dict[str, Any]:
        """As JSON: counts only."""
        lists = {name: getattr(self, name).tolist() for name in ("people", "groups", "densities")}
        return {**lists, "external_size": self.external_size}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Targets:
        """Back from JSON."""
        people, groups = (np.array(content[name], dtype=np.int64) for name in ("people", "groups"))
        return cls(people, groups, np.array(content["densities"], dtype=np.float64), int(content["external_size"]))

    def __len__(self) -> int:
        return len(self.people)

    def at_least(self, size: int) -> Targets:
        """The same people as if everybody in the external table looked like at least so many there.

        That is the least change that a release with such groups makes; people whom nobody there looks like stay so.

        >>> Targets.grouped(np.array([5, 2, 1]), np.array([9, 4, 0]), np.array([0.09, 0.04, 0.0]), 100).at_least(6).groups.tolist()
        [0, 6, 9]
        """
        listed = self.groups > 0
        most = min(size, self.external_size)
        groups = np.where(listed, np.maximum(self.groups, most), 0)
        densities = np.where(listed, np.maximum(self.densities, most / self.external_size), self.densities)
        return Targets.grouped(self.people, groups, densities, self.external_size)

    def attacked(self, attack: Attack) -> Attacked:
        """What he does to them, kind by kind; every kind counts as one class of people who look alike."""
        kinds = Classes((), (), self.people)
        return plan_for(attack, kinds, self.groups, self.densities, self.external_size)

    @property
    def smallest(self) -> int | None:
        """The smallest group that holds anybody at all: the most attractive target."""
        return int(self.groups[self.groups > 0].min()) if (self.groups > 0).any() else None

    def expected(self, attack: Attack) -> Expected:
        """What comes of an attack on them."""
        return self.by_penalty(attack, [attack.penalty])[0]

    def by_penalty(self, attack: Attack, penalties: Sequence[float]) -> tuple[Expected, ...]:
        """What comes of it at each of these penalties.

        What he leaves alone at one penalty he leaves alone at every higher one (V_0 falls with C_p), so that people who
        are left alone are not planned for again.
        """
        left, found = self.worthwhile(attack), {}
        for penalty in sorted(set(penalties)):
            found[penalty], left = left._fined(replace(attack, penalty=float(penalty)))
        return tuple(found[penalty] for penalty in penalties)

    def worthwhile(self, attack: Attack) -> Targets:
        """Those whom he would attack if there were no penalties at all."""
        free = replace(attack, penalty=0.0, max_penalties=0)
        plan = free.known(self.groups)
        gamble = free.unknown(self.densities, self.external_size, self.groups)
        return self._only(plan.accesses | (gamble.accesses & (plan.access_value > 0)))

    def _only(self, kept: Flags) -> Targets:
        return replace(self, people=self.people[kept], groups=self.groups[kept], densities=self.densities[kept])

    def _fined(self, attack: Attack) -> tuple[Expected, Targets]:
        belief = Binomial.of(self.densities, self.external_size, len(self.people))
        possible = belief.sizes(belief.most())
        table = PlanTable.of(attack, np.union1d(self.groups, possible))
        access = table.at(np.searchsorted(table.sizes, possible)).access
        here = table.at(np.searchsorted(table.sizes, self.groups))
        worth = 1 + int(np.flatnonzero(access)[-1]) if access.any() else 0
        unseen = -attack.access_cost + attack.discount * belief.expectation(possible[:worth], access[:worth]) > 0
        seen = -attack.access_cost + attack.discount * here.access > 0
        goes_on = unseen & (here.access > 0)
        known, unknown = (float(self.people @ (here.success * marked)) for marked in (seen, goes_on))
        return Expected(known, unknown, int(self.groups[seen].max(initial=0))), self._only(seen | goes_on)

    def by_price(self, attack: Attack) -> tuple[Staircase, Staircase]:
        """People re-identified by the price of the external table, with known and with unknown groups; exact.

        The price decides only whether he buys: C_d < gamma V_access. What he does with the table stays the same.
        """
        free = replace(attack, access_cost=0.0)
        plan = free.known(self.groups)
        gamble = free.unknown(self.densities, self.external_size, self.groups)
        return (
            Staircase.of(plan.value_raw, self.people * plan.reidentification),
            Staircase.of(gamble.value_raw, self.people * gamble.reidentification),
        )
