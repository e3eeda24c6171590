"""How like a row is to the row of another class that is most like it: what gives a copied row away.

To share many cells with a single row tells more than to share them with many rows, who then have common values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Floats, Ints
from discreet.releases.decoys.similarity import Agreements
from discreet.releases.holding import Holders

NOBODY = -1
"""The code of a value that no row holds."""
MOST_COLUMNS = 6
MOST_COMBINATIONS = 1 << 21
"""Columns, and combinations of their values, up to which all combinations are looked up: some 200 MB of them."""


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
        return self._index.degree(row, but=but)

    @cached_property
    def _index(self) -> Agreements | Holders:
        few = len(self.columns) <= MOST_COLUMNS
        found = Agreements.of(self.columns, self.owners, most=MOST_COMBINATIONS) if few else None
        return Holders.of(self.columns, self.owners) if found is None else found

    def surprises(self, rows: Ints, *, but: Ints | None = None) -> Floats:
        """The most that any row has in common with each row of codes, a value counting the more the fewer rows hold it.

        A value that one row in n holds counts ln n. Rows of the class in `but`, one per row of codes, are left out.
        """
        weights, starts = self._weights
        worth = np.where(rows == NOBODY, np.float32(0), weights[starts + np.maximum(rows, 0)])
        return np.fromiter(self._index.surprises(rows, worth, but), dtype=np.float64, count=len(rows))

    @cached_property
    def _weights(self) -> tuple[NDArray[np.float32], Ints]:
        """What each value counts, column after column, and where the values of each column begin."""
        people = max(len(self.owners), 1)
        found = [np.log(people / np.maximum(np.bincount(codes), 1)).astype(np.float32) for codes in self.columns]
        starts = np.cumsum([0, *(len(weights) for weights in found)])[:-1]
        return np.concatenate([np.zeros(0, dtype=np.float32), *found]), starts

    def degrees(self, rows: Ints) -> Ints:
        """The same for some of the rows themselves, each compared with other classes."""
        cells = [codes[rows].tolist() for codes in self.columns]
        owners = self.owners[rows].tolist()
        found = [self.degree(row, but=owner) for row, owner in zip(zip(*cells, strict=True), owners, strict=True)]
        return np.array(found, dtype=np.int64)
