"""Sets of entities as roaring bitmaps, sorted into levels: each entity is at its best level only."""

from __future__ import annotations

import array
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MissingExtra
from discreet.kernel.arrays import Ints

Bitmap = Any
Numbers = NDArray[np.uint32]
Levels = dict[float, Bitmap]
"""Disjoint sets of entities by a number: by how much is known of them, or by how few people look like them."""
Better = Callable[[float, float], bool]
BYTES = 32
"""Up to so many levels are told apart by comparing with each."""
DENSE = 16
"""Numbers that fill at least one in so many places are looked up in a plain table."""


def bitmap(numbers: Numbers | Sequence[int] = ()) -> Bitmap:
    """A set of numbers below 2**32."""
    try:
        from pyroaring import BitMap
    except ImportError:
        raise MissingExtra("misuse", needed_for="Keeping what a user knows (Exposure)") from None
    if isinstance(numbers, np.ndarray):
        numbers = array.array("I", numbers.astype(np.uint32, copy=False).tobytes())
    return BitMap(numbers)


def union(sets: Iterable[Bitmap]) -> Bitmap:
    """All entities of some sets."""
    return reduce(lambda one, other: one | other, sets, bitmap())


def numbers_of(entities: Bitmap) -> Numbers:
    """The entities of a set, in order."""
    return np.frombuffer(entities.to_array(), dtype=np.uint32)


def joined(mine: Levels, theirs: Levels, better: Better) -> Levels:
    """Each entity of both at its best level; `mine` itself where nothing is gained."""
    if not mine:
        return theirs
    found = mine
    for level, entities in theirs.items():
        gain = entities
        for other, known in mine.items():
            if other == level or better(other, level):
                gain = gain - known
        if not gain:
            continue
        found = dict(mine) if found is mine else found
        for other in mine:
            if better(level, other) and other in found and found[other].intersect(gain):
                found[other] = found[other] - gain
                if not found[other]:
                    del found[other]
        found[level] = found[level] | gain if level in found else gain
    return found


def sorted_by(levels: NDArray[Any], entities: Numbers, possible: Sequence[float] | None = None) -> Levels:
    """Entities, given in order, by their level; `possible` saves looking for the levels that occur."""
    if len(levels) and (levels == levels[0]).all():
        return {levels[0].item(): bitmap(entities)}
    known = np.unique(levels).tolist() if possible is None else list(possible)
    if len(known) > BYTES:
        return {level: bitmap(entities[levels == level]) for level in known if (levels == level).any()}
    places = np.zeros(len(levels), dtype=np.uint8)
    for level in known[:-1]:
        places += levels > level
    parts = ((level, entities[np.flatnonzero(places == place)]) for place, level in enumerate(known))
    return {level: bitmap(part) for level, part in parts if len(part)}


def spread(levels: Levels, entities: Bitmap, places: Places) -> NDArray[np.float64] | None:
    """The level of each of some entities, -1 where it has none; None where no one has one."""
    found: NDArray[np.float64] | None = None
    for level, members in levels.items():
        common = members & entities
        if common:
            found = np.full(places.size, -1.0) if found is None else found
            found[places.of(numbers_of(common))] = level
    return found


class Places:
    """Where each of some entities stands among them."""

    def __init__(self, numbers: Numbers) -> None:
        self.size = len(numbers)
        self._numbers = numbers
        self._low = int(numbers[0]) if len(numbers) else 0
        span = int(numbers[-1]) - self._low + 1 if len(numbers) else 0
        self._table: Ints | None = None
        if span <= DENSE * self.size:
            self._table = np.zeros(span, dtype=np.int64)
            self._table[numbers - np.uint32(self._low)] = np.arange(self.size)

    def of(self, some: Numbers) -> Any:
        """The places of some of them, given in order."""
        if len(some) == self.size:
            return slice(None)
        if self._table is not None:
            return self._table[some - np.uint32(self._low)]
        return np.searchsorted(self._numbers, some)
