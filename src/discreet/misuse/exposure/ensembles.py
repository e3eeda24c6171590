"""Ensembles: maximal rectangles of what is known, each scored as one result.

For a set A of attributes, the ensemble holds everybody of whom *at least* A is known; grouping by "exactly A" would
lose those of whom more is known. Only sets that are the intersection of what is known of some entities can be
maximal: any other set has the entities of a larger one. The family of these intersections is kept, with the number
of entities and the largest record score of each, and updated from what is learned alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from discreet.kernel.arrays import Floats
from discreet.misuse.exposure.knowledge import (
    Bitmap,
    EntityPlaces,
    Knowledge,
    PublishedKnowledge,
    numbers_of,
    spread,
    union,
)
from discreet.misuse.scorer import power

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
        if new.crowds is old.crowds and all(new.weights[name] is old.weights.get(name) for name in learned.weights):
            return self
        entities = learned.entities()
        names = (*self.names, *(name for name in learned.weights if name not in self.names))
        look = _few if len(entities) <= FEW else _All
        seen: LearnedEntities = look(names, old, new, learned, entities)
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


def _afresh(names: Sequence[str], attributes: Attributes, new: Knowledge, seen: LearnedEntities) -> Ensemble:
    """An ensemble that is met for the first time, from everything that is known."""
    members = new.covering(_chosen(names, attributes))
    among_seen = seen.update(attributes, Ensemble(), before=False)
    if members.issubset(seen.entities) or among_seen.record_score >= new.ceiling(_chosen(names, attributes)):
        return Ensemble(len(members), among_seen.record_score)
    places = EntityPlaces(numbers_of(members))
    weights = {name: _present(spread(new.weights[name], members, places)) for name in _chosen(names, attributes)}
    scores = _record_scores(weights, _present(spread(new.crowds, members, places)))
    return Ensemble(len(members), float(scores.max(initial=0.0)))


def _chosen(names: Sequence[str], attributes: Attributes) -> list[str]:
    """The attributes of a set in the order in which weights are added up: always the same, so that sums are, too."""
    return sorted(name for bit, name in enumerate(names) if attributes >> bit & 1)


def _record_scores(weights: Mapping[str, Floats], crowds: Floats) -> Floats:
    sums = np.zeros(len(crowds))
    for its in weights.values():
        sums += its
    return np.minimum(sums, 1.0) / crowds


class LearnedEntities(Protocol):
    """The entities of whom something was learned: what was known of them before, and what is now."""

    entities: Bitmap
    signatures: list[Attributes]

    def update(self, attributes: Attributes, ensemble: Ensemble, *, before: bool = True) -> Ensemble:
        """An ensemble with these entities: who was not in it joins, and weights and crowds may have changed."""
        ...


class _One:
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


def _few(names: Sequence[str], old: Knowledge, new: Knowledge, learned: Knowledge, entities: Bitmap) -> LearnedEntities:
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


class _All:
    """Many entities: sorted by what was and is known of them as bitmaps, weighed as arrays."""

    def __init__(self, names: Sequence[str], old: Knowledge, new: Knowledge, learned: Knowledge, entities: Bitmap):
        self.names, self.entities, self.old, self.new, self.learned = names, entities, old, new, learned
        self.kinds = _kinds(names, old, learned, entities)
        self.signatures = list({later for _, later in self.kinds})
        self.places = EntityPlaces(numbers_of(entities))
        self.crowds = _present(spread(new.crowds, entities, self.places))
        self.weights: dict[str, Floats] = {}

    def update(self, attributes: Attributes, ensemble: Ensemble, *, before: bool = True) -> Ensemble:
        inside = {kind: members for kind, members in self.kinds.items() if kind[1] & attributes == attributes}
        if not inside:
            return ensemble
        fresh = sum(
            len(members)
            for (earlier, _), members in inside.items()
            if not (before and earlier & attributes == attributes)
        )
        if ensemble.record_score >= self.new.ceiling(_chosen(self.names, attributes)):
            return Ensemble(ensemble.entities + fresh, ensemble.record_score)
        chosen = self.places.of(numbers_of(union(inside.values())))
        weights = {name: self._weights(name)[chosen] for name in _chosen(self.names, attributes)}
        best = float(_record_scores(weights, self.crowds[chosen]).max(initial=0.0))
        return Ensemble(ensemble.entities + fresh, max(ensemble.record_score, best))

    def _weights(self, name: str) -> Floats:
        """What is known of an attribute now: the most that it ever weighed."""
        if name not in self.weights:
            before = spread(self.old.weights.get(name, {}), self.entities, self.places)
            told = self._told(name)
            both = told if before is None else before if told is None else np.maximum(before, told)
            self.weights[name] = _present(both)
        return self.weights[name]

    def _told(self, name: str) -> Floats | None:
        at_hand = self.learned.cells.get(name) if isinstance(self.learned, PublishedKnowledge) else None
        return spread(self.learned.weights.get(name, {}), self.entities, self.places) if at_hand is None else at_hand


def _kinds(
    names: Sequence[str], old: Knowledge, learned: Knowledge, entities: Bitmap
) -> dict[tuple[Attributes, Attributes], Bitmap]:
    """The entities by what was known of them before, and what is known of them now."""
    kinds = {(0, 0): entities}
    for bit, name in enumerate(names):
        if name in old.weights:
            kinds = _split(kinds, old.covering([name]), 1 << bit, 1 << bit)
        if name in learned.weights:
            kinds = _split(kinds, learned.covering([name]), 0, 1 << bit)
    return kinds


def _split(
    kinds: Mapping[tuple[Attributes, Attributes], Bitmap], known: Bitmap, earlier: Attributes, later: Attributes
) -> dict[tuple[Attributes, Attributes], Bitmap]:
    found: dict[tuple[Attributes, Attributes], Bitmap] = {}
    for (was, is_now), members in kinds.items():
        inside, outside = members & known, members - known
        for kind, part in (((was | earlier, is_now | later), inside), ((was, is_now), outside)):
            if part:
                found[kind] = found[kind] | part if kind in found else part
    return found


def _present(weights: Floats | None) -> Floats:
    if weights is None:
        raise AssertionError("an ensemble has only attributes that are known")
    return weights
