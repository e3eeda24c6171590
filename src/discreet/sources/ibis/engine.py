"""Ibis engine: the database counts in its own SQL; only the histogram comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.errors import CountError, WeightError
from discreet.kernel import Coded, Histogram, Recoding, Tally
from discreet.kernel.survey import MOST
from discreet.policy import Policy
from discreet.sources.duckdb_scratch import DuckDBDesk
from discreet.sources.engine import (
    Cells,
    Field,
    Target,
    counted_tallies,
    one_by_one,
    refuse_bad_survey,
    refuse_bad_weights,
    refuse_selection,
    refuse_wide,
)
from discreet.sources.export.copies import LocalOutput
from discreet.sources.files.parquet import coded, whole_numbers
from discreet.sources.ibis import rows
from discreet.sources.ibis.rows import kind_of, refuse_same_names, translated
from discreet.sources.numbering import Numbering


def open_engine(source: Any, policy: Policy, *, table: str | None = None, query: str | None = None) -> IbisEngine:
    """A table expression, or a table or query behind a URL."""
    if isinstance(source, str):
        expression, name = rows.connected(source, table=table, query=query)
    else:
        refuse_selection(table, query)
        expression, name = source, "the Ibis table"
    engine = IbisEngine(expression, name)
    return IbisEngine(rows.blanked(expression, engine.fields, policy.missing), name) if policy.missing else engine


@dataclass(frozen=True, eq=False)
class IbisEngine(LocalOutput):
    """A table expression of Ibis, in any database that it knows."""

    table: Any = field(repr=False)
    name: str

    def __post_init__(self) -> None:
        refuse_wide(len(self.table.columns), self.name)
        refuse_same_names(self.table.columns, self.name)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, kind_of(kind)) for name, kind in self.table.schema().items())

    @property
    def ordered(self) -> bool:
        """A database gives rows in whatever order suits it."""
        return False

    def count(self, by: Sequence[str], *, weight: str | None = None, survey: str | None = None) -> Histogram:
        self._refuse_text(weight, survey)
        cell = {name: self.table[name] for name in (*by, weight, survey) if name is not None}
        with translated(self.name):
            if survey is not None:
                positive = (cell[survey].cast("float64") > 0) & (cell[survey].cast("float64") < float(MOST))
                refuse_bad_survey(self._rows_without(positive), survey)
            if weight is not None:
                whole = (cell[weight] >= 0) & (cell[weight] == cell[weight].floor())
                refuse_bad_weights(self._rows_without(whole), weight)
            keys = [cell[name].name(f"c{place}") for place, name in enumerate(by)]
            people = self.table.count() if weight is None else cell[weight].cast("int64").sum()
            sums = {} if survey is None else {"s": cell[survey].cast("float64").sum()}
            counted = self.table.aggregate(by=keys, n=people, **sums).to_pyarrow()
        columns = {name: coded(counted.column(f"c{place}")) for place, name in enumerate(by)}
        weights = None if survey is None else np.asarray(counted.column("s").to_numpy(), dtype=np.float64)
        return Histogram(columns, whole_numbers(counted.column("n")), weights)

    def count_each(
        self, names: Sequence[str], *, weight: str | None = None, beside: Sequence[str] = ()
    ) -> Iterator[Histogram]:
        return one_by_one(self, names, weight, beside)

    def tallies(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Tally]:
        return counted_tallies(self, names, weight)

    def numbering(self, column: str) -> Numbering:
        """Found here among the distinct values: no SQL for it is understood everywhere."""
        counted = self.count([column])
        return Numbering.of(counted.columns[column], counted.counts)

    def fetch(self, names: Sequence[str], *, most: int | None = None) -> dict[str, Coded]:
        return rows.fetch(self.table, names, name=self.name, most=most)

    def chosen(self, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
        with rows.brought(self.table, self.table.columns, name=self.name) as engine:
            return engine.chosen(recoding, drop=drop)

    def formula_cells(self, recoding: Recoding, *, drop: Sequence[str]) -> int:
        with rows.brought(self.table, self.table.columns, name=self.name) as engine:
            return engine.formula_cells(recoding, drop=drop)

    def desk(self, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
        """These columns, brought to this machine."""
        return rows.desk(self.table, names, name=self.name)

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Bring the rows to this machine and write them as the recoding publishes them."""
        with rows.brought(self.table, self.table.columns, name=self.name) as engine:
            return engine.export(recoding, target, drop=drop, shuffled=shuffled)

    def _rows_without(self, test: Any) -> int:
        """How many rows fail a test, those without an answer among them."""
        return int(self.table.filter(~test.fill_null(False)).count().to_pyarrow().as_py())

    def _refuse_text(self, weight: str | None, survey: str | None) -> None:
        """Stop if a weight is not of a number type."""
        kinds = {column.name: column.kind for column in self.fields}
        remedy = "Cast it in the expression: table.mutate(n=table.n.cast('int64'))"
        if weight is not None and kinds[weight] != "number":
            raise CountError(
                f"Column '{weight}' says how many people a row stands for, but it is not of a number type.",
                remedy=remedy,
            )
        if survey is not None and kinds[survey] != "number":
            raise WeightError(
                f"Column '{survey}' holds survey weights, but it is not of a number type.",
                remedy=remedy.replace("int64", "float64"),
            )
