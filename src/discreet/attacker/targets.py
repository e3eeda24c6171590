"""People by what the adversary sees of them, so that changing his mind a hundred times costs little.

Two classes of people are the same to him if as many people in the external table look like them and if he expects as
many there. A table of a million classes has a few thousand such kinds of target.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacker.parameters import Floats
from discreet.kernel.hierarchy import Ints

if TYPE_CHECKING:
    from discreet.attacker.attack import Attack
    from discreet.attacker.attacked import Attacked


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
        both = np.stack([struck.groups.astype(np.float64), struck.densities], axis=1)
        kinds, place = np.unique(both, axis=0, return_inverse=True)
        people = np.bincount(place.reshape(-1), weights=struck.people, minlength=len(kinds)).astype(np.int64)
        return cls(people, kinds[:, 0].astype(np.int64), kinds[:, 1], struck.external_size)

    @property
    def smallest(self) -> int | None:
        """The smallest group that holds anybody at all: the most attractive target."""
        return int(self.groups[self.groups > 0].min()) if (self.groups > 0).any() else None

    def expected(self, attack: Attack) -> Expected:
        """What comes of an attack on them."""
        plan = attack.known(self.groups)
        gamble = attack.unknown(self.densities, self.external_size, self.groups)
        largest = int(self.groups[plan.accesses].max(initial=0))
        return Expected(
            float(self.people @ plan.reidentification), float(self.people @ gamble.reidentification), largest
        )

    def by_penalty(self, attack: Attack, penalties: Iterable[float]) -> tuple[Expected, ...]:
        """What comes of it at each of these penalties."""
        return tuple(self.expected(replace(attack, penalty=float(penalty))) for penalty in penalties)

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
