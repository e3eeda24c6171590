"""Class histogram: distinct tuples of quasi-identifiers, and how many people share each.

An equivalence class is a set of people who look alike on the chosen columns. Every risk measure is a function of
these counts, so rows are counted once, where they live, and everything else happens here. Where a person may have
several rows, classes remember whose rows they hold, so that they count people at every level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.errors import ColumnError, UsageError
from discreet.kernel.arrays import Flags, Ints, Label, group, pack, total
from discreet.kernel.hierarchy import Coded, Hierarchy, Histogram, read_only, text
from discreet.kernel.members import Members, Spread
from discreet.kernel.rules import Flat, Rule, bound_columns, outside_error
from discreet.kernel.serialise import card
from discreet.kernel.survey import Survey

Levels = Mapping[str, int] | Sequence[int]


@dataclass(frozen=True)
class Column:
    """A quasi-identifier at one level of its hierarchy."""

    name: str
    hierarchy: Hierarchy
    level: int = 0
    weight: float = 1.0
    """How much its detail is worth to the recipient."""
    at_least: int = 0
    """The lowest level at which it may be published."""
    at_most: int | None = None
    """The highest one; the last of the hierarchy if None."""

    @property
    def highest(self) -> int:
        """The highest level at which it may be published."""
        return self.hierarchy.height - 1 if self.at_most is None else self.at_most

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values at this level, by code."""
        return self.hierarchy.labels[self.level]

    def like(self, other: Column) -> int:
        """The level that other people's column is at.

        Levels count from the values up. One value for all is the last level here, too: of a hierarchy whose height
        depends on its values, other people may need more levels.
        """
        last = self.hierarchy.height - 1
        rooted = other.hierarchy.rooted and other.level == other.hierarchy.height - 1
        return last if rooted and other.labels == self.hierarchy.labels[-1] else other.level


