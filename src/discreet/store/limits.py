"""Limits of database users that two people agreed on: proposed by one, decided by another, read by every gateway.

They are kept here because the gateway and the web application both need them, and neither may know the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Literal

from sqlalchemy import Connection, Row, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from discreet.errors import Outdated
from discreet.store.tables.gateway import LIMIT
from discreet.store.tables.web import ACCOUNT

PARTS = 1_000_000
"""Exposures and limits are kept in millionths."""
EVERYBODY = "*"
"""In place of a name: all users of the database."""
Action = Literal["deny", "subset", "mask", "alert"]
ACTIONS: dict[Action, str] = {
    "deny": "refuse the result",
    "subset": "give the most rows that are within the limit",
    "mask": "empty the heaviest cells",
    "alert": "let it through and write it down",
}
"""What can happen to a result above the limit."""


@dataclass(frozen=True)
class Agreed:
    """A limit, and how far it has come."""

    id: int
    database: str
    name: str
    allowed: int
    """In millionths."""
    action: Action
    until: str | None
    """The moment from which on it no longer holds."""
    reason: str
    state: str
    account: int
    made: str
    decided: str | None = None
    answer: str | None = None
    """Why it was declined."""
    ended: str | None = None
    proposer: str = ""
    decider: str | None = None

    @property
    def value(self) -> Fraction:
        """The largest exposure that it allows."""
        return Fraction(self.allowed, PARTS)

    @property
    def last_day(self) -> str | None:
        """The last day on which it holds; None if it has no end."""
        return (
            None if self.until is None else (datetime.fromisoformat(self.until) - timedelta(days=1)).date().isoformat()
        )

    @property
    def subject(self) -> str:
        """What the ledger calls it."""
        return f"database:{self.database}/user:{self.name}/limit:{self.id}"

    def holds(self, now: str) -> bool:
        """Whether it is in force at a moment, written as the store writes moments."""
        return self.state == "approved" and (self.until is None or now < self.until)


_DECIDER = ACCOUNT.alias("decider")
_WHOLE = (
    select(LIMIT, ACCOUNT.c.name.label("proposer"), _DECIDER.c.name.label("decided_by"))
    .join(ACCOUNT, ACCOUNT.c.id == LIMIT.c.account)
    .outerjoin(_DECIDER, _DECIDER.c.id == LIMIT.c.decider)
)
_PLAIN = (
    "id", "database", "name", "allowed", "action", "until", "reason", "state", "account", "made", "decided", "answer", "ended",
    "proposer",
)  # fmt: skip


def _limit_of(row: Row[Any]) -> Agreed:
    return Agreed(**{name: getattr(row, name) for name in _PLAIN}, decider=row.decided_by)


def find(connection: Connection, number: int) -> Agreed | None:
    """By number."""
    row = connection.execute(_WHOLE.where(LIMIT.c.id == number)).one_or_none()
    return None if row is None else _limit_of(row)


def everything(
    connection: Connection,
    *,
    state: str | None = None,
    database: str | None = None,
    name: str | None = None,
    before: int | None = None,
    most: int = 1_000,
) -> list[Agreed]:
    """Limits, the newest first."""
    wanted = _WHOLE.order_by(LIMIT.c.id.desc()).limit(most)
    for column, value in ((LIMIT.c.state, state), (LIMIT.c.database, database), (LIMIT.c.name, name)):
        if value is not None:
            wanted = wanted.where(column == value)
    if before is not None:
        wanted = wanted.where(LIMIT.c.id < before)
    return [_limit_of(row) for row in connection.execute(wanted)]


def in_force(connection: Connection, database: str | None = None, *, now: str) -> list[Agreed]:
    """Those that hold at a moment, of one database or of all."""
    wanted = _WHOLE.where(LIMIT.c.state == "approved", or_(LIMIT.c.until.is_(None), LIMIT.c.until > now))
    if database is not None:
        wanted = wanted.where(LIMIT.c.database == database)
    return [_limit_of(row) for row in connection.execute(wanted.order_by(LIMIT.c.id))]


def propose(
    connection: Connection,
    *,
    database: str,
    name: str,
    allowed: int,
    action: Action,
    until: str | None,
    reason: str,
    account: int,
    now: str,
) -> int:
    """A new limit that nobody has agreed to yet; gives its number."""
    values = {"database": database, "name": name, "allowed": allowed, "action": action, "until": until}
    made = insert(LIMIT).values(**values, reason=reason, state="proposed", account=account, made=now)
    return int(connection.execute(made.returning(LIMIT.c.id)).scalar_one())


def approve(connection: Connection, limit: Agreed, *, account: int, now: str) -> None:
    """Put it in force, in place of the one that held for the same user. Never one's own."""
    held = (LIMIT.c.database == limit.database, LIMIT.c.name == limit.name, LIMIT.c.state == "approved")
    try:
        with connection.begin_nested():
            connection.execute(update(LIMIT).where(*held).values(state="replaced", ended=now))
            _move(connection, limit, "proposed", {"state": "approved", "decider": account, "decided": now}, but=account)
    except IntegrityError:
        raise too_late() from None


def decline(connection: Connection, limit: Agreed, *, account: int, now: str, answer: str) -> None:
    """Say no, and why. Never to one's own."""
    new = {"state": "declined", "decider": account, "decided": now, "answer": answer}
    _move(connection, limit, "proposed", new, but=account)


def withdraw(connection: Connection, limit: Agreed, *, now: str) -> None:
    """It is not to hold, or no longer."""
    _move(connection, limit, limit.state, {"state": "withdrawn", "ended": now})


def _move(connection: Connection, limit: Agreed, was: str, new: dict[str, Any], *, but: int | None = None) -> None:
    mine = [LIMIT.c.id == limit.id, LIMIT.c.state == was, LIMIT.c.state.in_(("proposed", "approved"))]
    if but is not None:
        mine.append(LIMIT.c.account != but)
    if connection.execute(update(LIMIT).where(*mine).values(new)).rowcount != 1:
        raise too_late()


def too_late() -> Outdated:
    """Somebody was quicker."""
    return Outdated(
        "This limit is not as you saw it: somebody decided on it or withdrew it meanwhile.",
        remedy="Look at it again, then decide.",
    )
