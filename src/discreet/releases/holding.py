"""Which rows hold each value: what a row shares with others by looking at those that share its rarest cells.

For tables of many columns, where there are too many combinations of cells to know them all. Rows that share none of the
rarest cells can share the others at most, which is little; so mostly a few rows are looked at, and what is found is what
comparing all of them would find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Ints

Codes = NDArray[np.int32]
_ROUNDING = 1 + 1e-5


@dataclass(frozen=True, eq=False)
class Holders:
    """The rows in the order of their values, column by column."""

    cells: Codes
    """One row per column."""
    owners: Ints
    orders: Sequence[Ints]
    starts: Sequence[list[int]]
    """Where the rows of each value begin, and where the last ones end."""

    @classmethod
    def of(cls, columns: Sequence[Codes], owners: Ints) -> Holders:
        """From the codes of each column and the class of each row."""
        orders = [np.argsort(codes, kind="stable") for codes in columns]
        starts = [[0, *np.cumsum(np.bincount(codes)).tolist()] for codes in columns]
        return cls(np.stack(columns), owners, orders, starts)

    def _rarest(self, row: Sequence[int]) -> list[tuple[int, Ints]]:
        """The columns whose cell some row holds, with these rows, the rarest first."""
        found = []
        for place, (code, starts) in enumerate(zip(row, self.starts, strict=True)):
            if 0 <= code < len(starts) - 1:
                found.append((place, self.orders[place][starts[code] : starts[code + 1]]))
        return sorted(found, key=lambda cell: len(cell[1]))

    def degree(self, row: Sequence[int], *, but: int | None = None) -> int:
        """Twice the most cells that any row of a class other than `but` shares, one less if several rows share as many."""
        cells, most, met = self._rarest(row), 0, set[int]()
        asked = np.array(row, dtype=np.int32)[:, None]
        for done, (_, rows) in enumerate(cells):
            if len(cells) - done < most:
                break
            shared = np.add.reduce(self.cells[:, rows] == asked, axis=0, dtype=np.int16)
            if but is not None:
                shared[self.owners[rows] == but] = 0
            top = int(shared.max(initial=0))
            met = met if top <= most else set()
            most = max(top, most)
            met |= set(rows[shared == most][:2].tolist())
        return 2 * most - int(most > 0 and len(met) > 1)

    def surprises(self, rows: Ints, worth: NDArray[np.float32], but: Ints | None) -> Iterator[float]:
        """The most that any row of another class than that in `but` shares with each row, by what each cell is worth."""
        classes = [None] * len(rows) if but is None else but.tolist()
        for row, counts, owner in zip(rows.tolist(), worth, classes, strict=True):
            yield self._most(row, counts, owner)

    def _most(self, row: Sequence[int], worth: NDArray[np.float32], but: int | None) -> float:
        cells, best, asked = self._rarest(row), 0.0, np.array(row, dtype=np.int32)[:, None]
        left = float(sum(worth[place] for place, _ in cells))
        for place, rows in cells:
            if best >= left * _ROUNDING:
                break
            shared = np.add.reduce(worth[:, None] * (self.cells[:, rows] == asked), axis=0)
            if but is not None:
                shared[self.owners[rows] == but] = 0
            best, left = max(best, float(shared.max(initial=0))), left - float(worth[place])
        return best
