"""Numbers for those whom results are about. Exposures keep them as bitmaps, so they must fit into 31 bits.

Small whole keys of the first few entities stand for themselves, in a range per entity: that keeps bitmaps dense. All
other keys, and rows of which nobody can say whom they are about, are spread over the upper half by a keyed hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel import Coded
from discreet.kernel.arrays import Ints

RANGE = 1 << 27
RANGES = 8
HASHED = RANGE * RANGES
"""From here up to twice this, numbers are hashes."""


@dataclass(frozen=True)
class Entities:
    """Numbers entities, the same way in every process that has the same secret."""

    ranges: dict[str, int]
    secret: bytes

    @classmethod
    def of(cls, names: Iterable[str], secret: bytes) -> Entities:
        """Ranges are given by name, so that another table in the policy does not move them."""
        ranges: dict[str, int] = {}
        taken: set[int] = set()
        for name in sorted(set(names)):
            place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % RANGES
            if place not in taken:
                taken.add(place)
                ranges[name] = place * RANGE
        return cls(ranges, secret)

    def numbers(self, entity: str, keys: Sequence[Coded | Ints]) -> Ints:
        """The number of each row's entity, by the columns of its key."""
        if len(keys) == 1 and isinstance(keys[0], np.ndarray) and entity in self.ranges:
            given = keys[0]
            if not len(given) or (int(given.min()) >= 0 and int(given.max()) < RANGE):
                return given + self.ranges[entity]
        columns = [_texts(one) for one in keys]
        memo: dict[Any, int] = {}
        rows = list(zip(*columns, strict=True))
        return np.array([self._one(entity, row, memo) for row in rows], dtype=np.int64)

    def _one(self, entity: str, row: tuple[str | None, ...], memo: dict[Any, int]) -> int:
        found = memo.get(row)
        if found is None:
            found = memo[row] = self._number(entity, row)
        return found

    def _number(self, entity: str, row: tuple[str | None, ...]) -> int:
        only = row[0] if len(row) == 1 else None
        if only is not None and entity in self.ranges and _is_small(only):
            return self.ranges[entity] + int(only)
        return HASHED + self._hash(repr((entity, row)).encode()) % HASHED

    def rows(self, what: bytes, number: int) -> Ints:
        """Numbers for so many people of whom nothing is known but that a statement told of them."""
        begin = self._hash(b"row" + what)
        return HASHED + (np.arange(begin, begin + number, dtype=np.int64) % HASHED)

    def unnamed(self, what: bytes, contents: NDArray[np.uint64]) -> Ints:
        """Numbers for rows that are about nobody knows whom, by the statement and by what stands in them.

        The same statement with the same rows is about the same people; equal rows of one result are about several.
        """
        order = np.argsort(contents, kind="stable")
        ordered = contents[order]
        first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
        places = np.arange(len(ordered))
        rank = np.empty(len(ordered), dtype=np.uint64)
        rank[order] = places - np.maximum.accumulate(np.where(first, places, 0))
        mixed = (contents ^ np.uint64(self._hash(b"row" + what))) * self.factors[0] + rank * self.factors[1]
        mixed ^= mixed >> np.uint64(32)
        found: Ints = (mixed % np.uint64(HASHED)).astype(np.int64) + HASHED
        return found

    @cached_property
    def factors(self) -> NDArray[np.uint64]:
        """Secret odd numbers, to mix the bytes of rows with."""
        told = b"".join(hashlib.blake2b(b"mix%d" % n, key=self.secret[:64], digest_size=64).digest() for n in range(8))
        return np.frombuffer(told, dtype=np.uint64) | np.uint64(1)

    def _hash(self, what: bytes) -> int:
        return int.from_bytes(hashlib.blake2b(what, key=self.secret[:64], digest_size=7).digest(), "big")


def _is_small(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) < 10 and str(int(key)) == key and int(key) < RANGE


def _texts(keys: Coded | Ints) -> list[str | None]:
    if isinstance(keys, np.ndarray):
        return [str(key) for key in keys.tolist()]
    return [keys.values[code] for code in keys.codes.tolist()]
