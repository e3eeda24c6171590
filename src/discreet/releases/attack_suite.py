"""Attack suite: counting, joining, layout and classifiers, scored against the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, Label, pack
from discreet.kernel.hierarchy import text
from discreet.kernel.serialise import json_of
from discreet.releases.decoys.detectability import (
    EITHER_WAY,
    LabelledRows,
    auc,
    either_way,
    frequency,
    measured,
    noise_floor,
    rated,
    rated_in_turn,
    told,
)
from discreet.releases.decoys.donors import DonorColumn
from discreet.releases.decoys.matching import PredictiveMeans, QuasiViews, nearest_donors, targets_of
from discreet.releases.marks.pairing import chances, some
from discreet.sources.table import Table
from discreet.sources.table_rows import fetch


# Attacks by counting: what the population list and the sizes of classes say. Higher scores mean rather a decoy.
def link_count(adversary: CopyHolder, asked: Ints) -> Floats:
    """Classes of few people in the population should hardly have been released."""
    return -adversary.links[asked].astype(np.float64)


def size(adversary: CopyHolder, asked: Ints) -> Floats:
    """Small classes are suspect."""
    return -adversary.own.sizes[asked].astype(np.float64)


def over_sampling(adversary: CopyHolder, asked: Ints) -> Floats:
    """Classes with more rows than their share of the population should have given are suspect."""
    expected = np.maximum(adversary.links[asked] * adversary.sampling, 1e-9)
    return np.asarray(adversary.own.sizes[asked] / expected)


def intersection(adversary: CopyHolder, asked: Ints) -> Floats:
    """Suspect what others lack, and of that what has few people in the population."""
    others = [set(copy.labels) for copy in adversary.copies[1:]]
    labels = adversary.own.labels
    lacking = [float(sum(labels[place] not in held for held in others)) for place in asked.tolist()]
    return np.array(lacking) + 1 / (2.0 + adversary.links[asked])


# The attack by classifier: an adversary who knows how decoys are made makes some and learns to detect them.
#
# They take classes that are surely real, since they are too large to be in doubt, give each the best matching rows of
# others, train on both, and rate the classes in doubt.
TAUGHT = 100
"""Surely real classes that the adversary learns from, at most."""
SURE = 0.95
"""The chance of being released from which on the adversary takes a class to be real."""
_SEED = 20_211  # any: the adversary's dice are their own


def classifier(adversary: CopyHolder, asked: Ints) -> Floats:
    """How like self-made decoys each class in doubt is."""
    own, columns, copy = adversary.own, adversary.own.others, adversary.counted
    chance = chances(adversary.links, sampling=adversary.sampling, k=adversary.k)
    sure = np.flatnonzero(chance > SURE)
    if not columns or len(sure) < 20:
        return np.zeros(len(asked))
    lessons = sure[np.argsort(adversary.links[sure], kind="stable")][:TAUGHT]
    others_sure = np.setdiff1d(sure, lessons)
    givers = others_sure if len(others_sure) else lessons
    views, codes, owners = copy.views, copy.codes, copy.owners
    targets, weights = targets_of(columns)
    points = PredictiveMeans.of(views, codes[owners], targets).points(codes, weights)
    # Decoys in the place of the lessons, of rows from the givers.
    giving = np.flatnonzero(np.isin(owners, givers))
    generator, sizes = np.random.default_rng(_SEED), own.sizes[lessons]
    taken = nearest_donors(points, owners[giving], points[lessons], sizes, lessons.tolist(), generator)
    made = [giving[taken[lesson]] for lesson in sorted(taken)]
    taught = lessons[sorted(taken)]
    # All rows of the copy and those that were made; then of these the classes in doubt, the lessons, and their imitations.
    cells = np.concatenate([np.arange(len(owners)), *made])
    pool = [DonorColumn.of(column.name, [column.cells[row] for row in cells.tolist()]) for column in columns]
    imitated = np.repeat(taught, [len(rows) for rows in made])
    measures = measured(pool, views, codes[np.concatenate([owners, imitated])])
    shown = [*asked.tolist(), *lessons.tolist()]
    rows = np.concatenate([*(own.rows_of(place) for place in shown), np.arange(len(owners), len(cells))])
    numbers = np.arange(len(shown) + len(taught))
    each = np.concatenate([own.sizes[shown], [len(rows) for rows in made]]).astype(np.int64)
    exhibit = LabelledRows(
        [DonorColumn.of(column.name, [column.cells[row] for row in rows.tolist()]) for column in pool],
        np.repeat(numbers, each),
        numbers >= len(shown),
        {name: values[rows] for name, values in measures.items()},
    )
    return rated(exhibit, learn=numbers >= len(asked))[: len(asked)]


# Attacks by an adversary who has found out which of most classes in doubt are decoys, and is asked about the others.
def whole_table(case: AttackCase) -> LabelledRows:
    """All other columns, and what can be measured of them in the whole copy."""
    asked, truth = case.asked()
    own, copy = case.adversary.own, case.adversary.counted
    rows = np.concatenate([np.arange(0), *(own.rows_of(place) for place in asked.tolist())])
    columns = [DonorColumn.of(column.name, [column.cells[row] for row in rows.tolist()]) for column in own.others]
    measures = measured(own.others, copy.views, copy.codes[copy.owners])
    owners = np.repeat(np.arange(len(asked)), own.sizes[asked])
    return LabelledRows(columns, owners, truth, {name: values[rows] for name, values in measures.items()})


def where_they_are(case: AttackCase) -> LabelledRows:
    """The quasi-identifiers alone: decoys may keep to some of them."""
    asked, truth = case.asked()
    labels = [case.adversary.own.labels[place] for place in asked.tolist()]
    columns = [
        DonorColumn.of(name, [label[place] for label in labels]) for place, name in enumerate(case.adversary.own.quasi)
    ]
    return LabelledRows(columns, np.arange(len(asked)), truth)


# Attacks by joining classes on what their rows hold: copied rows meet the rows they were taken from.
def duplicates(adversary: CopyHolder, asked: Ints) -> Floats:
    """The share of a class's rows that equal exactly one row of the rest of the copy in all other columns."""
    own = adversary.own
    if not own.others:
        return np.zeros(len(asked))
    keys, _ = pack([column.codes for column in own.others], [column.distinct for column in own.others], len(own.owners))
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    pair = counts[places.reshape(-1)] == 2
    return np.array([float(pair[own.rows_of(place)].mean()) for place in asked.tolist()])


