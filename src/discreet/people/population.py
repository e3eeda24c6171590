"""Synthetic population: random draws, columns and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zlib import crc32

import duckdb
import numpy as np
from duckdb import ColumnExpression, ConstantExpression, FunctionExpression
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel import Classes, Histogram, Rule
from discreet.kernel import Coded as KernelCoded
from discreet.kernel.hierarchy import text

# Seeded draws of codes, and the columns they become.
Array = NDArray[Any]

SLICE = 1 << 17  # people drawn at once: the scratch arrays stay within a processor's cache
LUCK = 1 << 32


def stream(seed: int, name: str) -> np.random.Generator:
    """A random stream that depends on the seed and its own name only.

    >>> bool(stream(1, "zip").random() == stream(1, "zip").random())
    True
    >>> bool(stream(1, "zip").random() == stream(1, "sex").random())
    False
    """
    if seed < 0:
        raise UsageError(f"A seed is a whole number from 0 up; this one is {seed}.", remedy="Use seed=1.")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(name.encode()),)))


@dataclass(frozen=True, slots=True, eq=False)
class Odds:
    """For each group, how likely each code is, as one rising staircase: a draw is one look-up."""

    steps: Array
    width: int

    @classmethod
    def of(cls, weights: Array) -> Odds:
        """Odds from weights: one row per group, one column per code; rows need not add up to one.

        >>> Odds.of(np.array([[1.0, 3.0]])).steps
        array([0.25, 1.  ])
        """
        rows = np.atleast_2d(weights)
        rising = np.cumsum(rows, axis=1)
        # Group g owns the stretch from g to g + 1 of the staircase.
        steps = rising / rising[:, -1:] + np.arange(len(rows))[:, None]
        return cls(steps.ravel(), rows.shape[1])

    def draw(self, rng: np.random.Generator, groups: Array) -> Array:
        """One code per person, from the row of the person's group.

        >>> Odds.of(np.array([[1, 0], [0, 1]])).draw(stream(1, "x"), np.array([0, 1, 1]))
        array([0, 1, 1], dtype=uint8)
        """
        codes = np.empty(len(groups), dtype=np.min_scalar_type(self.width - 1))
        for start in range(0, len(groups), SLICE):
            part = groups[start : start + SLICE].astype(np.int64)
            # Exact, as 32 bits of luck beside at most 21 bits of group fit a double: nobody slips into the next
            # group's stretch, and no code of weight zero is ever drawn.
            heights = part + rng.integers(LUCK, size=len(part), dtype=np.uint32) / LUCK
            codes[start : start + SLICE] = np.searchsorted(self.steps, heights, side="right") - part * self.width
        return codes

    def draw_alone(self, rng: np.random.Generator, people: int) -> Array:
        """One code per person, all from the first row."""
        return self.draw(rng, np.broadcast_to(np.uint8(0), people))


# A column of people: plain numbers and dates, or small codes with their words.
@dataclass(frozen=True, slots=True, eq=False)
class CodedWords:
    """Words as one small code per person: millions of people share a few labels.

    >>> decoded(CodedWords(np.array([1, 0, 1]), np.array(["F", "M"]))).tolist()
    ['M', 'F', 'M']
    """

    codes: Array
    labels: Array

    def __len__(self) -> int:
        return len(self.codes)


Column = CodedWords | Array


def decoded(column: Column) -> Array:
    """The values of a column, one per person."""
    return np.asarray(column.labels[column.codes]) if isinstance(column, CodedWords) else column


def trimmed(column: Column) -> Column:
    """The same values, without the labels that a few people of many leave unused.

    >>> trimmed(CodedWords(np.array([2, 2]), np.array(["A", "B", "C"]))).labels.tolist()
    ['C']
    """
    if not isinstance(column, CodedWords) or len(column) > len(column.labels):
        return column
    used, codes = np.unique(column.codes, return_inverse=True)
    return CodedWords(codes, column.labels[used])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class People:
    """A table of synthetic people, one row each.

    >>> import numpy as np
    >>> People({"visits": np.array([3, 1, 2])})
    People(3 rows: visits)
    """

    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) != 1:
            raise UsageError(
                "People need at least one column, and all columns the same number of rows.",
                remedy="Build them with generate(state, seed=1).",
            )
        for column in self.columns.values():
            for array in (column.codes, column.labels) if isinstance(column, CodedWords) else (column,):
                array.setflags(write=False)
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"People({len(self):,} rows: {', '.join(self.columns)})"

    def column(self, name: str) -> Array:
        """The values of one column, one per person."""
        self._require(name)
        return decoded(self.columns[name])

    def select(self, *names: str) -> People:
        """The same people with these columns only, in this order."""
        for name in names:
            self._require(name)
        return People({name: self.columns[name] for name in names})

    def sample(self, size: int | float, *, seed: int) -> People:
        """Some of the people, each at most once and in their old order.

        A whole number is a number of people, a float is a share: 1 is one person, 1.0 is everybody.

        >>> import numpy as np
        >>> len(People({"visits": np.arange(200)}).sample(0.01, seed=1))
        2
        """
        most = 1.0 if isinstance(size, float) else len(self)
        wanted = round(size * len(self) / most) if 0 < size <= most else 0
        if not wanted:
            raise UsageError(
                f"A sample of {size} cannot be drawn from {len(self):,} people.",
                remedy=f"Give a whole number from 1 to {len(self):,}, or a share above 0 and up to 1.0.",
            )
        rows = np.sort(stream(seed, "sample").choice(len(self), wanted, replace=False, shuffle=False))
        return People(
            {
                name: CodedWords(column.codes[rows], column.labels) if isinstance(column, CodedWords) else column[rows]
                for name, column in self.columns.items()
            }
        )

    def write(self, path: str | Path) -> Path:
        """Write all rows in their order to a file; its ending (.parquet, .csv or .csv.gz) says the format."""
        return write_columns(self.columns, Path(path))

    def _require(self, name: str) -> None:
        if name not in self.columns:
            raise UsageError(f"These people have no column '{name}'.", remedy=f"They have: {', '.join(self.columns)}.")


# Columns of people into Parquet or CSV, through DuckDB and without a Python object per cell.
FORMATS = (".parquet", ".csv", ".csv.gz")


def write_columns(columns: Mapping[str, Column], path: Path) -> Path:
    """Write the columns to the path, rows in their order; return the path."""
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder '{path.parent}'.", remedy="Make it first.")
    ending = next((ending for ending in FORMATS if path.name.endswith(ending)), None)
    if ending is None:
        raise UsageError(f"No format is known for '{path.name}'.", remedy=f"End the name in {' or '.join(FORMATS)}.")
    arrays, expressions = {}, []
    for name, column in ((name, trimmed(column)) for name, column in columns.items()):
        cells = ColumnExpression(name)
        if isinstance(column, CodedWords):
            # A look-up in a constant list leaves the rows in order, which a join would not; lists count from one,
            # and a code of eight bits has no room for one more.
            arrays[name] = column.codes
            places = cells.cast("BIGINT") + ConstantExpression(1)
            cells = FunctionExpression("list_extract", ConstantExpression(column.labels.tolist()), places)
        elif column.dtype.kind == "M":  # DuckDB scans numbers, but no arrays of days
            arrays[name] = column.astype(np.int32)
            cells = ConstantExpression(date(1970, 1, 1)) + cells
        else:
            arrays[name] = column
        expressions.append(cells.alias(name))
    with duckdb.connect() as connection:
        connection.register("people", arrays)
        rows = connection.view("people").select(*expressions)
        if ending == ".parquet":
            rows.write_parquet(str(path), compression="zstd")
        else:
            rows.write_csv(str(path), header=True, compression="gzip" if ending == ".csv.gz" else "none")
    return path


# Counting generated people where they are: in memory, by their codes.
def counted(people: People, *names: str, rules: Mapping[str, Rule] | None = None) -> Classes:
    """Who looks alike on these columns, or on all; `rules` say how their values generalise.

    >>> from discreet.people import State, generate
    >>> counted(generate(State.of(1_000), seed=1, columns=("sex",)))
    Classes(1000 people in 2 classes by sex)
    """
    columns = {}
    for name, column in (people.select(*names) if names else people).columns.items():
        if isinstance(column, CodedWords):
            values, codes = column.labels, column.codes.astype(np.int64)
        else:
            values, codes = np.unique(column, return_inverse=True)
        columns[name] = KernelCoded(tuple(text(value) for value in values.tolist()), codes.reshape(-1))
    return Classes.from_histogram(Histogram(columns, np.ones(len(people), dtype=np.int64)), rules=rules)
