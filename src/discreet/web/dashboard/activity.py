"""Recent activity: disclosures and refusals by room and day, low budgets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from discreet.ledger import Budget
from discreet.ledger.entry import timestamp
from discreet.ledger.events import EVENTS
from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import CHECK

DAYS = 14
NEARLY = 80
"""Per cent of a budget from which on it is worth a look."""

DISCLOSED = ("done", "settled", "expired")
NOT_DISCLOSURES = (
    "ledger.opened",
    "ledger.budget",
    "web.account",
    "web.policy",
    "web.approved",
    "web.rejected",
    "misuse.asked",
    "misuse.weighed",
)
"""Entries that are decisions, not disclosures."""
ROOMS = tuple(dict.fromkeys(event.partition(".")[0] for event in EVENTS if event not in NOT_DISCLOSURES))


@dataclass(frozen=True)
class Room:
    """Disclosures of a room, day by day, the last one today."""

    name: str
    days: tuple[int, ...]
    refused: int

    @property
    def total(self) -> int:
        """In all these days."""
        return sum(self.days)


@dataclass(frozen=True)
class Check:
    """A verification of the ledger."""

    time: str
    actor: str
    head: str
    problems: int


def first_since(connection: Connection, moment: str) -> int:
    """The number of the first entry at or after a moment. Times never decrease, so that few rows need be looked at."""
    low, high = 0, int(connection.execute(select(func.coalesce(func.max(ENTRY.c.sequence) + 1, 0))).scalar_one())
    while low < high:
        middle = (low + high) // 2
        found = connection.execute(select(ENTRY.c.time).where(ENTRY.c.sequence == middle)).scalar()
        low, high = (middle + 1, high) if found is None or found < moment else (low, middle)
    return low


def rooms(connection: Connection, now: datetime) -> list[Room]:
    """Every room with disclosures or refusals in the last days."""
    days = [(now - timedelta(days=DAYS - 1 - place)).date().isoformat() for place in range(DAYS)]
    begin = first_since(connection, f"{days[0]}T00:00:00.000000Z")
    day = func.substr(ENTRY.c.time, 1, 10)
    counted = connection.execute(
        select(ENTRY.c.room, day.label("day"), ENTRY.c.outcome, func.count().label("entries"))
        .where(ENTRY.c.sequence >= begin, ENTRY.c.event.not_in(NOT_DISCLOSURES))
        .group_by(ENTRY.c.room, day, ENTRY.c.outcome)
    ).all()
    found: dict[tuple[str, str, bool], int] = {}
    for row in counted:
        if row.outcome in (*DISCLOSED, "refused"):
            key = (row.room, row.day, row.outcome == "refused")
            found[key] = found.get(key, 0) + row.entries
    shown = [
        Room(
            name,
            tuple(found.get((name, one, False), 0) for one in days),
            sum(found.get((name, one, True), 0) for one in days),
        )
        for name in ROOMS
    ]
    return [room for room in shown if room.total or room.refused]


def refusals(connection: Connection, now: datetime, *, days: int = 7) -> dict[str, int]:
    """Refusals of the last days, by room, most first."""
    begin = first_since(connection, timestamp(now - timedelta(days=days)))
    counted = connection.execute(
        select(ENTRY.c.room, func.count().label("entries"))
        .where(ENTRY.c.sequence >= begin, ENTRY.c.outcome == "refused")
        .group_by(ENTRY.c.room)
    )
    return dict(sorted(((row.room, row.entries) for row in counted), key=lambda pair: -pair[1]))


def used(budget: Budget) -> int:
    """How much of a budget is spent or held back, in per cent, rounded up; a budget of nothing is used up."""
    if budget.limit == 0:
        return 100
    share = (budget.spent + budget.reserved) * 100 / budget.limit
    return -(-share.numerator // share.denominator)


def last_check(connection: Connection) -> Check | None:
    """The newest verification of the ledger."""
    row = connection.execute(select(CHECK).order_by(CHECK.c.id.desc()).limit(1)).one_or_none()
    return None if row is None else Check(row.time, row.actor, row.head, row.problems)
