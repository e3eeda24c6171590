"""Similarity of a row to the nearest row of another class, by shared cells.

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

from discreet.kernel.arrays import Floats, Ints

Codes = NDArray[np.int32]
SEVERAL = -1
"""In the place of an owner: rows of more than one class."""
ABSENT = -1
"""In the place of a number: values that do not occur together."""


@dataclass(frozen=True, eq=False)
class ValueCombination:
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
    combinations: Sequence[ValueCombination]

    @classmethod
    def of(cls, columns: Sequence[Codes], owners: Ints, *, most: int) -> Agreements | None:
        """From the codes of each column and the class of each row; None where there are more combinations than `most`."""
        numbers = [np.zeros(len(owners), dtype=np.int32)]
        found: list[ValueCombination] = []
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
            found.append(
                ValueCombination(before, last, width, index, held, array("q", holder.astype(np.int64).tobytes()))
            )
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
            # Less the rows of that class which agree with the codes in these columns.
            start, stop = np.searchsorted(self.owners, [but, but + 1])
            agree = [codes[start:stop] == row[last] for last, codes in enumerate(self.columns) if best >> last & 1]
            rows -= int(np.logical_and.reduce(agree).sum())
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
        """Places of the combinations in which a row of a class other than `but` agrees, and the number of such rows."""
        widths, steps = self._steps
        cells = [code if code < width else ABSENT for code, width in zip(row, widths, strict=True)]
        numbers, found = [0], []
        for place, (before, last, width, index, rows, owners) in enumerate(steps, start=1):
            first, code = numbers[before], cells[last]
            number = index.get(first * width + code, ABSENT) if first >= 0 <= code else ABSENT
            numbers.append(number)
            if number >= 0 and (but is None or owners[number] != but):
                found.append((place, rows[number]))
        return found

    @cached_property
    def _steps(self) -> tuple[list[int], list[tuple[int, int, int, dict[int, int], array[int], array[int]]]]:
        """Codes per column, and the combinations as tuples: most of the time of a release goes through them."""
        widths = [self.combinations[(1 << last) - 1].width for last in range(len(self.columns))]
        return widths, [
            (each.before, each.last, each.width, each.index, each.rows, each.owners) for each in self.combinations
        ]


# For tables of many columns, where there are too many combinations of cells to know them all. Rows that share none of the
# rarest cells can share the others at most, which is little; so mostly a few rows are looked at.
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
            cells, best, asked = self._rarest(row), 0.0, np.array(row, dtype=np.int32)[:, None]
            left = float(sum(counts[place] for place, _ in cells))
            for place, holders in cells:
                if best >= left * _ROUNDING:
                    break
                shared = np.add.reduce(counts[:, None] * (self.cells[:, holders] == asked), axis=0)
                if owner is not None:
                    shared[self.owners[holders] == owner] = 0
                best, left = max(best, float(shared.max(initial=0))), left - float(counts[place])
            yield best


NOBODY = -1
"""The code of a value that no row holds."""
MOST_COLUMNS = 6
MOST_COMBINATIONS = 1 << 21
"""Columns, and combinations of their values, up to which all combinations are looked up: some 200 MB of them."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """Rows in which the one most like another row is found; to share many cells with a single row is the most telling."""

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
