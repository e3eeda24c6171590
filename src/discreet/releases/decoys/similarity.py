"""Which combinations of cells occur among rows, and how often: what a row shares with others without comparing it with each.

The most that any row shares with given codes is the best of all combinations of columns in which some row agrees with
them. With few columns there are few combinations, however many rows there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Ints

Codes = NDArray[np.int32]
SEVERAL = -1
"""In the place of an owner: rows of more than one class."""
ABSENT = -1
"""In the place of a number: values that do not occur together."""


@dataclass(frozen=True, eq=False)
class Combination:
    """The values that occur together in some columns, each known by a number."""

    before: int
    """The place of the combination without the last of its columns."""
    last: int
    width: int
    """How many codes the last column has."""
    index: dict[int, int]
    """From the number of the values in the columns before, and the code in the last, to their number."""
    rows: array[int]
    """How many rows hold them."""
    owners: array[int]
    """The class that holds them, or `SEVERAL`."""


@dataclass(frozen=True, eq=False)
class Agreements:
    """All combinations of columns, the columns of each given by the bits of its place, from 1 on."""

    columns: Sequence[Codes]
    owners: Ints
    combinations: Sequence[Combination]

    @classmethod
    def of(cls, columns: Sequence[Codes], owners: Ints, *, most: int) -> Agreements | None:
        """From the codes of each column and the class of each row; None where there are more combinations than `most`."""
        numbers = [np.zeros(len(owners), dtype=np.int32)]
        found: list[Combination] = []
        for place in range(1, 1 << len(columns)):
            if sum(len(one.index) for one in found) > most:
                return None
            last = place.bit_length() - 1
            before, width = place ^ (1 << last), int(columns[last].max(initial=0)) + 1
            keys, first, named, rows = np.unique(
                numbers[before].astype(np.int64) * width + columns[last],
                return_index=True,
                return_inverse=True,
                return_counts=True,
            )
            numbers.append(named.reshape(-1).astype(np.int32))
            shared = np.bincount(numbers[place][owners != owners[first][numbers[place]]], minlength=len(keys)) > 0
            index = dict(zip(keys.tolist(), range(len(keys)), strict=True))
            held, holder = array("q", rows.astype(np.int64).tobytes()), np.where(shared, SEVERAL, owners[first])
            found.append(Combination(before, last, width, index, held, array("q", holder.astype(np.int64).tobytes())))
        return cls(columns, owners, found)

    def degree(self, row: Sequence[int], *, but: int | None = None) -> int:
        """Twice the most cells that any row of a class other than `but` shares, one less if several rows share as many."""
        most, best, rows, ways = 0, 0, 0, 0
        for place, held in self._met(row, but):
            number = place.bit_count()
            if number >= most:
                ways = ways + 1 if number == most else 1
                most, best, rows = number, place, held
        if ways == 1 and rows > 1 and but is not None:
            rows -= self._own(best, row, but)
        # No row agrees in two combinations of the most columns: it would agree in more.
        return 2 * most - int(most > 0 and (ways > 1 or rows > 1))

    def surprises(self, rows: Ints, worth: NDArray[np.float32], but: Ints | None) -> Iterator[float]:
        """The most that any row of another class than that in `but` shares with each row, by what each cell is worth."""
        sums = np.zeros((len(rows), 1 << len(self.columns)), dtype=np.float32)
        for place in range(len(self.columns)):
            half = 1 << place
            np.add(sums[:, :half], worth[:, place, None], out=sums[:, half : 2 * half])
        classes = [None] * len(rows) if but is None else but.tolist()
        for row, owner, counts in zip(rows.tolist(), classes, sums.tolist(), strict=True):
            yield max([counts[place] for place, _ in self._met(row, owner)], default=0.0)

    def _met(self, row: Sequence[int], but: int | None) -> list[tuple[int, int]]:
        """The combinations in which a row of a class other than `but` agrees with the given codes, and all rows that do.

        Both as numbers. A code that no row holds agrees with nothing.
        """
        cells = [code if code < width else ABSENT for code, width in zip(row, self._widths, strict=True)]
        numbers, found = [0], []
        for place, (before, last, width, index, rows, owners) in enumerate(self._steps, start=1):
            first, code = numbers[before], cells[last]
            number = index.get(first * width + code, ABSENT) if first >= 0 <= code else ABSENT
            numbers.append(number)
            if number >= 0 and (but is None or owners[number] != but):
                found.append((place, rows[number]))
        return found

    @cached_property
    def _widths(self) -> list[int]:
        return [self.combinations[(1 << last) - 1].width for last in range(len(self.columns))]

    @cached_property
    def _steps(self) -> list[tuple[int, int, int, dict[int, int], array[int], array[int]]]:
        """The combinations as plain tuples: most of the time of a release is spent in going through them."""
        return [(one.before, one.last, one.width, one.index, one.rows, one.owners) for one in self.combinations]

    def _own(self, place: int, row: Sequence[int], owner: int) -> int:
        """How many rows of a class agree with the given codes in certain columns."""
        start, stop = np.searchsorted(self.owners, [owner, owner + 1])
        agree = [codes[start:stop] == row[last] for last, codes in enumerate(self.columns) if place >> last & 1]
        return int(np.logical_and.reduce(agree).sum())
