"""Site: what all requests of one process share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.ledger import Ledger
from discreet.ledger.entry import timestamp
from discreet.store import Store
from discreet.web.accounts.passwords import Hasher
from discreet.web.framework.render import Templates
from discreet.web.framework.route import Route
from discreet.web.framework.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from discreet.web.datasets.files import Places
    from discreet.web.jobs.foreman import Foreman


@dataclass
class Site:
    """Everything a handler can reach beside its request."""

    settings: Settings
    ledger: Ledger
    hasher: Hasher
    templates: Templates
    table: Mapping[tuple[str, str], Route]
    app: FastAPI | None = field(default=None, repr=False)
    foreman: Foreman | None = field(default=None, repr=False)
    """Who starts jobs, once the server runs."""

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

    @cached_property
    def places(self) -> Places:
        """Where data sets are."""
        from discreet.web.datasets.files import Folder, Places

        folder = Folder.of(self.settings.data, self.ledger.head()["ledger"])
        return Places(folder, self.settings.folders, self.ledger.keys)

    def close(self) -> None:
        """Put running jobs back, write what waits, then close the store."""
        if self.foreman is not None:
            self.foreman.close()
            self.foreman = None
        self.ledger.close()
