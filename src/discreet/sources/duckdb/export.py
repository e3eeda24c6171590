"""DuckDB export: recoding in SQL, then COPY to a file or PostgreSQL."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from discreet.kernel import Recoding
from discreet.sources.desk import RELATION, DuckDBDesk, bare, copy, literal, quote
from discreet.sources.duckdb.rows import prepared
from discreet.sources.engine import Target
from discreet.sources.export.recode import Dialect, Outline, file_cell, parquet_cell, postgres_type, server_cell
from discreet.sources.export.staging import create, fill
from discreet.sources.export.targets import FileTarget, TableTarget, unfit


def export(desk: DuckDBDesk, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool) -> int:
    """Write the rows as the recoding publishes them."""
    outline, order = Outline.of(tuple(desk.types), recoding, drop=drop), _random_order() if shuffled else ""
    spelt = server_cell if isinstance(target, TableTarget) else file_cell(target)
    dialect = Dialect(quote, lambda name, cell: spelt(cell, bare(desk.types[name])))
    with prepared(desk, recoding, spell=target.spell) as tables:
        select = outline.select(dialect, relation=RELATION, table=tables, title=target.spell)
        if isinstance(target, FileTarget):
            return copy(desk.run, _as_texts(select, outline, target) + order, target)
        if isinstance(target, TableTarget):
            # By way of a CSV, so that Python touches no row.
            create(target, {name: _server_type(name, desk, target, outline) for name in outline.columns})
            with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
                rows = FileTarget(str(Path(folder) / "rows.csv"))
                copy(desk.run, select + order, rows)
                return fill(target, rows.path)
    raise unfit(desk.name, remedy="Give a file name or a PostgreSQL URL.")


def _random_order() -> str:
    """An order that cannot be repeated.

    It is at the end of a statement, where no planner drops it.
    DuckDB's generator is quick but not made for secrets, so its numbers are hashed with a secret that is not stored.
    """
    return f" ORDER BY md5_number_lower({literal(secrets.token_hex(16))} || uuid())"


def _as_texts(select: str, outline: Outline, target: FileTarget) -> str:
    """The labels of recoded columns as texts: see `parquet_cell`."""
    if target.format != "parquet" or not outline.recoding.names:
        return select
    texts = ", ".join(f"{parquet_cell(quote(name), 'ENUM')} AS {quote(name)}" for name in outline.recoding.names)
    return f"SELECT * REPLACE ({texts}) FROM ({select})"


def _server_type(name: str, desk: DuckDBDesk, target: TableTarget, outline: Outline) -> str:
    if name in outline.recoding.names:
        return "text"
    kind = postgres_type(desk.types[name])
    return "numeric" if kind == "text" and name == target.count else kind
