"""How the values of a sensitive column spread over the classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import group, total
from discreet.kernel.hierarchy import Hierarchy, Ints, Label, read_only


@dataclass(frozen=True, eq=False)
class Spread:
    """Counts of each sensitive value in each class: triples (class, value, people), one per pair that occurs."""

    name: str
    hierarchy: Hierarchy
    owners: Ints
    codes: Ints
    counts: Ints

    def __post_init__(self) -> None:
        for name in ("owners", "codes", "counts"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def values(self) -> tuple[Label, ...]:
        """The distinct values of the column."""
        return self.hierarchy.labels[0]

    @property
    def overall(self) -> Ints:
        """People per value in the whole table."""
        return total(self.codes, self.counts, len(self.values))

    def over(self, member: Ints) -> Spread:
        """The same people in coarser classes; `member` is the new class of each old one."""
        owners = member[self.owners]
        keys = owners * len(self.values) + self.codes
        bound = (int(owners.max(initial=0)) + 1) * len(self.values)
        first, groups, number = group(keys, bound)
        return Spread(self.name, self.hierarchy, owners[first], self.codes[first], total(groups, self.counts, number))

    def only(self, kept: NDArray[np.bool_]) -> Spread:
        """The people of the kept classes, renumbered."""
        number = np.cumsum(kept) - 1
        stays = kept[self.owners]
        return Spread(self.name, self.hierarchy, number[self.owners[stays]], self.codes[stays], self.counts[stays])

    def __repr__(self) -> str:
        return f"Spread({self.name}, {len(self.values)} values)"
