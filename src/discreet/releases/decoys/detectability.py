"""The gate: can a classifier that has seen some decoys tell others from real classes by what their rows hold?

It learns row by row from classes whose kind it knows, and is asked about classes it has not seen. A row is seen with
its quasi-identifiers, its other columns, and what its class looks like as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.boosting import BINS, Bins, Forest
from discreet.releases.decoys.donors import Column

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
class Gate:
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

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"auc": self.auc, "floor": self.floor, "decoys": self.decoys, "real": self.real}


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
class Exhibit:
    """Rows of classes whose kind is known to us: what the classifier is shown."""

    columns: Sequence[Column]
    """Quasi-identifiers and other columns, row by row."""
    owners: Ints
    """The class of each row, counted from 0."""
    decoy: Flags
    """Per class."""


def told(exhibit: Exhibit, generator: np.random.Generator, *, folds: int = FOLDS) -> Gate:
    """Learn from some classes, ask about the others, in turn."""
    decoys, real = int(exhibit.decoy.sum()), int((~exhibit.decoy).sum())
    floor = noise_floor(decoys, real, errors=EITHER_WAY * TOGETHER)
    if min(decoys, real) < folds or not exhibit.columns:
        return Gate(0.5, floor, decoys, real)
    fold = _folds(exhibit.decoy, folds, generator)
    scores = np.zeros(len(exhibit.decoy))
    for number in range(folds):
        held = fold == number
        scores[held] = rated(exhibit, learn=~held)[held]
    aucs = [auc(scores[fold == number], exhibit.decoy[fold == number]) for number in range(folds)]
    return Gate(either_way(float(np.mean(aucs))), floor, decoys, real)


def _folds(decoy: Flags, folds: int, generator: np.random.Generator) -> Ints:
    """Classes dealt out at random, decoys and real ones evenly."""
    fold = np.zeros(len(decoy), dtype=np.int64)
    for kind in (decoy, ~decoy):
        places = generator.permutation(np.flatnonzero(kind))
        fold[places] = np.arange(len(places)) % folds
    return fold


def rated(exhibit: Exhibit, *, learn: Flags) -> Floats:
    """The mean score of the rows of each class, learnt from the classes marked true."""
    train, held = learn[exhibit.owners], ~learn
    truth = exhibit.decoy[exhibit.owners]
    bins = _binned(exhibit, train, truth)
    forest = Forest.grown(bins[train], truth[train])
    rows = forest.scores(bins)
    count = np.bincount(exhibit.owners, minlength=len(held))
    return np.asarray(np.bincount(exhibit.owners, weights=rows, minlength=len(held)) / np.maximum(count, 1))


def _binned(exhibit: Exhibit, train: Flags, truth: Flags) -> Bins:
    """Every feature as a few whole numbers: numbers by rank, categories by how often they were decoys."""
    ordered = [_ordered(column, train, truth) for column in exhibit.columns]
    classes = [feature for values in ordered for feature in _of_class(values, exhibit.owners)]
    return np.stack([_cut(values) for values in [*ordered, *classes]], axis=1)


def _ordered(column: Column, train: Flags, truth: Flags) -> Floats:
    if column.numbers is not None:
        return np.where(np.isnan(column.numbers), -1e9, column.numbers)
    seen = np.bincount(column.codes[train], minlength=column.distinct)
    hits = np.bincount(column.codes[train], weights=truth[train], minlength=column.distinct)
    share: Floats = (hits + 10 * truth[train].mean()) / (seen + 10)
    return share[column.codes]


def _of_class(values: Floats, owners: Ints) -> tuple[Floats, Floats]:
    """The mean and the spread of a feature in each row's class."""
    count = np.maximum(np.bincount(owners), 1)
    mean = np.bincount(owners, weights=values) / count
    spread = np.sqrt(np.maximum(np.bincount(owners, weights=values**2) / count - mean**2, 0))
    return mean[owners], spread[owners]


def _cut(values: Floats) -> Bins:
    distinct = np.unique(values)
    if len(distinct) > BINS:
        distinct = np.unique(np.quantile(values, np.linspace(0, 1, BINS)))
    return np.minimum(np.searchsorted(distinct, values), BINS - 1).astype(np.int32)
