"""PostgreSQL engine: tables and queries counted by the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import CountError, UsageError, WeightError
from discreet.kernel import Coded, Histogram, Recoding, Tally
from discreet.sources.duckdb_scratch import DuckDBDesk
from discreet.sources.engine import (
    Cells,
    Field,
    Target,
    bad_survey_sql,
    bad_weight_sql,
    count_sql,
    counted_tallies,
    one_by_one,
    refuse_bad_survey,
    refuse_bad_weights,
)
from discreet.sources.export.copies import LocalOutput
from discreet.sources.export.targets import TableTarget
from discreet.sources.missing_codes import Code
from discreet.sources.numbering import Numbering, numbering_sql
from discreet.sources.postgres import rows
from discreet.sources.postgres.rows import PostgresRelation, kind_of
from discreet.sources.server import address, matches, quote

REAL = "DOUBLE PRECISION"


def open_engine(
    source: Any, *, table: str | None = None, query: str | None = None, missing: tuple[Code, ...] = ()
) -> PostgresEngine:
    """A table or query behind a URL, or inside an open transaction."""
    if isinstance(source, TableTarget):
        return PostgresEngine(PostgresRelation(source.url, table=source.name, connection=source.connection))
    plain, ours = address(source)
    table, query = table or ours.get("table"), query or ours.get("query")
    if (table is None) == (query is None):
        raise UsageError(
            "Say which table or which query to read from PostgreSQL.",
            remedy="Add ?table=schema.name to the URL, or ?query=SELECT...",
        )
    return PostgresEngine(PostgresRelation(plain, table=table, query=query, missing=missing))


@dataclass(frozen=True, eq=False)
class PostgresEngine(LocalOutput):
    """A table or query of a PostgreSQL server."""

    source: PostgresRelation

    @property
    def name(self) -> str:
        """The table, or that it is a query."""
        return self.source.name

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, kind_of(kind)) for name, kind in self.source.types.items())

    @property
    def ordered(self) -> bool:
        """A server gives rows in whatever order suits it."""
        return False

    def count(self, by: Sequence[str], *, weight: str | None = None, survey: str | None = None) -> Histogram:
        kinds, relation = {column.name: column.kind for column in self.fields}, self.source.sql
        if weight is not None:
            if kinds.get(weight, "number") != "number":
                raise CountError(
                    f"Column '{weight}' says how many people a row stands for, but it is not of a number type.",
                    remedy="Cast it in a query: ?query=SELECT ..., n::int AS n FROM ...",
                )
            with self.source.cursor() as cursor:
                cursor.execute(bad_weight_sql(weight, relation=relation, quote=quote, cast="CAST"))
                refuse_bad_weights(cursor.fetchone()[0], weight)
        if survey is not None:
            if kinds.get(survey, "number") != "number":
                raise WeightError(
                    f"Column '{survey}' holds survey weights, but it is not of a number type.",
                    remedy="Cast it in a query: ?query=SELECT ..., w::float8 AS w FROM ...",
                )
            with self.source.cursor() as cursor:
                cursor.execute(bad_survey_sql(survey, relation=relation, quote=quote, cast="CAST", real=REAL))
                refuse_bad_survey(cursor.fetchone()[0], survey)
        with self.source.cursor() as cursor:
            rows = cursor.execute(
                count_sql(by, weight=weight, survey=survey, relation=relation, quote=quote, real=REAL)
            ).fetchall()
        people = Histogram.from_rows(by, [(*row[: len(by)], row[len(by)] or 0) for row in rows])
        if survey is None:
            return people
        return replace(people, weights=np.array([row[-1] or 0.0 for row in rows], dtype=np.float64))

    def count_each(
        self, names: Sequence[str], *, weight: str | None = None, beside: Sequence[str] = ()
    ) -> Iterator[Histogram]:
        return one_by_one(self, names, weight, beside)

    def tallies(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Tally]:
        return counted_tallies(self, names, weight)

    def numbering(self, column: str) -> Numbering:
        sql = numbering_sql(column, relation=self.source.sql, quote=quote, matches=matches, text="text")
        with self.source.cursor() as cursor:
            return Numbering(*cursor.execute(sql).fetchone())

    def fetch(self, names: Sequence[str], *, most: int | None = None) -> dict[str, Coded]:
        """The cells of some columns, as the server sends the rows."""
        return rows.fetch(self.source, names, most=most)

    def chosen(self, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
        return rows.chosen(self.source, recoding, drop=drop)

    def formula_cells(self, recoding: Recoding, *, drop: Sequence[str]) -> int:
        return rows.formula_cells(self.source, recoding, drop=drop)

    def desk(self, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
        """These columns, brought to this machine."""
        return rows.desk(self.source, names)

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write the rows as the recoding publishes them, in a random order.

        Here, as in `chosen`, the connection is not read-only: the recoding needs temporary tables.
        """
        return rows.export(self.source, recoding, target, drop=drop, shuffled=shuffled)
