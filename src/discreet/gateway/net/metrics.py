"""Monitoring of the gateway: what is counted, and what the event log may say of it.

Neither holds a text of a statement or a value of a row: a statement is known by its fingerprint, a decision by its kind.

>>> events = GatewayEvents()
>>> events.observe("answered", user="ann", seconds=0.02)
>>> events.by_event()
[('answered', 1)]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TextIO

from discreet.operations.event_log import EventLog
from discreet.operations.metrics import Metrics

CONNECTIONS = frozenset(("login", "login_failed", "turned_away", "ended"))
"""Events that are about a connection; all others are decisions."""
LOGGED = frozenset(
    (
        "user",
        "database",
        "address",
        "application",
        "encrypted",
        "governed",
        "reason",
        "seconds",
        "fingerprint",
        "session",
    )
)
"""What an event may say; anything else is left out of the log, so that no value gets there by mistake."""


class GatewayEvents(Metrics):
    """Counts events, and writes them down where there is a file."""

    def __init__(self, log: Path | TextIO | None = None) -> None:
        super().__init__("discreet_gateway_")
        self.log = EventLog(log, named=LOGGED)

    def observe(self, event: str, **labels: Any) -> None:
        """Something has happened; from any thread."""
        kind = "connections" if event in CONNECTIONS else "decisions"
        seconds = labels.get("seconds")
        self.count(kind, event=event)
        if kind == "decisions" and isinstance(seconds, float):
            self.time("decision_seconds", seconds, event=event)
        self.log.write(event, **labels)

    def by_event(self) -> list[tuple[str, int]]:
        """How often each event has happened."""
        return sorted((labels[0][1], times) for (_, labels), times in self.counts.items())
