"""All that is stored, to see whether something has changed it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from sqlalchemy import select

from discreet.store.tables import metadata
from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import SESSION


def snapshot(app: FastAPI, *, ledger: bool = True) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, without the last use of sessions; without the ledger if that may grow."""
    tables = [table for table in metadata.sorted_tables if ledger or not table.name.startswith("ledger_")]
    with app.state.site.store.reading() as connection:
        return {
            table.name: sorted(
                (tuple(row) for row in connection.execute(select(*(column for column in table.columns if column is not SESSION.c.seen)))),
                key=repr,
            )
            for table in tables
        }  # fmt: skip


def entries(app: FastAPI) -> list[dict[str, Any]]:
    """The entries of the ledger, in order."""
    with app.state.site.store.reading() as connection:
        return [dict(row._mapping) for row in connection.execute(select(ENTRY).order_by(ENTRY.c.sequence))]
