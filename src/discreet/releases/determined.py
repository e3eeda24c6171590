"""Columns that follow from quasi-identifiers, such as a district from a postcode: a decoy gets the value of its own class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.hierarchy import Ints, Label
from discreet.kernel.keys import pack
from discreet.policy import Policy
from discreet.releases.blocks import determines
from discreet.releases.donors import Donors
from discreet.sources.table import Table

MOST_TOGETHER = 2
"""Quasi-identifiers that are tried together."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """A column whose value follows from some quasi-identifiers as they are published."""

    column: int
    """Its place among the columns of the donors."""
    by: tuple[int, ...]
    """Places among the quasi-identifiers."""
    donors: dict[tuple[Label, ...], int]
    """For each combination of their values, a donor row that shows the value of the column."""

    def key(self, label: Sequence[Label]) -> tuple[Label, ...]:
        """The values of a class on which the column hangs."""
        return tuple(label[place] for place in self.by)


def dependences(table: Table, released: Classes, donors: Donors) -> list[Dependence]:
    """Every column that follows from one or two quasi-identifiers, in all rows of the table."""
    found = []
    for place, column in enumerate(donors.columns):
        if column.distinct < 2:
            continue
        for by in _combinations(len(released.columns)):
            codes = _codes(released, by)[donors.owners]
            if determines(codes, column.codes) and _everywhere(table, released, by, column.name):
                found.append(_dependence(released, donors, place, by))
                break
    return found


def _combinations(count: int) -> list[tuple[int, ...]]:
    return [by for together in range(1, MOST_TOGETHER + 1) for by in combinations(range(count), together)]


def _codes(released: Classes, by: tuple[int, ...]) -> Ints:
    sizes = [len(released.columns[place].labels) for place in by]
    keys, _ = pack([released.codes[place] for place in by], sizes, len(released))
    return np.unique(keys, return_inverse=True)[1].reshape(-1)


def _everywhere(table: Table, released: Classes, by: tuple[int, ...], column: str) -> bool:
    """Whether it holds in the whole table, which its engine counts."""
    names = [released.columns[place].name for place in by]
    policy = table.policy or Policy()
    counted = table.engine.count([*names, column], weight=policy.count)
    classes = Classes.from_histogram(counted, rules={name: policy.rule(name) for name in names})
    there = classes.at({name: released.levels[name] for name in names})
    return len(there) == len(there.project(names))


def _dependence(released: Classes, donors: Donors, place: int, by: tuple[int, ...]) -> Dependence:
    labels = [released.columns[one].labels for one in by]
    codes = [released.codes[one][donors.owners].tolist() for one in by]
    keys = [tuple(names[code] for names, code in zip(labels, row, strict=True)) for row in zip(*codes, strict=True)]
    return Dependence(place, by, {key: row for row, key in enumerate(keys)})
