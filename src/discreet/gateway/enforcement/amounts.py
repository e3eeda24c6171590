"""The amount that decides: the square root of the sum, over people, of their squared weights.

A person weighs what is known of their sensitive columns, at most 1. The M-score of the paper multiplies the heaviest
person by the root of how many there are, so a decision before anything is known would end at a handful of people whatever
is shown; this sum lets light values count as light. The M-score is kept for what is reported beside it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.gateway.analysis.entities import SEEN
from discreet.kernel.arrays import Floats, Ints
from discreet.misuse.exposure import Exposure
from discreet.misuse.knowledge import EntityPlaces, Knowledge, numbers_of, published, spread


def people_of(knowledge: Knowledge) -> tuple[Ints, Floats]:
    """Everybody of whom anything is known, and their weight."""
    entities = knowledge.entities()
    numbers = numbers_of(entities)
    places, total = EntityPlaces(numbers), np.zeros(len(numbers))
    for name, levels in knowledge.weights.items():
        if name == SEEN:
            continue
        found = spread(levels, entities, places)
        if found is not None:
            total += np.maximum(found, 0.0)
    return numbers.astype(np.int64), np.minimum(total, 1.0)


def amount(knowledge: Knowledge) -> float:
    """The amount of all that is known.

    >>> amount(learned(np.array([1, 2]), {"dx": np.array([1.0, 0.5])}))
    1.118033988749895
    """
    return float(np.sqrt(np.square(people_of(knowledge)[1]).sum()))


def learned(entities: Ints, weights: Mapping[str, Floats]) -> Knowledge:
    """Knowledge about some people, each by themselves."""
    if not len(entities):
        return Knowledge()
    levels = {name: sorted(set(np.unique(its).tolist())) for name, its in weights.items()}
    return published(entities, weights, np.ones(len(entities), dtype=np.int64), levels)


def adds_nothing(before: Exposure, after: Exposure) -> bool:
    """Whether nothing was learned, not even again in a later time."""
    starts = [start for start, part in after.buckets.items() if not _same(before.buckets.get(start), part)]
    return not starts and len(before.buckets) == len(after.buckets) and _same(before.knowledge, after.knowledge)


def _same(one: Knowledge | None, other: Knowledge) -> bool:
    if one is None or one.weights.keys() != other.weights.keys():
        return False
    return all(its is other.weights[name] or its == other.weights[name] for name, its in one.weights.items())
