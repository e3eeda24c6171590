"""DuckDB rows: whole columns as codes, the rows of chosen classes, and their export."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

import duckdb

from discreet.kernel import Recoding
from discreet.sources.duckdb_scratch import RELATION, DuckDBDesk, bare, copy, literal, private_folder, quote, translated
from discreet.sources.engine import Cells, Target, columnwise
from discreet.sources.export.recode import (
    Dialect,
    Outline,
    Spell,
    Tables,
    file_cell,
    is_number,
    parquet_cell,
    postgres_type,
    prepare,
    server_cell,
)
from discreet.sources.export.staging import create, fill
from discreet.sources.export.targets import FileTarget, TableTarget, formula_count_sql, unfit


def chosen(desk: DuckDBDesk, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
    """The rows that the recoding publishes, in no particular order, as Python values."""
    outline = Outline.of(tuple(desk.types), recoding, drop=drop)
    with prepared(desk, recoding, spell=str) as tables:
        select = outline.select(Dialect(quote), relation=RELATION, table=tables, title=str)
        return columnwise(outline.columns, desk.run(select).fetchall())


def formula_cells(desk: DuckDBDesk, recoding: Recoding, *, drop: Sequence[str]) -> int:
    """Cells of the published rows that a spreadsheet would run."""
    outline = Outline.of(tuple(desk.types), recoding, drop=drop)
    texts = outline.texts({name: bare(kind) for name, kind in desk.types.items()})
    if not texts:
        return 0
    with prepared(desk, recoding, spell=str) as tables:
        select = replace(outline, columns=texts).select(Dialect(quote), relation=RELATION, table=tables, title=str)
        counted = formula_count_sql(select, texts, quote=quote, text="VARCHAR", is_number=is_number)
        return int(desk.run(counted).fetchall()[0][0])


@contextmanager
def prepared(desk: DuckDBDesk, recoding: Recoding, *, spell: Spell) -> Iterator[Tables]:
    """The temporary tables that a recoding joins, for as long as the block lasts."""
    tables = Tables()
    with translated(desk.name):
        try:
            prepare(desk, recoding, table=tables, quote=quote, spell=spell)
            yield tables
        finally:
            with suppress(duckdb.Error):
                for table in tables.names(len(recoding.names)):
                    desk.run(f"DROP TABLE IF EXISTS {table}")


def export(desk: DuckDBDesk, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool) -> int:
    """Write the rows as the recoding publishes them."""
    outline = Outline.of(tuple(desk.types), recoding, drop=drop)
    # An order that cannot be repeated: DuckDB's generator is quick but not made for secrets, so its numbers are hashed with
    # a secret that is not stored. It is at the end of a statement, where no planner drops it.
    order = f" ORDER BY md5_number_lower({literal(secrets.token_hex(16))} || uuid())" if shuffled else ""
    spelt = server_cell if isinstance(target, TableTarget) else file_cell(target)
    dialect = Dialect(quote, lambda name, cell: spelt(cell, bare(desk.types[name])))
    with prepared(desk, recoding, spell=target.spell) as tables:
        select = outline.select(dialect, relation=RELATION, table=tables, title=target.spell)
        if isinstance(target, FileTarget):
            if target.format == "parquet" and recoding.names:
                # The labels of recoded columns as texts: see `parquet_cell`.
                texts = [f"{parquet_cell(quote(name), 'ENUM')} AS {quote(name)}" for name in recoding.names]
                select = f"SELECT * REPLACE ({', '.join(texts)}) FROM ({select})"
            return copy(desk.run, select + order, target)
        if isinstance(target, TableTarget):
            kinds = {name: postgres_type(desk.types[name]) for name in outline.columns}
            if target.count is not None and kinds.get(target.count) == "text":
                kinds[target.count] = "numeric"
            create(target, {**kinds, **dict.fromkeys(recoding.names, "text")})
            # By way of a CSV, so that Python touches no row.
            with private_folder() as folder:
                rows = FileTarget(str(folder / "rows.csv"))
                copy(desk.run, select + order, rows)
                return fill(target, rows.path)
    raise unfit(desk.name, remedy="Give a file name or a PostgreSQL URL.")
