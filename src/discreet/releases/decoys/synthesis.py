"""Synthesis of decoy rows (hot deck): whole rows of near classes, spliced in blocks.

A row that is a copy, or nearly one, can be found by joining classes on what they hold. Real rows resemble rows of other
classes too, to some degree; so blocks are exchanged until a row resembles others no more than a real row does. A block
comes from a donor that agrees with the row in the columns on which the block depends, so that no cell contradicts the
others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.releases.decoys.donors import (
    BINS,
    Dependence,
    Donors,
    alone,
    association,
    associations,
    blocks,
    dependences,
    movable,
    neighbours,
    nudged,
)
from discreet.releases.decoys.nearest_classes import Space, numbers_of
from discreet.releases.decoys.similarity import NOBODY, Likeness
from discreet.sources.table import Table

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
class NumberLadder:
    """The values of a number in order, each with its rows."""

    rungs: Ints
    """The place of each row's value in the order."""
    rows: Ints
    """A row for each value."""
    held: Floats
    """How many rows hold each value."""

    @classmethod
    def of(cls, numbers: Floats) -> NumberLadder:
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
    likeness: Likeness
    codes: Ints
    """What the donors hold, column by column."""
    numbers: Floats
    """The same as numbers, not a number where they are none."""
    ladders: dict[int, NumberLadder]
    """Columns of many numbers."""
    pulls: dict[int, Floats]
    """For each block, by its first column, what a difference in each other column counts."""
    odds: list[float]
    """How soon each block is exchanged: those that have little to do with the others first."""

    @classmethod
    def of(cls, donors: Donors) -> Splicer:
        """Learn from the donors which columns stay together, and how alike rows are."""
        columns, strength, nothing = donors.columns, associations(donors.columns), np.full(len(donors), np.nan)
        groups, pulls, ties = blocks(strength), {}, []
        for group in groups:
            pull = strength[:, group].max(axis=1) + 0.05
            pull[group] = 0.0
            pulls[group[0]] = pull
            rest = [place for place in range(len(strength)) if place not in group]
            ties.append(float(strength[np.ix_(group, rest)].max()) if rest else 1.0)
        odds = (1 - np.array(ties)) ** 2 + 1e-6
        ladders = {
            place: NumberLadder.of(column.numbers)
            for place, column in enumerate(columns)
            if column.distinct > SHORT and column.numbers is not None
        }
        numbers = [nothing if column.numbers is None else column.numbers for column in columns]
        shape = (len(columns), len(donors))
        codes = np.array([column.codes for column in columns], dtype=np.int64).reshape(shape)
        values, shares = np.array(numbers, dtype=np.float64).reshape(shape), (odds / odds.sum()).tolist()
        return cls(donors, groups, donors.likeness, codes, values, ladders, pulls, shares)

    def rows(self, pool: Ints, size: int, fresh: Flags, generator: np.random.Generator) -> Ints:
        """Rows as places among the donors, one per column; `fresh` cells will be moved to a value nobody holds."""
        # Rows of the pool, each taken once more only when all have been taken.
        rounds = [generator.permutation(pool) for _ in range(-(-size // len(pool)))]
        firsts: Ints = np.concatenate(rounds)[:size]
        made = np.repeat(firsts[:, None], len(self.donors.columns), axis=1)
        if len(self.groups) < 2 or len(pool) < 2:
            return made
        equal = self.likeness.degrees(firsts) == 2 * made.shape[1]
        for row in np.flatnonzero(equal).tolist():
            # A row that no other class holds, whole: real rows, too, equal a single other one now and then.
            some = generator.permutation(pool)[:CLOSE]
            alone = some[self.likeness.degrees(some) < 2 * len(self.donors.columns) - 1]
            made[row] = (alone if len(alone) else some)[0]
        made[~equal] = self._spliced(made[~equal], pool, fresh[~equal], generator)
        return made

    def _spliced(self, firsts: Ints, pool: Ints, fresh: Flags, generator: np.random.Generator) -> Ints:
        """Rows after exchanges until they share as much with others as their donors do, or nearly."""
        donors = firsts[:, 0]
        wanted = self.likeness.surprises(self._codes(firsts), but=self.donors.owners[donors])
        rows, best, apart = firsts.copy(), firsts.copy(), np.full(len(firsts), np.inf)
        # The blocks of each row in the order in which they are exchanged.
        orders = [[number for _ in range(SWEEPS) for number in in_order(self.odds, generator)] for _ in firsts]
        open_rows = np.arange(len(firsts))
        for turn in range(SWEEPS * len(self.groups)):
            codes = np.where(fresh[open_rows], NOBODY, self._codes(rows[open_rows]))
            off = np.abs(self.likeness.surprises(codes) - wanted[open_rows])
            closer = open_rows[off < apart[open_rows]]
            best[closer] = rows[closer]
            apart[open_rows] = np.minimum(apart[open_rows], off)
            open_rows = open_rows[off > ENOUGH]
            for row in open_rows.tolist():
                group = self.groups[orders[row][turn]]
                rows[row, group] = self._donor(rows[row], pool, group, generator)
            if not len(open_rows):
                break
        return best

    def _codes(self, rows: Ints) -> Ints:
        """What the rows hold, as codes."""
        held: Ints = self.codes[np.arange(rows.shape[1]), rows]
        return held

    def _donor(self, row: Ints, pool: Ints, group: list[int], generator: np.random.Generator) -> int:
        # It is not asked to differ in the block: that would favour rare values.
        ladder = self.ladders.get(group[0]) if len(group) == 1 else None
        if ladder is not None and generator.random() < BESIDE:
            return ladder.beside(int(row[group[0]]), generator)
        # How far each donor of the pool is from the row, column by column.
        codes, numbers, every = self.codes, self.numbers, np.arange(len(row))
        different = DIFFERENT * (codes[:, pool] != codes[every, row][:, None])
        gap = np.abs(numbers[:, pool] - numbers[every, row][:, None])
        far = np.add.reduce(self.pulls[group[0]][:, None] * np.where(np.isnan(gap), different, gap), axis=0)
        others = pool != row[group[0]]
        near = far[others]
        close = np.partition(near, min(CLOSE, len(near)) - 1)[min(CLOSE, len(near)) - 1]
        fitting = pool[others & (far <= close + 1e-9)]
        return int(fitting[generator.integers(0, len(fitting))])


WITNESSES = 20_000
"""Rows that are fetched at most, unless the donors alone are more."""
CANDIDATES_PER_ROW = 6
"""Rows of near classes that are fetched per row of a decoy; the most similar of them become donors."""


@dataclass(frozen=True, eq=False)
class Filler:
    """Everything that was learnt from the donors."""

    released: Classes
    donors: Donors
    splicer: Splicer
    space: Space
    """Distances among the classes whose rows were fetched."""
    places: Ints
    """Their places among the released classes."""
    follows: Sequence[Dependence]

    @classmethod
    def fetch(
        cls,
        table: Table,
        released: Classes,
        population: Classes,
        free: Classes,
        sizes: Ints,
        real: Ints,
        generator: np.random.Generator,
        *,
        drop: Sequence[str],
    ) -> Filler:
        """Fetch rows near each unreleased class, and those of the real marks, and learn from them."""
        near = neighbours(Space(released), free, sizes, generator, per_row=CANDIDATES_PER_ROW)
        wanted = np.zeros(len(released), dtype=bool)
        wanted[np.concatenate([real, *near])] = True
        # Further classes, drawn until there are enough rows to see how much real rows have in common with others.
        order = generator.permutation(np.flatnonzero(~wanted))
        rows = int(released.sizes[wanted].sum()) + np.cumsum(released.sizes[order])
        wanted[order[rows <= WITNESSES]] = True
        donors = Donors.fetch(table, released, wanted, drop=drop)
        space = Space(released.keep(wanted), weights(released, donors))
        return cls(
            released,
            donors,
            Splicer.of(donors),
            space,
            np.flatnonzero(wanted),
            dependences(table, released, population, donors),
        )

    def decoys(
        self, free: Classes, labels: Sequence[tuple[Label, ...]], sizes: Ints, generator: np.random.Generator
    ) -> DecoyRows:
        """The rows of decoys in these classes, which are places 0, 1, ... of the result."""
        owners = np.repeat(np.arange(len(sizes)), sizes)
        # A cell is moved to a value that nobody holds as often as real values of its column are alone.
        tied = {place for group in self.splicer.groups if len(group) > 1 for place in group}
        tied |= {dependence.column for dependence in self.follows}
        columns = enumerate(self.donors.columns)
        often = [0.0 if place in tied or not movable(column) else alone(column) for place, column in columns]
        fresh = generator.random((len(owners), len(self.donors.columns))) < np.array(often)
        made = np.zeros(fresh.shape, dtype=np.int64)
        near = neighbours(self.space, free, sizes, generator)
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        for number, (classes, label) in enumerate(zip(near, labels, strict=True)):
            mine = slice(starts[number], starts[number + 1])
            pool = np.concatenate([self.donors.rows[place] for place in self.places[classes].tolist()])
            made[mine] = self.splicer.rows(pool, int(sizes[number]), fresh[mine], generator)
            for one in self.follows:
                made[mine, one.column] = one.donors[one.key(label)]
        cells = {
            column.name: nudged(column, made[:, place], fresh[:, place], generator)
            for place, column in enumerate(self.donors.columns)
        }
        return DecoyRows(cells, owners)


def weights(released: Classes, donors: Donors) -> dict[str, float]:
    """How much each quasi-identifier says about the other columns, 1 on average: what a distance should count."""
    if not donors.columns or not len(donors):
        return {}
    found = {}
    for column, codes in zip(released.columns, released.codes, strict=True):
        numbers, bins = numbers_of(column), codes
        if len(numbers) > BINS and not np.isnan(numbers).any():
            values: Floats = numbers[codes]
            edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
            bins = np.asarray(np.searchsorted(edges, values, side="right"))
        binned = np.unique(bins[donors.owners], return_inverse=True)[1].reshape(-1)
        ties = [association(binned, other.binned) for other in donors.columns]
        found[column.name] = float(np.sqrt(np.mean(np.square(ties))))
    mean = float(np.mean(list(found.values())))
    return {name: max(weight / mean, 0.1) for name, weight in found.items()} if mean else {}


# Weighted sampling for small inputs, where NumPy's call overhead dominates; it draws what `Generator.choice` draws.
def drawn(odds: Sequence[float], generator: np.random.Generator) -> int:
    """One place, by its odds.

    >>> drawn([0.0, 2.0, 0.0], np.random.default_rng(1))
    1
    """
    total = sum(odds)
    return bisect_right(_steps([one / total for one in odds]), generator.random())


def in_order(odds: Sequence[float], generator: np.random.Generator) -> list[int]:
    """All places in an order that is drawn, those of larger odds rather first.

    >>> in_order([1e-12, 1.0], np.random.default_rng(1))
    [1, 0]
    """
    left, found = list(odds), dict[int, None]()
    while len(found) < len(left):
        for place in found:
            left[place] = 0.0
        steps = _steps(left)
        found |= dict.fromkeys(bisect_right(steps, luck) for luck in generator.random(len(left) - len(found)).tolist())
    return list(found)


def _steps(odds: Sequence[float]) -> list[float]:
    """The odds one after the other, up to 1."""
    sums = list(accumulate(odds))
    return [one / sums[-1] for one in sums]


@dataclass(frozen=True, eq=False)
class DecoyRows:
    """Rows that every copy with the decoy holds, each cell typed as in the source."""

    columns: Mapping[str, Sequence[Any]]
    """Cells by the name of their column, without the quasi-identifiers, in the order of the table."""
    places: Ints
    """Per row, the place of its mark among all marks."""

    def __len__(self) -> int:
        return len(self.places)

    def only(self, marks: Ints) -> DecoyRows:
        """The rows of some marks."""
        kept = np.flatnonzero(np.isin(self.places, marks))
        columns = {name: [cells[row] for row in kept.tolist()] for name, cells in self.columns.items()}
        return DecoyRows(columns, self.places[kept])

    def __repr__(self) -> str:
        return f"DecoyRows({len(self)} rows of {len(np.unique(self.places))} decoys)"
