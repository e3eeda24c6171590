"""DuckDB engine: files and frames, counted inside this process."""

from __future__ import annotations

import glob
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from discreet.errors import ColumnError, DataError, SourceNotFound, SourceUnreadable, UsageError
from discreet.kernel import Coded, Histogram, Recoding
from discreet.sources import files as source_files
from discreet.sources.engine import (
    Field,
    Kind,
    Numbering,
    bad_weight_sql,
    count_sql,
    numbering_sql,
    one_by_one,
    refuse_bad_weights,
    refuse_wide,
)

if TYPE_CHECKING:
    from discreet.sources.export.targets import Target

RELATION = "source"
PART = "part"
WIDE = 64
"""Columns from which on a table is counted column by column in parts: every statement looks at all of its columns."""
PART_COLUMNS = 256
PART_CELLS = 2**24
"""Columns and cells of a part, which takes memory or room in the temporary folder."""
PLAIN_KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), "number"
    ),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "number"),
    **dict.fromkeys(("DATE", "TIMESTAMP"), "date"),
    "BOOLEAN": "boolean",
}
"""Types that come over as numpy arrays without loss; the others come over as text."""


def quote(name: str) -> str:
    """A name as DuckDB and PostgreSQL quote it."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, eq=False)
class DuckDBEngine:
    """A view named `source` on a private connection."""

    name: str
    connection: Any
    declared: tuple[str, ...] = ()
    parquet: tuple[Path, ...] = ()
    keep: tuple[Any, ...] = field(default=(), repr=False)
    """Objects that must live as long as the view does."""

    @classmethod
    def from_csv(
        cls, path: Path, *, delimiter: str | None = None, encoding: str | None = None, declared: Sequence[str] = ()
    ) -> DuckDBEngine:
        """A CSV file, also compressed with gzip; every cell is text."""
        encoding = encoding or "utf-8"
        mark, header = source_files.sniff(path, delimiter=delimiter, encoding=encoding)
        source_files.check_header(header, path, declared=declared)
        connection = connect()
        plain = source_files.as_utf8(path, encoding, owner=connection)
        options = f"delim = {literal(mark)}, header = true, quote = '\"', escape = '\"', nullstr = '', auto_detect = false, strict_mode = true"
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header)
        kind = ", compression = 'gzip'" if plain.name.lower().endswith(".gz") else ""
        scan = f"read_csv({literal(str(plain))}, {options}, columns = {{{columns}}}{kind})"
        return cls._on_view(path.name, connection, scan)

    @classmethod
    def from_parquet(cls, path: Path) -> DuckDBEngine:
        """A Parquet file, a pattern with wildcards, or a folder of Parquet files."""
        pattern = Path(glob.escape(str(path)), "**", "*.parquet") if path.is_dir() else path
        files = source_files.matching(pattern)
        if not files:
            raise SourceNotFound(
                f"There is no file {pattern}.", remedy="Check the path; relative paths start at the current folder."
            )
        listed = ", ".join(literal(str(file)) for file in files)
        return cls._on_view(path.name, connect(), f"read_parquet([{listed}])", parquet=files)

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
            connection.register("handed", frame)
        except Exception as error:
            raise UsageError(
                f"A {type(frame).__name__} cannot be read as a table ({type(error).__name__}).",
                remedy="Give a path, a PostgreSQL URL, or an Arrow, pandas, polars, DuckDB or PySpark frame.",
            ) from None
        return cls._on_view(name, connection, "handed", keep=(frame,))

    @classmethod
    def _on_view(cls, name: str, connection: Any, scan: str, **kept: Any) -> DuckDBEngine:
        with translated(name):
            connection.execute(f"CREATE VIEW {RELATION} AS SELECT * FROM {scan}")
        engine = cls(name, connection, **kept)
        refuse_wide(len(engine.types), name)
        return engine

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return tuple(Field(name, _kind(kind)) for name, kind in self._types.items())

    def count(self, by: Sequence[str], *, weight: str | None = None) -> Histogram:
        """People per distinct tuple."""
        with translated(self.name):
            if weight is not None:
                self._check_weight(weight)
            elif self.parquet and (fast := source_files.count(self.parquet, by)) is not None:
                return fast
            return self._count(by, weight)

    def count_each(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Histogram]:
        """People per distinct value of each column alone."""
        # How many columns a part has; 1 where the table is not wide or its columns are too long for parts.
        if len(self.fields) <= WIDE:
            width = 1
        else:
            with translated(self.name):
                rows: int = self.connection.execute(f"SELECT COUNT(*) FROM {RELATION}").fetchone()[0]
            width = min(PART_COLUMNS, PART_CELLS // max(rows, 1))
        if width < 2:
            yield from one_by_one(self, names, weight)
            return
        with translated(self.name):
            if weight is not None:
                self._check_weight(weight)
            for start in range(0, len(names), width):
                part = names[start : start + width]
                columns = ", ".join(quote(name) for name in dict.fromkeys([*part, *([weight] if weight else [])]))
                self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {PART} AS SELECT {columns} FROM {RELATION}")
                yield from (self._count([name], weight, relation=PART) for name in part)
            self.connection.execute(f"DROP TABLE IF EXISTS {PART}")

    def _check_weight(self, weight: str) -> None:
        sql = bad_weight_sql(weight, relation=RELATION, quote=quote)
        refuse_bad_weights(self.connection.execute(sql).fetchone()[0], weight)

    def _count(self, by: Sequence[str], weight: str | None, *, relation: str = RELATION) -> Histogram:
        types = self._types
        sql = count_sql(by, weight=weight, relation=relation, quote=quote)
        cells = [cell(f"c{place}", types[name]) for place, name in enumerate(by)]
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE counted AS SELECT {', '.join([*cells, 'CAST(n AS BIGINT) AS n'])} FROM ({sql})"
        )
        codes = [self._codes(f"c{place}", types[name]) for place, name in enumerate(by)]
        # One statement for all columns: those of several would come in orders of their own.
        found = self.connection.execute(f"SELECT {', '.join([*codes, 'n'])} FROM counted").fetchnumpy()
        coded = {name: self._coded(f"c{place}", types[name], found.pop(f"c{place}")) for place, name in enumerate(by)}
        self.connection.execute("DROP TABLE counted")
        return Histogram(coded, np.asarray(np.ma.filled(found["n"], 0), dtype=np.int64))

    def _codes(self, column: str, kind: str) -> str:
        """What is fetched of a column: short numbers as they are, all else as places in the list of its values."""
        if kind in PLAIN_KINDS:
            return column
        self.connection.execute(
            f"CREATE TYPE {column}_values AS ENUM (SELECT DISTINCT {column} FROM counted WHERE {column} IS NOT NULL ORDER BY ALL)"
        )
        return f"COALESCE(enum_code(CAST({column} AS {column}_values)), -1) AS {column}"

    def _coded(self, column: str, kind: str, raw: Any) -> Coded:
        if kind in PLAIN_KINDS:
            return _plain(raw)
        values = self.connection.execute(f"SELECT UNNEST(enum_range(CAST(NULL AS {column}_values)))").fetchall()
        self.connection.execute(f"DROP TYPE {column}_values")
        return Coded.merged([*(_spelt(value, kind) for (value,) in values), None], raw.astype(np.int64))

    def numbering(self, column: str) -> Numbering:
        """Whether the numbers of a column are on one row each."""
        with translated(self.name):
            sql = numbering_sql(column, relation=RELATION, quote=quote, matches=_matches)
            return Numbering(*self.connection.execute(sql).fetchone())

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write the rows as the recoding publishes them, in a random order."""
        from discreet.sources.duckdb.export import desk_of, export

        return export(desk_of(self), recoding, target, drop=drop, shuffled=shuffled)

    @cached_property
    def types(self) -> dict[str, str]:
        """The columns with the types of DuckDB."""
        with translated(self.name):
            return {row[0]: row[1] for row in self.connection.execute(f"DESCRIBE {RELATION}").fetchall()}

    @cached_property
    def _types(self) -> dict[str, str]:
        return {name: bare(kind) for name, kind in self.types.items()}


