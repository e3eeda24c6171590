"""Detectability test: can a gradient-boosted classifier distinguish decoys from real classes?

It learns from classes whose kind it knows, and is asked about classes it has not seen. It sees what an adversary with a
copy can measure: the cells, what the quasi-identifiers leave unexplained of them, how frequent values and combinations
are among all published rows, digits and rounding, and rows that are equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Flags, Floats, Ints, group, pack
from discreet.kernel.serialise import json_of
from discreet.releases.decoys.donors import DonorColumn
from discreet.releases.decoys.matching import DecoyRows, Filler, PredictiveMeans, QuasiViews, targets_of
from discreet.releases.marks.pairing import MarkPairs, labels_of, some
from discreet.releases.population_link import Linked

FOLDS = 5
WARN = 0.65
REFUSE = 0.80
EITHER_WAY = 1.96
"""Standard errors within which 95 % of guesses stay, whichever way they point."""
MOST_SHOWN = 1_000
"""Pairs of a real class and a decoy that are shown."""
MOST_PAIRS = 28
"""Pairs of columns whose combinations are counted."""
FEWEST_FEATURES, CLASSES_PER_FEATURE = 6, 12
"""How many features the classifier looks at: the fewer, the fewer classes it has to learn from."""
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
    measures: Mapping[str, Floats] = field(default_factory=dict)
    """What else can be measured of each row, by column or combination of columns."""

    def teaches(self, folds: int) -> bool:
        """Whether every fold has classes of both kinds, of which something is seen."""
        decoys = int(self.decoy.sum())
        return min(decoys, len(self.decoy) - decoys) >= folds and bool(self.columns or self.measures)

    def about(self, name: str) -> LabelledRows:
        """What concerns one column alone."""
        columns = [column for column in self.columns if column.name == name]
        measures = {key: values for key, values in self.measures.items() if key.split(": ")[0] == name}
        return replace(self, columns=columns, measures=measures)


def told(exhibit: LabelledRows, generator: np.random.Generator, *, folds: int = FOLDS) -> DetectabilityResult:
    """Learn from some classes, ask about the others, in turn."""
    decoys, real = int(exhibit.decoy.sum()), int((~exhibit.decoy).sum())
    floor = noise_floor(decoys, real, errors=EITHER_WAY * TOGETHER)
    if not exhibit.teaches(folds):
        return DetectabilityResult(0.5, floor, decoys, real)
    scores, fold = rated_in_turn(exhibit, generator, folds=folds)
    aucs = [auc(scores[fold == number], exhibit.decoy[fold == number]) for number in range(folds)]
    return DetectabilityResult(either_way(float(np.mean(aucs))), floor, decoys, real)


def rated_in_turn(exhibit: LabelledRows, generator: np.random.Generator, *, folds: int = FOLDS) -> tuple[Floats, Ints]:
    """The score of each class, learnt from other folds, and its fold."""
    fold, scores = np.zeros(len(exhibit.decoy), dtype=np.int64), np.zeros(len(exhibit.decoy))
    if not exhibit.teaches(folds):
        return scores, fold
    # Classes are dealt out at random, decoys and real ones evenly.
    for kind in (exhibit.decoy, ~exhibit.decoy):
        places = generator.permutation(np.flatnonzero(kind))
        fold[places] = np.arange(len(places)) % folds
    for number in range(folds):
        held = fold == number
        scores[held] = rated(exhibit, learn=~held)[held]
    return scores, fold


def most_telling(exhibit: LabelledRows, generator: np.random.Generator) -> tuple[str, float]:
    """The column by which decoys are told best, and how well."""
    names = dict.fromkeys([column.name for column in exhibit.columns])
    found = {name: either_way(told(exhibit.about(name), generator).auc) for name in names}
    worst = max(found, key=found.__getitem__)
    return worst, found[worst]


def rated(exhibit: LabelledRows, *, learn: Flags) -> Floats:
    """The score of each class, learnt from the classes marked true."""
    owners, train = exhibit.owners, learn[exhibit.owners]
    truth = exhibit.decoy[owners]
    features = list(exhibit.measures.values())
    for column in exhibit.columns:
        # Numbers by rank, categories by how often they were decoys.
        if column.numbers is not None:
            features.append(np.where(np.isnan(column.numbers), -1e9, column.numbers))
        else:
            features.append(as_often_decoys(column, truth, train, owners))
    classes, columns = len(learn), []
    count = np.maximum(np.bincount(owners, minlength=classes), 1)
    for values in features:
        # The mean of each class, how far it is from the middle, and its spread.
        mean = np.bincount(owners, weights=values, minlength=classes) / count
        square = np.bincount(owners, weights=values**2, minlength=classes) / count
        columns += [mean, np.abs(mean - np.median(mean)), np.sqrt(np.maximum(square - mean**2, 0))]
    # Of many features, those that tell most of what is learnt from: a forest that may look at all finds chance in them.
    taught = exhibit.decoy[learn]
    worth = np.array([either_way(auc(own[learn], taught)) for own in columns])
    best = np.argsort(-worth, kind="stable")[: max(FEWEST_FEATURES, int(learn.sum()) // CLASSES_PER_FEATURE)]
    bins = np.zeros((classes, len(best)), dtype=np.int32)
    for place, feature in enumerate(best.tolist()):
        distinct = np.unique(columns[feature])
        if len(distinct) > BINS:
            distinct = np.unique(np.quantile(columns[feature], np.linspace(0, 1, BINS)))
        bins[:, place] = np.minimum(np.searchsorted(distinct, columns[feature]), BINS - 1)
    return BoostedForest.grown(bins[learn], taught).scores(bins)


def as_often_decoys(column: DonorColumn, truth: Flags, train: Flags, owners: Ints) -> Floats:
    """How often each row's value was that of a decoy in other classes that are learnt from; never in its own."""
    part, found = np.where(train, owners % FOLDS, FOLDS), np.zeros(len(owners))
    for number in range(FOLDS + 1):
        taught = train & (part != number)
        seen = np.bincount(column.codes[taught], minlength=column.distinct)
        hits = np.bincount(column.codes[taught], weights=truth[taught], minlength=column.distinct)
        rates = (hits + 10 * truth[taught].mean()) / (seen + 10)
        found[part == number] = rates[column.codes[part == number]]
    return found


