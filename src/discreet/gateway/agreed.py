"""Limits that two people agreed on in the web application, as this gateway last read them.

They are read when a session begins and every few seconds, beside the loop that serves everybody. If the store cannot be
read, the last known ones hold, but none longer than its own end. What is asked while a result is judged is memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from discreet.errors import StoreError
from discreet.ledger.entry import timestamp
from discreet.store import Store, gateway_limits
from discreet.store.gateway_limits import EVERYBODY, Agreed

_LOG = logging.getLogger("discreet.gateway")


def _utc_now() -> datetime:
    return datetime.now(UTC)


class AgreedLimits:
    """The limits of one database that hold, by the name of the user."""

    def __init__(self, store: Store, database: str, *, clock: Callable[[], datetime] = _utc_now) -> None:
        self._store, self._database, self._clock = store, database, clock
        self._known: Mapping[str, Agreed] = MappingProxyType({})

    def read(self) -> None:
        """Look into the store; what is known stays if that fails."""
        try:
            with self._store.reading() as connection:
                found = gateway_limits.in_force(connection, self._database, now=timestamp(self._clock()))
        except StoreError as problem:
            _LOG.warning("limits could not be read, the last known ones hold: %s", problem.problem)
            return
        self._known = MappingProxyType({one.name: one for one in found})

    def now(self, user: str) -> Agreed | None:
        """The limit of a user, or else of everybody; None where nobody agreed on one, or its time is over."""
        known = self._known
        if not known:
            return None
        moment = timestamp(self._clock())
        own, everybody = known.get(user) if user != EVERYBODY else None, known.get(EVERYBODY)
        return next((one for one in (own, everybody) if one is not None and one.holds(moment)), None)
