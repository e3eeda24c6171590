"""Hierarchy bound to a column's values, and the histogram an engine hands over."""

from __future__ import annotations

import datetime
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ColumnError, CountError
from discreet.kernel.arrays import Array, Floats, Ints, Label


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Generalisation of the values of a column: integer maps between levels.

    >>> sexes = Hierarchy.of([["F", "Person"], ["M", "Person"]])
    >>> sexes.height, sexes.labels[1], sexes.map(0, 1).tolist()
    (2, ('Person',), [0, 0])
    """

    labels: tuple[tuple[Label, ...], ...]
    """Per level, the value of each code."""
    parents: tuple[Ints, ...]
    """Per level but the last, the code one level up of each code."""
    leaves: tuple[Ints, ...]
    """Per level, how many leaves of the whole hierarchy lie under each code."""
    size: int
    """Number of leaves of the whole hierarchy, also those that do not occur in the data."""
    decimal: str = "."
    """What separates the decimals of values that are numbers."""

    @classmethod
    def of(
        cls,
        paths: Sequence[Sequence[Label]],
        *,
        every: Sequence[Sequence[Label]] | None = None,
        height: int = 1,
        decimal: str = ".",
    ) -> Hierarchy:
        """Build from a path (value, level 1, ...) per value; `every` holds all leaves.

        `height` is the number of levels where there is no path to tell it.
        """
        every = paths if every is None else every
        columns = list(zip(*paths, strict=True)) or [()] * height
        whole = list(zip(*every, strict=True)) or [()] * height
        # Labels of a level are numbered in the order in which they first appear.
        numbers: list[dict[Label, int]] = [{} for _ in columns]
        codes: list[Ints] = []
        leaves: list[Ints] = []
        for number, column, leaf_labels in zip(numbers, columns, whole, strict=True):
            codes.append(np.array([number.setdefault(label, len(number)) for label in column], dtype=np.int64))
            under = np.array([number[label] for label in leaf_labels if label in number], dtype=np.int64)
            leaves.append(np.bincount(under, minlength=len(number)).astype(np.int64))
        parents = [np.empty(len(number), dtype=np.int64) for number in numbers[:-1]]
        for parent, (lower, upper) in zip(parents, pairwise(codes), strict=True):
            parent[lower] = upper
        labels = tuple(map(tuple, numbers))
        return cls(labels, tuple(map(read_only, parents)), tuple(map(read_only, leaves)), len(every), decimal)

    @property
    def height(self) -> int:
        """Number of levels, the values themselves included."""
        return len(self.labels)

    @property
    def rooted(self) -> bool:
        """Whether the whole hierarchy ends in one value for all."""
        return self.height > 1 and len(self.labels[-1]) == 1 and int(self.leaves[-1][0]) == self.size

    def between(self, first: int, last: int) -> Hierarchy:
        """Only these levels; what lies under each value, and how many leaves there are, stays as it is."""
        levels = slice(first, last + 1)
        return Hierarchy(self.labels[levels], self.parents[first:last], self.leaves[levels], self.size, self.decimal)

    def map(self, start: int, stop: int) -> Ints:
        """The code at level `stop` of every code at level `start`."""
        codes = np.arange(len(self.labels[start]), dtype=np.int64)
        for level in range(start, stop):
            codes = self.parents[level][codes]
        return codes

    @cached_property
    def index(self) -> tuple[dict[Label, int], ...]:
        """Per level, the code of each value."""
        return tuple({label: code for code, label in enumerate(labels)} for labels in self.labels)

    def numbers(self, level: int) -> Floats | None:
        """The values of a level as numbers, if all of them are."""
        return as_numbers(self.labels[level], self.decimal)

    @cached_property
    def ranks(self) -> Ints | None:
        """Place of each value in the order of numbers or dates; None where not all values are such."""
        numbers = self.numbers(0)
        values = as_moments(self.labels[0]) if numbers is None else numbers
        return None if values is None else np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)

    @cached_property
    def meanings(self) -> Ints | None:
        """Per value a number, the same for spellings of one value, and -1 for a missing one; None if all differ.

        >>> Hierarchy.of([["HIV"], ["hiv "], ["5"], ["5.0"], [None]]).meanings.tolist()
        [0, 0, 1, 1, -1]
        """
        labels = self.labels[0]
        keys = [None if label is None else meaning(label) for label in labels]
        number: dict[str, int] = {}
        codes = [number.setdefault(key, len(number)) if key else -1 for key in keys]
        return None if len(number) == len(labels) else np.array(codes, dtype=np.int64)

    def __repr__(self) -> str:
        return f"Hierarchy({' -> '.join(str(len(labels)) for labels in self.labels)} values, {self.size} leaves)"


def as_numbers(labels: Sequence[Label], decimal: str = ".") -> Floats | None:
    """The labels as numbers, if all of them are.

    >>> as_numbers(["1", "2.5"]), as_numbers(["1", "x"]), as_numbers(["1", None])
    (array([1. , 2.5]), None, None)
    >>> as_numbers(["1", "2,5"], ","), as_numbers(["1.250,5"], ",")
    (array([1. , 2.5]), None)
    """
    if decimal != ".":
        if any("." in label for label in labels if label is not None):
            return None
        labels = [label if label is None else label.replace(decimal, ".") for label in labels]
    try:
        numbers = np.array([float(label) for label in labels if label is not None])
    except ValueError:
        return None
    return numbers if len(numbers) == len(labels) and np.isfinite(numbers).all() else None


def as_moments(labels: Sequence[Label]) -> NDArray[np.object_] | None:
    """The labels as dates and times, if all of them are, written as 2024-01-31, 31.01.2024 or 2024/01/31.

    >>> as_moments(["31.01.2024", "01.02.2024"])[0]
    datetime.datetime(2024, 1, 31, 0, 0)
    >>> as_moments(["01/02/2024"]) is None
    True
    """
    texts = [label for label in labels if label is not None]
    day, year = (lambda text: datetime.datetime.strptime(text, "%d.%m.%Y")), "%Y/%m/%d"
    for read in (datetime.datetime.fromisoformat, day, lambda text: datetime.datetime.strptime(text, year)):
        with suppress(ValueError):
            moments = np.array([read(text) for text in texts], dtype=object)
            zones = {moment.tzinfo is None for moment in moments.tolist()}
            # Days with and without a zone cannot be compared.
            return moments if len(moments) == len(labels) and len(zones) == 1 else None
    return None


def meaning(label: str) -> str:
    """A value without what only its spelling adds: case, blanks, width of characters, zeros of a number.

    >>> meaning(" HIV\u00a0"), meaning("1,50"), meaning("05"), meaning(" ")
    ('hiv', '1.5', '5', '')
    """
    folded = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
    if folded[:1].isdigit() or (folded and folded[0] in "+-.,"):
        with suppress(InvalidOperation):
            return str(text(Decimal(folded.replace(",", "."))))
    return folded


def read_only(array: Array) -> Array:
    """The same numbers, safe to share."""
    shared = array.view()
    shared.flags.writeable = False
    return shared


# What an engine hands over after counting: coded columns and counts, nothing more.
@dataclass(frozen=True, eq=False)
class Coded:
    """One column as codes into its distinct values."""

    values: tuple[Label, ...]
    codes: Ints

    @classmethod
    def of(cls, cells: Sequence[Any]) -> Coded:
        """Code a sequence of engine values.

        >>> Coded.of([39, None, 39.0]).values
        ('39', None)
        """
        index: dict[Label, int] = {}
        codes = [index.setdefault(text(cell), len(index)) for cell in cells]
        return cls(tuple(index), np.array(codes, dtype=np.int64))

    def __repr__(self) -> str:
        return f"Coded({len(self.codes)} cells, {len(self.values)} values)"

    def ordered(self) -> Coded:
        """Column with its occurring values in order, missing ones last."""
        met = np.flatnonzero(np.bincount(self.codes, minlength=len(self.values))).tolist()
        order = sorted(met, key=lambda code: (self.values[code] is None, self.values[code] or ""))
        rank = np.zeros(len(self.values), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return Coded(tuple(self.values[code] for code in order), rank[self.codes])

    @classmethod
    def merged(cls, raw: Sequence[Any], codes: Ints) -> Coded:
        """Code from engine values whose texts may coincide (39 and 39.0)."""
        dictionary = cls.of(raw)
        return cls(dictionary.values, dictionary.codes[codes])


@dataclass(frozen=True, eq=False)
class Histogram:
    """Distinct tuples with the number of people in each."""

    columns: dict[str, Coded]
    counts: Ints
    weights: Floats | None = None
    """Per tuple the sum of survey weights, where an engine was asked for it."""

    @classmethod
    def from_rows(cls, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Histogram:
        """From rows (value, ..., value, count) as a database cursor gives them.

        >>> Histogram.from_rows(["sex"], [("F", 2), ("M", 1)]).counts.tolist()
        [2, 1]
        """
        if len(set(names)) < len(names):
            raise ColumnError("Two columns have the same name.", remedy="Give every column a name of its own.")
        columns = list(zip(*rows, strict=True)) or [()] * (len(names) + 1)
        counts = np.array([whole(count) for count in columns[-1]], dtype=np.int64)
        return cls({name: Coded.of(cells) for name, cells in zip(names, columns[:-1], strict=True)}, counts)

    def occupied(self) -> Histogram:
        """Only the tuples of at least one person; a negative count is refused."""
        if len(self.counts) and self.counts.min() < 0:
            raise CountError("Some counts are negative.", remedy="A count says how many people a row stands for.")
        if self.counts.sum(dtype=np.float64) >= 2**63:
            raise CountError("There are more people than can be counted.", remedy="Check the column of counts.")
        if len(self.counts) == 0 or self.counts.min() > 0:
            return self
        met = self.counts > 0
        columns = {name: Coded(coded.values, coded.codes[met]) for name, coded in self.columns.items()}
        return Histogram(columns, self.counts[met], None if self.weights is None else self.weights[met])

    def __repr__(self) -> str:
        return f"Histogram({len(self.counts)} tuples by {', '.join(self.columns)})"


@dataclass(frozen=True, eq=False)
class Bins:
    """Numbers in ranges of one width with round edges."""

    width: float
    starts: Floats
    """Per range, its lower edge as a multiple of the width."""
    people: Ints

    @staticmethod
    def width_of(lowest: float, highest: float, ranges: int = 10) -> float:
        """The next of 1, 2, 5, 10, 20, 50, ... that covers a span in about so many ranges.

        >>> Bins.width_of(0, 93), Bins.width_of(7, 7)
        (10.0, 0.0)
        """
        width = (highest - lowest) / ranges
        if not width:
            return 0.0
        power = 10.0 ** math.floor(math.log10(width))
        return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= width)


@dataclass(frozen=True, eq=False)
class Tally:
    """One column alone: how many people have which value.

    Of very many values only the commonest are held by name, and some for a look at how values are written.
    """

    people: int
    missing: int
    distinct: int
    """Values, without the missing one."""
    unique: int
    """People who have a value of their own; a missing one counts as a value."""
    counts: Mapping[str, int]
    """People per value: of all values, or of the commonest."""
    sample: Sequence[str] = ()
    """Some values, where not all are in `counts`."""
    bins: Bins | None = field(default=None)
    """All values in ranges, where they are numbers and not all in `counts`."""

    @classmethod
    def of(cls, histogram: Histogram) -> Tally:
        """From a column that was counted whole.

        >>> Tally.of(Histogram.from_rows(["sex"], [("F", 2), ("M", 1), (None, 1)])).unique
        2
        """
        histogram = histogram.occupied()
        (coded,) = histogram.columns.values()
        people = np.bincount(coded.codes, weights=histogram.counts, minlength=len(coded.values)).astype(np.int64)
        counts = {value: count for value, count in zip(coded.values, people.tolist(), strict=True) if count}
        missing = counts.pop(None, 0)
        known = {value: count for value, count in counts.items() if value is not None}
        return cls(int(people.sum()), missing, len(known), int((people == 1).sum()), known)

    def without(self, codes: Iterable[str]) -> Tally:
        """The same where some values stand for a missing one."""
        gone = {code: self.counts[code] for code in codes if code in self.counts}
        if not gone:
            return self
        return replace(
            self,
            missing=self.missing + sum(gone.values()),
            distinct=self.distinct - len(gone),
            unique=self.unique - sum(people == 1 for people in gone.values()),
            counts={value: people for value, people in self.counts.items() if value not in gone},
            sample=[value for value in self.sample if value not in gone],
        )

    @property
    def complete(self) -> bool:
        """Whether all values are held by name."""
        return len(self.counts) == self.distinct

    @property
    def values(self) -> Sequence[str]:
        """The values to look at: all of them, or some."""
        return tuple(self.counts) if self.complete else self.sample


def whole(count: Any) -> int:
    """A number of people."""
    try:
        number = int(count)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != count:
        raise CountError("A count is no whole number.", remedy="A count says how many people a row stands for.")
    return number


def text(value: Any) -> Label:
    """Spelling of a value, the same from every engine; None if missing.

    >>> text(39), text(39.0), text(True), text(float("nan")), text(datetime.date(1964, 8, 9))
    ('39', '39', 'true', None, '1964-08-09')
    """
    if value is None or type(value) is str:
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating, Decimal)):
        # Digits without exponent and without needless zeros.
        number = Decimal(str(value))
        if number.is_nan():
            return None
        if number.is_infinite():
            return "inf" if number > 0 else "-inf"
        digits = format(number, "f")
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        return "0" if digits in ("-0", "") else digits
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else text(value.astype("datetime64[us]").item())
    if type(value).__name__ in ("NAType", "NaTType"):  # what pandas says for a missing value
        return None
    if isinstance(value, datetime.datetime):
        # A moment in UTC where its zone is known; midnight is a day.
        if value.tzinfo is not None:
            return value.astimezone(datetime.UTC).isoformat(sep=" ")
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(sep=" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return str(value)
