"""How like a row is to the row of another class that is most like it: what gives a copied row away.

To share many cells with a single row tells more than to share them with many rows, who then have common values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.hierarchy import Ints
from discreet.releases.agreeing import Agreements
from discreet.releases.keyed import Floats

NOBODY = -1
"""The code of a value that no row holds."""
MOST_KEYS = 1 << 24
"""Rows times combinations of columns up to which combinations are looked up; beyond, rows are compared one by one."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """Rows, column by column, in which the one most like another row is looked for."""

    columns: tuple[NDArray[np.int32], ...]
    owners: Ints
    """The class of each row; classes stand together."""

    @classmethod
    def of(cls, columns: Sequence[Ints], owners: Ints) -> Likeness:
        """From the codes of each column; rows are in the order of their classes."""
        return cls(tuple(np.ascontiguousarray(codes, dtype=np.int32) for codes in columns), owners)

    def degree(self, row: Sequence[int], *, but: int | None = None) -> int:
        """Twice the most cells that any row shares with the given codes, one less if several rows share as many.

        Rows of the class `but` are left out.

        >>> rows = Likeness.of([np.array([0, 0, 1]), np.array([5, 6, 7])], np.array([0, 1, 1]))
        >>> rows.degree([0, 6]), rows.degree([0, 7]), rows.degree([0, 6], but=1)
        (4, 1, 2)
        """
        if self._agreements is not None:
            return self._looked_up(self._agreements, row, but)
        shared = np.zeros(len(self.owners), dtype=np.uint8)
        for codes, code in zip(self.columns, row, strict=True):
            if code != NOBODY:
                shared += codes == code
        if but is not None:
            shared[self._rows_of(but)] = 0
        most = int(shared.max()) if len(shared) else 0
        return 2 * most - int(most > 0 and np.count_nonzero(shared == most) > 1)

    @cached_property
    def _agreements(self) -> Agreements | None:
        few = len(self.owners) << len(self.columns) <= MOST_KEYS
        return Agreements.of(self.columns, self.owners) if few else None

    def _looked_up(self, agreements: Agreements, row: Sequence[int], but: int | None) -> int:
        most, best, rows, ways = 0, 0, 0, 0
        for place, held in agreements.met(row, but=but):
            number = place.bit_count()
            if number >= most:
                ways = ways + 1 if number == most else 1
                most, best, rows = number, place, held
        if ways == 1 and rows > 1 and but is not None:
            rows -= self._own(best, row, but)
        # No row agrees in two combinations of the most columns: it would agree in more.
        return 2 * most - int(most > 0 and (ways > 1 or rows > 1))

    def _own(self, place: int, row: Sequence[int], owner: int) -> int:
        """How many rows of a class agree with the given codes in certain columns."""
        part = self._rows_of(owner)
        agree = [codes[part] == row[last] for last, codes in enumerate(self.columns) if place >> last & 1]
        return int(np.logical_and.reduce(agree).sum())

    def _rows_of(self, owner: int) -> slice:
        start, stop = np.searchsorted(self.owners, [owner, owner + 1])
        return slice(int(start), int(stop))

    def surprises(self, rows: Ints, *, but: Ints | None = None) -> Floats:
        """The most that any row has in common with each row of codes, a value counting the more the fewer rows hold it.

        A value that one row in n holds counts ln n. Rows of the class in `but`, one per row of codes, are left out.
        """
        worth = self._worth(rows)
        if self._agreements is not None:
            return self._best_sums(self._agreements, rows, worth, but)
        shared = np.zeros((len(rows), len(self.owners)), dtype=np.float32)
        for place, codes in enumerate(self.columns):
            shared += worth[:, place, None] * (codes[None, :] == rows[:, place, None])
        if but is not None:
            for row, owner in enumerate(but.tolist()):
                shared[row, self._rows_of(owner)] = 0
        return np.asarray(shared.max(axis=1, initial=0), dtype=np.float64)

    def _worth(self, rows: Ints) -> NDArray[np.float32]:
        """What each cell counts."""
        weights, starts = self._weights
        found: NDArray[np.float32] = np.where(rows == NOBODY, np.float32(0), weights[starts + np.maximum(rows, 0)])
        return found

    @cached_property
    def _weights(self) -> tuple[NDArray[np.float32], Ints]:
        """What each value counts, column after column, and where the values of each column begin."""
        people = max(len(self.owners), 1)
        found = [np.log(people / np.maximum(np.bincount(codes), 1)).astype(np.float32) for codes in self.columns]
        starts = np.cumsum([0, *(len(weights) for weights in found)])[:-1]
        return np.concatenate([np.zeros(0, dtype=np.float32), *found]), starts

    def _best_sums(self, agreements: Agreements, rows: Ints, worth: NDArray[np.float32], but: Ints | None) -> Floats:
        """The largest sum of what the cells of a combination count, of all in which some row agrees."""
        sums = np.zeros((len(rows), 1 << len(self.columns)), dtype=np.float32)
        for place in range(len(self.columns)):
            half = 1 << place
            np.add(sums[:, :half], worth[:, place, None], out=sums[:, half : 2 * half])
        classes = [None] * len(rows) if but is None else but.tolist()
        best = [
            max([counts[place] for place, _ in agreements.met(row, but=owner)], default=0.0)
            for row, owner, counts in zip(rows.tolist(), classes, sums.tolist(), strict=True)
        ]
        return np.array(best, dtype=np.float64)

    def degrees(self, rows: Ints) -> Ints:
        """The same for some of the rows themselves, each compared with other classes."""
        cells = [codes[rows].tolist() for codes in self.columns]
        owners = self.owners[rows].tolist()
        found = [self.degree(row, but=owner) for row, owner in zip(zip(*cells, strict=True), owners, strict=True)]
        return np.array(found, dtype=np.int64)
