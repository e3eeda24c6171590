"""API of the ledger."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from discreet.ledger.tree import Tree
from discreet.web.framework.context import Here
from discreet.web.framework.models import EntriesPage, EntriesQuery, EntryModel, Head
from discreet.web.ledger import store


def head(context: Here) -> Head:
    """The signed head: keep it where nobody who can write to the store can change it."""
    with context.site.store.reading() as connection:
        return Head(**Tree.read(connection).head())


def entry_list(context: Here, query: Annotated[EntriesQuery, Query()]) -> EntriesPage:
    """Entries, newest first."""
    chosen = {name: (getattr(query, name) or "").strip() for name in store.NAMES}
    with context.site.store.reading() as connection:
        page = store.newest(connection, store.Wanted(**chosen), before=query.before, most=query.most)
    return EntriesPage(entries=[EntryModel(**entry.to_dict()) for entry in page.entries], older=page.older)


def entry(context: Here, number: str) -> EntryModel:
    """One entry."""
    return EntryModel(**context.loaded.to_dict())
