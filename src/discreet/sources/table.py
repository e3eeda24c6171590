"""Table on some engine, seen through a policy; `read` opens one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ColumnError, EmptySource, OutsideHierarchy, PolicyError, UsageError
from discreet.kernel import Classes, Coded, Column, Hierarchy, Histogram, Members, Recoding, Rule, Tally
from discreet.kernel.arrays import Ints, Label
from discreet.kernel.number_rules import with_decimal
from discreet.kernel.rules import OutsideValues, bound_columns, outside_error
from discreet.kernel.serialise import card
from discreet.kernel.survey import Survey, people_of_rows
from discreet.policy import Policy
from discreet.policy.draft import key_of, value
from discreet.sources.engine import Engine, Field, WorkDone, engine_for, require
from discreet.sources.export.staging import check
from discreet.sources.export.targets import FrameTarget, format_of, guarded
from discreet.sources.numbering import Numbering, number_people
from discreet.sources.server import SCHEMES

MOST_LISTED = 30
"""Columns that an error names; beyond, their number says more."""


@dataclass(frozen=True, eq=False)
class Table:
    """People in rows, wherever they live. Nothing is read until something is counted."""

    engine: Engine
    policy: Policy | None = None
    _counted: dict[tuple[tuple[str, ...], tuple[str, ...]], Classes] = field(default_factory=dict, repr=False)
    _steps: WorkDone = field(default_factory=WorkDone, repr=False)
    _spelt: dict[str, dict[Label, int]] = field(default_factory=dict, repr=False)
    """Which person the values of a column spell."""

    @property
    def name(self) -> str:
        """What to call the table in words."""
        return self.engine.name

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns with their kinds."""
        return self.engine.fields

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.fields)

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Columns to which the policy gives no role."""
        if self.policy is None:
            return self.columns
        known = {*self.policy.roles, self.policy.count, self.policy.weight}
        return tuple(name for name in self.columns if name not in known)

    @property
    def published(self) -> dict[str, str]:
        """Every column that would be published, with its role."""
        policy = self.policy or Policy()
        left_out = {*policy.unpublished, *self.undeclared}
        return {name: policy.roles.get(name, "count") for name in self.columns if name not in left_out}

    @property
    def person(self) -> tuple[str, ...]:
        """Columns that say whose row it is; none where each row is a person."""
        return () if self.policy is None else self.policy.owners

    @cached_property
    def repeated_numbers(self) -> dict[str, Numbering]:
        """Identifiers whose numbers repeat, so that several rows are about one person; those of households may."""
        if self.policy is None or self.policy.person is not None:
            return {}
        others = (self.policy.count, self.policy.household)
        there = [name for name in self.policy.identifiers if name in self.columns and name not in others]
        numberings = {name: self.engine.numbering(name) for name in there}
        return {name: numbering for name, numbering in numberings.items() if numbering.repeats}

    def progress(self) -> float | None:
        """Share done of what is counted or written now, asked from another thread; None where unknown."""
        return self._steps.share(self.engine.progress())

    def refuse_several_rows_a_person(self) -> None:
        """Stop if numbers of an identifier repeat and rows are not declared people, or a survey weight is none."""
        if self.policy is not None and self.policy.weight is not None:
            self.engine.count((), survey=self.policy.weight)  # says what is wrong with them
        repeated = [
            f"'{name}' ({numbering.repeated:,} numbers, {numbering.sharing:,} rows)"
            for name, numbering in self.repeated_numbers.items()
        ]
        if repeated:
            name = next(iter(self.repeated_numbers))
            raise PolicyError(
                f"In {self.name} numbers of identifiers are on more than one row each, so there are fewer people than "
                f"rows: {', '.join(repeated)}.",
                remedy=f"Say in the policy whose row it is: [data] person = {value([name] if name == 'row' else name)}. "
                "Where this table is the population, under [population]. Where a code such as 999 means a missing "
                'number, leave the cell empty. If each row is a person all the same, say so: [data] person = "row"',
                file=self.policy.file if self.policy else "",
            )

    def refuse_undeclared(self) -> None:
        """Stop if a column has no role: what nobody decided on does not leave."""
        names = self.undeclared
        if names:
            more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
            listed = ", ".join(f"'{name}'" for name in names[:MOST_LISTED]) + more
            section = f"[columns.{key_of(names[0])}]"
            raise PolicyError(
                f"{self.name} has {'a column' if len(names) == 1 else f'{len(names):,} columns'} to which the policy gives "
                f"no role: {listed}.",
                remedy=f'Declare each: {section} with role = "quasi", "sensitive", "identifier" or "other", or '
                'role = "drop" to leave it out of what is published.',
                file=self.policy.file if self.policy else "",
            )

    def refuse_unconfirmed(self) -> None:
        """Stop if the policy has guessed roles, or publishes whose row it is: see `Policy`."""
        if self.policy is not None:
            self.policy.refuse_unconfirmed()
            self.policy.refuse_tied_rows()

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds that only go forward, for searches with a time limit."""
        return time.monotonic

    @cached_property
    def records(self) -> int:
        """How many people there are."""
        return self.classes(()).records

    @property
    def rows(self) -> int | None:
        """How many rows they have, where the policy says whose row it is."""
        return int(self.classes(()).rows.sum()) if self.person else None

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        """People per tuple of `by`, with the spread of sensitive columns.

        Without `by` the quasi-identifiers are taken.
        """
        if by is None and (self.policy is None or not self.policy.quasi):
            raise UsageError(
                "No quasi-identifiers are declared, and none are guessed.",
                remedy='Read the table with a policy that gives columns the role "quasi" (discreet policy init DATA), or say which columns: by=[...].',
            )
        policy = self.policy or Policy()
        names = policy.quasi if by is None else tuple(by)
        key = (names, tuple(sensitive))
        if key not in self._counted:
            self.require([*names, *sensitive, *self._weight, *self.person])
            with suppress(OutsideHierarchy):
                for name in self._steps.each([None, *sensitive], 1 + len(sensitive)):
                    if name is None:
                        classes = self._people(*self._count(names))
                    else:
                        histogram, people = self._count([*names, name])
                        classes = classes.with_spread(histogram, name, rule=self.rule(name), people=people)
                self._counted[key] = classes
        if key not in self._counted:
            self.hierarchies([*names, *sensitive])  # raises, for all columns at once
        return self._counted[key]

    def surveyed(self, classes: Classes) -> Classes:
        """Classes of this table with the survey weights and households that the policy declares."""
        policy = self.policy or Policy()
        if policy.weight is None and policy.household is None:
            return classes
        home = () if policy.household is None else (policy.household,)
        names = tuple(dict.fromkeys([*classes.names, *home, *self.person]))
        self.require([*names, *self._weight, *([] if policy.weight is None else [policy.weight])])
        histogram = self.engine.count(names, weight=policy.count, survey=policy.weight)
        people = self._whose(histogram) if classes.members is not None else None
        return classes.with_survey(histogram, household=policy.household, people=people)

    def in_order(self, classes: Classes) -> Survey:
        """The class, the household and the person of each row, in the order of the source."""
        if not self.engine.ordered:
            raise UsageError(
                f"The rows of {self.name} have no order that stays, so they cannot be numbered.",
                remedy="Write them to a CSV or Parquet file, or to a frame, in an order that you know, and assess that.",
            )
        home = self.policy.household if self.policy is not None else None
        named = [*classes.names, *([home] if home else []), *self._weight, *self.person]
        columns = self.engine.fetch(tuple(dict.fromkeys(named)))
        rows = Histogram(columns, people_of_rows(columns, self._weight))
        people = self._whose(rows) if classes.members is not None else None
        return Survey.of(rows, classes.places(columns, len(rows.counts)), household=home, people=people)

    def each(self, names: Sequence[str]) -> Iterator[Classes]:
        """People per value of each column alone; faster than `classes` per column."""
        counted = self._count_each(names) if self.person else ((one, None) for one in self._alone(names))
        return (self._people(histogram, people) for histogram, people in counted)

    def hierarchies(self, names: Sequence[str]) -> dict[str, Hierarchy]:
        """The hierarchy of each column over its values; values outside stop with one error for all columns.

        Values that at least five people hold are named there, the others counted.
        """
        rules = {name: self.rule(name) for name in names}
        found: dict[str, Hierarchy] = {}
        outside: list[OutsideValues] = []
        for histogram in self._alone(names):
            columns = {name: coded.ordered() for name, coded in histogram.occupied().columns.items()}
            bound, strangers = bound_columns(Histogram(columns, histogram.occupied().counts), rules, named=True)
            found |= bound
            outside += strangers
        if outside:
            raise outside_error(outside)
        return found

    def _alone(self, names: Sequence[str]) -> Iterator[Histogram]:
        """People per value of each column alone, as yet without its hierarchy."""
        self.require([*names, *self._weight, *self.person])
        if self.person:
            return (self._held(*counted) for counted in self._count_each(names))
        return self.engine.count_each(names, weight=self.policy.count if self.policy else None)

    def rule(self, name: str) -> Rule:
        """How the values of a column generalise; the policy says how decimals are written in text."""
        rule = (self.policy or Policy()).rule(name)
        return rule if name in self._texts else with_decimal(rule, ".")

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(field.name for field in self.fields if field.kind == "text")

    def tallies(self, names: Sequence[str]) -> Iterator[Tally]:
        """People per value of each column alone, without hierarchies; the quickest look."""
        self.require([*names, *self._weight, *self.person])
        tallies = self.engine.tallies(names, weight=self.policy.count if self.policy else None)
        # With the first column an engine may read all of them.
        found = (self._tally(*one) for one in self._count_each(names)) if self.person else tallies
        for tally in self._steps.each(found, len(names), first=1 + len(names) / 2):
            if not tally.people:
                raise EmptySource(f"There is nobody in {self.name}.", remedy="Give a table with at least one row.")
            yield tally

    def require(self, names: Sequence[str]) -> None:
        """Stop with advice if a column is not there."""
        require(self.columns, names, self.name)

    def export(
        self,
        recoding: Recoding,
        target: str | Path,
        *,
        verify: Callable[[Classes], None] | None = None,
        overwrite: bool = False,
        inside: bool = False,
    ) -> int:
        """Write the table as the recoding publishes it, and count the rows.

        Identifiers and dropped columns are left out. The target ends in .csv, .csv.gz or .parquet, or is a
        PostgreSQL URL with ?table=schema.name; from Spark it is a folder on the cluster. What was written is read
        back, counted and compared with the recoding class by class, and handed to `verify`, which may raise, before
        it takes its place. Rows come in a fresh random order, unless the file stays `inside` as a step towards
        others.
        """
        policy = self.policy or Policy()
        refuse_export(self, recoding)
        with self.engine.staged(str(target), policy, overwrite=overwrite) as stage:
            rows = self.engine.export(recoding, stage, drop=policy.unpublished, shuffled=not inside)
            written = check(stage, recoding, columns=list(self.published), count=policy.count)
            if verify is not None:
                verify(written)
        return rows

    def arrow(self, recoding: Recoding) -> Any:
        """The table as the recoding publishes it, as an Arrow table.

        What `export` refuses is refused, what it leaves out is left out, what it verifies is verified, and rows come
        in a fresh random order.
        """
        policy = self.policy or Policy()
        refuse_export(self, recoding)
        rows = self.engine.arrow(recoding, drop=policy.unpublished)
        check(FrameTarget(rows), recoding, columns=list(self.published), count=policy.count)
        return rows

    def formulas(self, recoding: Recoding, target: str | Path) -> dict[str, Any] | None:
        """What became of cells that a spreadsheet would run, and how many were changed; None unless it is a CSV."""
        policy = self.policy or Policy()
        if str(target).startswith(SCHEMES) or format_of(str(target)) == "parquet":
            return None
        cells = 0
        if policy.formulas == "quote":
            header = sum(guarded(name) != name for name in self.published)
            cells = header + self.engine.formula_cells(recoding, drop=policy.unpublished)
        return {"mode": policy.formulas, "cells": cells}

    def sample(self, names: Sequence[str], *, most: int) -> dict[str, Coded]:
        """The cells of some columns, row by row: of all rows, or of so many by chance."""
        self.require(names)
        return self.engine.fetch(names, most=most) if names else {}

    def _count(self, names: Sequence[str]) -> tuple[Histogram, Ints | None]:
        """What the engine counts by some columns; and whose rows they are, if anybody has several."""
        if not self.person:
            return self.engine.count(names, weight=self.policy.count if self.policy else None), None
        return self._owned(names, self.engine.count(tuple(dict.fromkeys([*names, *self.person]))))

    def _count_each(self, names: Sequence[str]) -> Iterator[tuple[Histogram, Ints | None]]:
        """The same for each column alone; a file is parsed once for many of them."""
        self.require([*names, *self.person])
        return map(self._owned, ([name] for name in names), self.engine.count_each(names, beside=self.person))

    def _owned(self, names: Sequence[str], counted: Histogram) -> tuple[Histogram, Ints | None]:
        people = self._whose(counted)
        # With one row each, people are rows: nothing has to be remembered about them.
        several = len(people) and int(people.max()) + 1 < int(counted.counts.sum())
        return Histogram({name: counted.columns[name] for name in names}, counted.counts), people if several else None

    def _whose(self, counted: Histogram) -> Ints:
        """A number for the person of each tuple."""
        columns = {name: counted.columns[name] for name in self.person}
        return number_people(columns, counted.counts, source=self.name, known=self._spelt)

    def _tally(self, histogram: Histogram, people: Ints | None) -> Tally:
        """One column alone, its values counted by the people who hold them."""
        alone = Classes.from_histogram(histogram, people=people)
        unique = alone.people(alone.sizes == 1)
        return replace(Tally.of(self._held(histogram, people)), people=alone.records, unique=unique)

    def _held(self, histogram: Histogram, people: Ints | None) -> Histogram:
        if people is None:
            return histogram
        ((name, coded),) = histogram.columns.items()
        values = np.arange(len(coded.values))
        held = Members(coded.codes, people, histogram.counts).over(values)
        return Histogram({name: Coded(coded.values, values)}, held.sizes(len(values)))

    def _people(self, histogram: Histogram, people: Ints | None = None) -> Classes:
        rules = {name: self.rule(name) for name in histogram.columns}
        classes = Classes.from_histogram(histogram, rules=rules, people=people)
        if self.policy is not None:
            columns = tuple(self._with_settings(column, self.policy) for column in classes.columns)
            classes = replace(classes, columns=columns)
        if not classes.records:
            raise EmptySource(f"There is nobody in {self.name}.", remedy="Give a table with at least one row.")
        return classes

    def _with_settings(self, column: Column, policy: Policy) -> Column:
        """A column with what the policy says about its levels, which may depend on the data."""
        least, most = policy.at_least.get(column.name, 0), policy.at_most.get(column.name)
        height = column.hierarchy.height
        if max(least, most or 0) >= height:
            raise PolicyError(
                f"Column '{column.name}' has levels 0 to {height - 1} in these data, and the policy asks for level "
                f"{max(least, most or 0)}.",
                remedy="Lower at_least or at_most of that column; `discreet hierarchy show` shows its levels.",
                file=policy.file,
            )
        return replace(column, weight=policy.column_weights.get(column.name, 1.0), at_least=least, at_most=most)

    @property
    def _weight(self) -> tuple[str, ...]:
        """The column that says how many people a row is, if one does."""
        return (self.policy.count,) if self.policy is not None and self.policy.count else ()

    def __repr__(self) -> str:
        return f"Table({self.name}, {len(self.fields)} columns)"

    def _repr_html_(self) -> str:
        roles = {} if self.policy is None else self.policy.roles
        rows = [
            (
                field.name,
                field.kind,
                self.policy.spelled_role(field.name) if self.policy and field.name in roles else "not declared",
            )
            for field in self.fields
        ]
        words = f"{self.name}: {len(rows)} columns. No row was read for this."
        return card(words, rows, head=("column", "kind", "role"))


