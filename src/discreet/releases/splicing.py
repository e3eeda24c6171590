"""Putting together the rows of a decoy: a whole row of a near class, with one block of columns from a second one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.kernel.hierarchy import Ints
from discreet.releases.blocks import associations, blocks
from discreet.releases.donors import Donors
from discreet.releases.keyed import Floats

DIFFERENT = 0.5
"""What two different categories cost, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Splicer:
    """Puts rows together, column by column, as rows of the donors from which the cells are taken."""

    donors: Donors
    groups: list[list[int]]
    """Columns that stay together."""
    strength: Floats

    @classmethod
    def of(cls, donors: Donors) -> Splicer:
        """Learn from the donors which columns stay together."""
        strength = associations(donors.columns)
        return cls(donors, blocks(strength), strength)

    def rows(self, pool: Ints, size: int, generator: np.random.Generator) -> Ints:
        """So many rows, each a row of places among the donors, one per column."""
        firsts = _several(pool, size, generator)
        made = np.repeat(firsts[:, None], len(self.donors.columns), axis=1)
        if len(self.groups) < 2:
            return made
        for row, first in enumerate(firsts.tolist()):
            group = self.groups[int(generator.choice(len(self.groups), p=self._odds))]
            second = self._second(first, pool, group, generator)
            made[row, group] = second
        return made

    @property
    def _odds(self) -> Floats:
        """Blocks that have little to do with the others are exchanged more often."""
        ties = np.array([self._tie(group) for group in self.groups])
        odds = (1 - ties) ** 2 + 1e-6
        return np.asarray(odds / odds.sum())

    def _tie(self, group: list[int]) -> float:
        rest = [place for place in range(len(self.strength)) if place not in group]
        return float(self.strength[np.ix_(group, rest)].max()) if rest else 1.0

    def _second(self, first: int, pool: Ints, group: list[int], generator: np.random.Generator) -> int:
        """The donor most like the first outside the block, among those that differ from it in the block."""
        differs = np.zeros(len(pool), dtype=bool)
        for place in group:
            codes = self.donors.columns[place].codes
            differs |= codes[pool] != codes[first]
        if not differs.any():
            return first
        others = pool[differs]
        rest = [place for place in range(len(self.donors.columns)) if place not in group]
        far = self._apart(first, others, rest)
        near = others[far <= far.min() + 1e-9]
        return int(generator.choice(near))

    def _apart(self, first: int, others: Ints, places: list[int]) -> Floats:
        far = np.zeros(len(others))
        for place in places:
            column = self.donors.columns[place]
            if column.numbers is None:
                far += DIFFERENT * (column.codes[others] != column.codes[first])
            else:
                gap = np.abs(column.numbers[others] - column.numbers[first])
                far += np.where(np.isnan(gap), DIFFERENT * (column.codes[others] != column.codes[first]), gap)
        return far


def _several(pool: Ints, size: int, generator: np.random.Generator) -> Ints:
    """Rows of the pool, each taken once more only when all have been taken."""
    rounds = [generator.permutation(pool) for _ in range(-(-size // len(pool)))]
    taken: Ints = np.concatenate(rounds)[:size]
    return taken
