"""Donor rows of released classes near each decoy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from discreet.kernel import Classes, Recoding
from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.decoys.nearest_classes import DIGITS, Space
from discreet.releases.decoys.similarity import Likeness
from discreet.sources.table import Table, rows_of

ROWS_PER_ROW = 2
"""Donor rows per row of a decoy."""
FEWEST = 12
"""Donor rows of the smallest decoy."""
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
        codes = np.array([index.setdefault(_hashable(cell), len(index)) for cell in cells], dtype=np.int64)
        _, first = np.unique(codes, return_index=True)
        distinct = [cells[place] for place in first.tolist()]
        numbers = np.array([_number(cell) for cell in distinct], dtype=np.float64)
        fine = [
            is_known or cell is None for is_known, cell in zip(np.isfinite(numbers).tolist(), distinct, strict=True)
        ]
        values = numbers[codes]
        known = np.isfinite(values)
        if not known.any() or not all(fine):
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


@dataclass(frozen=True, eq=False)
class Donors:
    """Rows of some released classes."""

    columns: tuple[DonorColumn, ...]
    owners: Ints
    """The place of each row's class among the released classes."""

    def __len__(self) -> int:
        return len(self.owners)

    @classmethod
    def fetch(cls, table: Table, released: Classes, wanted: Flags, *, drop: Sequence[str]) -> Donors:
        """The rows of the wanted classes, and of no others, from the engine that holds them."""
        found = rows_of(table, Recoding.of_levels(released, released.levels, kept=wanted), drop=drop)
        index = {label: place for place, label in enumerate(released.tuples())}
        labels = zip(*(found[name] for name in released.names), strict=True)
        owners = np.array([index[label] for label in labels], dtype=np.int64)
        others = {name: cells for name, cells in found.items() if name not in released.names}
        order = _settled(others, owners)
        columns = tuple(DonorColumn.of(name, [cells[row] for row in order]) for name, cells in others.items())
        return cls(columns, owners[order])

    @cached_property
    def likeness(self) -> Likeness:
        """How like rows are to each other."""
        return Likeness.of([column.codes for column in self.columns], self.owners)

    @cached_property
    def rows(self) -> Mapping[int, Ints]:
        """The rows of each class."""
        order = np.argsort(self.owners, kind="stable")
        places, starts = np.unique(self.owners[order], return_index=True)
        return dict(zip(places.tolist(), np.split(order, starts[1:]), strict=True))


def _settled(others: Mapping[str, Sequence[Any]], owners: Ints) -> list[int]:
    """An order of the rows that depends on what they hold, not on the order in which the engine gave them."""
    keys = [owners]
    for column in others.values():
        spelt = list(map(repr, column))
        ranks = {text: rank for rank, text in enumerate(sorted(set(spelt)))}
        keys.append(np.array([ranks[text] for text in spelt], dtype=np.int64))
    order: list[int] = np.lexsort(keys[::-1]).tolist()
    return order


def neighbours(
    space: Space, classes: Classes, sizes: Ints, generator: np.random.Generator, *, per_row: int = ROWS_PER_ROW
) -> list[Ints]:
    """For each class, the nearest released ones that together have enough donor rows, the nearest first.

    Which of several equally near ones comes first is drawn.
    """
    held, luck = space.classes.sizes, generator.random(len(space.classes))
    shelves, found = space.shelves(classes), []
    for place, size in enumerate(sizes.tolist()):
        enough = max(per_row * size, FEWEST)
        places, far = shelves.near(place, held, enough)
        order = places[np.lexsort([luck[(places - place) % len(luck)], far.round(DIGITS)])]
        found.append(order[: int(np.searchsorted(np.cumsum(held[order]), enough)) + 1])
    return found


def _hashable(cell: Any) -> Any:
    return repr(cell) if isinstance(cell, (list, dict, set, bytearray)) else (type(cell).__name__, cell)


def _number(cell: Any) -> float:
    """A cell on a scale, or not a number; text that looks like a number is one, since all cells of a CSV are text."""
    if isinstance(cell, bool) or cell is None:
        return float("nan")
    if isinstance(cell, (int, float, Decimal)):
        return float(cell)
    if isinstance(cell, datetime):
        return float(cell.toordinal()) + cell.hour / 24
    if isinstance(cell, date):
        return float(cell.toordinal())
    try:
        return float(cell) if isinstance(cell, str) else float("nan")
    except ValueError:
        return float("nan")
