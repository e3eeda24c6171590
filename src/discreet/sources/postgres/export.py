"""PostgreSQL export: recoded rows into a table there, elsewhere, or a file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.kernel import Recoding
from discreet.kernel.arrays import Label
from discreet.kernel.hierarchy import text
from discreet.sources.export.recode import PORTABLE, Dialect, Outline, Spell, TemporaryTables, duckdb_type, prepare
from discreet.sources.export.staging import create, translated, unwritable
from discreet.sources.export.targets import FileTarget, TableTarget, Target, unfit
from discreet.sources.postgres.engine import PostgresEngine, quote, quoted

FAITHFUL = "SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1"
"""However the server is set up, its text loses nothing and DuckDB reads it."""
RANDOM_ORDER = " ORDER BY pg_catalog.gen_random_uuid()"
"""From the server's cryptographic source, row by row: an order that nobody can repeat."""
HASHED = "SET LOCAL enable_nestloop = off"
"""The size of a query is often underrated, and a nested loop over all rows and classes does not end."""


@dataclass(frozen=True)
class _Desk:
    """A transaction that may make temporary tables; they end with it."""

    relation: str
    cursor: Any = field(repr=False)

    def keep(self, table: str, select: str) -> None:
        self.cursor.execute(f"CREATE TEMP TABLE {table} ON COMMIT DROP AS {select}")
        self.cursor.execute(f"ANALYZE {table}")

    def load(self, table: str, columns: Mapping[str, Any]) -> None:
        kinds = [f"{name} {'text' if array.dtype == object else 'integer'}" for name, array in columns.items()]
        self.cursor.execute(f"CREATE TEMP TABLE {table} ({', '.join(kinds)}) ON COMMIT DROP")
        with self.cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in zip(*(array.tolist() for array in columns.values()), strict=True):
                copy.write_row(row)

    def labels(self, table: str, column: str) -> Sequence[Label]:
        return [text(value) for (value,) in self.cursor.execute(f"SELECT value FROM {table} ORDER BY id")]


def export(engine: PostgresEngine, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool) -> int:
    """Write the rows as the recoding publishes them, in a random order where they are `shuffled`."""
    outline, order = Outline.of(tuple(engine.types), recoding, drop=drop), RANDOM_ORDER if shuffled else ""
    if isinstance(target, TableTarget) and target.url == engine.url:
        return _inside(engine, outline, target, order)
    with engine.transaction() as cursor:
        select = _prepared(engine, outline, cursor, target.spell) + order
        if isinstance(target, TableTarget):
            return _across(engine, outline, cursor, select, target)
        if isinstance(target, FileTarget):
            return _to_file(engine, outline, cursor, select, target)
    raise unfit(engine.name, remedy="Give a file name or a PostgreSQL URL.")


def chosen(
    engine: PostgresEngine, recoding: Recoding, *, drop: Sequence[str]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The columns and rows that the recoding publishes, in no particular order, as Python values."""
    outline = Outline.of(tuple(engine.types), recoding, drop=drop)
    with engine.transaction() as cursor:
        cursor.execute(_prepared(engine, outline, cursor, str))
        return outline.columns, list(cursor)


def _inside(engine: PostgresEngine, outline: Outline, target: TableTarget, order: str) -> int:
    """Rows stay in the database."""
    with target.connection.cursor() as cursor:
        with engine.translated():
            select = _prepared(engine, outline, cursor, target.spell)
        with translated(target.url):
            cursor.execute(f"CREATE TABLE {quoted(target.name)} AS {select}{order}")
        return int(cursor.rowcount)


def _prepared(engine: PostgresEngine, outline: Outline, cursor: Any, spell: Spell) -> str:
    tables, recoding = TemporaryTables(), outline.recoding
    cursor.execute(f"{FAITHFUL}; {HASHED}")
    prepare(_Desk(engine.relation, cursor), recoding, table=tables, quote=quote, spell=spell)
    return outline.select(Dialect(quote, fence=" OFFSET 0"), relation=engine.relation, table=tables, title=str)


def _to_file(engine: PostgresEngine, outline: Outline, cursor: Any, select: str, target: FileTarget) -> int:
    """By way of a CSV, which both sides read and write without Python touching a row."""
    from discreet.sources.duckdb import engine as engines
    from discreet.sources.duckdb import export as duckdb_export

    kinds = {name: duckdb_type(kind) for name, kind in _kinds(engine, outline).items()}
    with tempfile.TemporaryDirectory(dir=target.path.parent, prefix=".discreet-") as folder:
        rows = Path(folder) / "rows.csv"
        _save(cursor, select, rows, target)
        with engines.translated(engine.name), engines.connect() as own:
            return duckdb_export.copy(own.execute, duckdb_export.scan(rows, kinds, target), target)


def _kinds(engine: PostgresEngine, outline: Outline) -> dict[str, str]:
    recoded = outline.recoding.names
    return {name: "text" if name in recoded else engine.types[name] for name in outline.columns}


def _save(cursor: Any, select: str, path: Path, target: FileTarget) -> None:
    try:
        with path.open("wb") as file, cursor.copy(f"COPY ({select}) TO STDOUT (FORMAT csv)") as rows:
            for block in rows:
                file.write(block)
    except OSError as error:
        raise unwritable(target.path.name, error) from None


def _across(engine: PostgresEngine, outline: Outline, cursor: Any, select: str, target: TableTarget) -> int:
    """From one database to another."""
    kinds = _kinds(engine, outline)
    create(target, {name: kind if PORTABLE.fullmatch(kind) else "text" for name, kind in kinds.items()})
    with target.connection.cursor() as over:
        with (
            translated(target.url),
            cursor.copy(f"COPY ({select}) TO STDOUT") as rows,
            over.copy(f"COPY {quoted(target.name)} FROM STDIN") as copy,
        ):
            for block in rows:
                copy.write(block)
        return int(over.rowcount)