def tuple_join(adversary: CopyHolder, asked: Ints) -> Floats:
    """The share of a class's rows that equal exactly one other row in all other columns but one."""
    columns = adversary.own.others
    if len(columns) < 2:
        return np.zeros(len(asked))
    pairs = np.zeros(len(columns[0].codes), dtype=bool)
    for left_out in columns:
        joined = frequency([column.codes for column in columns if column is not left_out])
        pairs |= joined.round(9) == np.log(2).round(9)
    return np.array([float(pairs[adversary.own.rows_of(place)].mean()) for place in asked.tolist()])


# Attacks on the file itself: the order of its rows, and how they are numbered.
def order(adversary: CopyHolder, asked: Ints) -> Floats:
    """Rows that were put in later may come later, or together: the mean place of a class."""
    return np.asarray(_mean(adversary.own, np.arange(len(adversary.own.owners), dtype=np.float64))[asked])


def standing_together(adversary: CopyHolder, asked: Ints) -> Floats:
    """Rows that were put in at once may come together: how near the rows of a class are to each other."""
    own, places = adversary.own, np.arange(len(adversary.own.owners), dtype=np.float64)
    return np.asarray(-_mean(own, np.abs(places - _mean(own, places)[own.owners]))[asked])


def row_numbers(adversary: CopyHolder, asked: Ints) -> Floats:
    """Rows that were put in later may have later numbers; all equal where the file has none."""
    spelt = [text(number) or "" for number in adversary.own.ids or ()]
    try:
        numbers = np.array([float(number) for number in spelt]) if spelt else np.zeros(len(adversary.own.owners))
    except ValueError:
        # Row numbers that are no numbers count by their order.
        numbers = np.argsort(np.argsort(np.array(spelt), kind="stable"), kind="stable").astype(np.float64)
    return np.asarray(_mean(adversary.own, numbers)[asked])


def _mean(own: Holding, values: Floats) -> Floats:
    return np.asarray(np.bincount(own.owners, weights=values, minlength=len(own.labels)) / own.sizes)