def refuse_export(table: Table, recoding: Recoding) -> None:
    """Stop if the rows may not leave as the recoding publishes them.

    An identifier must be found, since one that is misspelt in the policy would be published.
    """
    policy = table.policy or Policy()
    table.require([*recoding.names, *policy.unpublished, *table._weight, *table.person])
    table.refuse_undeclared()
    table.refuse_unconfirmed()
    table.refuse_several_rows_a_person()
    if policy.count in policy.unpublished:
        raise PolicyError(
            f"Column '{policy.count}' says how many people a row stands for, and the policy leaves it out.",
            remedy="Remove its section from the policy: a count is published as it is.",
            file=policy.file,
        )
    recoded = set(recoding.names)
    if bare := [name for name in policy.quasi if name not in recoded]:
        raise UsageError(
            f"Quasi-identifier '{bare[0]}' would be published as it is: the recoding does not know it.",
            remedy="Anonymise by all quasi-identifiers, or give it another role in the policy.",
        )
    if not recoding.published.records:
        raise EmptySource("Nobody is left to publish.", remedy="Lower the limits, or allow coarser values.")


def read(
    source: Any,
    policy: Policy | str | Path | Mapping[str, Any] | None = None,
    *,
    table: str | None = None,
    query: str | None = None,
) -> Table:
    """A table from a file, a frame, a DuckDB relation, PostgreSQL, or Spark.

    The policy is a `Policy`, the path of its file, or a dictionary of the file's shape. A table that was read already
    can be seen through another policy.

    PostgreSQL is a URL with the table or query given by name or in the URL:
    `read("postgresql://host/db", table="public.people")` or `read("postgresql://host/db?table=public.people")`.
    """
    if isinstance(policy, Mapping):
        policy = Policy.from_dict(policy)
    elif policy is not None and not isinstance(policy, Policy):
        policy = Policy.load(policy)
    if isinstance(source, Table):
        result = Table(source.engine, policy)
    else:
        result = Table(engine_for(source, policy or Policy(), table=table, query=query), policy)
    if policy is not None:
        survey = [name for name in (policy.weight, policy.household) if name is not None]
        try:
            result.require([*policy.quasi, *policy.sensitive, *result._weight, *result.person, *survey])
        except ColumnError as error:
            # A population has few of the columns that count as quasi-identifiers only because their role is a guess.
            lacking = [name for name in policy.quasi if name in policy.unconfirmed and name not in result.columns]
            if not lacking:
                raise
            guesses = f"These count as quasi-identifiers until their roles are confirmed: {policy.spelled(lacking)}."
            raise ColumnError(error.problem, remedy=f"{error.remedy} {guesses}") from None
    return result
