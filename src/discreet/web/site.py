"""What all requests of one process share: the ledger with its store, the settings, the templates, the hasher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from discreet.ledger import Ledger
from discreet.ledger.entry import timestamp
from discreet.store import Store
from discreet.web.passwords import Hasher
from discreet.web.render import Templates
from discreet.web.route import Route
from discreet.web.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI


@dataclass
class Site:
    """Everything a handler can reach beside its request."""

    settings: Settings
    ledger: Ledger
    hasher: Hasher
    templates: Templates
    table: Mapping[tuple[str, str], Route]
    app: FastAPI | None = field(default=None, repr=False)

    @property
    def store(self) -> Store:
        """Where the state is."""
        return self.ledger.store

    def now(self) -> datetime:
        """What the clock says."""
        return self.settings.clock()

    def stamp(self, *, ago: timedelta = timedelta(0)) -> str:
        """Now, or some time ago, as the store writes moments; such texts compare like the moments."""
        return timestamp(self.now() - ago)

    def close(self) -> None:
        """Write what waits, then close the store."""
        self.ledger.close()