@dataclass(frozen=True, eq=False)
class Classes:
    """People who look alike, counted.

    >>> from discreet.kernel import Mask
    >>> people = Classes.of(["sex", "zip"], [("F", "10115"), ("F", "10117"), ("M", "10115")], [2, 1, 4],
    ...                     rules={"zip": Mask(5)})
    >>> people, people.at({"zip": 1})
    (Classes(7 people in 3 classes by sex, zip), Classes(7 people in 2 classes by sex, zip:1))
    """

    columns: tuple[Column, ...]
    codes: tuple[Ints, ...]
    sizes: Ints
    """People per class."""
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """Sensitive columns that were counted along."""
    survey: Survey | None = None
    """Survey weights and households, where they were counted along."""
    members: Members | None = None
    """Whose rows each class holds, where a person may have several; else each row is a person."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        tuples: Sequence[Sequence[Label]],
        counts: Sequence[int] | None = None,
        *,
        rules: Mapping[str, Rule] | None = None,
    ) -> Classes:
        """From tuples of values, each standing for one person unless counts say otherwise."""
        if any(len(values) != len(names) for values in tuples):
            raise UsageError(f"Each tuple needs one value for each of {', '.join(names)}.")
        numbers = [1] * len(tuples) if counts is None else counts
        rows = [(*values, number) for values, number in zip(tuples, numbers, strict=True)]
        return cls.from_histogram(Histogram.from_rows(names, rows), rules=rules)

    @classmethod
    def from_histogram(
        cls, histogram: Histogram, *, rules: Mapping[str, Rule] | None = None, people: Ints | None = None
    ) -> Classes:
        """From what an engine counted, each column bound to its rule.

        With `people`, which numbers the person of each tuple, the counts are rows.
        """
        rules, people, histogram = rules or {}, _met(people, histogram), histogram.occupied()
        ordered = {name: coded.ordered() for name, coded in histogram.columns.items()}
        hierarchies, outside = bound_columns(Histogram(ordered, histogram.counts), rules)
        if outside:
            raise outside_error(outside)
        columns = tuple(Column(name, hierarchy) for name, hierarchy in hierarchies.items())
        codes = tuple(coded.codes for coded in ordered.values())
        return cls(columns, codes, histogram.counts, members=_members(people, histogram)).regrouped()

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", tuple(map(read_only, self.codes)))
        object.__setattr__(self, "sizes", read_only(self.sizes))
        object.__setattr__(self, "spreads", MappingProxyType(dict(self.spreads)))

    def __reduce__(self) -> tuple[type[Classes], tuple[Any, ...]]:
        return Classes, (self.columns, self.codes, self.sizes, dict(self.spreads), self.survey, self.members)

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def records(self) -> int:
        """How many people there are."""
        return int(self.sizes.sum()) if self.members is None else self.members.number()

    @property
    def rows(self) -> Ints:
        """Rows per class; as many as people, unless a person may have several."""
        return self.sizes if self.members is None else self.members.rows_per_class(len(self))

    def people(self, marked: Flags) -> int:
        """How many people have a row in the marked classes."""
        return int(self.sizes[marked].sum()) if self.members is None else self.members.number(marked)

    def people_once(self, crowd: Ints | None = None) -> Ints:
        """People per class, each counted once: in their class with the smallest crowd.

        An attacker may know any row of a person, so the riskiest one decides. The crowd is the class itself unless
        given.
        """
        return self.sizes if self.members is None else self.members.once(self.sizes if crowd is None else crowd)

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return tuple(column.name for column in self.columns)

    @property
    def levels(self) -> dict[str, int]:
        """The level of each column."""
        return {column.name: column.level for column in self.columns}

    @property
    def heights(self) -> tuple[int, ...]:
        """The number of levels of each column."""
        return tuple(column.hierarchy.height for column in self.columns)

    def at(self, levels: Levels) -> Classes:
        """Classes at coarser levels; columns that are not named stay as they are.

        Starts from these classes, not from the rows: a coarse node comes cheaply from any finer one.
        """
        if isinstance(levels, Mapping):
            for name in levels:
                self._place(name)
            levels = tuple(levels.get(column.name, column.level) for column in self.columns)
        if len(levels) != len(self.columns):
            raise UsageError(f"Give one level for each of {', '.join(self.names)}.")
        for column, level in zip(self.columns, levels, strict=True):
            if not column.level <= level < column.hierarchy.height:
                raise UsageError(
                    f"Column '{column.name}' is at level {column.level} of 0 to {column.hierarchy.height - 1}; "
                    f"level {level} cannot be reached from there.",
                    remedy="Classes can only become coarser: start again from the finest ones.",
                )
        columns = tuple(replace(column, level=level) for column, level in zip(self.columns, levels, strict=True))
        codes = tuple(
            column.hierarchy.map(column.level, level)[codes]
            for column, codes, level in zip(self.columns, self.codes, levels, strict=True)
        )
        return replace(self, columns=columns, codes=codes).regrouped()

    def project(self, names: Sequence[str]) -> Classes:
        """The same people seen on fewer columns."""
        return self._seen_on(names).regrouped()

    def beside(self, others: Classes) -> Classes:
        """These people by the columns of others, at the same levels."""
        mine = self._seen_on(others.names)
        return mine.at([column.like(theirs) for column, theirs in zip(mine.columns, others.columns, strict=True)])

    def _seen_on(self, names: Sequence[str]) -> Classes:
        """Classes on fewer columns, not grouped again: equal tuples may occur twice."""
        places = [self._place(name) for name in names]
        return replace(self, columns=tuple(self.columns[i] for i in places), codes=tuple(self.codes[i] for i in places))

    def narrowed(self) -> Classes:
        """The same people with only the levels that may be published; the lowest of them is level 0."""
        if all(column.at_least == 0 and column.at_most is None for column in self.columns):
            return self
        lowest = self.at([column.at_least for column in self.columns])
        columns = tuple(
            Column(column.name, column.hierarchy.between(column.at_least, column.highest), weight=column.weight)
            for column in lowest.columns
        )
        return replace(lowest, columns=columns)

    def keep(self, kept: Flags) -> Classes:
        """Only the classes marked true."""
        spreads = {name: spread.only(kept) for name, spread in self.spreads.items()}
        survey = None if self.survey is None else self.survey.only(kept)
        members = None if self.members is None else self.members.only(kept)
        codes = tuple(codes[kept] for codes in self.codes)
        return Classes(self.columns, codes, self.sizes[kept], spreads, survey, members)

    def suppress(self, *, below: int) -> tuple[Classes, int]:
        """Classes of at least `below` people, and the number of people with rows in others.

        >>> Classes.of(["sex"], [("F",), ("M",)], [5, 1]).suppress(below=2)
        (Classes(5 people in 1 classes by sex), 1)
        """
        kept = self.sizes >= below
        return self.keep(kept), self.people(~kept)

    def lookup(self, tuples: Sequence[Sequence[Label]]) -> Ints:
        """People in the class of each tuple of values; 0 where there is none.

        >>> Classes.of(["sex"], [("F",), ("M",)], [5, 1]).lookup([("F",), ("X",)]).tolist()
        [5, 0]
        """
        if any(len(values) != len(self.columns) for values in tuples):
            raise UsageError(f"lookup takes one value for each of {', '.join(self.names)}.")
        cells = zip(*tuples, strict=True) if tuples else ((),) * len(self.columns)
        codes = [_codes(column, map(text, values)) for column, values in zip(self.columns, cells, strict=True)]
        return self._sizes_of(codes, len(tuples))

    def link(self, other: Classes) -> Ints:
        """Link counts of a sample in a population: people of `other` per class."""
        theirs = other.beside(self)
        codes = [
            _codes(their, mine.labels)[codes]
            for mine, their, codes in zip(self.columns, theirs.columns, self.codes, strict=True)
        ]
        return theirs._sizes_of(codes, len(self))

    def holds(self, finer: Classes) -> Flags:
        """Which classes of the same people at finer levels lie in a class here."""
        return np.asarray(self.homes(finer) >= 0)

    def homes(self, finer: Classes) -> Ints:
        """The class here of each class of the same people at finer levels, or -1."""
        steps = zip(finer.columns, self.columns, finer.codes, strict=True)
        codes = [theirs.hierarchy.map(theirs.level, mine.level)[column] for theirs, mine, column in steps]
        return self._find(codes, len(finer))

    def tuples(self) -> Iterator[tuple[Label, ...]]:
        """The values of each class."""
        rows = zip(*(codes.tolist() for codes in self.codes), strict=True) if self.codes else ((),) * len(self)
        for row in rows:
            yield tuple(column.labels[code] for column, code in zip(self.columns, row, strict=True))

    def with_spread(
        self, histogram: Histogram, name: str, *, rule: Rule | None = None, people: Ints | None = None
    ) -> Classes:
        """Classes with the spread of a sensitive column, from its joint histogram.

        `people` is as in `from_histogram`.
        """
        people, histogram = _met(people, histogram), histogram.occupied()
        sensitive = histogram.columns[name].ordered()
        hierarchies, outside = bound_columns(Histogram({name: sensitive}, histogram.counts), {name: rule or Flat()})
        if outside:
            raise outside_error(outside)
        owners = self.places(histogram.columns, len(histogram.counts))
        loose = Spread(name, hierarchies[name], owners, sensitive.codes, histogram.counts, _members(people, histogram))
        if (owners < 0).any() or not np.array_equal(total(owners, histogram.counts, len(self)), self.rows):
            raise UsageError(
                f"The counts by '{name}' are not of the people in these classes.",
                remedy="Count both from the same table, at the finest level.",
            )
        return replace(self, spreads={**self.spreads, name: loose.over(np.arange(len(self)))})

    def with_survey(self, histogram: Histogram, *, household: str | None, people: Ints | None = None) -> Classes:
        """Classes with their survey weights and households, from the histogram of both.

        `people` is as in `from_histogram`.
        """
        people, histogram = _met(people, histogram), histogram.occupied()
        owners = self.places(histogram.columns, len(histogram.counts))
        return replace(self, survey=Survey.of(histogram, owners, household=household, people=people))

    def places(self, columns: Mapping[str, Coded], rows: int) -> Ints:
        """The class of each row of some columns, or -1."""
        mine = [(column, columns[column.name]) for column in self.columns]
        return self._find([_codes(column, coded.values)[coded.codes] for column, coded in mine], rows)

    def __repr__(self) -> str:
        levels = [f"{column.name}:{column.level}" if column.level else column.name for column in self.columns]
        rows = "" if self.members is None else f" with {int(self.rows.sum())} rows"
        return f"Classes({self.records} people{rows} in {len(self)} classes by {', '.join(levels)})"

    def _repr_html_(self) -> str:
        rows = [("People", f"{self.records:,}"), ("Classes", f"{len(self):,}")]
        if len(self):
            alone = self.people(self.sizes == 1)
            rows += [("People alone in their class", f"{alone:,}"), ("Smallest class", f"{int(self.sizes.min()):,}")]
            rows += [("Largest class", f"{int(self.sizes.max()):,}")]
        return card(f"People who look alike on {', '.join(self.names) or 'nothing'}, counted.", rows)

    def regrouped(self) -> Classes:
        """Classes with equal tuples counted as one, in the order of their values."""
        keys, bound = pack(self.codes, [len(column.labels) for column in self.columns], len(self))
        first, member, groups = group(keys, bound)
        spreads = {name: spread.over(member) for name, spread in self.spreads.items()}
        survey = None if self.survey is None else self.survey.over(member)
        members = None if self.members is None else self.members.over(member)
        sizes = total(member, self.sizes, groups) if members is None else members.sizes(groups)
        return Classes(self.columns, tuple(codes[first] for codes in self.codes), sizes, spreads, survey, members)

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ColumnError(f"There is no column '{name}' among {', '.join(self.names)}.")
        return self.names.index(name)

    def _sizes_of(self, codes: Sequence[Ints], rows: int) -> Ints:
        positions = self._find(codes, rows)
        return np.where(positions >= 0, self.sizes[positions], 0) if len(self) else np.zeros(rows, dtype=np.int64)

    def _find(self, codes: Sequence[Ints], rows: int) -> Ints:
        """Class of each tuple of codes, or -1, also for codes below 0."""
        sizes = [len(column.labels) for column in self.columns]
        both = [np.concatenate([mine, np.maximum(asked, 0)]) for mine, asked in zip(self.codes, codes, strict=True)]
        keys, _ = pack(both, sizes, len(self) + rows)
        order = np.argsort(keys[: len(self)], kind="stable")
        mine, asked = keys[: len(self)][order], keys[len(self) :]
        places = np.minimum(np.searchsorted(mine, asked), max(len(mine) - 1, 0))
        found = mine[places] == asked if len(mine) else np.zeros(rows, dtype=bool)
        for column in codes:
            found &= column >= 0
        return np.where(found, order[places], -1) if len(mine) else np.full(rows, -1, dtype=np.int64)


def _met(people: Ints | None, histogram: Histogram) -> Ints | None:
    """The people of the tuples that stay when those of nobody are left out."""
    return None if people is None else people[histogram.counts > 0]


def _members(people: Ints | None, histogram: Histogram) -> Members | None:
    """Every tuple as a class of its own, with the rows of its person."""
    return None if people is None else Members(np.arange(len(people)), people, histogram.counts)


def _codes(column: Column, labels: Iterable[Label]) -> Ints:
    """The code of each value at the level of a column, or -1."""
    index = column.hierarchy.index[column.level]
    return np.array([index.get(label, -1) for label in labels], dtype=np.int64)


@runtime_checkable
class Countable(Protocol):
    """Anything that can be counted into classes: a table on any engine."""

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        """Count the people per tuple of the columns `by`, by default the declared quasi-identifiers."""


def count(table: Countable | Classes, by: Sequence[str] | None = None) -> Classes:
    """How many people look alike on the columns `by` (the policy's quasi-identifiers unless given)."""
    if isinstance(table, Classes):
        return table if by is None else table.project(by)
    if not callable(getattr(table, "classes", None)):
        raise UsageError(
            f"People are counted in a table or classes, not in a {type(table).__name__}.",
            remedy="Read it first: discreet.read(source, policy=policy).",
        )
    return table.classes(by)


# What each class of people is published as: the result of every way of anonymising, and all that an engine applies.
@dataclass(frozen=True, eq=False)
class Recoding:
    """Published value of each class on each column, and which classes are published.

    >>> people = Classes.of(["sex"], [("F",), ("M",)], [5, 1])
    >>> Recoding.of_levels(people, {"sex": 0}, kept=np.array([True, False]))
    Recoding(5 of 6 people in 1 classes by sex)
    """

    classes: Classes
    """The people as they are in the data."""
    labels: tuple[tuple[Label, ...], ...]
    """Per column, the published values."""
    codes: tuple[Ints, ...]
    """Per column, the published value of each class, as a place in `labels`."""
    kept: Flags
    """Which classes are published."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", tuple(map(read_only, self.codes)))

    @classmethod
    def of_levels(cls, classes: Classes, levels: Levels, *, kept: Flags) -> Recoding:
        """Every value generalised to one level per column; `kept` marks classes of `classes`."""
        wanted = classes.at(levels).levels
        columns = [(column, wanted[column.name]) for column in classes.columns]
        maps = [column.hierarchy.map(column.level, level) for column, level in columns]
        codes = tuple(upper[codes] for upper, codes in zip(maps, classes.codes, strict=True))
        return cls(classes, tuple(column.hierarchy.labels[level] for column, level in columns), codes, kept)

    def widened(self, classes: Classes) -> Recoding:
        """The same for all levels of classes that were `narrowed` before they were recoded."""
        place = classes.at([column.at_least for column in classes.columns]).homes(classes)
        return Recoding(classes, self.labels, tuple(codes[place] for codes in self.codes), self.kept[place])

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are recoded."""
        return self.classes.names

    @property
    def suppressed(self) -> int:
        """People who are left out, or lose at least one of their rows."""
        return self.classes.people(~self.kept)

    @property
    def suppressed_rows(self) -> int:
        """Rows that are left out."""
        return int(self.classes.rows[~self.kept].sum())

    @cached_property
    def published(self) -> Classes:
        """Classes of the published table, with the spreads of sensitive columns."""
        columns = tuple(
            Column(name, Hierarchy.of([(label,) for label in labels]))
            for name, labels in zip(self.names, self.labels, strict=True)
        )
        return replace(self.classes, columns=columns, codes=self.codes).keep(self.kept).regrouped()

    def __repr__(self) -> str:
        people = f"{self.published.records} of {self.classes.records} people"
        return f"Recoding({people} in {len(self.published)} classes by {', '.join(self.names)})"
