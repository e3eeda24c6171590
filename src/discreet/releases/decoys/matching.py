"""Predictive mean matching: rows left out of every copy become the content of decoys, verbatim.

k-anonymity leaves people out of all copies. Their other columns, whole and unchanged, agree with each other as only real
rows do; what could give them away is that they do not fit the quasi-identifiers of the decoy. So every other column is
predicted from the quasi-identifiers, and a decoy takes the donors whose own quasi-identifiers predict the same (Little
1988, predictive mean matching). Columns that a quasi-identifier determines are looked up instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Floats, Ints, Label
from discreet.releases.decoys.donors import BINS, Dependence, DonorColumn, Donors, dependences, numbers_of
from discreet.releases.population_link import Linked
from discreet.sources.table import Table

MODELLED = 30_000
"""Released rows from which predictions are learnt."""
DONORS_PER_ROW = 12
"""Left-out rows that are fetched per row of a decoy, where there are so many."""
FEWEST_DONORS = 20_000
SWEEPS = 2
NEARLY_CERTAIN = 0.05
"""The least spread of a residual, in standard deviations of its column."""
OWN_PULL = 0.15
"""What a standard deviation of a quasi-identifier itself counts, beside those of predictions."""
CATEGORIES = 8
"""Different values up to which each is predicted; of more, as many random halves of them."""


@dataclass(frozen=True, eq=False)
class QuasiViews:
    """The quasi-identifiers of classes in several coarsenesses: alone from coarse to fine, then two by two."""

    indexes: tuple[Mapping[Label, int], ...]
    """Per quasi-identifier, a code for each value of the data and of the population."""
    single: tuple[tuple[int, Ints], ...]
    """Place of the quasi-identifier, and the group of each of its codes."""
    scales: tuple[Floats, ...]
    """Per quasi-identifier, its codes as standardised numbers, or one column per value."""

    @classmethod
    def of(cls, in_data: Classes, population: Classes) -> QuasiViews:
        """Of everything that can be asked about a release: classes by the same columns at the same levels."""
        indexes, single, scales = [], [], []
        for place, (data, people) in enumerate(zip(in_data.columns, population.columns, strict=True)):
            labels = list(dict.fromkeys([*data.labels, *people.labels]))
            index = {label: code for code, label in enumerate(labels)}
            indexes.append(index)
            for level in range(data.hierarchy.height - 1, data.level - 1, -1):
                above: dict[Label, Label] = {}
                for side in (people, data):
                    upwards = side.hierarchy.map(side.level, level)
                    above |= {
                        label: side.hierarchy.labels[level][code]
                        for label, code in zip(side.labels, upwards, strict=True)
                    }
                _, groups = np.unique([above[label] or "" for label in labels], return_inverse=True)
                if groups.max(initial=0):
                    single.append((place, groups.reshape(-1)))
            numbers = {
                label: number
                for side in (people, data)
                for label, number in zip(side.labels, numbers_of(side).tolist(), strict=True)
            }
            values = np.array([numbers[label] for label in labels])
            if np.isnan(values).any() or len(values) <= 2:
                few = len(labels) <= CATEGORIES
                scales.append(np.eye(len(labels)) if few else np.zeros((len(labels), 0)))
                continue
            if len(values) > 2 * BINS:
                edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
                single.insert(0, (place, np.searchsorted(edges, values).astype(np.int64)))
            scales.append(((values - values.mean()) / (values.std() or 1.0))[:, None])
        return cls(tuple(indexes), tuple(single), tuple(scales))

    def codes(self, classes: Classes) -> Ints:
        """One row per class, one column per quasi-identifier."""
        columns = [
            np.array([index[label] for label in column.labels], dtype=np.int64)[codes]
            for index, column, codes in zip(self.indexes, classes.columns, classes.codes, strict=True)
        ]
        return np.stack(columns, axis=1)

    def groups(self, codes: Ints) -> Iterator[tuple[Ints, int]]:
        """Per view, the group of each row and the number of groups."""
        for place, groups in self.single:
            yield groups[codes[:, place]], int(groups.max()) + 1
        for one, other in combinations(range(len(self.indexes)), 2):
            width = len(self.indexes[other])
            yield codes[:, one] * width + codes[:, other], len(self.indexes[one]) * width

    def positions(self, codes: Ints) -> Floats:
        """The quasi-identifiers themselves on a scale."""
        return np.hstack([scale[codes[:, place]] for place, scale in enumerate(self.scales)])


def shrunken(values: Floats, groups: Ints, number: int) -> Floats:
    """The mean of each group, drawn towards 0 as far as chance explains it (empirical Bayes, James and Stein 1961).

    >>> shrunken(np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 0, 1, 1]), 3).round(3).tolist()
    [0.857, -0.857, 0.0]
    """
    held = np.bincount(groups, minlength=number).astype(np.float64)
    means = np.bincount(groups, weights=values, minlength=number) / np.maximum(held, 1)
    there, rows = int((held > 0).sum()), float(held.sum())
    within = float(((values - means[groups]) ** 2).sum()) / max(rows - there, 1.0)
    within = within or float((values**2).mean()) / 2
    room = rows - float((held**2).sum()) / rows
    between = max(0.0, float((held * means**2).sum()) - there * within) / max(room, 1e-12)
    kept: Floats = means * between / np.maximum(between + within / np.maximum(held, 1e-12), 1e-12)
    return kept


@dataclass(frozen=True, eq=False)
class PredictiveMeans:
    """What the quasi-identifiers say about every other column: sums of shrunken means, coarse to fine."""

    views: QuasiViews
    effects: tuple[Floats, ...]
    """Per view, the effect of each of its groups on each target."""
    spreads: Floats
    """Per target, the standard deviation of what is not predicted."""

    @classmethod
    def of(cls, views: QuasiViews, codes: Ints, targets: Floats) -> PredictiveMeans:
        """Learn from rows; targets are standardised, one column each."""
        if not targets.size:
            return cls(views, tuple(np.zeros((number, 0)) for _, number in views.groups(codes)), np.zeros(0))
        rest, groups = targets.copy(), list(views.groups(codes))
        effects = [np.zeros((number, targets.shape[1])) for _, number in groups]
        for _ in range(SWEEPS):
            for (members, number), effect in zip(groups, effects, strict=True):
                for target in range(targets.shape[1]):
                    step = shrunken(rest[:, target], members, number)
                    effect[:, target] += step
                    rest[:, target] -= step[members]
        return cls(views, tuple(effects), np.maximum(rest.std(axis=0), NEARLY_CERTAIN))

    def of_codes(self, codes: Ints) -> Floats:
        """The prediction of every target for classes with these quasi-identifiers."""
        found = np.zeros((len(codes), len(self.spreads)))
        for (members, _), effect in zip(self.views.groups(codes), self.effects, strict=True):
            found += effect[members]
        return found

    def points(self, codes: Ints, weights: Floats) -> Floats:
        """Where classes stand: predictions in residual spreads, and a little of the quasi-identifiers themselves."""
        return np.hstack([self.of_codes(codes) / self.spreads * weights, OWN_PULL * self.views.positions(codes)])


def targets_of(columns: Sequence[DonorColumn]) -> tuple[Floats, Floats]:
    """What is predicted of the columns, standardised, and how much each target counts."""
    made: list[Floats] = []
    weights: list[float] = []
    for column in columns:
        own: list[Floats] = []
        missing = np.array([cell is None for cell in column.cells], dtype=bool)
        if column.numbers is not None and column.distinct > CATEGORIES:
            # Ranks, so that a few huge values do not decide; the missing in the middle.
            known = np.isfinite(column.numbers)
            held = np.sort(column.numbers[known])
            low, high = (np.searchsorted(held, column.numbers[known], side=side) for side in ("left", "right"))
            ranks = np.full(len(column.codes), 0.5)
            ranks[known] = (low + high) / (2 * max(len(held), 1))
            own = [ranks, missing.astype(np.float64)]
        elif column.distinct <= CATEGORIES:
            own = [(column.codes == code).astype(np.float64) for code in range(column.distinct)]
        else:
            halves = np.random.default_rng(column.distinct).integers(0, 2, (CATEGORIES, column.distinct))
            own = [half[column.codes].astype(np.float64) for half in halves]
        own = [target for target in own if target.std() > 0]
        made += [(target - target.mean()) / target.std() for target in own]
        weights += [1 / np.sqrt(max(len(own), 1))] * len(own)
    rows = len(columns[0].cells) if columns else 0
    return np.array(made).reshape(len(made), rows).T, np.array(weights)


@dataclass(frozen=True, eq=False)
class DecoyRows:
    """Rows that every copy with the decoy holds, each cell typed as in the source."""

    columns: Mapping[str, Sequence[Any]]
    """Cells by the name of their column, without the quasi-identifiers, in the order of the table."""
    places: Ints
    """Per row, the place of its mark among all marks."""
    donors: tuple[tuple[Label, ...], ...] = ()
    """Per row, the class of the person whose values these are."""
    own: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Of columns that were looked up for the class of the decoy, what that person has."""

    def __len__(self) -> int:
        return len(self.places)

    def only(self, marks: Ints) -> DecoyRows:
        """The rows of some marks."""
        kept = np.flatnonzero(np.isin(self.places, marks)).tolist()
        columns, own = (
            {name: [cells[row] for row in kept] for name, cells in every.items()} for every in (self.columns, self.own)
        )
        return DecoyRows(columns, self.places[kept], tuple(self.donors[row] for row in kept if self.donors), own)

    def at(self, places: Ints) -> DecoyRows:
        """The same rows for marks at other places."""
        return replace(self, places=places)

    def __repr__(self) -> str:
        return f"DecoyRows({len(self)} rows of {len(np.unique(self.places))} decoys)"


