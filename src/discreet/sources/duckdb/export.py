"""DuckDB export: recoding in SQL, and COPY to files."""

from __future__ import annotations

import secrets
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from discreet.kernel import Recoding
from discreet.kernel.arrays import Label
from discreet.sources.duckdb.engine import (
    PLAIN_KINDS,
    RELATION,
    bare,
    cell,
    connect,
    fetched,
    literal,
    quote,
    translated,
)
from discreet.sources.export.recode import Dialect, Outline, TemporaryTables, prepare, type_for
from discreet.sources.export.staging import unwritable
from discreet.sources.export.targets import NUMBER, FileTarget, TableTarget, Target, guarded_sql, unfit

WIDE = ("HUGEINT", "UHUGEINT")
NUMBERS = (*PLAIN_KINDS, *WIDE, "DECIMAL", "TIMESTAMP WITH TIME ZONE", "TIME")
"""Types whose text no spreadsheet calculates."""
MOST_TEXTS = 10_000
"""Published values of a column beyond which they are kept as text."""

POSTGRES_CSV = (
    "delim = ',', header = false, quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
    "auto_detect = false, new_line = '\\n'"
)
"""How to read what COPY of PostgreSQL writes. A carriage return in the first row would be taken for the end of a line."""


@dataclass(frozen=True)
class DuckDBDesk(ABC):
    """A DuckDB connection on which the source is called `source`."""

    name: str
    types: Mapping[str, str]
    handle: Any = field(repr=False)
    relation = RELATION

    @abstractmethod
    def run(self, sql: str) -> Any:
        """Run a statement."""

    @abstractmethod
    def load(self, table: str, columns: Mapping[str, Any]) -> None:
        """Make a temporary table of arrays."""

    def keep(self, table: str, select: str) -> None:
        """Make a temporary table of what a statement finds."""
        self.run(f"CREATE TEMP TABLE {table} AS {select}")

    def labels(self, table: str, column: str) -> Sequence[Label]:
        """The values are spelt as they are when they are counted."""
        kind = bare(self.types[column])
        cells = self.run(f"SELECT {cell('value', kind)} FROM {table} ORDER BY id").fetchnumpy()["value"]
        coded = fetched(cells, kind)
        return [coded.values[code] for code in coded.codes.tolist()]


class PrivateDesk(DuckDBDesk):
    """A connection of our own."""

    def run(self, sql: str) -> Any:
        """Run a statement."""
        return self.handle.execute(sql)

    def load(self, table: str, columns: Mapping[str, Any]) -> None:
        """Make a temporary table of arrays."""
        self.handle.register("handed_over", dict(columns))
        try:
            self.keep(table, f"{_typed(columns)} FROM handed_over")
        finally:
            self.handle.unregister("handed_over")


class BorrowedDesk(DuckDBDesk):
    """The connection a relation belongs to, which lets nothing be registered through the relation."""

    def run(self, sql: str) -> Any:
        """Run a statement that sees the relation as `source`."""
        return self.handle.query(RELATION, sql)

    def load(self, table: str, columns: Mapping[str, Any]) -> None:
        """Make a temporary table of arrays, by way of a file."""
        with tempfile.TemporaryDirectory(prefix="discreet-") as folder, connect() as own:
            path = literal(str(Path(folder) / "columns.parquet"))
            own.register("handed_over", dict(columns))
            own.execute(f"COPY ({_typed(columns)} FROM handed_over) TO {path} (FORMAT parquet)")
            self.keep(table, f"SELECT * FROM read_parquet({path})")


def _typed(columns: Mapping[str, Any]) -> str:
    cells = [f"CAST({name} AS {_type(array)}) AS {name}" for name, array in columns.items()]
    return f"SELECT {', '.join(cells)}"


def _type(array: Any) -> str:
    """Few texts travel as numbers, which halves the work of writing them; an empty array has no type of its own."""
    if array.dtype != object:
        return "INTEGER"
    texts = dict.fromkeys(array.tolist())
    return f"ENUM({', '.join(map(literal, texts))})" if 0 < len(texts) <= MOST_TEXTS else "VARCHAR"


def export(desk: DuckDBDesk, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool) -> int:
    """Write the rows as the recoding publishes them, in a random order where they are `shuffled`."""
    outline, tables = Outline.of(tuple(desk.types), recoding, drop=drop), TemporaryTables()
    with translated(desk.name), _swept(desk, tables, len(recoding.names)):
        prepare(desk, recoding, table=tables, quote=quote, spell=target.spell)
        dialect, order = Dialect(quote, _cells(desk.types, target)), _random_order() if shuffled else ""
        select = outline.select(dialect, relation=RELATION, table=tables, title=target.spell)
        if isinstance(target, FileTarget):
            return copy(desk.run, _as_texts(select, outline, target) + order, target)
        if isinstance(target, TableTarget):
            return _to_table(desk, select + order, target, outline)
    raise unfit(desk.name, remedy="Give a file name or a PostgreSQL URL.")


def _random_order() -> str:
    """An order that nobody can repeat, at the end of a statement, where no planner drops it.

    DuckDB's generator is quick but not made for secrets, so its numbers are hashed with a secret that nobody keeps.
    """
    return f" ORDER BY md5_number_lower({literal(secrets.token_hex(16))} || uuid())"


