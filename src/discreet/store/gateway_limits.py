"""Limits of database users: proposed by one custodian, approved by another.

They are kept here because the gateway and the web application both need them, and neither may know the other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Literal

from sqlalchemy import Connection, Row, insert, or_, select
from sqlalchemy.exc import IntegrityError

from discreet.errors import Outdated
from discreet.store.tables.gateway import LIMIT, WITHDRAWAL
from discreet.store.tables.web import ACCOUNT
from discreet.store.transitions import StateMachine

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
    entry: int = 0
    """How many entries the ledger had when it was proposed."""

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


@dataclass(frozen=True)
class Withdrawal:
    """That a limit in force shall no longer hold, and how far that has come."""

    id: int
    limit: int
    state: str
    account: int
    made: str
    entry: int
    """How many entries the ledger had when it was proposed."""
    decided: str | None = None
    answer: str | None = None
    """Why it was declined."""
    proposer: str = ""
    decider: str | None = None


def too_late() -> Outdated:
    """Another custodian was quicker."""
    return Outdated(
        "This limit has changed since you saw it: another custodian decided on it or withdrew it.",
        remedy="Look at it again, then decide.",
    )


LIMITS = StateMachine(
    LIMIT,
    {
        "proposed": ("approved", "declined", "withdrawn"),
        "approved": ("replaced", "withdrawn"),
        "declined": (),
        "withdrawn": (),
        "replaced": (),
    },
    too_late,
)
WITHDRAWALS = StateMachine(WITHDRAWAL, {"proposed": ("approved", "declined"), "approved": (), "declined": ()}, too_late)
"""A limit in force is withdrawn only along with an approved withdrawal, which another custodian than its proposer decides."""

_DECIDER = ACCOUNT.alias("decider")
_WHOLE = (
    select(LIMIT, ACCOUNT.c.name.label("proposer"), _DECIDER.c.name.label("decided_by"))
    .join(ACCOUNT, ACCOUNT.c.id == LIMIT.c.account)
    .outerjoin(_DECIDER, _DECIDER.c.id == LIMIT.c.decider)
)
_PLAIN = (
    "id", "database", "name", "allowed", "action", "until", "reason", "state", "account", "made", "entry", "decided", "answer",
    "ended", "proposer",
)  # fmt: skip
_WITHDRAWALS = (
    select(WITHDRAWAL, ACCOUNT.c.name.label("proposer"), _DECIDER.c.name.label("decided_by"))
    .join(ACCOUNT, ACCOUNT.c.id == WITHDRAWAL.c.account)
    .outerjoin(_DECIDER, _DECIDER.c.id == WITHDRAWAL.c.decider)
)
_PLAIN_WITHDRAWAL = ("id", "limit", "state", "account", "made", "entry", "decided", "answer", "proposer")


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
    entry: int,
) -> int:
    """A new limit that nobody has agreed to yet; gives its number."""
    values = {"database": database, "name": name, "allowed": allowed, "action": action, "until": until, "entry": entry}
    made = insert(LIMIT).values(**values, reason=reason, state="proposed", account=account, made=now)
    return int(connection.execute(made.returning(LIMIT.c.id)).scalar_one())


def approve(connection: Connection, limit: Agreed, *, account: int, now: str) -> None:
    """Put it in force, in place of the one that held for the same user. Never one's own."""
    same_user = (LIMIT.c.database == limit.database, LIMIT.c.name == limit.name)
    others = (LIMIT.c.id == limit.id, LIMIT.c.account != account)
    try:
        with connection.begin_nested():
            connection.execute(LIMITS.update(*same_user, to="replaced", ended=now))
            LIMITS.move(connection, *others, to="approved", decider=account, decided=now)
    except IntegrityError:
        raise too_late() from None


def decline(connection: Connection, limit: Agreed, *, account: int, now: str, answer: str) -> None:
    """Say no, and why. Never to one's own."""
    others = (LIMIT.c.id == limit.id, LIMIT.c.account != account)
    LIMITS.move(connection, *others, to="declined", decider=account, decided=now, answer=answer)


def withdraw(connection: Connection, limit: Agreed, *, now: str) -> None:
    """It was proposed, and nothing shall come of it. One that is in force is withdrawn by two."""
    LIMITS.move(connection, LIMIT.c.id == limit.id, to="withdrawn", was=["proposed"], ended=now)


def withdrawals(
    connection: Connection, *, of: Collection[int] | None = None, state: str | None = None
) -> list[Withdrawal]:
    """Withdrawals of some limits, or of all, the newest first."""
    wanted = _WITHDRAWALS.order_by(WITHDRAWAL.c.id.desc())
    if of is not None:
        wanted = wanted.where(WITHDRAWAL.c.limit.in_(of))
    if state is not None:
        wanted = wanted.where(WITHDRAWAL.c.state == state)
    rows = connection.execute(wanted)
    return [
        Withdrawal(**{name: getattr(row, name) for name in _PLAIN_WITHDRAWAL}, decider=row.decided_by) for row in rows
    ]


def propose_withdrawal(connection: Connection, limit: Agreed, *, account: int, now: str, entry: int) -> None:
    """Propose that a limit in force shall no longer hold; until another person agrees, it does. One at a time."""
    found = find(connection, limit.id)
    if found is None or not found.holds(now) or withdrawals(connection, of=[limit.id], state="proposed"):
        raise too_late()
    values = {"limit": limit.id, "state": "proposed", "account": account, "made": now, "entry": entry}
    connection.execute(insert(WITHDRAWAL).values(values))


def approve_withdrawal(connection: Connection, withdrawal: Withdrawal, *, account: int, now: str) -> None:
    """The limit no longer holds. Never by the one who proposed that."""
    others = (WITHDRAWAL.c.id == withdrawal.id, WITHDRAWAL.c.account != account)
    WITHDRAWALS.move(connection, *others, to="approved", decider=account, decided=now)
    LIMITS.move(connection, LIMIT.c.id == withdrawal.limit, to="withdrawn", was=["approved"], ended=now)


def decline_withdrawal(connection: Connection, withdrawal: Withdrawal, *, account: int, now: str, answer: str) -> None:
    """The limit holds on; says why. Never by the one who proposed the withdrawal."""
    others = (WITHDRAWAL.c.id == withdrawal.id, WITHDRAWAL.c.account != account)
    WITHDRAWALS.move(connection, *others, to="declined", decider=account, decided=now, answer=answer)
