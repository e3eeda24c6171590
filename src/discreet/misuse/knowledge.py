"""Knowledge of a user: cells by entity and attribute, as bitmaps by level."""

from __future__ import annotations

import array
import operator
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, MissingExtra
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.hierarchy import text

Bitmap = Any
Numbers = NDArray[np.uint32]
Levels = dict[float, Bitmap]
"""Disjoint sets of entities by a number: by how much is known of them, or by how few people look like them."""
Better = Callable[[float, float], bool]
BYTES = 32
"""Up to so many levels are found by comparing with each."""
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
    """Entities, given in order, by level; `possible` lists all levels."""
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


def spread(levels: Levels, entities: Bitmap, places: EntityPlaces) -> NDArray[np.float64] | None:
    """Level of each entity, -1 where it has none; None without any."""
    found: NDArray[np.float64] | None = None
    for level, members in levels.items():
        common = members & entities
        if common:
            found = np.full(places.size, -1.0) if found is None else found
            found[places.of(numbers_of(common))] = level
    return found


class EntityPlaces:
    """Place of each entity among some entities."""

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


# What is known of whom: cells (entity, attribute), each with the most that it was ever seen to weigh.
@dataclass(frozen=True, eq=False)
class Knowledge:
    """Entities by the weight of each known attribute, and by their least D.

    Joining is commutative, associative and idempotent: what is known does not depend on the order of learning.
    """

    weights: Mapping[str, Levels] = field(default_factory=dict)
    crowds: Levels = field(default_factory=dict)

    def join(self, other: Knowledge) -> Knowledge:
        """What both know together."""
        weights = dict(self.weights)
        for name, levels in other.weights.items():
            weights[name] = joined(weights.get(name, {}), levels, operator.gt)
        return Knowledge(weights, joined(self.crowds, other.crowds, operator.lt))

    def entities(self) -> Bitmap:
        """Everybody of whom something is known."""
        if len(self.crowds) == 1:
            return next(iter(self.crowds.values()))
        return union(self.crowds.values())

    def covering(self, names: Iterable[str]) -> Bitmap:
        """Everybody of whom all these attributes are known."""
        covered: Bitmap | None = None
        for name in names:
            known = union(self.weights.get(name, {}).values())
            covered = known if covered is None else covered & known
        return bitmap() if covered is None else covered

    def ceiling(self, names: Iterable[str]) -> float:
        """Upper bound of record scores by these attributes: heaviest weights over smallest crowd."""
        total = 0.0
        for name in names:
            total += max(self.weights[name])
        return min(total, 1.0) / min(self.crowds)

    def cell(self, name: str, entity: int) -> float:
        """The weight of what is known of one entity; -1 where nothing is."""
        return _level(self.weights.get(name, {}), entity, -1.0)

    def crowd(self, entity: int) -> float:
        """The least D of one entity; 1 where it was never seen."""
        return _level(self.crowds, entity, 1.0)


@dataclass(frozen=True, eq=False)
class PublishedKnowledge(Knowledge):
    """Knowledge from one publication, also as arrays in the order of its entities."""

    cells: Mapping[str, Floats] = field(default_factory=dict)


def _level(levels: Levels, entity: int, absent: float) -> float:
    for level, members in levels.items():
        if entity in members:
            return level
    return absent


def published(
    entities: Ints, weights: Mapping[str, Floats], crowds: Ints, levels: Mapping[str, Sequence[float]]
) -> PublishedKnowledge:
    """Knowledge from one publication; an entity may have several rows."""
    if len(entities) > 1 and not (entities[1:] > entities[:-1]).all():
        order = np.argsort(entities, kind="stable")
        entities, first = np.unique(entities[order], return_index=True)
        weights = {name: np.maximum.reduceat(its[order], first) for name, its in weights.items()}
        crowds = np.minimum.reduceat(crowds[order], first)
    numbers = entities.astype(np.uint32)
    by_weight = {name: sorted_by(its, numbers, levels[name]) for name, its in weights.items()}
    return PublishedKnowledge(by_weight, sorted_by(crowds, numbers), weights)


def published_few(entities: Sequence[int], weights: Mapping[str, Sequence[float]], crowds: Sequence[int]) -> Knowledge:
    """The same for a few rows, one by one."""
    found = Knowledge()
    for row, entity in enumerate(entities):
        one = bitmap([entity])
        cells = {name: {its[row]: one} for name, its in weights.items()}
        learned = Knowledge(cells, {crowds[row]: one})
        found = found.join(learned) if row else learned
    return found


# Numbers for entities, as bitmaps need them.
NAMED = 2**31
"""Whole numbers below this number themselves; every other key gets a number from here up."""
NUMBER = re.compile("0|[1-9][0-9]{0,9}")


class EntityNumbering:
    """Number of each entity, always the same; numbers are only added.

    >>> keys = EntityNumbering()
    >>> (keys.numbers([7, "7", "x-1", "x-1"]) - np.array([0, 0, NAMED, NAMED])).tolist()
    [7, 7, 0, 0]
    """

    def __init__(self, names: Mapping[str, int] | None = None) -> None:
        self.names = dict(names or {})
        self._lock = threading.Lock()

    def numbers(self, entities: Any) -> Ints:
        """The number of each entity."""
        if isinstance(entities, np.ndarray) and entities.dtype.kind in "iu":
            if not len(entities) or (int(entities.min()) >= 0 and int(entities.max()) < NAMED):
                return entities.astype(np.int64)
            entities = entities.tolist()
        keys = list(entities)
        if set(map(type, keys)) == {int} and min(keys) >= 0 and max(keys) < NAMED:
            return np.array(keys, dtype=np.int64)
        spelt = [text(key) for key in keys]
        if missing := spelt.count(None):
            raise DataError(
                f"{missing} rows do not say whom they are about.",
                remedy="Give the key of the entity with every row, or leave these rows out.",
            )
        with self._lock:
            numbers = [
                int(key)
                if NUMBER.fullmatch(key) and int(key) < NAMED
                else self.names.setdefault(key, NAMED + len(self.names))
                for key in spelt
                if key is not None
            ]
        return np.array(numbers, dtype=np.int64)