@dataclass(frozen=True, eq=False)
class Filler:
    """Released rows to learn from, and left-out rows to give."""

    released: Donors
    """Rows of some released classes."""
    left_out: Donors
    means: PredictiveMeans
    weights: Floats
    classes: Classes
    """The classes that are left out."""
    follows: Sequence[Dependence]

    @classmethod
    def fetch(
        cls,
        table: Table,
        linked: Linked,
        needed: int,
        real: Ints,
        generator: np.random.Generator,
        *,
        drop: Sequence[str],
    ) -> Filler:
        """Fetch rows of released classes, those of the real marks among them, and as many left-out rows as are useful."""
        wanted = np.zeros(len(linked.released), dtype=bool)
        wanted[real] = True
        _add(wanted, linked.released.sizes, MODELLED, generator)
        giving = np.zeros(len(linked.suppressed), dtype=bool)
        _add(giving, linked.suppressed.sizes, max(DONORS_PER_ROW * needed, FEWEST_DONORS), generator)
        released = Donors.fetch(table, linked.released, wanted, drop=drop)
        left_out = Donors.fetch(table, linked.suppressed, giving, drop=drop)
        views = QuasiViews.of(linked.data, linked.population)
        targets, weights = targets_of(released.columns)
        codes = views.codes(linked.released)[released.owners]
        follows = dependences(table, linked.released, linked.population, released)
        return cls(released, left_out, PredictiveMeans.of(views, codes, targets), weights, linked.suppressed, follows)

    def decoys(
        self, free: Classes, labels: Sequence[tuple[Label, ...]], sizes: Ints, generator: np.random.Generator
    ) -> DecoyRows:
        """The rows of decoys in these classes, which are places 0, 1, ... of the result; fewer where donors run out.

        In an order that is drawn, each takes the nearest donors that are left, and never people of its own class.
        """
        views = self.means.views
        donors = self.means.points(views.codes(self.classes), self.weights)
        wanted = self.means.points(views.codes(free), self.weights)
        own = {label: place for place, label in enumerate(self.classes.tuples())}
        never = [own.get(label, -1) for label in labels]
        taken = nearest_donors(donors, self.left_out.owners, wanted, sizes, never, generator)
        order = sorted(taken)
        chosen = np.concatenate([np.zeros(0, dtype=np.int64), *(taken[decoy] for decoy in order)])
        places = np.repeat(np.array(order, dtype=np.int64), sizes[order])
        looked_up = {one.column: one for one in self.follows}
        cells, own_cells = {}, {}
        for number, (column, known) in enumerate(zip(self.left_out.columns, self.released.columns, strict=True)):
            if number in looked_up:
                one = looked_up[number]
                cells[column.name] = [known.cells[one.donors[one.key(labels[place])]] for place in places.tolist()]
                own_cells[column.name] = [column.cells[row] for row in chosen.tolist()]
            else:
                cells[column.name] = [column.cells[row] for row in chosen.tolist()]
        classes = list(self.classes.tuples())
        givers = tuple(classes[owner] for owner in self.left_out.owners[chosen].tolist())
        return DecoyRows(cells, places, givers, own_cells)


def nearest_donors(
    donors: Floats, owners: Ints, wanted: Floats, sizes: Ints, never: Sequence[int], generator: np.random.Generator
) -> dict[int, Ints]:
    """Per class that is wanted, so many of the nearest rows that no other took; `never` is a class whose rows it must not take.

    `donors` are the places where the classes of donors stand, `owners` the class of each donor row.
    """
    unused, taken = np.ones(len(owners), dtype=bool), {}
    for place in generator.permutation(len(sizes)).tolist():
        far = ((donors - wanted[place]) ** 2).sum(axis=1)
        rows, size = np.flatnonzero(unused & (owners != never[place])), int(sizes[place])
        if len(rows) < size:
            continue
        near = rows[np.argpartition(far[owners[rows]], size - 1)[:size]]
        taken[place], unused[near] = generator.permutation(near), False
    return taken


def _add(chosen: Any, sizes: Ints, rows: int, generator: np.random.Generator) -> None:
    """Choose further classes, drawn, up to so many rows."""
    order = generator.permutation(np.flatnonzero(~chosen))
    chosen[order[int(sizes[chosen].sum()) + np.cumsum(sizes[order]) <= rows]] = True