@dataclass(frozen=True, eq=False)
class RelationEngine:
    """A DuckDB relation, counted on the connection it belongs to; nothing stays there."""

    relation: Any
    name: str = "the DuckDB relation"

    def __post_init__(self) -> None:
        refuse_wide(len(self.relation.columns), self.name)
        if len({name.casefold() for name in self.relation.columns}) < len(self.relation.columns):
            # DuckDB takes such names for one, and would give the values of one column under the name of the other
            raise ColumnError(
                "The DuckDB relation has two columns whose names differ in case only, or not at all.",
                remedy="Give every column a name of its own (AS).",
            )

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return tuple(
            Field(name, _kind(bare(kind)))
            for name, kind in zip(self.relation.columns, self.relation.types, strict=True)
        )

    def count(self, by: Sequence[str], *, weight: str | None = None) -> Histogram:
        """People per distinct tuple."""
        with translated(self.name):
            if weight is not None:
                bad = self._run(bad_weight_sql(weight, relation=RELATION, quote=quote))
                refuse_bad_weights(int(bad["bad"][0]), weight)
            types = dict(zip(self.relation.columns, map(bare, self.relation.types), strict=True))
            cells = [cell(f"c{place}", types[name]) for place, name in enumerate(by)]
            sql = count_sql(by, weight=weight, relation=RELATION, quote=quote)
            found = self._run(f"SELECT {', '.join([*cells, 'CAST(n AS BIGINT) AS n'])} FROM ({sql})")
        coded = {name: fetched(found[f"c{place}"], types[name]) for place, name in enumerate(by)}
        return Histogram(coded, np.asarray(np.ma.filled(found["n"], 0), dtype=np.int64))

    def count_each(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Histogram]:
        """People per distinct value of each column alone."""
        return one_by_one(self, names, weight)

    def numbering(self, column: str) -> Numbering:
        """Whether the numbers of a column are on one row each."""
        with translated(self.name):
            found = self._run(numbering_sql(column, relation=RELATION, quote=quote, matches=_matches))
        return Numbering(*(int(total[0]) for total in found.values()))

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write the rows as the recoding publishes them, in a random order.

        Temporary tables are made on the relation's connection and dropped again.
        """
        from discreet.sources.duckdb.export import desk_of, export

        return export(desk_of(self), recoding, target, drop=drop, shuffled=shuffled)

    def _run(self, sql: str) -> dict[str, Any]:
        result: dict[str, Any] = self.relation.query(RELATION, sql).fetchnumpy()
        return result


def _matches(text: str, pattern: str) -> str:
    return f"regexp_matches({text}, {literal(pattern)})"


def connect() -> Any:
    """A private database in memory that spills to the temporary folder, not to the current one."""
    folder = tempfile.gettempdir()
    return duckdb.connect(config={"temp_directory": folder, "preserve_insertion_order": "false"})


def connect_file(path: Path) -> Any:
    """A new database in a private file, which keeps rows in order and spills beside itself."""
    return duckdb.connect(str(path), config={"temp_directory": str(path.parent), "preserve_insertion_order": "true"})


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Engine errors as ours. Their text is dropped: it quotes rows."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise DataError(
            f"{name} does not fit into memory while it is counted.",
            remedy="Free memory or disk space, or count fewer columns.",
        ) from None
    except duckdb.Error as error:
        raise _unreadable(name, error) from None


def _unreadable(name: str, error: Exception) -> SourceUnreadable:
    said = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", said)
    place = f"line {line[1]} of {name}" if line else name
    widths = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", said)
    if widths:
        return SourceUnreadable(
            f"{place} has {widths[2]} cells where the header has {widths[1]}.",
            remedy="Mend the line, quote cells that hold the delimiter, or set [data] delimiter in the policy.",
        )
    if re.search(r"unicode|utf-?8|encod", said, re.IGNORECASE):
        return SourceUnreadable(
            f"{place} is not written in UTF-8.",
            remedy='Name its encoding in the policy: [data] encoding = "latin-1" (or "cp1252", "utf-16").',
        )
    return SourceUnreadable(
        f"{place} cannot be read ({type(error).__name__}).", remedy="Is it complete, and of the kind its name says?"
    )


def literal(value: str) -> str:
    """A text as DuckDB quotes it."""
    return "'" + value.replace("'", "''") + "'"


def bare(kind: Any) -> str:
    """A type without its length or scale."""
    return re.sub(r"\(.*", "", str(kind))


def _kind(kind: str) -> Kind:
    if kind in ("VARCHAR", "ENUM"):
        return "text"
    return PLAIN_KINDS.get(kind, "number" if kind in ("DECIMAL", "HUGEINT", "UHUGEINT") else "other")


def cell(column: str, kind: str) -> str:
    """A column as it comes over: a number, a day, or text."""
    return column if kind in PLAIN_KINDS else f"CAST({column} AS VARCHAR) AS {column}"


def fetched(cells: Any, kind: str) -> Coded:
    """Codes of cells that came over."""
    return _plain(cells) if kind in PLAIN_KINDS else Coded.of([_spelt(cell, kind) for cell in cells.tolist()])


def _plain(cells: Any) -> Coded:
    """Codes of a numpy column, missing values last."""
    mask = np.ma.getmaskarray(cells)
    distinct, codes = np.unique(np.ma.getdata(cells), return_inverse=True)
    return Coded.merged([*distinct, None], np.where(mask, len(distinct), codes.reshape(-1)))


def _spelt(value: str | None, kind: str) -> str | None:
    """Decimals come over with their scale: 1.50 and 1.5 are one value."""
    if value is None or kind != "DECIMAL" or "." not in value:
        return value
    return value.rstrip("0").rstrip(".")
