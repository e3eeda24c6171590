"""A small gradient-boosted forest on binned columns, so that the gate needs nothing beyond numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Flags, Floats

BINS = 32
Bins = NDArray[np.int32]


@dataclass(frozen=True)
class Settings:
    """How much the forest learns."""

    trees: int = 60
    depth: int = 3
    rate: float = 0.15
    smoothing: float = 2.0


@dataclass(frozen=True, eq=False)
class Tree:
    """Splits level by level; a node that is not split sends everybody to the left."""

    features: list[NDArray[np.int64]]
    cuts: list[NDArray[np.int64]]
    leaves: Floats

    def scores(self, bins: Bins) -> Floats:
        """What the tree adds for each row."""
        node = np.zeros(len(bins), dtype=np.int64)
        rows = np.arange(len(bins))
        for features, cuts in zip(self.features, self.cuts, strict=True):
            node = 2 * node + (bins[rows, features[node]] > cuts[node])
        found: Floats = self.leaves[node]
        return found


@dataclass(frozen=True, eq=False)
class Forest:
    """The sum of its trees is the logarithm of the odds."""

    trees: list[Tree]

    @classmethod
    def grown(cls, bins: Bins, truth: Flags, settings: Settings | None = None) -> Forest:
        """Learn from rows whose columns are whole numbers below `BINS`."""
        settings = settings or Settings()
        scores, wanted, trees = np.zeros(len(bins)), truth.astype(np.float64), []
        for _ in range(settings.trees):
            chance = 1 / (1 + np.exp(-scores))
            tree = _grown(bins, chance - wanted, chance * (1 - chance), settings)
            scores = scores + tree.scores(bins)
            trees.append(tree)
        return cls(trees)

    def scores(self, bins: Bins) -> Floats:
        """The logarithm of the odds of each row."""
        return np.asarray(sum((tree.scores(bins) for tree in self.trees), np.zeros(len(bins))))


def _grown(bins: Bins, slope: Floats, curve: Floats, settings: Settings) -> Tree:
    node, every = np.zeros(len(bins), dtype=np.int64), np.arange(len(bins))
    columns = np.ascontiguousarray(bins.T)
    all_features, all_cuts = [], []
    for level in range(settings.depth):
        features, cuts = _best(columns, node, 2**level, slope, curve, settings)
        node = 2 * node + (bins[every, features[node]] > cuts[node])
        all_features.append(features)
        all_cuts.append(cuts)
    pull = np.bincount(node, weights=slope, minlength=2**settings.depth)
    weight = np.bincount(node, weights=curve, minlength=2**settings.depth)
    return Tree(all_features, all_cuts, -settings.rate * pull / (weight + settings.smoothing))


def _best(
    columns: Bins, node: NDArray[np.int64], nodes: int, slope: Floats, curve: Floats, settings: Settings
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per node the column and the last bin on the left by which the loss falls most."""
    first, length = node * BINS, nodes * BINS
    pull, weight = np.zeros((2, nodes, len(columns), BINS))
    for place, column in enumerate(columns):
        cells = first + column
        pull[:, place] = np.bincount(cells, weights=slope, minlength=length).reshape(nodes, BINS)
        weight[:, place] = np.bincount(cells, weights=curve, minlength=length).reshape(nodes, BINS)
    left, left_weight = pull.cumsum(axis=2), weight.cumsum(axis=2)
    right, right_weight = left[:, :, -1:] - left, left_weight[:, :, -1:] - left_weight
    gain = left**2 / (left_weight + settings.smoothing) + right**2 / (right_weight + settings.smoothing)
    best = gain.reshape(nodes, -1).argmax(axis=1)
    return best // BINS, best % BINS