def desk_of(engine: Any) -> DuckDBDesk:
    """The desk of an engine: a connection of our own, or the one its relation belongs to."""
    if hasattr(engine, "relation"):
        types = dict(zip(engine.relation.columns, map(str, engine.relation.types), strict=True))
        return BorrowedDesk(engine.name, types, engine.relation)
    return PrivateDesk(engine.name, engine.types, engine.connection)


def chosen(desk: DuckDBDesk, recoding: Recoding, *, drop: Sequence[str]) -> tuple[tuple[str, ...], list[Any]]:
    """The columns and rows that the recoding publishes, in no particular order, as Python values."""
    outline, tables = Outline.of(tuple(desk.types), recoding, drop=drop), TemporaryTables()
    with translated(desk.name), _swept(desk, tables, len(recoding.names)):
        prepare(desk, recoding, table=tables, quote=quote, spell=str)
        select = outline.select(Dialect(quote), relation=RELATION, table=tables, title=str)
        return outline.columns, desk.run(select).fetchall()


def _as_texts(select: str, outline: Outline, target: FileTarget) -> str:
    """The labels of recoded columns as texts: see `parquet_cell`."""
    if target.format != "parquet" or not outline.recoding.names:
        return select
    texts = ", ".join(f"{parquet_cell(quote(name), 'ENUM')} AS {quote(name)}" for name in outline.recoding.names)
    return f"SELECT * REPLACE ({texts}) FROM ({select})"


@contextmanager
def _swept(desk: DuckDBDesk, tables: TemporaryTables, columns: int) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(duckdb.Error):
            for table in tables.names(columns):
                desk.run(f"DROP TABLE IF EXISTS {table}")


def _cells(types: Mapping[str, str], target: Target) -> Callable[[str, str], str]:
    spelt = _for_server if isinstance(target, TableTarget) else file_cell(target)
    return lambda name, cell: spelt(cell, bare(types[name]))


def file_cell(target: Target) -> Callable[[str, str], str]:
    """How a file wants its cells."""
    return csv_cell if target.blank_is_missing else parquet_cell


def csv_cell(column: str, kind: str) -> str:
    """A column guarded against formulas where it could hold one."""
    if kind in NUMBERS:
        return column
    text = f"CAST({column} AS VARCHAR)"
    return guarded_sql(text, is_number=f"regexp_full_match({text}, {literal(NUMBER)})")


def parquet_cell(column: str, kind: str) -> str:
    """A column as Parquet can hold it: integers beyond 64 bits would become floats.

    Of an ENUM the whole dictionary would be written, values that do not occur as empty texts: their number would show,
    and Arrow's readers of dictionaries trip over texts that are there twice.
    """
    if kind == "ENUM":
        return f"CAST({column} AS VARCHAR)"
    return f"CAST({column} AS DECIMAL(38, 0))" if kind in WIDE else column


def _for_server(column: str, kind: str) -> str:
    """A column as PostgreSQL reads it."""
    return f"'\\x' || HEX({column})" if kind == "BLOB" else column


def scan(rows: Path, kinds: Mapping[str, str], target: FileTarget) -> str:
    """The statement that reads a CSV from PostgreSQL, its columns of the given types, for `copy` to write."""
    read = {name: "VARCHAR" if kind == "BLOB" else kind for name, kind in kinds.items()}
    columns = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in read.items())
    written = file_cell(target)
    cells = {name: f"unhex({quote(name)}[3:])" if kind == "BLOB" else quote(name) for name, kind in kinds.items()}
    titled = ", ".join(f"{written(cells[name], kinds[name])} AS {quote(target.spell(name))}" for name in kinds)
    return f"SELECT {titled} FROM read_csv({literal(str(rows))}, {POSTGRES_CSV}, columns = {{{columns}}})"


def copy(run: Callable[[str], Any], select: str, target: FileTarget) -> int:
    """Write the rows of a statement to a file, and say how many there are."""
    with _disk(target.path):
        done = run(f"COPY ({select}) TO {literal(target.address)} ({_options(target)})").fetchall()
    return int(done[0][0])


def _options(target: FileTarget) -> str:
    if target.format == "parquet":
        return "FORMAT parquet, COMPRESSION zstd"
    packed = "gzip" if target.format == "csv.gz" else "none"
    cells = f"DELIMITER {literal(target.delimiter)}, QUOTE '\"', ESCAPE '\"', NULLSTR ''"
    return f"FORMAT csv, HEADER true, {cells}, COMPRESSION {packed}"


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    """An error about the file that is written is no error of the source."""
    try:
        yield
    except duckdb.IOException as error:
        if str(path) not in str(error):
            raise
        raise unwritable(path.name, error) from None


def _to_table(desk: DuckDBDesk, select: str, target: TableTarget, outline: Outline) -> int:
    """By way of a CSV, which both sides read and write without Python touching a row."""
    from discreet.sources.export import staging

    staging.create(target, {name: _server_type(name, desk, target, outline) for name in outline.columns})
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        rows = FileTarget(str(Path(folder) / "rows.csv"))
        copy(desk.run, select, rows)
        return staging.fill(target, rows.path)


def _server_type(name: str, desk: DuckDBDesk, target: TableTarget, outline: Outline) -> str:
    if name in outline.recoding.names:
        return "text"
    kind = type_for(desk.types[name])
    return "numeric" if kind == "text" and name == target.count else kind
