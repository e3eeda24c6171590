"""Donors: rows of classes as they are published, and which of their columns follow from quasi-identifiers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from discreet.kernel import Classes, Column, Recoding
from discreet.kernel.arrays import Flags, Floats, Ints, Label, pack
from discreet.policy import Policy
from discreet.sources.engine import Cells
from discreet.sources.table import Table
from discreet.sources.table_rows import rows_of

BINS = 8


@dataclass(frozen=True, eq=False)
class DonorColumn:
    """One column of the donors, as codes that can be compared: values by frequency, or numbers by rank."""

    name: str
    cells: Sequence[Any]
    codes: Ints
    numbers: Floats | None
    """The cells as numbers in standard deviations, where they are numbers, dates or missing."""

    @classmethod
    def of(cls, name: str, cells: Sequence[Any]) -> DonorColumn:
        """Code the cells of a column."""
        index: dict[Any, int] = {}
        hashable = (
            repr(cell) if isinstance(cell, (list, dict, set, bytearray)) else (type(cell).__name__, cell)
            for cell in cells
        )
        codes = np.array([index.setdefault(cell, len(index)) for cell in hashable], dtype=np.int64)
        _, first = np.unique(codes, return_index=True)
        distinct = [cells[place] for place in first.tolist()]
        numbers = np.array([_number(cell) for cell in distinct], dtype=np.float64)
        fine = np.isfinite(numbers) | np.array([cell is None for cell in distinct], dtype=bool)
        values = numbers[codes]
        known = np.isfinite(values)
        if not known.any() or not fine.all():
            return cls(name, cells, codes, None)
        centre, scale = float(values[known].mean()), float(values[known].std()) or 1.0
        return cls(name, cells, codes, np.where(known, (values - centre) / scale, np.nan))

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0

    @cached_property
    def binned(self) -> Ints:
        """Codes with many numbers put together by rank."""
        if self.numbers is None or self.distinct <= BINS:
            return self.codes
        known = self.numbers[np.isfinite(self.numbers)]
        edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1]))
        return np.where(np.isfinite(self.numbers), np.searchsorted(edges, self.numbers, side="right"), len(edges) + 1)


def _number(cell: Any) -> float:
    """A cell on a scale, or not a number; text that looks like a number is one, since all cells of a CSV are text."""
    if isinstance(cell, datetime):
        return float(cell.toordinal()) + cell.hour / 24
    if isinstance(cell, date):
        return float(cell.toordinal())
    try:
        number = isinstance(cell, (int, float, Decimal, str)) and not isinstance(cell, bool)
        return float(cell) if number else math.nan
    except ValueError:
        return math.nan


def rows_of_classes(table: Table, released: Classes, wanted: Flags, *, drop: Sequence[str]) -> tuple[Cells, Ints]:
    """The rows of the wanted classes as they are published, and the place of each row's class among all."""
    cells = rows_of(table, Recoding.of_levels(released, released.levels, kept=wanted), drop=drop)
    index = {label: place for place, label in enumerate(released.tuples())}
    labels = zip(*(cells[name] for name in released.names), strict=True)
    return cells, np.array([index[label] for label in labels], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Donors:
    """Rows of some classes."""

    columns: tuple[DonorColumn, ...]
    owners: Ints
    """The place of each row's class among the classes they were fetched by."""

    def __len__(self) -> int:
        return len(self.owners)

    @classmethod
    def fetch(cls, table: Table, classes: Classes, wanted: Flags, *, drop: Sequence[str]) -> Donors:
        """The rows of the wanted classes, and of no others, from the engine that holds them."""
        cells_by_name, owners = rows_of_classes(table, classes, wanted, drop=drop)
        others = {name: cells for name, cells in cells_by_name.items() if name not in classes.names}
        # An order of the rows that depends on what they hold, not on the order in which the engine gave them.
        keys = [owners]
        for cells in others.values():
            spelt = list(map(repr, cells))
            ranks = {text: rank for rank, text in enumerate(sorted(set(spelt)))}
            keys.append(np.array([ranks[text] for text in spelt], dtype=np.int64))
        order = np.lexsort(keys[::-1])
        columns = tuple(DonorColumn.of(name, [cells[row] for row in order.tolist()]) for name, cells in others.items())
        return cls(columns, owners[order])

    def only(self, rows: Ints) -> Donors:
        """Some of the rows."""
        chosen = rows.tolist()
        columns = [DonorColumn.of(column.name, [column.cells[row] for row in chosen]) for column in self.columns]
        return Donors(tuple(columns), self.owners[rows])

    @cached_property
    def rows(self) -> Mapping[int, Ints]:
        """The rows of each class."""
        order = np.argsort(self.owners, kind="stable")
        places, starts = np.unique(self.owners[order], return_index=True)
        return dict(zip(places.tolist(), np.split(order, starts[1:]), strict=True))


# Columns that follow from quasi-identifiers: a decoy holds there what every real row of its class would hold.
GLANCE = 4096
"""Rows that are looked at first: mostly they show already that one column does not give another."""


@dataclass(frozen=True, eq=False)
class View:
    """A quasi-identifier as it is published or coarser, for values of the data and of the population."""

    place: int
    """Its place among the quasi-identifiers."""
    level: int
    labels: Mapping[Label, Label]
    """What each published value is at that level."""

    @classmethod
    def of(cls, column: Column, in_population: Column | None, place: int, level: int) -> View:
        """From the column of the data, and that of the population where it has one."""
        labels: dict[Label, Label] = {}
        for side in (in_population, column):
            if side is not None and level < side.hierarchy.height:
                above = side.hierarchy.map(side.level, level)
                labels |= {
                    label: side.hierarchy.labels[level][code] for label, code in zip(side.labels, above, strict=True)
                }
        return cls(place, level, labels)


@dataclass(frozen=True, eq=False)
class Dependence:
    """A column whose value follows from some quasi-identifiers."""

    column: int
    """Its place among the columns of the donors."""
    by: tuple[View, ...]
    donors: dict[tuple[Label, ...], int]
    """For each combination of their values, a row that shows the value of the column."""

    def key(self, label: Sequence[Label]) -> tuple[Label, ...]:
        """The values of a class on which the column hangs."""
        return tuple(view.labels[label[view.place]] for view in self.by)

    def knows(self, label: Sequence[Label]) -> bool:
        """Whether some donor shows the value that the column has in a class."""
        return self.key(label) in self.donors


def dependences(table: Table, released: Classes, population: Classes, donors: Donors) -> list[Dependence]:
    """Every column that follows from one quasi-identifier, as coarse as possible, or from two, in all rows of the table."""
    in_population = {column.name: column for column in population.columns}
    # One quasi-identifier at a time from coarse to fine, then two as they are published.
    every = list(enumerate(released.columns))
    views: list[tuple[View, ...]] = [
        (View.of(column, in_population.get(column.name), place, level),)
        for place, column in every
        for level in range(column.hierarchy.height - 1, column.level - 1, -1)
    ]
    finest = [View.of(column, in_population.get(column.name), place, column.level) for place, column in every]
    views += combinations(finest, 2)
    owners = [codes[donors.owners] for codes in released.codes]
    policy, dependent = table.policy or Policy(), []
    for number, column in enumerate(donors.columns):
        if column.distinct < 2:
            continue
        for by in views:
            sources = [released.columns[view.place] for view in by]
            upwards = [source.hierarchy.map(source.level, view.level) for source, view in zip(sources, by, strict=True)]
            glance = [up[owners[view.place][:GLANCE]] for up, view in zip(upwards, by, strict=True)]
            if contradicted(_packed(glance), column.codes[:GLANCE]):
                continue
            keys = [up[owners[view.place]] for up, view in zip(upwards, by, strict=True)]
            if not determines(_packed(keys), column.codes):
                continue
            # Donors are a part of the table; its engine counts whether it holds in the whole of it.
            names = [source.name for source in sources]
            counted = table.engine.count([*names, column.name], weight=policy.count)
            classes = Classes.from_histogram(counted, rules={name: policy.rule(name) for name in names})
            there = classes.at({name: view.level for name, view in zip(names, by, strict=True)})
            if len(there) == len(there.project(names)):
                labels = [source.hierarchy.labels[view.level] for source, view in zip(sources, by, strict=True)]
                rows = zip(*(key.tolist() for key in keys), strict=True)
                named = [tuple(values[code] for values, code in zip(labels, row, strict=True)) for row in rows]
                dependent.append(Dependence(number, by, {key: row for row, key in enumerate(named)}))
                break
    return dependent


def _packed(keys: Sequence[Ints]) -> Ints:
    packed, _ = pack(keys, [int(key.max()) + 1 if len(key) else 1 for key in keys], len(keys[0]))
    return np.unique(packed, return_inverse=True)[1].reshape(-1)


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


def numbers_of(column: Column) -> Floats:
    """What each value at its level is worth: the mean of the values under it, or nan where one of them is no number."""
    # Whether values are masked from the right, as postcodes are: their digits are no quantity.
    if any(
        label is not None and label.endswith("*") and label.strip("*")
        for labels in column.hierarchy.labels
        for label in labels
    ):
        return np.full(len(column.labels), np.nan)
    fine = np.array([number_of(label) for label in column.hierarchy.labels[0]])
    above = column.hierarchy.map(0, column.level)
    sums = np.bincount(above, weights=fine, minlength=len(column.labels))
    return np.asarray(sums / np.maximum(np.bincount(above, minlength=len(column.labels)), 1))


def number_of(label: Label) -> float:
    """A value on a scale, dates in days; not a number where it is neither."""
    if label is None:
        return float("nan")
    try:
        return float(label)
    except ValueError:
        pass
    try:
        return float(date.fromisoformat(label[:10]).toordinal())
    except ValueError:
        return float("nan")
