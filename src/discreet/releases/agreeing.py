"""Which combinations of cells occur among rows, and how often: what a row shares with others without comparing it with each.

The most that any row shares with given codes is the best of all combinations of columns in which some row agrees with
them. With few columns there are few combinations, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.hierarchy import Ints

SEVERAL = -1
"""In the place of an owner: rows of more than one class."""


@dataclass(frozen=True, eq=False)
class Combination:
    """The values that occur together in some columns, each known by a number."""

    index: dict[int, int]
    """From the number of the values in all but the last column, and the code in that one, to their number."""
    width: int
    rows: list[int]
    """How many rows hold them."""
    owners: list[int]
    """The class that holds them, or `SEVERAL`."""

    @classmethod
    def of(cls, before: Ints, codes: NDArray[Any], owners: Ints) -> tuple[Combination, Ints]:
        """With the number of each row's values; `before` are those without the last column."""
        width = int(codes.max(initial=0)) + 1
        found, first, numbers, rows = np.unique(
            before * width + codes, return_index=True, return_inverse=True, return_counts=True
        )
        numbers = numbers.reshape(-1)
        holder = owners[first]
        shared = np.bincount(numbers[owners != holder[numbers]], minlength=len(found)) > 0
        index = dict(zip(found.tolist(), range(len(found)), strict=True))
        return cls(index, width, rows.tolist(), np.where(shared, SEVERAL, holder).tolist()), numbers


@dataclass(frozen=True, eq=False)
class Agreements:
    """All combinations of columns, the columns of each given by the bits of its place."""

    combinations: Sequence[Combination | None]
    """Nothing stands for no columns."""

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]], owners: Ints) -> Agreements:
        """From the codes of each column and the class of each row."""
        numbers: list[Ints] = [np.zeros(len(owners), dtype=np.int64)]
        found: list[Combination | None] = [None]
        for place in range(1, 1 << len(columns)):
            last = place.bit_length() - 1
            combination, named = Combination.of(numbers[place ^ (1 << last)], columns[last], owners)
            found.append(combination)
            numbers.append(named)
        return cls(found)

    def met(self, row: Sequence[int], *, but: int | None = None) -> Iterator[tuple[int, int]]:
        """The combinations in which a row of a class other than `but` agrees with the given codes, and how many rows do.

        These are of all classes. A code that no row holds agrees with nothing.
        """
        numbers: list[int | None] = [0] * len(self.combinations)
        for place in range(1, len(numbers)):
            last = place.bit_length() - 1
            before, combination, code = numbers[place ^ (1 << last)], self.combinations[place], row[last]
            if before is None or combination is None or not 0 <= code < combination.width:
                numbers[place] = None
                continue
            number = numbers[place] = combination.index.get(before * combination.width + code)
            if number is not None and (but is None or combination.owners[number] != but):
                yield place, combination.rows[number]
