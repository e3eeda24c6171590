"""Which combinations of cells occur among rows, and how often: what a row shares with others without comparing it with each.

The most that any row shares with given codes is the best of all combinations of columns in which some row agrees with
them. With few columns there are few combinations, however many rows there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.hierarchy import Ints

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

    combinations: Sequence[Combination]

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]], owners: Ints) -> Agreements:
        """From the codes of each column and the class of each row."""
        numbers = [np.zeros(len(owners), dtype=np.int32)]
        found = []
        for place in range(1, 1 << len(columns)):
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
        return cls(found)

    def met(self, row: Sequence[int], *, but: int | None = None) -> list[tuple[int, int]]:
        """The combinations in which a row of a class other than `but` agrees with the given codes, and all rows that do.

        Both as numbers. A code that no row holds agrees with nothing.
        """
        numbers, found = [0], []
        for place, one in enumerate(self.combinations, start=1):
            first, code = numbers[one.before], row[one.last]
            agrees = first != ABSENT and 0 <= code < one.width
            number = one.index.get(first * one.width + code, ABSENT) if agrees else ABSENT
            numbers.append(number)
            if number != ABSENT and (but is None or one.owners[number] != but):
                found.append((place, one.rows[number]))
        return found
