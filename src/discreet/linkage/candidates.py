"""Base records that are compatible with what a row discloses, cell by cell.

Opening a cell further only ever narrows the set, so that the records compatible with every possible next state are
among those compatible with the present one: each next state costs one intersection with that set, and a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.linkage.masking.column_index import Array, Column

FEW = 16
"""Up to one in so many records are kept as a list, more as a mask."""


class Constraint(Protocol):
    """What one cell says about the record behind it."""

    def size(self) -> int:
        """How many base records are compatible."""

    def listed(self) -> Array | None:
        """Which ones, if they are few and listed."""

    def mask(self) -> Array:
        """For each base record whether it is."""

    def among(self, records: Array) -> Array:
        """For each of these records whether it is."""


@dataclass(frozen=True, eq=False)
class Equal:
    """A cell in full: the value itself."""

    column: Column
    code: int

    def size(self) -> int:
        """How many records have it."""
        return int(self.column.counts[self.code])

    def listed(self) -> Array | None:
        """They, unless they are many."""
        return self.column.holders(self.code) if self.size() * FEW <= len(self.column.codes) else None

    def mask(self) -> Array:
        """Who has it."""
        return np.asarray(self.column.codes == self.code)

    def among(self, records: Array) -> Array:
        """Who of these has it."""
        return np.asarray(self.column.codes[records] == self.code)


@dataclass(frozen=True, eq=False)
class Shared:
    """A cell in part that agrees with its partner: the value occurs at least twice."""

    column: Column

    def size(self) -> int:
        """How many records have a value that occurs twice."""
        return self.column.sharing

    def listed(self) -> Array | None:
        """Never."""
        return None

    def mask(self) -> Array:
        """Who has such a value."""
        return self.column.shared

    def among(self, records: Array) -> Array:
        """Who of these has such a value."""
        return np.asarray(self.column.shared[records])


@dataclass(frozen=True, eq=False)
class Pattern:
    """A cell in part that differs from its partner: some characters at their places, and the length."""

    column: Column
    length: int
    shown: Sequence[tuple[int, int]]

    def size(self) -> int:
        """How many records have a value of that shape."""
        return int(np.count_nonzero(self.mask()))

    def listed(self) -> Array | None:
        """Never."""
        return None

    def mask(self) -> Array:
        """Who has a value of that shape."""
        found = np.asarray(self.column.lengths == self.length)
        for place, unit in self.shown:
            found &= self.column.at_place(place, unit)
        return found

    def among(self, records: Array) -> Array:
        """Who of these has a value of that shape."""
        found = np.asarray(self.column.lengths[records] == self.length)
        for place, unit in self.shown:
            found &= self.column.among(records, place, unit)
        return found


@dataclass(frozen=True, eq=False)
class Marked:
    """Any set of records, as a mask."""

    held: Array

    def size(self) -> int:
        """How many they are."""
        return int(np.count_nonzero(self.held))

    def listed(self) -> Array | None:
        """Never."""
        return None

    def mask(self) -> Array:
        """Who is in it."""
        return self.held

    def among(self, records: Array) -> Array:
        """Who of these is in it."""
        return np.asarray(self.held[records])


@dataclass(frozen=True, eq=False)
class Candidates:
    """The records that are compatible with some cells: all, a list of few, or a mask."""

    everybody: int
    records: Array | None = None
    mask: Array | None = None

    @classmethod
    def of(cls, constraints: Sequence[Constraint], everybody: int) -> Candidates:
        """Those compatible with all of them."""
        found = cls(everybody)
        for one in sorted(constraints, key=_is_not_listed):
            found = found.narrowed(one)
        return found

    def __len__(self) -> int:
        if self.records is not None:
            return len(self.records)
        return self.everybody if self.mask is None else int(np.count_nonzero(self.mask))

    def narrowed(self, by: Constraint) -> Candidates:
        """Those who are compatible with one more cell."""
        if self.records is not None:
            return Candidates(self.everybody, records=self.records[by.among(self.records)])
        listed = by.listed()
        if listed is not None:
            kept = listed if self.mask is None else listed[self.mask[listed]]
            return Candidates(self.everybody, records=kept)
        return Candidates(self.everybody, mask=by.mask() if self.mask is None else self.mask & by.mask())

    def count(self, by: Sequence[Constraint]) -> int:
        """How many are compatible with further cells."""
        if not by:
            return len(self)
        *first, last = by
        rest = self
        for one in first:
            rest = rest.narrowed(one)
        if rest.records is None and rest.mask is None:
            return last.size()
        return len(rest.narrowed(last))


def _is_not_listed(one: Constraint) -> int:
    listed = one.listed()
    return 1 << 62 if listed is None else len(listed)
