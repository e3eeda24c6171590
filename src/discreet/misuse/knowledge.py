"""What is known of whom: cells (entity, attribute), each with the most that it was ever seen to weigh."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.kernel.arrays import Floats, Ints
from discreet.misuse.exposure.knowledge import Bitmap, Levels, bitmap, joined, sorted_by, union


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Per attribute the entities by the weight of what is known of them, and the entities by their least D.

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
        """No record score by these attributes can be larger: the heaviest weights of all and the smallest crowd."""
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
class Publication(Knowledge):
    """What one publication tells, also as arrays in the order of its entities, where they are many."""

    cells: Mapping[str, Floats] = field(default_factory=dict)


def _level(levels: Levels, entity: int, absent: float) -> float:
    for level, members in levels.items():
        if entity in members:
            return level
    return absent


def published(
    entities: Ints, weights: Mapping[str, Floats], crowds: Ints, levels: Mapping[str, Sequence[float]]
) -> Publication:
    """What one publication tells: entities in any order and repeated as often as they have rows."""
    if len(entities) > 1 and not (entities[1:] > entities[:-1]).all():
        order = np.argsort(entities, kind="stable")
        entities, first = np.unique(entities[order], return_index=True)
        weights = {name: np.maximum.reduceat(its[order], first) for name, its in weights.items()}
        crowds = np.minimum.reduceat(crowds[order], first)
    numbers = entities.astype(np.uint32)
    by_weight = {name: sorted_by(its, numbers, levels[name]) for name, its in weights.items()}
    return Publication(by_weight, sorted_by(crowds, numbers), weights)


def published_few(entities: Sequence[int], weights: Mapping[str, Sequence[float]], crowds: Sequence[int]) -> Knowledge:
    """The same for a few rows, one by one."""
    found = Knowledge()
    for row, entity in enumerate(entities):
        one = bitmap([entity])
        cells = {name: {its[row]: one} for name, its in weights.items()}
        told = Knowledge(cells, {crowds[row]: one})
        found = told if not row else found.join(told)
    return found


def joined_all(parts: Sequence[Knowledge]) -> Knowledge:
    """What all of them know together."""
    whole = Knowledge()
    for part in parts:
        whole = whole.join(part)
    return whole