def exhibit(
    linked: Linked, filler: Filler, pairs: MarkPairs, decoys: DecoyRows, generator: np.random.Generator
) -> LabelledRows:
    """Real marks first, then decoys; `decoys` are placed by the number of their pair.

    Everything is measured among the released rows at hand and the decoys together, as a recipient can.
    """
    half, pool = len(pairs), filler.released
    shown = generator.permutation(half)[:MOST_SHOWN]
    rows = [pool.rows[place] for place in pairs.real[shown].tolist()]
    mine = np.flatnonzero(np.isin(decoys.places, shown))
    real = np.concatenate(rows)
    number = np.zeros(half, dtype=np.int64)
    number[shown] = np.arange(len(shown))
    owners = np.concatenate(
        [np.repeat(np.arange(len(shown)), [len(one) for one in rows]), number[decoys.places[mine]] + len(shown)]
    )
    labels = [*labels_of(linked.released, pairs.real[shown]), *labels_of(linked.population, pairs.free[shown])]
    quasi = [
        DonorColumn.of(name, [labels[owner][place] for owner in owners.tolist()])
        for place, name in enumerate(linked.released.names)
    ]
    together = [DonorColumn.of(column.name, [*column.cells, *decoys.columns[column.name]]) for column in pool.columns]
    asked = np.concatenate([real, len(pool) + mine])
    views = filler.means.views
    codes = np.vstack(
        [
            views.codes(linked.released)[pool.owners],
            views.codes(some(linked.population, pairs.free))[decoys.places],
        ]
    )
    measures = {name: values[asked] for name, values in measured(together, views, codes).items()}
    others = [DonorColumn.of(column.name, [column.cells[row] for row in asked.tolist()]) for column in together]
    return LabelledRows([*quasi, *others], owners, np.repeat([False, True], len(shown)), measures)


def measured(columns: Sequence[DonorColumn], views: QuasiViews, codes: Ints) -> dict[str, Floats]:
    """What can be measured of every published row beside its cells, by name of the column."""
    found: dict[str, Floats] = {}
    for column in columns:
        targets, _ = targets_of([column])
        if targets.shape[1]:
            rest = targets - PredictiveMeans.of(views, codes, targets).of_codes(codes)
            found |= {f"{column.name}: residual {place}": values for place, values in enumerate(rest.T)}
        spelt = ["" if cell is None else str(cell) for cell in column.cells]
        found[f"{column.name}: digits"] = np.array([len(cell.rstrip("0.")) for cell in spelt], dtype=np.float64)
        found[f"{column.name}: decimals"] = np.array([len(cell.partition(".")[2]) for cell in spelt], dtype=np.float64)
        found[f"{column.name}: frequency"] = frequency([column.codes])
        for place in range(codes.shape[1]):
            found[f"{column.name}: frequency beside {place}"] = frequency([column.binned, codes[:, place]])
    pairs = list(combinations(columns, 2))[:MOST_PAIRS]
    for one, other in pairs:
        found[f"{one.name}: frequency with {other.name}"] = frequency([one.binned, other.binned])
    if columns:
        found["rows: equal"] = frequency([column.codes for column in columns])
    return found


def frequency(codes: Sequence[Ints]) -> Floats:
    """The logarithm of how many rows are equal in these columns.

    >>> np.exp(frequency([np.array([1, 1, 2]), np.array([0, 0, 0])])).round(9).tolist()
    [2.0, 2.0, 1.0]
    """
    keys, bound = pack(codes, [int(column.max(initial=0)) + 1 for column in codes], len(codes[0]))
    _, member, groups = group(keys, bound)
    counted: Floats = np.log(np.bincount(member, minlength=groups))[member]
    return counted


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
    shape = (nodes, len(columns), BINS)
    cells = ((node * len(columns))[None, :] + np.arange(len(columns))[:, None]) * BINS + columns
    flat, times = cells.ravel(), len(columns)
    pull = np.bincount(flat, weights=np.tile(slope, times), minlength=nodes * times * BINS).reshape(shape)
    weight = np.bincount(flat, weights=np.tile(curve, times), minlength=nodes * times * BINS).reshape(shape)
    left, left_weight = pull.cumsum(axis=2), weight.cumsum(axis=2)
    right, right_weight = left[:, :, -1:] - left, left_weight[:, :, -1:] - left_weight
    gain = left**2 / (left_weight + SMOOTHING) + right**2 / (right_weight + SMOOTHING)
    best = gain.reshape(nodes, -1).argmax(axis=1)
    return best // BINS, best % BINS
