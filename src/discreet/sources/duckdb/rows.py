"""DuckDB rows: whole columns as codes, and the rows of chosen classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import duckdb

from discreet.kernel import Coded, Recoding
from discreet.sources.desk import RELATION, DuckDBDesk, bare, cell, fetched, quote, translated
from discreet.sources.engine import Cells, columnwise
from discreet.sources.export.recode import Dialect, Outline, Spell, Tables, prepare


def fetch(desk: DuckDBDesk, names: Sequence[str]) -> dict[str, Coded]:
    """The cells of some columns, coded as they are counted."""
    kinds = {name: bare(desk.types[name]) for name in names}
    columns = ", ".join(f"{quote(name)} AS c{place}" for place, name in enumerate(names))
    cells = ", ".join(cell(f"c{place}", kinds[name]) for place, name in enumerate(names))
    with translated(desk.name):
        if desk.private:
            desk.run("SET preserve_insertion_order = true")
        arrays = desk.run(f"SELECT {cells} FROM (SELECT {columns} FROM {RELATION})").fetchnumpy()
    return {name: fetched(arrays[f"c{place}"], kinds[name]) for place, name in enumerate(names)}


def chosen(desk: DuckDBDesk, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
    """The rows that the recoding publishes, in no particular order, as Python values."""
    outline = Outline.of(tuple(desk.types), recoding, drop=drop)
    with prepared(desk, recoding, spell=str) as tables:
        select = outline.select(Dialect(quote), relation=RELATION, table=tables, title=str)
        return columnwise(outline.columns, desk.run(select).fetchall())


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
