"""DuckDB engine: files, frames and relations, counted inside this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ColumnError, UsageError
from discreet.kernel import Bins, Coded, Histogram, Recoding, Tally
from discreet.kernel.hierarchy import text
from discreet.policy import Policy
from discreet.sources.duckdb import rows
from discreet.sources.duckdb_scratch import (
    INTEGERS,
    PLAIN_TYPES,
    RELATION,
    BorrowedDesk,
    DuckDBDesk,
    PrivateDesk,
    PrivateFolder,
    bare,
    cell,
    connect,
    fetched,
    literal,
    matches,
    plain_codes,
    quote,
    spelt,
    translated,
)
from discreet.sources.engine import (
    Cells,
    Engine,
    Field,
    Kind,
    Target,
    bad_survey_sql,
    bad_weight_sql,
    count_sql,
    one_by_one,
    refuse_bad_survey,
    refuse_bad_weights,
    refuse_selection,
    refuse_wide,
)
from discreet.sources.export.copies import LocalOutput
from discreet.sources.export.targets import FileTarget, FrameTarget
from discreet.sources.files import parquet as dictionaries
from discreet.sources.files.table_file import HANDED, load, table_file
from discreet.sources.missing_codes import Code, blanked_sql
from discreet.sources.numbering import Numbering, numbering_sql

PART = "part"
WIDE = 64
"""Columns from which on a table is counted column by column in parts: every statement looks at all of its columns."""
PART_COLUMNS = 256
PART_MEMORY = "400MB"
"""Columns of a part, and its memory; beyond, it takes room in the temporary folder."""
MANY_VALUES = 50_000
"""Values of a column up to which a tally holds all of them: enough for all days of a century,"""
FIRST_ROWS = 200_000
SORTED = 8_000_000
"""Values that are sorted in one go."""
COMMONEST = 20
"""how many it holds beyond,"""
COMMON = 5
"""and how many people have at least one of these."""
FARTHEST = 1e300
"""Numbers beyond are put into the outermost range."""
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("VARCHAR", "ENUM"), "text"),
    **dict.fromkeys((*INTEGERS, "FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UHUGEINT"), "number"),
    **dict.fromkeys(("DATE", "TIMESTAMP"), "date"),
    "BOOLEAN": "boolean",
}


def open_engine(source: Any, policy: Policy, *, table: str | None = None, query: str | None = None) -> Engine:
    """A file, a relation of DuckDB, or a frame."""
    refuse_selection(table, query)
    engine = replace(_opened(source, policy), decimal=policy.decimal)
    return engine.blanked(policy.missing) if policy.missing else engine


def _opened(source: Any, policy: Policy) -> DuckDBEngine:
    if isinstance(source, FileTarget):
        source = source.path
    elif isinstance(source, FrameTarget):
        source = source.frame
    if isinstance(source, (str, Path)):
        return DuckDBEngine.from_file(source, policy)
    if type(source).__name__ == "DuckDBPyRelation":
        return DuckDBEngine.from_relation(source)
    return DuckDBEngine.from_frame(source)


@dataclass(frozen=True, eq=False)
class DuckDBEngine(LocalOutput):
    """A view named `source`: a file, a frame, or a relation."""

    view: DuckDBDesk
    parquet: tuple[Path, ...] = ()
    frame: Any = field(default=None, repr=False)
    """What the view reads, if it is a frame: it must live as long as the view does."""
    _origins: tuple[Path, ...] = ()
    dialect: Mapping[str, Any] = field(default_factory=dict)
    decimal: str = "."
    """What separates the decimals of numbers written as text."""

    @classmethod
    def from_file(cls, source: str | Path, policy: Policy) -> DuckDBEngine:
        """A file, a pattern or folder of files, standard input, or a URL."""
        connection = connect()
        file = table_file(source, policy, PrivateFolder(connection))
        if file.frame is not None:
            connection.register(HANDED, file.frame)
        if file.columns is not None:
            load(connection, file.columns, file.name)
        about = {"parquet": file.parquet, "_origins": file.origins, "dialect": file.dialect, "frame": file.frame}
        return cls._on(file.name, connection, file.relation, **about)

    @classmethod
    def from_frame(cls, frame: Any) -> DuckDBEngine:
        """An Arrow, pandas or polars frame, or a dictionary of numpy arrays."""
        connection = connect()
        name = f"the {type(frame).__module__.partition('.')[0].lstrip('_')} frame"
        names = [str(name) for name in getattr(frame, "column_names", None) or getattr(frame, "columns", [])]
        if len(set(names)) < len(names):
            raise ColumnError(
                "The frame has two columns of the same name.", remedy="Give every column a name of its own."
            )
        try:
            connection.register(HANDED, frame)
        except Exception as error:
            raise UsageError(
                f"A {type(frame).__name__} cannot be read as a table ({type(error).__name__}).",
                remedy="Give a path, a PostgreSQL URL, or an Arrow, pandas, polars, DuckDB or PySpark frame.",
            ) from None
        return cls._on(name, connection, HANDED, frame=frame)

    @classmethod
    def from_relation(cls, relation: Any) -> DuckDBEngine:
        """A DuckDB relation, on the connection it belongs to; nothing stays there."""
        view = BorrowedDesk.of(relation, "the DuckDB relation")
        refuse_wide(len(relation.columns), view.name)
        if len({name.casefold() for name in relation.columns}) < len(relation.columns):
            # DuckDB takes such names for one, and would give the values of one column under the name of the other
            raise ColumnError(
                "The DuckDB relation has two columns whose names differ in case only, or not at all.",
                remedy="Give every column a name of its own (AS).",
            )
        return cls(view)

    @classmethod
    def _on(cls, name: str, connection: Any, scan: str, **held: Any) -> DuckDBEngine:
        view = PrivateDesk.on(connection, f"SELECT * FROM {scan}", name)
        refuse_wide(len(view.types), name)
        return cls(view, **held)

    def blanked(self, codes: Sequence[Code]) -> DuckDBEngine:
        """The same with some codes as missing values; counted by DuckDB alone."""
        cells = [
            f"{blanked_sql(quote(column.name), column.kind, codes, literal=literal, matches=matches)} AS {quote(column.name)}"
            for column in self.fields
        ]
        with translated(self.name):
            return replace(self, view=self.view.showing(cells), parquet=())

    @property
    def name(self) -> str:
        """The name of the file, or what kind of frame it is."""
        return self.view.name

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, KINDS.get(kind, "other")) for name, kind in self._types.items())

    @property
    def ordered(self) -> bool:
        """A relation is run again each time, and may give its rows in another order."""
        return self.view.private

    def progress(self) -> float | None:
        return self.view.progress()

    def count(self, by: Sequence[str], *, weight: str | None = None, survey: str | None = None) -> Histogram:
        with translated(self.name):
            if survey is not None:
                bad = bad_survey_sql(survey, relation=self._numeric(survey), quote=quote)
                refuse_bad_survey(self.view.run(bad).fetchall()[0][0], survey)
            if weight is not None:
                self._check_weight(weight)
            elif survey is None and self.parquet and (fast := dictionaries.count(self.parquet, by)) is not None:
                return fast
            if self.view.private:
                return self._count(by, weight, relation=self._numeric(survey), survey=survey)
            # Without a temporary table, which might meet one of the relation's owner.
            cells = [cell(f"c{place}", self._types[name]) for place, name in enumerate(by)]
            sql = count_sql(by, weight=weight, survey=survey, relation=self._numeric(survey), quote=quote)
            arrays = self.view.run(f"SELECT {', '.join([*cells, *totals(survey)])} FROM ({sql})").fetchnumpy()
            coded = {name: fetched(arrays[f"c{place}"], self._types[name]) for place, name in enumerate(by)}
            return histogram(coded, arrays)

    def count_each(
        self, names: Sequence[str], *, weight: str | None = None, beside: Sequence[str] = ()
    ) -> Iterator[Histogram]:
        if len(self.fields) <= WIDE or not self.view.private:
            yield from one_by_one(self, names, weight, beside)
            return
        with translated(self.name):
            for part, relation in self._parts(names, weight, beside):
                for name in part:
                    yield self._count(tuple(dict.fromkeys([name, *beside])), weight, relation=relation)

    def tallies(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Tally]:
        with translated(self.name):
            for part, relation in self._parts(names, weight):
                # A first look: a column with many values among these rows is not counted whole in vain.
                several = ", ".join(f"approx_count_distinct({quote(name)})" for name in part)
                first = f"SELECT * FROM {relation} LIMIT {FIRST_ROWS}"
                varied = [
                    about > MANY_VALUES for about in self.view.run(f"SELECT {several} FROM ({first})").fetchall()[0]
                ]
                for name, many in zip(part, varied, strict=True):
                    whole = None if many else self._whole_tally(name, weight, relation)
                    yield whole or self._summary(name, weight, relation)

    def _parts(
        self, names: Sequence[str], weight: str | None, beside: Sequence[str] = ()
    ) -> Iterator[tuple[Sequence[str], str]]:
        """Columns and the relation to count them in: a text file is parsed once for many columns."""
        if weight is not None:
            self._check_weight(weight)
        parsed = self.view.private and self.frame is None and not self.parquet
        if not parsed and (len(self.fields) <= WIDE or not self.view.private):
            yield names, RELATION
            return
        (limit,) = self.view.run("SELECT current_setting('memory_limit')").fetchone()
        self.view.run(f"SET memory_limit = '{PART_MEMORY}'")
        try:
            for start in range(0, len(names), PART_COLUMNS):
                part = names[start : start + PART_COLUMNS]
                columns = ", ".join(
                    quote(name) for name in dict.fromkeys([*part, *beside, *([weight] if weight else [])])
                )
                self.view.run(f"CREATE OR REPLACE TEMP TABLE {PART} AS SELECT {columns} FROM {RELATION}")
                yield part, PART
        finally:
            self.view.run(f"DROP TABLE IF EXISTS {PART}")
            self.view.run(f"SET memory_limit = '{limit}'")

    def _whole_tally(self, name: str, weight: str | None, relation: str) -> Tally | None:
        """A column of few values: all of them; None where there are many."""
        kind = self._types[name]
        counted = count_sql([name], weight=weight, relation=relation, quote=quote)
        some = f"SELECT {cell('c0', kind)}, CAST(n AS BIGINT) AS n FROM ({counted}) LIMIT {MANY_VALUES + 1}"
        arrays = self.view.run(some).fetchnumpy()
        if len(arrays["n"]) > MANY_VALUES:
            return None
        people = np.asarray(np.ma.filled(arrays["n"], 0), dtype=np.int64)
        return Tally.of(Histogram({name: fetched(arrays["c0"], kind)}, people))

    def _summary(self, name: str, weight: str | None, relation: str) -> Tally:
        """A column of many values: how many, the commonest, some for a look, numbers in ranges."""
        column, kind, run = quote(name), self._types[name], self.view.run
        counted = count_sql([name], weight=weight, relation=relation, quote=quote)
        occupied = f"SELECT c0, CAST(n AS BIGINT) AS n FROM ({counted}) WHERE n > 0"
        number = self._number
        if weight is None:
            read = f"SELECT {column} AS c0, {number.format(column)} AS d FROM {relation}"
            wanted = "COUNT(*), COUNT(*) - COUNT(c0), COUNT(*) FILTER (isfinite(d)), MIN(d), MAX(d)"
            people, missing, numbers, lowest, highest = run(f"SELECT {wanted} FROM ({read})").fetchall()[0]
            distinct, unique, shared = self._spread(column, relation, people - missing)
            unique += missing == 1
            numeric = numbers == people - missing
        else:
            read = f"SELECT c0, n, {number.format('c0')} AS d FROM ({occupied})"
            wanted = (
                "SUM(n), COALESCE(SUM(n) FILTER (c0 IS NULL), 0), COUNT(c0), COUNT(*) FILTER (n = 1), MAX(n), "
                "COUNT(*) FILTER (isfinite(d)), MIN(d), MAX(d)"
            )
            people, missing, distinct, unique, most, numbers, lowest, highest = run(
                f"SELECT {wanted} FROM ({read})"
            ).fetchall()[0]
            numeric, shared = numbers == distinct, most >= COMMON
        bins, common = None, {}
        if numeric:
            low, high = max(lowest, -FARTHEST), min(highest, FARTHEST)
            width = Bins.width_of(low, high) or 1.0
            clipped = f"GREATEST({low!r}, LEAST({high!r}, {number.format(column)}))"
            heads = "COUNT(*)" if weight is None else f"SUM(CAST({quote(weight)} AS DECIMAL(38, 0)))"
            ranges = run(
                f"SELECT FLOOR({clipped} / {width!r}) AS b, CAST({heads} AS BIGINT) AS n FROM {relation} "
                f"WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY 1"
            ).fetchnumpy()
            bins = Bins(width, np.asarray(ranges["b"], dtype=np.float64), np.asarray(ranges["n"], dtype=np.int64))
        elif shared:
            top = f"SELECT {cell('c0', kind)}, n FROM ({occupied}) WHERE c0 IS NOT NULL AND n >= {COMMON} ORDER BY n DESC, c0 LIMIT {COMMONEST}"
            common = {str(text(value)): int(n) for value, n in run(top).fetchall()}
        some = f"SELECT DISTINCT {column} AS c0 FROM {relation} WHERE {column} IS NOT NULL AND hash({column}) % {distinct // MANY_VALUES + 1} = 0"
        sample = fetched(run(f"SELECT {cell('c0', kind)} FROM ({some})").fetchnumpy()["c0"], kind).values
        values = [value for value in sample if value is not None]
        return Tally(int(people), int(missing), distinct, unique, common, values, bins)

    @property
    def _number(self) -> str:
        """A cell as a number, or as none; a comma is tried where nobody said what is before the decimals."""
        cell = "CAST({0} AS VARCHAR)"
        comma = f"TRY_CAST(CASE WHEN contains({cell}, '.') THEN NULL ELSE replace({cell}, ',', '.') END AS DOUBLE)"
        return comma if self.decimal != "." else f"COALESCE(TRY_CAST({cell} AS DOUBLE), {comma})"

    def _spread(self, column: str, relation: str, cells: int) -> tuple[int, int, bool]:
        """Different values of a column, values that are alone, and whether one is common.

        Sorted hashes take a fraction of the time of groups. They have 64 bits: that two of 5 million values share one, so
        that a figure is off by one, has a chance of less than one in a million.
        """
        distinct, unique, common = 0, 0, False
        parts = cells // SORTED + 1
        for part in range(parts):
            chosen = f"{column} IS NOT NULL" + (f" AND hash({column}) % {parts} = {part}" if parts > 1 else "")
            arrays = self.view.run(f"SELECT hash({column}) AS h FROM {relation} WHERE {chosen}").fetchnumpy()
            hashes = np.ma.getdata(arrays.pop("h"))
            hashes.sort()
            differs = np.ones(len(hashes) + 1, dtype=bool)
            np.not_equal(hashes[1:], hashes[:-1], out=differs[1:-1])
            distinct += int(np.count_nonzero(differs[:-1]))
            unique += int(np.count_nonzero(differs[:-1] & differs[1:]))
            common |= bool((hashes[COMMON - 1 :] == hashes[: max(0, len(hashes) - COMMON + 1)]).any())
        return distinct, unique, common

    def _numeric(self, column: str | None) -> str:
        """The source with a column whose texts DuckDB reads as numbers, or as none where they have a point."""
        if column is None or self.decimal == "." or self._types[column] != "VARCHAR":
            return RELATION
        name = quote(column)
        cell = f"CASE WHEN contains({name}, '.') THEN NULL ELSE replace({name}, {literal(self.decimal)}, '.') END"
        return f"(SELECT * REPLACE ({cell} AS {name}) FROM {RELATION}) AS numeric_source"

    def _check_weight(self, weight: str) -> None:
        sql = bad_weight_sql(weight, relation=RELATION, quote=quote)
        refuse_bad_weights(self.view.run(sql).fetchall()[0][0], weight)

    def _count(
        self, by: Sequence[str], weight: str | None, *, relation: str = RELATION, survey: str | None = None
    ) -> Histogram:
        """Histogram by way of a temporary table; texts come over as places among values."""
        kinds = {f"c{place}": self._types[name] for place, name in enumerate(by)}
        texts = [column for column, kind in kinds.items() if kind not in PLAIN_TYPES]
        sql = count_sql(by, weight=weight, survey=survey, relation=relation, quote=quote)
        cells = ", ".join([*(cell(column, kind) for column, kind in kinds.items()), *totals(survey)])
        self.view.run(f"CREATE OR REPLACE TEMP TABLE counted AS SELECT {cells} FROM ({sql})")
        for column in texts:
            distinct = f"SELECT DISTINCT {column} FROM counted WHERE {column} IS NOT NULL ORDER BY ALL"
            self.view.run(f"CREATE TYPE {column}_values AS ENUM ({distinct})")
        codes = [
            f"COALESCE(enum_code(CAST({column} AS {column}_values)), -1) AS {column}" if column in texts else column
            for column in kinds
        ]
        # One statement for all columns: those of several would come in orders of their own.
        arrays = self.view.run(
            f"SELECT {', '.join([*codes, 'n', *(['s'] if survey else [])])} FROM counted"
        ).fetchnumpy()
        coded: dict[str, Coded] = {}
        for name, (column, kind) in zip(by, kinds.items(), strict=True):
            if kind in PLAIN_TYPES:
                coded[name] = plain_codes(arrays.pop(column))
                continue
            values = self.view.run(f"SELECT UNNEST(enum_range(CAST(NULL AS {column}_values)))").fetchall()
            self.view.run(f"DROP TYPE {column}_values")
            labels = [*(spelt(value, kind) for (value,) in values), None]
            coded[name] = Coded.merged(labels, arrays.pop(column).astype(np.int64))
        self.view.run("DROP TABLE counted")
        return histogram(coded, arrays)

    def numbering(self, column: str) -> Numbering:
        with translated(self.name):
            sql = numbering_sql(column, relation=RELATION, quote=quote, matches=matches)
            return Numbering(*self.view.run(sql).fetchall()[0])

    def fetch(self, names: Sequence[str], *, most: int | None = None) -> dict[str, Coded]:
        """The cells of some columns, in the order of the rows."""
        desk, kinds = self.view, {name: self._types[name] for name in names}
        columns = ", ".join(f"{quote(name)} AS c{place}" for place, name in enumerate(names))
        cells = ", ".join(cell(f"c{place}", kinds[name]) for place, name in enumerate(names))
        with translated(self.name):
            if desk.private:
                desk.run("SET preserve_insertion_order = true")
            chance = "" if most is None else f" USING SAMPLE reservoir({most} ROWS)"
            arrays = desk.run(f"SELECT {cells} FROM (SELECT {columns} FROM {RELATION}{chance})").fetchnumpy()
        return {name: fetched(arrays[f"c{place}"], kinds[name]) for place, name in enumerate(names)}

    def chosen(self, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
        return rows.chosen(self.view, recoding, drop=drop)

    def desk(self, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
        """All columns are there already."""
        del names
        return nullcontext(self.view)

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write the rows as the recoding publishes them, in a random order.

        Temporary tables are made on the connection and dropped again.
        """
        return rows.export(self.view, recoding, target, drop=drop, shuffled=shuffled)

    def formula_cells(self, recoding: Recoding, *, drop: Sequence[str]) -> int:
        return rows.formula_cells(self.view, recoding, drop=drop)

    @cached_property
    def _types(self) -> dict[str, str]:
        return {name: bare(kind) for name, kind in self.view.types.items()}


def totals(survey: str | None) -> list[str]:
    """The columns of people, and of survey weights, as they come over."""
    return ["CAST(n AS BIGINT) AS n", *([] if survey is None else ["s"])]


def histogram(columns: dict[str, Coded], arrays: dict[str, Any]) -> Histogram:
    """What was counted, with the sums of survey weights where there are any."""
    weights = np.asarray(np.ma.filled(arrays["s"], 0.0), dtype=np.float64) if "s" in arrays else None
    return Histogram(columns, np.asarray(np.ma.filled(arrays["n"], 0), dtype=np.int64), weights)
