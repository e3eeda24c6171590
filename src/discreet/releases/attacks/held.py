"""What an adversary has: one copy or several, a list of the population, and what everybody may know about the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Ints, Label
from discreet.releases.alike import Likeness
from discreet.releases.decoys.donors import Column
from discreet.sources.rows import fetch
from discreet.sources.table import Table


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
    def _grouped(self) -> tuple[list[tuple[Label, ...]], Ints]:
        index: dict[tuple[Label, ...], int] = {}
        rows = zip(*(self.cells[name] for name in self.quasi), strict=True)
        owners = np.array([index.setdefault(row, len(index)) for row in rows], dtype=np.int64)
        return list(index), owners

    @property
    def labels(self) -> list[tuple[Label, ...]]:
        """The classes, in the order in which they come up."""
        return self._grouped[0]

    @property
    def owners(self) -> Ints:
        """The class of each row."""
        return self._grouped[1]

    @cached_property
    def sizes(self) -> Ints:
        """Rows per class."""
        return np.bincount(self.owners, minlength=len(self.labels))

    @cached_property
    def grouped_rows(self) -> Ints:
        """The rows, class by class."""
        return np.argsort(self.owners, kind="stable")

    @cached_property
    def others(self) -> tuple[Column, ...]:
        """The columns that are no quasi-identifiers, with the rows class by class."""
        order = self.grouped_rows.tolist()
        names = [name for name in self.cells if name not in self.quasi]
        return tuple(Column.of(name, [self.cells[name][row] for row in order]) for name in names)

    @cached_property
    def likeness(self) -> Likeness:
        """How like rows are to each other, with the rows class by class."""
        return Likeness.of([column.codes for column in self.others], self.owners[self.grouped_rows])

    def rows_of(self, place: int) -> Ints:
        """Where the rows of a class stand when rows stand class by class."""
        stop = int(self.sizes[: place + 1].sum())
        return np.arange(stop - int(self.sizes[place]), stop)


@dataclass(frozen=True, eq=False)
class Adversary:
    """Somebody with copies and a list of the population; his own copy comes first."""

    copies: tuple[Holding, ...]
    population: Classes
    """Everybody, counted by the quasi-identifiers as they are published."""
    k: int
    sampling: float

    @property
    def own(self) -> Holding:
        """His own copy, whose classes he rates."""
        return self.copies[0]

    @cached_property
    def links(self) -> Ints:
        """How many people of the population are in each class of his own copy."""
        names = self.own.quasi
        return self.population.project(names).lookup(self.own.labels)
