"""All that is stored, to see whether something has changed it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from sqlalchemy import select

from discreet.store.tables import metadata
from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import SESSION

ROWS = {
    table.name: select(*(column for column in table.columns if column is not SESSION.c.seen))
    for table in metadata.sorted_tables
}
"""What is read of each table."""


def snapshot(app: FastAPI, *, ledger: bool = True) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, without the last use of sessions; without the ledger if that may grow."""
    with app.state.site.store.reading() as connection:
        return {
            name: sorted(map(tuple, connection.execute(rows)), key=repr)
            for name, rows in ROWS.items()
            if ledger or not name.startswith("ledger_")
        }


def entries(app: FastAPI) -> list[dict[str, Any]]:
    """The entries of the ledger, in order."""
    with app.state.site.store.reading() as connection:
        return [dict(row._mapping) for row in connection.execute(select(ENTRY).order_by(ENTRY.c.sequence))]
