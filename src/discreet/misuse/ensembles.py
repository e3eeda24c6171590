"""Ensembles: the maximal rectangles of what is known, each scored as if it were one result.

For a set A of attributes, the ensemble holds everybody of whom *at least* A is known; grouping by "exactly A" would
lose those of whom more is known. Only sets that are the intersection of what is known of some entities can be
maximal: any other set has the entities of a larger one. The family of these intersections is kept, with the number
of entities and the largest record score of each, and updated from what is learned alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.hierarchy import Ints
from discreet.kernel.keys import group, pack
from discreet.misuse.bitmaps import Bitmap, Places, numbers_of, spread
from discreet.misuse.knowledge import Knowledge
from discreet.misuse.measured import power
from discreet.misuse.weighing import Floats

FEW = 16
"""Up to so many entities are looked at one by one."""
Attributes = int
"""A set of attributes, one bit each."""


@dataclass(frozen=True)
class Ensemble:
    """How many entities an ensemble has, and the largest record score among them."""

    entities: int = 0
    record_score: float = 0.0


@dataclass(frozen=True, eq=False)
class Ensembles:
    """The family of ensembles of some knowledge."""

    names: tuple[str, ...] = ()
    """The attribute of each bit."""
    found: Mapping[Attributes, Ensemble] = field(default_factory=dict)

    def value(self, x: float) -> float:
        """The largest score of any ensemble."""
        return max((power(one.entities, x) * one.record_score for one in self.found.values()), default=0.0)

    def learn(self, old: Knowledge, new: Knowledge, learned: Knowledge) -> Ensembles:
        """The family after `learned` was joined to `old`, which gave `new`."""
        entities = learned.entities()
        if not entities:
            return self
        names = (*self.names, *(name for name in learned.weights if name not in self.names))
        look = _few if len(entities) <= FEW else _many
        seen = look(names, old, new, learned, entities)
        family = _closed(self.found, seen.signatures)
        found = {
            attributes: seen.update(attributes, self.found[attributes])
            if attributes in self.found
            else _afresh(names, attributes, new, seen)
            for attributes in family
        }
        return Ensembles(names, found)


def _closed(family: Iterable[Attributes], signatures: Iterable[Attributes]) -> set[Attributes]:
    """The least family that holds all these sets and, with any two of them, what they share."""
    closed = set(family)
    for signature in signatures:
        if signature not in closed:
            closed |= {signature, *(signature & other for other in closed)}
    return closed - {0}


def _afresh(names: Sequence[str], attributes: Attributes, new: Knowledge, seen: Seen) -> Ensemble:
    """An ensemble that is met for the first time, from everything that is known."""
    members = new.covering(_chosen(names, attributes))
    if members.issubset(seen.entities):
        return seen.update(attributes, Ensemble(), before=False)
    ids = numbers_of(members)
    places = Places(ids)
    weights = {name: spread(new.weights[name], members, places, -1.0) for name in _chosen(names, attributes)}
    scores = _record_scores(weights, spread(new.crowds, members, places, 1.0))
    return Ensemble(len(ids), float(scores.max(initial=0.0)))


def _chosen(names: Sequence[str], attributes: Attributes) -> list[str]:
    """The attributes of a set in the order in which weights are added up: always the same, so that sums are, too."""
    return sorted(name for bit, name in enumerate(names) if attributes >> bit & 1)


def _record_scores(weights: Mapping[str, Floats], crowds: Floats) -> Floats:
    sums = np.zeros(len(crowds))
    for its in weights.values():
        sums += its
    return np.minimum(sums, 1.0) / crowds


class Seen:
    """The entities of whom something was learned: what was known of them before, and what is now."""

    entities: Bitmap
    signatures: list[Attributes]

    def update(self, attributes: Attributes, ensemble: Ensemble, *, before: bool = True) -> Ensemble:
        """An ensemble with these entities: who was not in it joins, and weights and crowds may have changed."""
        raise NotImplementedError


class _One(Seen):
    """A few entities, looked at one by one."""

    def __init__(self, names: Sequence[str], entities: Bitmap, rows: list[tuple[int, int, dict[str, float], float]]):
        self.names, self.entities, self.rows = names, entities, rows
        self.signatures = [after for _, after, _, _ in rows]

    def update(self, attributes: Attributes, ensemble: Ensemble, *, before: bool = True) -> Ensemble:
        number, best = ensemble.entities, ensemble.record_score
        chosen: list[str] | None = None
        for earlier, later, weights, crowd in self.rows:
            if later & attributes != attributes:
                continue
            chosen = _chosen(self.names, attributes) if chosen is None else chosen
            number += not before or earlier & attributes != attributes
            total = 0.0
            for name in chosen:
                total += weights[name]
            best = max(best, min(total, 1.0) / crowd)
        return Ensemble(number, best)


def _few(names: Sequence[str], old: Knowledge, new: Knowledge, learned: Knowledge, entities: Bitmap) -> Seen:
    rows = []
    for entity in entities:
        earlier = later = 0
        weights = {}
        for bit, name in enumerate(names):
            weight = new.cell(name, entity)
            if weight < 0:
                continue
            weights[name] = weight
            later |= 1 << bit
            if name not in learned.weights or old.cell(name, entity) >= 0:
                earlier |= 1 << bit
        rows.append((earlier, later, weights, new.crowd(entity)))
    return _One(names, entities, rows)


class _All(Seen):
    """Many entities, as arrays."""

    def __init__(
        self,
        names: Sequence[str],
        entities: Bitmap,
        before: Mapping[str, Floats],
        after: Mapping[str, Floats],
        crowds: Floats,
    ):
        self.names, self.entities, self.after, self.crowds = names, entities, after, crowds
        earlier = [(before[name] >= 0).astype(np.int64) for name in names]
        later = [(after[name] >= 0).astype(np.int64) for name in names]
        first, self.member, _ = group(*pack([*earlier, *later], [2] * (2 * len(names)), len(crowds)))
        self.kinds = [(_signature(earlier, row), _signature(later, row)) for row in first.tolist()]
        self.signatures = list({later for _, later in self.kinds})
        self.numbers = np.bincount(self.member, minlength=len(self.kinds)).tolist()

    def update(self, attributes: Attributes, ensemble: Ensemble, *, before: bool = True) -> Ensemble:
        inside = [later & attributes == attributes for _, later in self.kinds]
        fresh = sum(
            number
            for number, (earlier, _), its in zip(self.numbers, self.kinds, inside, strict=True)
            if its and not (before and earlier & attributes == attributes)
        )
        if not any(inside):
            return ensemble
        chosen: NDArray[np.bool_] | slice = slice(None) if all(inside) else np.array(inside)[self.member]
        weights = {name: self.after[name][chosen] for name in _chosen(self.names, attributes)}
        best = float(_record_scores(weights, self.crowds[chosen]).max(initial=0.0))
        return Ensemble(ensemble.entities + fresh, max(ensemble.record_score, best))


def _signature(columns: Sequence[Ints], row: int) -> Attributes:
    return sum(int(its[row]) << bit for bit, its in enumerate(columns))


def _many(names: Sequence[str], old: Knowledge, new: Knowledge, learned: Knowledge, entities: Bitmap) -> Seen:
    places = Places(numbers_of(entities))
    before = {name: spread(old.weights.get(name, {}), entities, places, -1.0) for name in names}
    after = dict(_after(before, learned, entities, places))
    return _All(names, entities, before, after, spread(new.crowds, entities, places, 1.0))


def _after(
    before: Mapping[str, Floats], learned: Knowledge, entities: Bitmap, places: Places
) -> Iterator[tuple[str, Floats]]:
    for name, weights in before.items():
        levels = learned.weights.get(name)
        yield name, weights if levels is None else np.maximum(weights, spread(levels, entities, places, -1.0))
