"""PostgreSQL export: recoded rows into a table there, elsewhere, or a file."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.kernel import Recoding
from discreet.sources.desk import connect, copy, postgres_csv, quote
from discreet.sources.desk import translated as duckdb_errors
from discreet.sources.engine import Target
from discreet.sources.export.recode import PORTABLE, Outline, duckdb_type, file_cell
from discreet.sources.export.staging import create
from discreet.sources.export.targets import FileTarget, TableTarget, unfit, unwritable
from discreet.sources.postgres.rows import PostgresRelation, recoded, save
from discreet.sources.server import quoted, translated

RANDOM_ORDER = " ORDER BY pg_catalog.gen_random_uuid()"
"""From the server's cryptographic source, row by row: an order that nobody can repeat."""


def export(source: PostgresRelation, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool) -> int:
    """Write the rows as the recoding publishes them."""
    outline, order = Outline.of(tuple(source.types), recoding, drop=drop), RANDOM_ORDER if shuffled else ""
    if isinstance(target, TableTarget) and target.url == source.url:
        return _inside(source, outline, target, order)
    with source.transaction() as cursor:
        select = recoded(source, outline, cursor, target.spell) + order
        if isinstance(target, TableTarget):
            return _across(source, outline, cursor, select, target)
        if isinstance(target, FileTarget):
            return _to_file(source, outline, cursor, select, target)
    raise unfit(source.name, remedy="Give a file name or a PostgreSQL URL.")


def _inside(source: PostgresRelation, outline: Outline, target: TableTarget, order: str) -> int:
    """Rows stay in the database."""
    with target.connection.cursor() as cursor:
        with source.translated():
            select = recoded(source, outline, cursor, target.spell)
        with translated(target.url):
            cursor.execute(f"CREATE TABLE {quoted(target.name)} AS {select}{order}")
        return int(cursor.rowcount)


def _across(source: PostgresRelation, outline: Outline, cursor: Any, select: str, target: TableTarget) -> int:
    """From one database to another."""
    types = _types(source, outline)
    create(target, {name: kind if PORTABLE.fullmatch(kind) else "text" for name, kind in types.items()})
    with target.connection.cursor() as over:
        with (
            translated(target.url),
            cursor.copy(f"COPY ({select}) TO STDOUT") as rows,
            over.copy(f"COPY {quoted(target.name)} FROM STDIN") as into,
        ):
            for block in rows:
                into.write(block)
        return int(over.rowcount)


def _to_file(source: PostgresRelation, outline: Outline, cursor: Any, select: str, target: FileTarget) -> int:
    """By way of a CSV, so that Python touches no row."""
    types = {name: duckdb_type(kind) for name, kind in _types(source, outline).items()}
    with tempfile.TemporaryDirectory(dir=target.path.parent, prefix=".discreet-") as folder:
        rows = Path(folder) / "rows.csv"
        try:
            save(cursor, select, rows)
        except OSError as error:
            raise unwritable(target.path.name, error) from None
        with duckdb_errors(source.name), connect() as own:
            return copy(own.execute, _cells(rows, types, target), target)


def _types(source: PostgresRelation, outline: Outline) -> dict[str, str]:
    """The types of PostgreSQL that are written."""
    recoded_names = outline.recoding.names
    return {name: "text" if name in recoded_names else source.types[name] for name in outline.columns}


def _cells(rows: Path, types: dict[str, str], target: FileTarget) -> str:
    """The statement that spells the cells of the server's CSV for the file."""
    read = {name: "VARCHAR" if kind == "BLOB" else kind for name, kind in types.items()}
    # The server writes bytes as \x and hexadecimal digits.
    cells = {name: f"unhex({quote(name)}[3:])" if kind == "BLOB" else quote(name) for name, kind in types.items()}
    spelt = file_cell(target)
    titled = ", ".join(f"{spelt(cells[name], kind)} AS {quote(target.spell(name))}" for name, kind in types.items())
    return f"SELECT {titled} FROM {postgres_csv(rows, read)}"
