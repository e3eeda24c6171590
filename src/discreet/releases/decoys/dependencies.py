"""Columns that follow from quasi-identifiers, such as a district from a postcode: a decoy gets the value of its own class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.kernel import Classes, Column
from discreet.kernel.arrays import Ints, Label, pack
from discreet.policy import Policy
from discreet.releases.blocks import GLANCE, contradicted, determines
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
