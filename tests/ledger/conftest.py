"""A ledger on each kind of store, with a clock that tests can turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from discreet.ledger import Ledger


@dataclass
class Clock:
    """Stands still until it is turned."""

    now: datetime = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def turn(self, **by: float) -> None:
        """Go on, or back."""
        self.now += timedelta(**by)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(store_url: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger.open(store_url, clock=clock) as opened:
        yield opened
