"""Detectability test: can a gradient-boosted classifier distinguish decoys from real classes?

It learns row by row from classes whose kind it knows, and is asked about classes it has not seen. A row is seen with
its quasi-identifiers, its other columns, and what its class looks like as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.kernel.serialise import json_of
from discreet.releases.decoys.donors import DonorColumn, Donors
from discreet.releases.decoys.similarity import NOBODY
from discreet.releases.decoys.synthesis import DecoyRows
from discreet.releases.marks.pairing import MarkPairs, labels_of
from discreet.releases.population_link import Linked

FOLDS = 5
WARN = 0.65
REFUSE = 0.80
EITHER_WAY = 1.96
"""Standard errors within which 95 % of guesses stay, whichever way they point."""
TOGETHER = 1.5
"""How much further useless classifiers stray that learn from folds: what two of them learn from is mostly the same.

`python -m benchmarks releases_marks` prints how far they do, and how often they pass the luck that is stated.
"""


@dataclass(frozen=True)
class DetectabilityResult:
    """How well decoys were told from real classes."""

    auc: float
    """The chance that a decoy is rated likelier to be one than a real class, or the other way round: 0.5 is guessing."""
    floor: float
    """What a useless classifier reaches by luck in one of twenty cases, whichever way it points, with so few classes."""
    decoys: int
    real: int

    @property
    def warned(self) -> bool:
        """Whether decoys can be told too well for comfort: above 0.65 and above luck."""
        return either_way(self.auc) > max(WARN, self.floor)

    @property
    def refused(self) -> bool:
        """Whether decoys can be told too well to be released: above 0.80 and above luck."""
        return either_way(self.auc) > max(REFUSE, self.floor)

    to_dict = json_of("auc floor decoys real")


def auc(scores: Floats, truth: Flags) -> float:
    """The chance that one marked true scores above one that is not; ties count half.

    >>> auc(np.array([3.0, 1.0, 2.0]), np.array([True, False, False]))
    1.0
    """
    wanted, others = int(truth.sum()), int((~truth).sum())
    if not wanted or not others:
        return 0.5
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places.reshape(-1)]
    return float((ranks[truth].sum() - wanted * (wanted + 1) / 2) / (wanted * others))


def either_way(found: float) -> float:
    """What a rating is worth to somebody who may turn it round: one that is mostly wrong tells as much as one mostly right.

    >>> either_way(0.25), either_way(0.75)
    (0.75, 0.75)
    """
    return max(found, 1 - found)


def noise_floor(decoys: int, real: int, *, errors: float = EITHER_WAY) -> float:
    """The AUC that guessing, turned round if need be, stays below in 95 % of cases, or so many standard errors (the null of the
    Mann-Whitney statistic).

    >>> round(noise_floor(70, 70), 2)
    0.6
    """
    if not decoys or not real:
        return 1.0
    return min(1.0, 0.5 + errors * math.sqrt((decoys + real + 1) / (12 * decoys * real)))


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of classes whose kind is known to us: what the classifier is shown."""

    columns: Sequence[DonorColumn]
    """Quasi-identifiers and other columns, row by row."""
    owners: Ints
    """The class of each row, counted from 0."""
    decoy: Flags
    """Per class."""

    @classmethod
    def of(
        cls,
        quasi: Sequence[str],
        labels: Sequence[tuple[Label, ...]],
        owners: Ints,
        cells: Mapping[str, Sequence[Any]],
        decoy: Flags,
    ) -> LabelledRows:
        """From the class of each row and its label, and the cells of the other columns."""
        columns = [
            DonorColumn.of(name, [labels[owner][place] for owner in owners.tolist()])
            for place, name in enumerate(quasi)
        ]
        return cls([*columns, *(DonorColumn.of(name, column) for name, column in cells.items())], owners, decoy)


def told(exhibit: LabelledRows, generator: np.random.Generator, *, folds: int = FOLDS) -> DetectabilityResult:
    """Learn from some classes, ask about the others, in turn."""
    decoys, real = int(exhibit.decoy.sum()), int((~exhibit.decoy).sum())
    floor = noise_floor(decoys, real, errors=EITHER_WAY * TOGETHER)
    if min(decoys, real) < folds or not exhibit.columns:
        return DetectabilityResult(0.5, floor, decoys, real)
    # Classes are dealt out at random, decoys and real ones evenly.
    fold, scores = np.zeros(len(exhibit.decoy), dtype=np.int64), np.zeros(len(exhibit.decoy))
    for kind in (exhibit.decoy, ~exhibit.decoy):
        places = generator.permutation(np.flatnonzero(kind))
        fold[places] = np.arange(len(places)) % folds
    for number in range(folds):
        held = fold == number
        scores[held] = rated(exhibit, learn=~held)[held]
    aucs = [auc(scores[fold == number], exhibit.decoy[fold == number]) for number in range(folds)]
    return DetectabilityResult(either_way(float(np.mean(aucs))), floor, decoys, real)


