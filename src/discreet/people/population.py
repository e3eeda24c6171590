"""Synthetic population: random draws, columns and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from math import ceil
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


PEOPLE_PER_ZIP = 6_542  # 3.5 million people in 535 ZIPs
FEWEST_ZIPS = 5
MOST_ZIPS = 33_000  # about as many as a large country has; more would not fit into five digits
MOST_PEOPLE = 9_000_000_000  # as many as there are person identifiers of ten digits

# Both figures were found by bisection on the expected number of classes that are not empty, the sum of
# 1 - exp(-people * p) over all classes of probability p: first EVENNESS, so that 3.5 million people fall into
# 73,600 classes of ZIP, sex and year of birth; then RACE_MIXING, so that 13 million people with the same
# EVENNESS fall into 778,000 classes of ZIP, sex, year of birth and race. Any change of the age curve, the
# race shares or the spread of ages between ZIPs asks for a new search: `pytest -m slow tests/people` checks.
EVENNESS = 0.646
RACE_MIXING = 4.15

RACES = (
    ("White", 0.58),
    ("Black", 0.15),
    ("Hispanic", 0.17),
    ("Asian", 0.05),
    ("Native", 0.01),
    ("Other", 0.04),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A synthetic state: a register of adults, as an attacker could buy it.

    >>> State.of(100_000).zips
    15
    """

    people: int
    zips: int
    evenness: float = EVENNESS  # shape of the Weibull law of ZIP sizes: 1 is exponential, smaller is more skewed
    first_year: int = 1920
    last_year: int = 2006
    as_of: int = 2024  # the year at whose end ages are counted
    races: tuple[tuple[str, float], ...] = RACES
    race_mixing: float = RACE_MIXING  # Dirichlet concentration: large means every ZIP mirrors the state
    first_zip: int = 43_000

    def __post_init__(self) -> None:
        _within("people", self.people, 1, MOST_PEOPLE)
        _within("zips", self.zips, 1, MOST_ZIPS)
        _within("first_zip", self.first_zip, 10_000, 43_000)
        _within("first_year", self.first_year, self.as_of - 120, self.last_year)
        _within("last_year", self.last_year, self.first_year, self.as_of)
        _positive("evenness", self.evenness)
        _positive("race_mixing", self.race_mixing)
        _positive("races (the smallest share)", min((share for _, share in self.races), default=0.0))

    @classmethod
    def of(cls, people: int) -> State:
        """A state of any size: ZIPs grow with the people, the spread of their sizes stays alike."""
        return cls(people=people, zips=min(MOST_ZIPS, max(FEWEST_ZIPS, round(people / PEOPLE_PER_ZIP))))

    @classmethod
    def three(cls, people: int = 3_500_000) -> State:
        """Like State 3 of the AnonTokens paper: 73,600 classes of ZIP, sex and year of birth.

        Another number of people gives a smaller or larger state of the same density.

        >>> State.three().zips
        535
        """
        return cls.of(people)

    @classmethod
    def one(cls, people: int = 13_000_000) -> State:
        """Like State 1 of the AnonTokens paper: 778,000 classes of ZIP, sex, year of birth and race.

        >>> State.one().zips
        1987
        """
        return cls.of(people)

    @property
    def years(self) -> range:
        """The years of birth that occur."""
        return range(self.first_year, self.last_year + 1)


def _within(field: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(
            f"A state's {field} must be between {least:,} and {most:,}; this one is {value:,}.",
            remedy="State.of(people) chooses fitting figures.",
        )


def _positive(field: str, value: float) -> None:
    if not value > 0:
        raise UsageError(f"A state's {field} is above zero; this one is {value}.", remedy="Leave it out.")


# The ZIPs of a state: how large each is, who lives there, how old and how well off they are.
SMALLEST = 0.005  # of an average ZIP, so that hardly any ZIP is without people
TAKEN = 600  # ZIPs in use of each thousand numbers
TILT = 0.35  # how much ZIPs differ in age: some are full of students, some of pensioners
WEALTH = 0.35  # how much ZIPs differ in income, on the scale of logarithms


@dataclass(frozen=True, slots=True, eq=False)
class StatePlaces:
    """All ZIPs of a state, each column in the order of `labels`."""

    labels: Array
    sizes: Array  # shares of the state's people
    tilts: Array  # above zero: older than the state
    wealth: Array  # factor on income
    races: Array  # one row of race shares per ZIP


def settle(state: State, *, seed: int) -> StatePlaces:
    """Found the ZIPs of a state.

    >>> len(settle(State.three(), seed=1).labels)
    535
    """
    shares = np.array([share for _, share in state.races])
    race_shares = stream(seed, "zip races").dirichlet(state.race_mixing * shares / shares.sum(), state.zips)
    numbers = 1_000 * ceil(state.zips / TAKEN)
    taken = stream(seed, "zip labels").choice(numbers, state.zips, replace=False)
    labels = np.array([f"{state.first_zip + number:05d}" for number in sorted(taken.tolist())])
    return StatePlaces(
        labels=labels,
        sizes=stream(seed, "zip sizes").permutation(sizes(state)),
        tilts=stream(seed, "zip tilts").normal(0, TILT, state.zips),
        wealth=np.exp(stream(seed, "zip wealth").normal(0, WEALTH, state.zips)),
        races=race_shares,
    )


def sizes(state: State) -> Array:
    """Shares of the ZIPs, smallest first: evenly spaced quantiles of a Weibull law.

    Quantiles and not draws, so that the number of classes does not hang on the seed.

    >>> sizes(State(people=100, zips=3)).round(2).tolist()
    [0.02, 0.18, 0.79]
    """
    ranks = (np.arange(state.zips) + 0.5) / state.zips
    raw = (-np.log1p(-ranks)) ** (1 / state.evenness)
    floored = np.maximum(raw, SMALLEST * raw.mean())
    return np.asarray(floored / floored.sum())


def year_weights(state: State, tilts: Array) -> Array:
    """How likely each year of birth is: one row per ZIP, one column per year."""
    years = np.arange(state.first_year, state.last_year + 1)
    ages = state.as_of - years
    alive = _alive(ages, female=True) + _alive(ages, female=False)
    baby_boom = 0.25 * np.exp(-(((years - 1957) / 9) ** 2))
    their_children = 0.20 * np.exp(-(((years - 1990) / 8) ** 2))
    born = np.asarray(1 + baby_boom + their_children)
    return np.asarray(born * alive * np.exp(tilts[:, None] * (ages - 50) / 20))


def female_share(state: State) -> Array:
    """The share of women among those born in each year: women live longer."""
    ages = state.as_of - np.arange(state.first_year, state.last_year + 1)
    women, men = _alive(ages, female=True), _alive(ages, female=False)
    return np.asarray(women / (women + men))


def _alive(ages: Array, *, female: bool) -> Array:
    """Gompertz: mortality grows by a tenth with every year of age."""
    hazard = 2.4e-5 if female else 4.0e-5
    return np.asarray(np.exp(-hazard / 0.1 * np.expm1(0.1 * ages)))