@dataclass(frozen=True, eq=False)
class Holding:
    """One copy as its recipient sees it: rows in their order."""

    quasi: tuple[str, ...]
    cells: Mapping[str, Sequence[Any]]
    """All columns of the file but its row numbers."""
    ids: Sequence[Any] | None = None
    """The row numbers, where the file has them."""

    @classmethod
    def read(cls, table: Table, quasi: Sequence[str], *, row_ids: str | None = None) -> Holding:
        """A copy that was delivered, its rows in the order of the file."""
        found = fetch(table, table.columns)
        cells = {name: [coded.values[code] for code in coded.codes.tolist()] for name, coded in found.items()}
        ids = cells.pop(row_ids) if row_ids is not None else None
        return cls(tuple(quasi), cells, ids)

    @cached_property
    def labels(self) -> list[tuple[Label, ...]]:
        """The classes, in the order in which they come up."""
        return list(dict.fromkeys(zip(*(self.cells[name] for name in self.quasi), strict=True)))

    @cached_property
    def owners(self) -> Ints:
        """The class of each row."""
        place_of = {label: place for place, label in enumerate(self.labels)}
        rows = zip(*(self.cells[name] for name in self.quasi), strict=True)
        return np.array([place_of[row] for row in rows], dtype=np.int64)

    @cached_property
    def sizes(self) -> Ints:
        """Rows per class."""
        return np.bincount(self.owners, minlength=len(self.labels))

    @cached_property
    def grouped_rows(self) -> Ints:
        """The rows, class by class."""
        return np.argsort(self.owners, kind="stable")

    @cached_property
    def others(self) -> tuple[DonorColumn, ...]:
        """The columns that are no quasi-identifiers, with the rows class by class."""
        order, names = self.grouped_rows.tolist(), [name for name in self.cells if name not in self.quasi]
        return tuple(DonorColumn.of(name, [self.cells[name][row] for row in order]) for name in names)

    def rows_of(self, place: int) -> Ints:
        """The rows of a class, counted class by class."""
        stop = int(self.sizes[: place + 1].sum())
        return np.arange(stop - int(self.sizes[place]), stop)


@dataclass(frozen=True, eq=False)
class CountedCopy:
    """The classes of a copy, as anybody can count them."""

    views: QuasiViews
    codes: Ints
    """The quasi-identifiers of each class."""
    owners: Ints
    """The class of each row, class by class."""


@dataclass(frozen=True, eq=False)
class CopyHolder:
    """An adversary with copies and a list of the population; their own copy comes first."""

    copies: tuple[Holding, ...]
    population: Classes
    """Everybody, counted by the quasi-identifiers as they are published."""
    k: int
    sampling: float

    @property
    def own(self) -> Holding:
        """Their own copy, whose classes they rate."""
        return self.copies[0]

    @cached_property
    def counted(self) -> CountedCopy:
        """Their own copy, class by class."""
        own = self.own
        counted = Classes.of(own.quasi, own.labels, own.sizes.tolist())
        place_of = {label: number for number, label in enumerate(counted.tuples())}
        classes = some(counted, np.array([place_of[label] for label in own.labels], dtype=np.int64))
        views = QuasiViews.of(classes, classes)
        return CountedCopy(views, views.codes(classes), own.owners[own.grouped_rows])

    @cached_property
    def links(self) -> Ints:
        """People of the population in each class of their own copy."""
        return self.population.project(self.own.quasi).lookup(self.own.labels)


Rate = Callable[[CopyHolder, Ints], Floats]

ATTACKS: Mapping[str, tuple[Rate, int]] = {
    "link count": (link_count, 1),
    "size": (size, 1),
    "over-sampling": (over_sampling, 1),
    "order": (order, 1),
    "standing together": (standing_together, 1),
    "row numbers": (row_numbers, 1),
    "duplicates": (duplicates, 1),
    "tuple join": (tuple_join, 1),
    "classifier": (classifier, 1),
    "intersection": (intersection, 2),
}
"""By name: how it rates classes, and how many copies it needs."""
TARGET = 0.60
OF_TEN = 2.81
"""Standard errors as `EITHER_WAY`, for the best of ten."""


