"""How far the planning has to go: tables of plans that reach no further than they are asked to.

V_start never grows with the group, so a table ends where nobody starts. An adversary with next to nothing to lose starts
in any group; for him only the sizes asked for are planned, and thresholds are found by halving. That is exact:

- V_start and V_access never grow, so "does not start" and "does not buy" hold from some size on;
- if detection does not fall with the attempts, "stops before the last candidate" does too. After i exploits in a group
  of g he has as many candidates left as after i + 1 in one of g + 1, each at least as likely to be the target and at
  most as likely to be detected. So what is worth trying there is worth trying here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.attacker.checks import PLANNED
from discreet.attacker.parameters import Parameters
from discreet.attacker.plan import Thresholds
from discreet.attacker.table import PlanTable
from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Ints

FIRST = 64
"""Sizes in the first table; it is doubled until nobody starts."""
NEAR = 2**20
"""Entries (sizes times sizes times numbers of penalties) of a table that is worth having whole."""
MOST, MOST_BY_FORMULA = 2**13, 2**20
"""The largest size at which thresholds are looked for, and where there is a closed form."""
PROBES = 64
"""Sizes planned together when one is looked for."""

Marked = Callable[[PlanTable], Flags]


@dataclass(frozen=True, eq=False)
class Horizon:
    """The plans of one adversary, as far as they are needed."""

    parameters: Parameters

    @property
    def farthest(self) -> int:
        """The largest group at which thresholds are looked for."""
        return MOST_BY_FORMULA if self.parameters.risks_the_same_at_every_exploit else MOST

    @cached_property
    def near(self) -> PlanTable:
        """All sizes up to where nobody starts, or up to as many as are cheap."""
        most = FIRST
        while True:
            table = self._table(np.arange(most + 1))
            if table.start[-1] <= 0 or most * most * self.parameters.within(most).levels >= NEAR:
                return table
            most *= 2

    @cached_property
    def nobody_starts_from(self) -> int | None:
        """The smallest group that he does not try even with the tables linked; None if he tries the largest planned."""
        return self._first(lambda table: table.start <= 0)

    def plans(self, sizes: Ints) -> PlanTable:
        """The plan for each of these sizes; groups too large to be attacked are not planned through."""
        largest = int(sizes.max(initial=0))
        if largest < FIRST and "near" not in self.__dict__:
            return self._table(np.arange(largest + 1)).at(sizes)
        near = self.near
        if self._ends(near) or largest < len(near.sizes):
            return near.at(np.minimum(sizes, len(near.sizes) - 1))
        distinct, place = np.unique(np.minimum(sizes, self._enough(largest)), return_inverse=True)
        return self._table(distinct).at(place)

    def clipped(self, sizes: Ints) -> Ints:
        """These sizes, but one that nobody attacks in place of larger ones that nobody attacks; to be gone through."""
        largest = int(sizes.max(initial=0))
        if largest < FIRST:
            return sizes
        enough = len(self.near.sizes) - 1 if self._ends(self.near) else self._enough(largest)
        if min(enough, largest) > PLANNED:
            raise too_large("take smaller groups")
        return np.minimum(sizes, enough)

    def thresholds(self) -> Thresholds:
        """The group sizes from which he stops early, does not buy, does not exploit with the table in hand."""
        p = self.parameters
        at_once = p.detection_slope >= 0 or not p.penalty
        return Thresholds(
            (self._first if at_once else self._scanned)(lambda table: table.exploits < table.sizes),
            self._first(lambda table: p.discount * table.access <= p.access_cost),
            self._first(lambda table: table.access <= 0),
        )

    def _enough(self, largest: int) -> int:
        """A size that stands for all larger ones, because nobody starts there; or the largest itself."""
        for rung in self._rungs(largest):
            if self._ends(self._rung(rung)):
                return rung
        if largest > PLANNED and not self.parameters.risks_the_same_at_every_exploit:
            raise too_large("set max_penalties to None or 0 with detection_slope 0")
        return largest

    def _first(self, marked: Marked) -> int | None:
        """The smallest size that is marked, where all larger ones are marked too."""
        found = np.flatnonzero(marked(self.near)[1:])
        if len(found):
            return 1 + int(found[0])
        low = len(self.near.sizes) - 1
        for rung in self._rungs():
            if marked(self._rung(rung))[0]:
                return self._halved(marked, low, rung)
            low = rung
        return None

    def _halved(self, marked: Marked, low: int, high: int) -> int:
        """The smallest marked size above `low`, which is not marked, up to `high`, which is."""
        while high - low > 1:
            probes = np.unique(np.linspace(low, high, PROBES + 1).astype(np.int64))[1:]
            place = int(np.argmax(marked(self._table(probes))))
            low, high = (low if place == 0 else int(probes[place - 1])), int(probes[place])
        return high

    def _scanned(self, marked: Marked) -> int | None:
        """The smallest size that is marked, whatever larger ones are."""
        step = len(self.near.sizes)
        for begin in range(0, 1 if self._ends(self.near) else MOST + 1, step):
            sizes = np.arange(max(begin, 1), min(begin + step, MOST + 1))
            found = np.flatnonzero(marked(self._table(sizes)))
            if len(found):
                return int(sizes[found[0]])
        return None

    def _rungs(self, largest: int | None = None) -> Iterator[int]:
        """Sizes beyond the near table, each twice the one before, up to one above `largest`."""
        rung = 2 * (len(self.near.sizes) - 1)
        while rung <= self.farthest and (largest is None or rung < largest):
            yield rung
            rung *= 2

    def _rung(self, size: int) -> PlanTable:
        if size not in self._climbed:
            self._climbed[size] = self._table(np.array([size]))
        return self._climbed[size]

    @cached_property
    def _climbed(self) -> dict[int, PlanTable]:
        return {}

    def _table(self, sizes: Ints) -> PlanTable:
        return PlanTable.of(self.parameters, sizes)

    @staticmethod
    def _ends(table: PlanTable) -> bool:
        return bool(table.start[-1] <= 0)


def too_large(otherwise: str) -> UsageError:
    """He attacks groups so large that planning through them would take too long."""
    return UsageError(
        f"This adversary attacks even groups of {MOST:,}, and one of more than {PLANNED:,} is too large to plan.",
        remedy=f"Give him a cost per exploit, or {otherwise}.",
    )
