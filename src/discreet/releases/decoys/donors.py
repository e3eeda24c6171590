"""Donor rows near each decoy: which of their columns depend on others, and which values may move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property, reduce
from itertools import combinations
from typing import Any

import numpy as np

from discreet.kernel import Classes, Column, Recoding
from discreet.kernel.arrays import Flags, Floats, Ints, Label, pack
from discreet.policy import Policy
from discreet.releases.decoys.nearest_classes import DIGITS, Space
from discreet.releases.decoys.similarity import Likeness
from discreet.sources.engine import Cells
from discreet.sources.table import Table
from discreet.sources.table_rows import rows_of

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
    """Rows of some released classes."""

    columns: tuple[DonorColumn, ...]
    owners: Ints
    """The place of each row's class among the released classes."""

    def __len__(self) -> int:
        return len(self.owners)

    @classmethod
    def fetch(cls, table: Table, released: Classes, wanted: Flags, *, drop: Sequence[str]) -> Donors:
        """The rows of the wanted classes, and of no others, from the engine that holds them."""
        cells_by_name, owners = rows_of_classes(table, released, wanted, drop=drop)
        others = {name: cells for name, cells in cells_by_name.items() if name not in released.names}
        # An order of the rows that depends on what they hold, not on the order in which the engine gave them.
        keys = [owners]
        for cells in others.values():
            spelt = list(map(repr, cells))
            ranks = {text: rank for rank, text in enumerate(sorted(set(spelt)))}
            keys.append(np.array([ranks[text] for text in spelt], dtype=np.int64))
        order = np.lexsort(keys[::-1])
        columns = tuple(DonorColumn.of(name, [cells[row] for row in order.tolist()]) for name, cells in others.items())
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


def neighbours(
    space: Space, classes: Classes, sizes: Ints, generator: np.random.Generator, *, per_row: int = ROWS_PER_ROW
) -> list[Ints]:
    """The nearest released classes with enough donor rows for each class, the nearest first, ties drawn."""
    held, luck = space.classes.sizes, generator.random(len(space.classes))
    shelves, nearest = space.shelves(classes), []
    for place, size in enumerate(sizes.tolist()):
        enough = max(per_row * size, FEWEST)
        places, far = shelves.near(place, held, enough)
        order = places[np.lexsort([luck[(places - place) % len(luck)], far.round(DIGITS)])]
        nearest.append(order[: int(np.searchsorted(np.cumsum(held[order]), enough)) + 1])
    return nearest


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
    """For each combination of their values, a donor row that shows the value of the column."""

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


# Which columns belong together: a row is spliced along these seams, so that no cell contradicts its neighbour.
STRONG = 0.5
"""The association from which on two columns are not torn apart."""


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


def associations(columns: Sequence[DonorColumn]) -> Floats:
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


# Near-unique numbers and dates move to another value between their neighbours, on the same grid: hundreds stay hundreds.
ALONE = 0.5
"""The share of values held by one row only from which on a column counts as telling."""
FEW = 30
"""Different values up to which a column is left alone: ratings, months, rooms."""
REACH = 4
"""Neighbouring values on each side between which a new one is drawn."""
ATTEMPTS = 8
MOST_DECIMALS = 9
_EPOCH = datetime(1970, 1, 1)


def alone(column: DonorColumn) -> float:
    """The share of the cells whose value no other row holds."""
    held = [cell for cell in column.cells if cell is not None]
    if not held:
        return 0.0
    counts = np.bincount(column.codes)
    return float((counts[column.codes] == 1).sum() / len(held))


def telling(column: DonorColumn) -> bool:
    """Whether most values are held by one row only."""
    return len(column.cells) > 1 and alone(column) >= ALONE


@dataclass(frozen=True)
class Grid:
    """Values of one type as whole numbers of steps, and back."""

    kind: type[Any]
    places: int = 0
    """Decimals of numbers."""
    start: int = 0
    unit: int = 1

    def number(self, cell: Any) -> int:
        """A value as a whole number: days of a date, microseconds of a moment, the last decimals of a number."""
        if self.kind is date:
            return int(cell.toordinal())
        if self.kind is datetime:
            return int((cell - _EPOCH) // timedelta(microseconds=1))
        spelt = repr(cell) if self.kind is float else cell
        return int(cell) if self.kind is int else int(Decimal(spelt).scaleb(self.places).to_integral_value())

    def steps(self, cell: Any) -> int:
        """A value as steps on the grid."""
        return (self.number(cell) - self.start) // self.unit

    def value(self, step: int) -> Any:
        """The value so many steps up."""
        number = self.start + self.unit * step
        if self.kind is date:
            return date.fromordinal(number)
        if self.kind is datetime:
            return _EPOCH + timedelta(microseconds=number)
        return number if self.kind is int else self.kind(f"{Decimal(number).scaleb(-self.places):.{self.places}f}")


def grid_of(cells: Sequence[Any]) -> Grid | None:
    """The grid of all values; None where they are neither numbers nor dates, or are codes with leading zeros."""
    held = [cell for cell in cells if cell is not None]
    kinds = {type(cell) for cell in held}
    if len(kinds) != 1 or not kinds < {int, float, Decimal, str, date, datetime}:
        return None
    kind, places = kinds.pop(), 0
    if kind is datetime and any(cell.tzinfo is not None for cell in held):
        return None
    if kind in (float, Decimal, str):
        try:
            numbers = [Decimal(repr(cell) if kind is float else cell) for cell in held]
        except ArithmeticError:
            return None
        if not all(number.is_finite() for number in numbers):
            return None
        decimals = [max(0, -int(number.as_tuple().exponent)) for number in numbers]
        # Cells of a CSV are text; they are numbers if all of them are spelt as one way of writing numbers spells them.
        spelling = Grid(kind, decimals[0])
        if kind is str and any(spelling.value(spelling.number(cell)) != cell for cell in held):
            return None
        places = min(MOST_DECIMALS, max(decimals))
    grid = Grid(kind, places)
    if kind is date:
        return grid
    whole = [grid.number(cell) for cell in held]
    start = min(whole)
    return replace(grid, start=start, unit=reduce(math.gcd, (number - start for number in whole)) or 1)


def nudged(column: DonorColumn, rows: Ints, fresh: Flags, generator: np.random.Generator) -> list[Any]:
    """The cells of some rows, those marked fresh moved a little to a value that nobody holds."""
    cells = [column.cells[row] for row in rows.tolist()]
    grid = grid_of(column.cells) if fresh.any() else None
    if grid is None:
        return cells
    known = sorted({grid.steps(cell) for cell in column.cells if cell is not None})
    taken, places = set(known), {step: place for place, step in enumerate(known)}
    for row in np.flatnonzero(fresh).tolist():
        if cells[row] is None:
            continue
        place = places[grid.steps(cells[row])]
        low, high = known[max(place - REACH, 0)], known[min(place + REACH, len(known) - 1)]
        # A step between two others that nobody holds, if one is found soon.
        for _ in range(ATTEMPTS):
            step = low + int(generator.random() * (high - low + 1))
            if step not in taken:
                break
        taken.add(step)
        cells[row] = grid.value(step)
    return cells


def movable(column: DonorColumn) -> bool:
    """Whether values can be moved: numbers and dates, of which there are many."""
    return column.numbers is not None and column.distinct > FEW and grid_of(column.cells) is not None


def repeated(columns: Sequence[DonorColumn]) -> list[str]:
    """Columns whose values lead to one row each and cannot be made up, such as free text."""
    return [column.name for column in columns if telling(column) and grid_of(column.cells) is None]
