"""Ensembles: maximal rectangles of what is known, each scored as one result.

For a set A of attributes, the ensemble holds everybody of whom *at least* A is known; grouping by "exactly A" would
lose those of whom more is known. Only sets that are the intersection of what is known of some entities can be
maximal: any other set has the entities of a larger one. The family of these intersections is kept, with the number
of entities and the largest record score of each, and updated from what is learned alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from discreet.kernel.arrays import Floats
from discreet.misuse.knowledge import (
    Bitmap,
    EntityPlaces,
    Knowledge,
    PublishedKnowledge,
    numbers_of,
    spread,
    union,
)
from discreet.misuse.scorer import power
from discreet.misuse.sensitivity import record_scores

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
        seen: LearnedEntities = (FewEntities if len(entities) <= FEW else ManyEntities)(
            names, old, new, learned, entities
        )
        # The least family that holds all these sets and, with any two of them, what they share.
        family = set(self.found)
        for signature in seen.signatures:
            if signature not in family:
                family |= {signature, *(signature & other for other in family)}
        found: dict[Attributes, Ensemble] = {}
        for attributes in family - {0}:
            if attributes in self.found:
                found[attributes] = seen.update(attributes, self.found[attributes])
                continue
            # Met for the first time: from everything that is known.
            chosen = _chosen(names, attributes)
            members, best = new.covering(chosen), seen.update(attributes, Ensemble(), before=False).record_score
            if not members.issubset(seen.entities) and best < new.ceiling(chosen):
                places = EntityPlaces(numbers_of(members))
                weights = [_present(spread(new.weights[name], members, places)) for name in chosen]
                scores = record_scores(weights, _present(spread(new.crowds, members, places)))
                best = float(scores.max(initial=0.0))
            found[attributes] = Ensemble(len(members), best)
        return Ensembles(names, found)


def _chosen(names: Sequence[str], attributes: Attributes) -> list[str]:
    """Attributes of a set in one fixed order, so that sums are the same."""
    return sorted(name for bit, name in enumerate(names) if attributes >> bit & 1)


class LearnedEntities(Protocol):
    """Entities of whom something was learned, with what was known and is known."""

    entities: Bitmap
    signatures: list[Attributes]

    def update(self, attributes: Attributes, ensemble: Ensemble, *, before: bool = True) -> Ensemble:
        """Ensemble with these entities, whose weights and crowds may have changed."""


class FewEntities:
    """A few entities, looked at one by one."""

    def __init__(self, names: Sequence[str], old: Knowledge, new: Knowledge, learned: Knowledge, entities: Bitmap):
        self.names, self.entities = names, entities
        self.rows: list[tuple[Attributes, Attributes, dict[str, float], float]] = []
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
            self.rows.append((earlier, later, weights, new.crowd(entity)))
        self.signatures = [later for _, later, _, _ in self.rows]

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


class ManyEntities:
    """Many entities: sorted as bitmaps by what is known, weighed as arrays."""

    def __init__(self, names: Sequence[str], old: Knowledge, new: Knowledge, learned: Knowledge, entities: Bitmap):
        self.names, self.entities, self.old, self.new, self.learned = names, entities, old, new, learned
        self.kinds: Mapping[tuple[Attributes, Attributes], Bitmap] = {(0, 0): entities}
        """The entities by what was known of them before, and what is known of them now."""
        for bit, name in enumerate(names):
            if name in old.weights:
                self.kinds = _split(self.kinds, old.covering([name]), 1 << bit, 1 << bit)
            if name in learned.weights:
                self.kinds = _split(self.kinds, learned.covering([name]), 0, 1 << bit)
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
        weights = []
        for name in _chosen(self.names, attributes):
            if name not in self.weights:
                # What is known of an attribute now: the most that it ever weighed.
                before_now = spread(self.old.weights.get(name, {}), self.entities, self.places)
                at_hand = self.learned.cells.get(name) if isinstance(self.learned, PublishedKnowledge) else None
                if at_hand is None:
                    at_hand = spread(self.learned.weights.get(name, {}), self.entities, self.places)
                known = [its for its in (before_now, at_hand) if its is not None]
                self.weights[name] = np.maximum(*known) if len(known) == 2 else _present(known[0] if known else None)
            weights.append(self.weights[name][chosen])
        best = float(record_scores(weights, self.crowds[chosen]).max(initial=0.0))
        return Ensemble(ensemble.entities + fresh, max(ensemble.record_score, best))


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
