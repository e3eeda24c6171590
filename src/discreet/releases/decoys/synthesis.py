"""Putting together the rows of a decoy: a whole row of a near class, with blocks of columns from other near rows.

A row that is a copy, or nearly one, can be found by joining classes on what they hold. Real rows resemble rows of other
classes too, to some degree; so blocks are exchanged until a row resembles others no more than a real row does. A block
comes from a donor that agrees with the row in the columns on which the block depends, so that no cell contradicts the
others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.alike import NOBODY, Likeness
from discreet.releases.blocks import associations, blocks
from discreet.releases.decoys.donors import Donors
from discreet.releases.lots import drawn, in_order

DIFFERENT = 0.5
"""What two different categories cost, in standard deviations."""
CLOSE = 6
"""Donors that are nearest to a row, of which one gives a block."""
BESIDE = 0.8
"""How often a number is moved to one of its neighbours instead of being taken from another row."""
SHORT = 12
"""Different numbers up to which they are treated as categories."""
ENOUGH = 0.4
"""How far a row may be from having as much in common with others as its donor has, in natural logarithms."""
SWEEPS = 6
"""How often every block of a row may be exchanged."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The values of a number in order, each with its rows."""

    rungs: Ints
    """The place of each row's value in the order."""
    rows: Ints
    """A row for each value."""
    held: Floats
    """How many rows hold each value."""

    @classmethod
    def of(cls, numbers: Floats) -> Ladder:
        """From the number of each row; missing ones are a value of their own."""
        _, rows, rungs, held = np.unique(numbers, return_index=True, return_inverse=True, return_counts=True)
        return cls(rungs.reshape(-1), rows, held.astype(np.float64))

    def beside(self, row: int, generator: np.random.Generator) -> int:
        """A row with one of the next smaller or larger values, frequent ones more often."""
        rung = int(self.rungs[row])
        around = [near for near in range(rung - 2, rung + 3) if near != rung and 0 <= near < len(self.rows)]
        return int(self.rows[around[drawn([float(self.held[near]) for near in around], generator)]])


