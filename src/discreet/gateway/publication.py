"""What some rows tell: of whom, of what, and how recognisably."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Floats, Ints
from discreet.misuse.exposure.knowledge import Knowledge, published
from discreet.sql.catalog import Leaf

SEEN = "(seen)"
"""Stands for what weighs nothing, but says whom a key is about."""
UNTOLD = -1.0
"""In place of a weight: of this attribute nothing is told."""


@dataclass(frozen=True, eq=False)
class Publication:
    """What some rows tell."""

    entities: Ints
    weights: Mapping[str, Floats]
    """Per attribute what is told of each of them weighs, or UNTOLD."""
    crowds: Ints
    levels: Mapping[str, Sequence[float]]
    cells: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Per attribute the columns of the result that show it."""
    rows: int = 0
    """How many of the entities are rows of the result, in their order; those behind them are what else it tells."""
    marks: tuple[int, ...] = ()
    """Numbers that stand for keys having been linked to people, per entity that it is about."""
    unmasks: bool = False
    """Whether it links keys to people in a way that cannot be followed: then everybody seen so far is recognisable."""
    reducible: bool = False
    """Whether fewer rows tell less, each by itself."""

    def knowledge(self, chosen: Any = slice(None), masked: Mapping[str, NDArray[np.bool_]] | None = None) -> Knowledge:
        """What an exposure learns from all of it, or from some of the rows, or with some cells emptied."""
        weights = {name: its[chosen] for name, its in self.weights.items()}
        for name, mask in (masked or {}).items():
            weights[name] = np.where(mask, UNTOLD, weights[name])
        return self._learned(self.entities[chosen], weights, self.crowds[chosen])

    def _learned(self, entities: Ints, weights: Mapping[str, Floats], crowds: Ints) -> Knowledge:
        if not weights or not len(entities):
            return Knowledge()
        gaps = [name for name, its in weights.items() if its.min() < 0]
        if not gaps:
            return published(entities, weights, crowds, self.levels)
        levels = {name: (UNTOLD, *its) for name, its in self.levels.items()}
        found = published(entities, weights, crowds, levels)
        told = {name: {level: its for level, its in found.weights[name].items() if level >= 0} for name in weights}
        return replace(found, weights={name: its for name, its in told.items() if its})

    def joined(self, entities: Ints, weights: Mapping[str, Floats], crowds: Ints) -> Publication:
        """The same and something of others, which cannot be left out or emptied."""
        return replace(
            self,
            entities=np.concatenate([self.entities, entities]),
            weights={name: np.concatenate([its, weights[name]]) for name, its in self.weights.items()},
            crowds=np.concatenate([self.crowds, crowds]),
        )

    def worst(self) -> Knowledge:
        """The same if every value weighed as much as any value of its column can."""
        heavy = {name: np.where(its < 0, UNTOLD, max(self.levels[name])) for name, its in self.weights.items()}
        return self._learned(self.entities, heavy, self.crowds)


def attribute(leaf: Leaf) -> str:
    """What an exposure calls a sensitive column: schema, table and column."""
    return f"{leaf[0]}.{leaf[1]}"
