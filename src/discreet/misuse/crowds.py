"""How many people of the source share a tuple of quasi-identifier values: D of the measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.kernel import Classes, Column
from discreet.kernel.arrays import LIMIT, Ints, Label
from discreet.kernel.hierarchy import text
from discreet.misuse.cells import Cells, numbered, whole
from discreet.misuse.lookup import ROOM, Lookup, lookup


@dataclass(frozen=True, eq=False)
class Index:
    """The code of each value of a column; values that the source does not have share one code behind the others."""

    name: str
    codes_of: Mapping[Label, int]

    @classmethod
    def of(cls, column: Column) -> Index:
        """The index of a column at its level."""
        return cls(column.name, column.hierarchy.index[column.level])

    @property
    def unknown(self) -> int:
        """The code of all values that the source does not have."""
        return len(self.codes_of)

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.codes_of) + 1

    def codes(self, cells: Cells) -> Ints:
        """The code of each cell."""
        if isinstance(cells, np.ndarray) and (integers := whole(cells)) is not None:
            return self._integer_codes(integers)
        return numbered(cells, lambda label: self.codes_of.get(label, self.unknown), np.int64)

    def _integer_codes(self, cells: Ints) -> Ints:
        low, places, integers, codes = self._integers
        if places is None:
            at = np.minimum(np.searchsorted(integers, cells), max(len(integers) - 1, 0))
            return np.where(integers[at] == cells, codes[at], self.unknown)
        # Subtraction may wrap around for far values, but then the place is outside as well.
        shifted = (cells - low).view(np.uint64)
        return places[np.minimum(shifted, np.uint64(len(places) - 1)).view(np.int64)]

    @cached_property
    def _integers(self) -> tuple[int, Ints | None, Ints, Ints]:
        """The values that are whole numbers, in order, with their codes; as a plain table where they lie close."""
        known = sorted((int(label), code) for label, code in self.codes_of.items() if label and _is_integer(label))
        if not known:
            return 0, np.array([self.unknown]), np.array([], dtype=np.int64), np.array([], dtype=np.int64)
        integers, codes = (np.array(side, dtype=np.int64) for side in zip(*known, strict=True))
        low, span = known[0][0], known[-1][0] - known[0][0] + 1
        if span > 8 * len(known) + ROOM:
            return low, None, integers, codes
        places = np.full(span + 1, self.unknown, dtype=np.int64)
        places[integers - low] = codes
        return low, places, integers, codes


def _is_integer(label: str) -> bool:
    """Whether this is how a whole number is spelt that fits into 63 bits."""
    digits = label.removeprefix("-")
    return (
        label != "-0"
        and digits.isascii()
        and digits.isdigit()
        and len(digits) < 19
        and (digits == "0" or digits[0] != "0")
    )


@dataclass(frozen=True, eq=False)
class Crowds:
    """The look-up of D by some quasi-identifiers; a tuple that the source does not have is a crowd of one."""

    indexes: tuple[Index, ...]
    steps: tuple[tuple[Lookup | None, int], ...]
    """Per column a look-up that makes the key so far small again, where it would outgrow 62 bits, and its size."""
    sizes: Lookup

    @classmethod
    def of(cls, classes: Classes) -> Crowds:
        """From the classes of the source by these quasi-identifiers."""
        indexes = tuple(Index.of(column) for column in classes.columns)
        keys, bound = np.zeros(len(classes), dtype=np.int64), 1
        steps: list[tuple[Lookup | None, int]] = []
        for index, codes in zip(indexes, classes.codes, strict=True):
            smaller = None
            if bound * index.size >= LIMIT:
                met, keys = np.unique(keys, return_inverse=True)
                smaller, keys, bound = lookup(met, np.arange(1, len(met) + 1), bound), keys + 1, len(met) + 1
            steps.append((smaller, index.size))
            keys, bound = keys * index.size + codes, bound * index.size
        return cls(indexes, tuple(steps), lookup(keys, classes.sizes, bound))

    def many(self, columns: Sequence[Cells], rows: int) -> Ints:
        """D of each row."""
        keys = np.zeros(rows, dtype=np.int64)
        for index, cells, (smaller, size) in zip(self.indexes, columns, self.steps, strict=True):
            keys = keys if smaller is None else smaller.many(keys)
            keys = keys * size + index.codes(cells)
        return np.maximum(self.sizes.many(keys), 1)

    def one(self, values: Sequence[Any]) -> int:
        """D of one row."""
        key = 0
        for value, (known, unknown, smaller) in zip(values, self._quick, strict=True):
            if smaller is not None:
                key = smaller.one(key)
            kind = type(value)
            label = value if kind is str else str(value) if kind is int else text(value)
            key = key * (unknown + 1) + known(label, unknown)
        return self.sizes.one(key) or 1

    @cached_property
    def _quick(self) -> tuple[tuple[Callable[[Label, int], int], int, Lookup | None], ...]:
        """The steps for one row, unpacked."""
        steps = zip(self.indexes, self.steps, strict=True)
        return tuple((index.codes_of.get, index.unknown, smaller) for index, (smaller, _) in steps)