@dataclass(frozen=True, eq=False)
class Splicer:
    """Puts rows together, column by column, as places of the donor rows from which the cells are taken."""

    donors: Donors
    groups: list[list[int]]
    """Columns that stay together."""
    strength: Floats
    """How far each column depends on each other one."""
    likeness: Likeness

    @classmethod
    def of(cls, donors: Donors) -> Splicer:
        """Learn from the donors which columns stay together, and how alike rows are."""
        strength = associations(donors.columns)
        return cls(donors, blocks(strength), strength, donors.likeness)

    def rows(self, pool: Ints, size: int, fresh: Flags, generator: np.random.Generator) -> Ints:
        """So many rows, each a row of places among the donors, one per column.

        `fresh` are the cells that will be moved to a value that nobody holds.
        """
        firsts = _several(pool, size, generator)
        made = np.repeat(firsts[:, None], len(self.donors.columns), axis=1)
        if len(self.groups) < 2 or len(pool) < 2:
            return made
        equal = self.likeness.degrees(firsts) == 2 * made.shape[1]
        for row in np.flatnonzero(equal).tolist():
            made[row] = self._single(pool, generator)
        made[~equal] = self._spliced(made[~equal], pool, fresh[~equal], generator)
        return made

    def _single(self, pool: Ints, generator: np.random.Generator) -> int:
        """A row that no other class holds, whole: real rows, too, equal a single other one now and then."""
        some = generator.permutation(pool)[:CLOSE]
        alone = some[self.likeness.degrees(some) < 2 * len(self.donors.columns) - 1]
        return int((alone if len(alone) else some)[0])

    def _spliced(self, firsts: Ints, pool: Ints, fresh: Flags, generator: np.random.Generator) -> Ints:
        """The rows after as many exchanges as it takes to have as much in common with others as their donors have.

        Failing that, the versions that came closest.
        """
        donors = firsts[:, 0]
        wanted = self.likeness.surprises(self._codes(firsts), but=self.donors.owners[donors])
        rows, best, apart = firsts.copy(), firsts.copy(), np.full(len(firsts), np.inf)
        orders = [self._order(generator) for _ in firsts]
        open_rows = np.arange(len(firsts))
        for turn in range(SWEEPS * len(self.groups)):
            codes = np.where(fresh[open_rows], NOBODY, self._codes(rows[open_rows]))
            off = np.abs(self.likeness.surprises(codes) - wanted[open_rows])
            closer = open_rows[off < apart[open_rows]]
            best[closer] = rows[closer]
            apart[open_rows] = np.minimum(apart[open_rows], off)
            open_rows = open_rows[off > ENOUGH]
            for row in open_rows.tolist():
                group = orders[row][turn]
                rows[row, group] = self._donor(rows[row], pool, group, generator)
            if not len(open_rows):
                break
        return best

    def _order(self, generator: np.random.Generator) -> list[list[int]]:
        """The blocks in the order in which they are exchanged."""
        sweeps = [in_order(self._odds, generator) for _ in range(SWEEPS)]
        return [self.groups[number] for sweep in sweeps for number in sweep]

    def _codes(self, rows: Ints) -> Ints:
        """What the rows hold, as codes."""
        held: Ints = self._cells[0][np.arange(rows.shape[1]), rows]
        return held

    @cached_property
    def _cells(self) -> tuple[Ints, Floats]:
        """All donors, column by column: their codes, and their numbers, not a number where they are none."""
        columns, nothing = self.donors.columns, np.full(len(self.donors), np.nan)
        numbers = [nothing if column.numbers is None else column.numbers for column in columns]
        return np.stack([column.codes for column in columns]), np.stack(numbers)

    def _donor(self, row: Ints, pool: Ints, group: list[int], generator: np.random.Generator) -> int:
        """One of the donors that agree best with the row in the columns on which the block depends.

        It is not asked to differ in the block: that would favour rare values.
        """
        ladder = self._ladders.get(group[0]) if len(group) == 1 else None
        if ladder is not None and generator.random() < BESIDE:
            return ladder.beside(int(row[group[0]]), generator)
        far = np.add.reduce(self._pulls[group[0]][:, None] * self._apart(row, pool), axis=0)
        others = pool != row[group[0]]
        near = far[others]
        close = np.partition(near, min(CLOSE, len(near)) - 1)[min(CLOSE, len(near)) - 1]
        found = pool[others & (far <= close + 1e-9)]
        return int(found[generator.integers(0, len(found))])

    @cached_property
    def _ladders(self) -> dict[int, Ladder]:
        scales = [
            (place, column.numbers) for place, column in enumerate(self.donors.columns) if column.distinct > SHORT
        ]
        return {place: Ladder.of(numbers) for place, numbers in scales if numbers is not None}

    def _apart(self, row: Ints, pool: Ints) -> Floats:
        """How far each donor of the pool is from the row, column by column."""
        (codes, numbers), every = self._cells, np.arange(len(row))
        different = DIFFERENT * (codes[:, pool] != codes[every, row][:, None])
        gap = np.abs(numbers[:, pool] - numbers[every, row][:, None])
        return np.where(np.isnan(gap), different, gap)

    @cached_property
    def _pulls(self) -> dict[int, Floats]:
        """For each block, by its first column, what a difference in each other column counts."""
        found = {}
        for group in self.groups:
            pull = self.strength[:, group].max(axis=1) + 0.05
            pull[group] = 0.0
            found[group[0]] = pull
        return found

    @cached_property
    def _odds(self) -> list[float]:
        """Blocks that have little to do with the others are exchanged first."""
        ties = np.array([self._tie(group) for group in self.groups])
        odds = (1 - ties) ** 2 + 1e-6
        return [float(one) for one in odds / odds.sum()]

    def _tie(self, group: list[int]) -> float:
        rest = [place for place in range(len(self.strength)) if place not in group]
        return float(self.strength[np.ix_(group, rest)].max()) if rest else 1.0


def _several(pool: Ints, size: int, generator: np.random.Generator) -> Ints:
    """Rows of the pool, each taken once more only when all have been taken."""
    rounds = [generator.permutation(pool) for _ in range(-(-size // len(pool)))]
    taken: Ints = np.concatenate(rounds)[:size]
    return taken
