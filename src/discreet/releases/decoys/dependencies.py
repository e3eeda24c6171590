"""Dependencies of columns: what follows from quasi-identifiers, and blocks of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.kernel import Classes, Column
from discreet.kernel.arrays import Floats, Ints, Label, pack
from discreet.policy import Policy
from discreet.releases.decoys.donors import DonorColumn as DonorsColumn
from discreet.releases.decoys.donors import Donors
from discreet.sources.table import Table


@dataclass(frozen=True, eq=False)
class View:
    """A quasi-identifier as it is published or coarser, for values of the data and of the population."""

    place: int
    """Its place among the quasi-identifiers."""
    level: int
    labels: Mapping[Label, Label]
    """What each published value is at that level."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """A column whose value follows from some quasi-identifiers."""

    column: int
    """Its place among the columns of the donors."""
    by: tuple[View, ...]
    donors: dict[tuple[Label, ...], int]
    """For each combination of their values, a donor row that shows the value of the column."""

    def key(self, label: Sequence[Label]) -> tuple[Label, ...]:
        """The values of a class on which the column hangs."""
        return tuple(view.labels[label[view.place]] for view in self.by)

    def knows(self, label: Sequence[Label]) -> bool:
        """Whether some donor shows the value that the column has in a class."""
        return self.key(label) in self.donors


def dependences(table: Table, released: Classes, population: Classes, donors: Donors) -> list[Dependence]:
    """Every column that follows from one quasi-identifier, as coarse as possible, or from two, in all rows of the table."""
    places = {column.name: place for place, column in enumerate(released.columns)}
    there = {places[column.name]: column for column in population.columns if column.name in places}
    views = list(_views(released, there))
    owners = [codes[donors.owners] for codes in released.codes]
    found = []
    for number, column in enumerate(donors.columns):
        if column.distinct < 2:
            continue
        for by in views:
            glance = [_coarser(view, owners[view.place][:GLANCE], released) for view in by]
            if contradicted(_packed(glance), column.codes[:GLANCE]):
                continue
            keys = [_coarser(view, owners[view.place], released) for view in by]
            if determines(_packed(keys), column.codes) and _everywhere(table, released, by, column.name):
                found.append(_dependence(number, by, keys, released))
                break
    return found


def _views(released: Classes, population: Mapping[int, Column]) -> Iterator[tuple[View, ...]]:
    """One quasi-identifier at a time from coarse to fine, then two as they are published."""
    columns = released.columns
    for place, column in enumerate(columns):
        for level in range(column.hierarchy.height - 1, column.level - 1, -1):
            yield (_view(column, population.get(place), place, level),)
    own = [_view(column, population.get(place), place, column.level) for place, column in enumerate(columns)]
    yield from combinations(own, 2)


def _view(column: Column, there: Column | None, place: int, level: int) -> View:
    labels: dict[Label, Label] = {}
    for one in (there, column):
        if one is not None and level < one.hierarchy.height:
            above = one.hierarchy.map(one.level, level)
            labels |= {label: one.hierarchy.labels[level][code] for label, code in zip(one.labels, above, strict=True)}
    return View(place, level, labels)


def _coarser(view: View, codes: Ints, released: Classes) -> Ints:
    column = released.columns[view.place]
    return column.hierarchy.map(column.level, view.level)[codes]


def _packed(keys: Sequence[Ints]) -> Ints:
    packed, _ = pack(keys, [int(key.max()) + 1 if len(key) else 1 for key in keys], len(keys[0]))
    return np.unique(packed, return_inverse=True)[1].reshape(-1)


def _everywhere(table: Table, released: Classes, by: Sequence[View], column: str) -> bool:
    """Whether it holds in the whole table, which its engine counts."""
    names = [released.columns[view.place].name for view in by]
    policy = table.policy or Policy()
    counted = table.engine.count([*names, column], weight=policy.count)
    classes = Classes.from_histogram(counted, rules={name: policy.rule(name) for name in names})
    there = classes.at({name: view.level for name, view in zip(names, by, strict=True)})
    return len(there) == len(there.project(names))


def _dependence(number: int, by: tuple[View, ...], keys: Sequence[Ints], released: Classes) -> Dependence:
    labels = [released.columns[view.place].hierarchy.labels[view.level] for view in by]
    rows = zip(*(key.tolist() for key in keys), strict=True)
    named = [tuple(names[code] for names, code in zip(labels, row, strict=True)) for row in rows]
    return Dependence(number, by, {key: row for row, key in enumerate(named)})


# Which columns belong together: a row is spliced along these seams, so that no cell contradicts its neighbour.
STRONG = 0.5
"""The association from which on two columns are not torn apart."""
GLANCE = 4096
"""Rows that are looked at first: mostly they show already that one column does not give another."""


def association(one: Ints, other: Ints) -> float:
    """Cramér's V, corrected for bias (Bergsma 2013): 0 where two columns have nothing to do with each other, 1 where one gives the other.

    >>> round(association(np.array([0, 0, 1, 1] * 9), np.array([1, 1, 0, 0] * 9)), 6)
    1.0
    """
    rows, columns, n = int(one.max()) + 1, int(other.max()) + 1, len(one)
    if min(rows, columns) < 2 or n < 2:
        return 0.0
    seen = np.bincount(one * columns + other, minlength=rows * columns).reshape(rows, columns).astype(np.float64)
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        phi = float(np.nansum((seen - expected) ** 2 / expected)) / n
    excess = max(0.0, phi - (rows - 1) * (columns - 1) / (n - 1))
    room = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(excess / room))) if room > 0 else 0.0


def determines(one: Ints, other: Ints) -> bool:
    """Whether every value of one column comes with a single value of the other, and comes often enough to say so.

    >>> determines(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1]))
    True
    """
    if contradicted(one[:GLANCE], other[:GLANCE]):
        return False
    return 2 * len(np.unique(one)) <= len(one) and not contradicted(one, other)


def contradicted(one: Ints, other: Ints) -> bool:
    """Whether some value of one column comes with several of the other.

    >>> contradicted(np.array([0, 0, 1]), np.array([0, 1, 1]))
    True
    """
    width = int(other.max()) + 1 if len(other) else 1
    return len(np.unique(one * width + other)) > len(np.unique(one))


def associations(columns: Sequence[DonorsColumn]) -> Floats:
    """Between all pairs of columns; 1 where one determines the other."""
    found = np.eye(len(columns))
    for left in range(len(columns)):
        for right in range(left):
            one, other = columns[left], columns[right]
            sure = determines(one.codes, other.codes) or determines(other.codes, one.codes)
            found[left, right] = found[right, left] = 1.0 if sure else association(one.binned, other.binned)
    return found


def blocks(strength: Floats) -> list[list[int]]:
    """Columns in groups that are strongly associated, each group in the order of the columns."""
    group = list(range(len(strength)))
    for left, right in zip(*np.nonzero(strength >= STRONG), strict=True):
        old, new = group[int(left)], group[int(right)]
        group = [new if one == old else one for one in group]
    return [[place for place, one in enumerate(group) if one == name] for name in dict.fromkeys(group)]
