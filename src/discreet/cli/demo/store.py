"""The one store of the demo, which its last chapters share: its ledger has all that they disclose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.ledger import Ledger


MARK = "store.db.demo"
"""Beside a store that a demo made, and that the next one may replace."""


def fresh_store(folder: Path) -> Path:
    """Where the store of the demo is; what an earlier demo left there is gone, and nobody else's store is touched."""
    store = folder / "store.db"
    if store.exists() and not (folder / MARK).exists():
        raise UsageError(
            f"{store} was not made by a demo, which would replace it.", remedy="Name another folder with --out."
        )
    for old in folder.glob("store.db*"):
        old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(
        "The store beside this file is of discreet demo; the next one replaces it.\n", encoding="utf-8"
    )
    return store


def open_ledger(store: Path) -> Ledger:
    """Its ledger, with keys beside it, never the user's own; the first chapter that asks makes both."""
    from discreet.ledger import Keys, Ledger
    from discreet.store import Store  # first: says in words if the extra is missing

    place = store.with_name(f"{store.name}.keys")
    return Ledger(Store.open(store), keys=Keys.load(place) if place.exists() else Keys.make(place))
