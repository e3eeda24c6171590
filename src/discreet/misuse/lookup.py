"""From keys to numbers, for many keys at once and for one: a plain table where keys are dense, else a hash table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Ints

SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Fibonacci hashing: an odd number near 2**64 divided by the golden ratio."""
WORD = 2**64
ROOM = 65_536
"""A plain table may always have this many places more than there are keys."""


class Lookup(Protocol):
    """Which number belongs to a key; 0 where none does."""

    def many(self, keys: Ints) -> Ints:
        """The number of each key."""
        ...

    def one(self, key: int) -> int:
        """The number of one key, without the overhead of arrays."""
        ...


def lookup(keys: Ints, numbers: Ints, bound: int) -> Lookup:
    """A table of distinct keys from 0 up to `bound`.

    >>> table = lookup(np.array([3, 5]), np.array([30, 50]), 10)
    >>> table.many(np.array([5, 4, 3])).tolist(), table.one(5), table.one(6)
    ([50, 0, 30], 50, 0)
    """
    if bound <= 4 * len(keys) + ROOM:
        places = np.zeros(bound, dtype=np.int64)
        places[keys] = numbers
        return Dense(places, _view(places))
    return Hashed.of(keys, numbers)


@dataclass(frozen=True, eq=False)
class Dense:
    """A place for every possible key."""

    places: Ints
    view: memoryview

    def many(self, keys: Ints) -> Ints:
        """The number of each key."""
        return self.places[keys]

    def one(self, key: int) -> int:
        """The number of one key."""
        return self.view[key]


@dataclass(frozen=True, eq=False)
class Hashed:
    """Keys in the order of their hashes, with the place where each hash begins; buckets hold one key on average."""

    shift: int
    starts: NDArray[np.int32]
    keys: Ints
    numbers: Ints
    views: tuple[memoryview, memoryview, memoryview]
    """The three arrays again: reading one number from a view is several times cheaper than from an array."""

    @classmethod
    def of(cls, keys: Ints, numbers: Ints) -> Hashed:
        """Build the table."""
        bits = max(len(keys).bit_length(), 1)
        hashes = _hash(keys, 64 - bits)
        order = np.argsort(hashes, kind="stable")
        starts = np.searchsorted(hashes[order], np.arange(2**bits + 1)).astype(np.int32)
        # One more key, which no query equals, stands behind the last bucket.
        ordered, values = np.append(keys[order], -1), np.append(numbers[order], 0)
        return cls(64 - bits, starts, ordered, values, (_view(starts), _view(ordered), _view(values)))

    def many(self, keys: Ints) -> Ints:
        """The number of each key: all look at the first key of their bucket, the few that missed at the next."""
        hashes = _hash(keys, self.shift)
        places = self.starts[hashes]
        hit = self.keys[places] == keys
        numbers = np.where(hit, self.numbers[places], 0)
        left = np.flatnonzero(~hit)
        ends = self.starts[hashes[left] + 1]
        places = places[left] + 1
        while len(left):
            inside = places < ends
            left, places, ends = left[inside], places[inside], ends[inside]
            hit = self.keys[places] == keys[left]
            numbers[left[hit]] = self.numbers[places[hit]]
            left, places, ends = left[~hit], places[~hit] + 1, ends[~hit]
        return numbers

    def one(self, key: int) -> int:
        """The number of one key."""
        starts, keys, numbers = self.views
        at = (key * int(SPREAD) % WORD) >> self.shift
        for place in range(starts[at], starts[at + 1]):
            if keys[place] == key:
                return numbers[place]
        return 0


def _hash(keys: Ints, shift: int) -> Ints:
    return ((keys.astype(np.uint64) * SPREAD) >> np.uint64(shift)).astype(np.int64)


def _view(array: Any) -> memoryview:
    return memoryview(array)