def rated(exhibit: LabelledRows, *, learn: Flags) -> Floats:
    """The mean score of the rows of each class, learnt from the classes marked true."""
    owners, train = exhibit.owners, learn[exhibit.owners]
    truth = exhibit.decoy[owners]
    count = np.maximum(np.bincount(owners), 1)
    features, of_classes = [], []
    for column in exhibit.columns:
        # Numbers by rank, categories by how often they were decoys.
        if column.numbers is not None:
            values = np.where(np.isnan(column.numbers), -1e9, column.numbers)
        else:
            seen = np.bincount(column.codes[train], minlength=column.distinct)
            hits = np.bincount(column.codes[train], weights=truth[train], minlength=column.distinct)
            values = ((hits + 10 * truth[train].mean()) / (seen + 10))[column.codes]
        features.append(values)
        # The mean and the spread of the feature in each row's class.
        mean = np.bincount(owners, weights=values) / count
        spread = np.sqrt(np.maximum(np.bincount(owners, weights=values**2) / count - mean**2, 0))
        of_classes += [mean[owners], spread[owners]]
    bins = np.zeros((len(owners), len(features) + len(of_classes)), dtype=np.int32)
    for place, values in enumerate([*features, *of_classes]):
        distinct = np.unique(values)
        if len(distinct) > BINS:
            distinct = np.unique(np.quantile(values, np.linspace(0, 1, BINS)))
        bins[:, place] = np.minimum(np.searchsorted(distinct, values), BINS - 1)
    rows = BoostedForest.grown(bins[train], truth[train]).scores(bins)
    classes = len(learn)
    count = np.maximum(np.bincount(owners, minlength=classes), 1)
    return np.asarray(np.bincount(owners, weights=rows, minlength=classes) / count)


def exhibit(linked: Linked, donors: Donors, pairs: MarkPairs, decoys: DecoyRows) -> LabelledRows:
    """Real marks first, then decoys; `decoys` are placed by the number of their pair."""
    half, rows = len(pairs), [donors.rows[place] for place in pairs.real.tolist()]
    real = np.concatenate(rows)
    owners = np.concatenate([np.repeat(np.arange(half), [len(one) for one in rows]), decoys.places + half])
    labels = [*labels_of(linked.released, pairs.real), *labels_of(linked.population, pairs.free)]
    cells = {
        column.name: [*(column.cells[row] for row in real.tolist()), *decoys.columns[column.name]]
        for column in donors.columns
    }
    rows_of_classes = LabelledRows.of(linked.released.names, labels, owners, cells, np.repeat([False, True], half))
    # How like each row is to the row of another class that is most like it: real rows, then decoys.
    likeness, codes = donors.likeness, []
    for column in donors.columns:
        code_of = dict(zip(map(repr, column.cells), column.codes.tolist(), strict=True))
        codes.append([code_of.get(repr(cell), NOBODY) for cell in decoys.columns[column.name]])
    made = [likeness.degree(row) for row in zip(*codes, strict=True)]
    alike = DonorColumn.of("alike", [*likeness.degrees(real).tolist(), *made])
    return replace(rows_of_classes, columns=[*rows_of_classes.columns, alike])


# A small gradient-boosted forest on binned columns, so that the test needs nothing beyond NumPy.
BINS, TREES, DEPTH, RATE, SMOOTHING = 32, 60, 3, 0.15, 2.0
"""Bins per column; how many trees of how many levels the forest has, and how fast and smoothly it learns."""
Bins = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """Splits level by level; a node that is not split sends everybody to the left."""

    features: list[Ints]
    cuts: list[Ints]
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
class BoostedForest:
    """The sum of its trees is the logarithm of the odds."""

    trees: list[BoostedTree]

    @classmethod
    def grown(cls, bins: Bins, truth: Flags) -> BoostedForest:
        """Learn from rows whose columns are whole numbers below `BINS`."""
        scores, wanted, trees = np.zeros(len(bins)), truth.astype(np.float64), []
        every, columns = np.arange(len(bins)), np.ascontiguousarray(bins.T)
        for _ in range(TREES):
            chance = 1 / (1 + np.exp(-scores))
            slope, curve = chance - wanted, chance * (1 - chance)
            node, features, cuts = np.zeros(len(bins), dtype=np.int64), [], []
            for level in range(DEPTH):
                feature, cut = _best(columns, node, 2**level, slope, curve)
                node = 2 * node + (bins[every, feature[node]] > cut[node])
                features.append(feature)
                cuts.append(cut)
            pull = np.bincount(node, weights=slope, minlength=2**DEPTH)
            weight = np.bincount(node, weights=curve, minlength=2**DEPTH)
            tree = BoostedTree(features, cuts, -RATE * pull / (weight + SMOOTHING))
            scores = scores + tree.scores(bins)
            trees.append(tree)
        return cls(trees)

    def scores(self, bins: Bins) -> Floats:
        """The logarithm of the odds of each row."""
        return np.asarray(sum((tree.scores(bins) for tree in self.trees), np.zeros(len(bins))))


def _best(columns: Bins, node: Ints, nodes: int, slope: Floats, curve: Floats) -> tuple[Ints, Ints]:
    """Per node the column and the last bin on the left by which the loss falls most."""
    first, length = node * BINS, nodes * BINS
    pull, weight = np.zeros((2, nodes, len(columns), BINS))
    for place, column in enumerate(columns):
        cells = first + column
        pull[:, place] = np.bincount(cells, weights=slope, minlength=length).reshape(nodes, BINS)
        weight[:, place] = np.bincount(cells, weights=curve, minlength=length).reshape(nodes, BINS)
    left, left_weight = pull.cumsum(axis=2), weight.cumsum(axis=2)
    right, right_weight = left[:, :, -1:] - left, left_weight[:, :, -1:] - left_weight
    gain = left**2 / (left_weight + SMOOTHING) + right**2 / (right_weight + SMOOTHING)
    best = gain.reshape(nodes, -1).argmax(axis=1)
    return best // BINS, best % BINS
