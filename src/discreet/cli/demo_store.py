"""The one store of the demo, which its last chapters share: its ledger has all that they disclose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.ledger import Ledger


def fresh_store(folder: Path) -> Path:
    """Where the store of the demo is; what an earlier run left there is gone."""
    for old in folder.glob("store.db*"):
        old.unlink()
    return folder / "store.db"


def open_ledger(store: Path) -> Ledger:
    """Its ledger, with keys beside it, never the user's own; the first chapter that asks makes both."""
    from discreet.ledger import Keys, Ledger
    from discreet.store import Store  # first: says in words if the extra is missing

    place = store.with_name(f"{store.name}.keys")
    return Ledger(Store.open(store), keys=Keys.load(place) if place.exists() else Keys.make(place))