@dataclass(frozen=True)
class AttackOutcome:
    """How well one attack told decoys from real classes, on average over the adversaries who played it."""

    attack: str
    auc: float
    """Whichever way the rating points: 0.5 is guessing, 1 tells all."""
    floor: float
    """What guessing reaches by luck in one of twenty cases."""
    precision: float
    """The share of decoys among the classes rated highest, as many as there are decoys."""
    guessing: float
    """The same by guessing."""

    @property
    def tells(self) -> bool:
        """Whether it beats the target by more than the luck of ten attacks."""
        return self.auc > max(TARGET, 0.5 + (self.floor - 0.5) * OF_TEN / EITHER_WAY)

    to_dict = json_of()


@dataclass(frozen=True, eq=False)
class AttackCase:
    """An adversary, and the truth that they do not see: which classes are decoys."""

    adversary: CopyHolder
    decoys: frozenset[tuple[Label, ...]]

    def asked(self) -> tuple[Ints, Flags]:
        """The classes to rate, and which are decoys: all decoys, and real ones of like link counts, or else all."""
        truth = np.array([label in self.decoys for label in self.adversary.own.labels], dtype=bool)
        links = self.adversary.links
        if not truth.any():
            return np.arange(0), truth[:0]
        among = (links >= links[truth].min()) & (links <= links[truth].max())
        chosen = truth | among if (among & ~truth).any() else np.ones(len(truth), dtype=bool)
        return np.flatnonzero(chosen), truth[chosen]


TAUGHT_ATTACKS: Mapping[str, Callable[[AttackCase], LabelledRows]] = {
    "whole table, taught": whole_table,
    "quasi-identifiers, taught": where_they_are,
}
"""By name: what an adversary looks at who has found out about most classes in doubt."""


def run(cases: Sequence[AttackCase], *, attacks: Mapping[str, tuple[Rate, int]] = ATTACKS) -> list[AttackOutcome]:
    """Every attack by every adversary with enough copies, then those that are taught."""
    asked = [case.asked() for case in cases]
    outcomes = []
    for name, (rate, copies) in attacks.items():
        able = [number for number, case in enumerate(cases) if len(case.adversary.copies) >= copies]
        if not able:
            continue
        truths = [asked[number][1] for number in able]
        ratings = [rate(cases[number].adversary, asked[number][0]) for number in able]
        aucs = [auc(scores, truth) for scores, truth in zip(ratings, truths, strict=True)]
        floors = [noise_floor(int(truth.sum()), int((~truth).sum())) for truth in truths]
        outcomes.append(outcome_of(name, ratings, truths, aucs, floors))
    for name, shown in TAUGHT_ATTACKS.items():
        # Classes are rated by what is learnt from other classes in doubt, in turn.
        exhibits = [shown(case) for case in cases]
        truths = [exhibit.decoy for exhibit in exhibits]
        found = [told(exhibit, np.random.default_rng(_SEED)) for exhibit in exhibits]
        ratings = [rated_in_turn(exhibit, np.random.default_rng(_SEED))[0] for exhibit in exhibits]
        outcomes.append(outcome_of(name, ratings, truths, [one.auc for one in found], [one.floor for one in found]))
    return outcomes


def outcome_of(
    name: str, ratings: Sequence[Floats], truths: Sequence[Flags], aucs: Sequence[float], floors: Sequence[float]
) -> AttackOutcome:
    """The mean over adversaries of AUC, luck and precision."""
    mean, precisions = float(np.mean(aucs)), []
    for scores, truth in zip(ratings, truths, strict=True):
        # The share of decoys among the highest scores, whichever way they point; ties count in proportion.
        pointed, wanted = (scores if mean >= 0.5 else -scores), int(truth.sum())
        if not wanted:
            precisions.append(0.0)
            continue
        edge = np.sort(pointed)[::-1][wanted - 1]
        above, at = pointed > edge, pointed == edge
        left = wanted - int(above.sum())
        precisions.append(float((truth[above].sum() + left * truth[at].mean()) / wanted))
    guessing = [truth.mean() if len(truth) else 0.0 for truth in truths]
    return AttackOutcome(
        name, either_way(mean), float(np.mean(floors)), float(np.mean(precisions)), float(np.mean(guessing))
    )
