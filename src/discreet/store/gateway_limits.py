"""Limits of database users: proposed by one custodian, approved by another.

The gateway and the web application both need them, and neither may import the other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, Table, insert, or_, select
from sqlalchemy.exc import IntegrityError

from discreet.errors import Outdated
from discreet.store.tables.gateway import LIMIT, WITHDRAWAL
from discreet.store.tables.web import ACCOUNT
from discreet.store.transitions import Condition, StateMachine

PARTS = 1_000_000
"""Exposures and limits are stored in millionths."""
EVERYBODY = "*"
"""In place of a name: all users of the database."""
Action = Literal["deny", "subset", "mask", "alert"]
ACTIONS: dict[Action, str] = {
    "deny": "refuse the result",
    "subset": "give out as many rows as the limit allows",
    "mask": "empty the most sensitive cells",
    "alert": "let it through and record it",
}
"""What happens to a result above the limit."""


@dataclass(frozen=True)
class Agreed:
    """A limit and its state: proposed, approved, or ended."""

    id: int
    database: str
    name: str
    allowed: int
    """In millionths."""
    action: Action
    until: str | None
    """The moment at which it ends."""
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
    """The proposal to end a limit in force, and its state."""

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

_DECIDER = ACCOUNT.alias("decided_by")


def _with_names(table: Table) -> Select[Any]:
    """Rows of a table of proposals, with the names of who proposed and who decided."""
    return (
        select(table, ACCOUNT.c.name.label("proposer"), _DECIDER.c.name.label("decider_name"))
        .join(ACCOUNT, ACCOUNT.c.id == table.c.account)
        .outerjoin(_DECIDER, _DECIDER.c.id == table.c.decider)
    )


_LIMITS, _WITHDRAWALS = _with_names(LIMIT), _with_names(WITHDRAWAL)


def _limit_of(row: Row[Any]) -> Agreed:
    plain = [name for name in Agreed.__dataclass_fields__ if name != "decider"]
    return Agreed(**{name: getattr(row, name) for name in plain}, decider=row.decider_name)


def find(connection: Connection, number: int) -> Agreed | None:
    """By number."""
    row = connection.execute(_LIMITS.where(LIMIT.c.id == number)).one_or_none()
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
    wanted = _LIMITS.order_by(LIMIT.c.id.desc()).limit(most)
    for column, value in ((LIMIT.c.state, state), (LIMIT.c.database, database), (LIMIT.c.name, name)):
        if value is not None:
            wanted = wanted.where(column == value)
    if before is not None:
        wanted = wanted.where(LIMIT.c.id < before)
    return [_limit_of(row) for row in connection.execute(wanted)]


def in_force(connection: Connection, database: str | None = None, *, now: str) -> list[Agreed]:
    """Limits in force at a moment, of one database or of all."""
    wanted = _LIMITS.where(LIMIT.c.state == "approved", or_(LIMIT.c.until.is_(None), LIMIT.c.until > now))
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
    """Store a proposed limit; gives its number."""
    values = {"database": database, "name": name, "allowed": allowed, "action": action, "until": until, "entry": entry}
    made = insert(LIMIT).values(**values, reason=reason, state="proposed", account=account, made=now)
    return int(connection.execute(made.returning(LIMIT.c.id)).scalar_one())


def approve(connection: Connection, proposed: Agreed | Withdrawal, *, account: int, now: str) -> None:
    """Approve another's proposal: a limit, which replaces the user's earlier one, or a withdrawal."""
    if isinstance(proposed, Withdrawal):
        withdrawal = _of_others(WITHDRAWAL, proposed, account)
        WITHDRAWALS.move(connection, *withdrawal, to="approved", decider=account, decided=now)
        LIMITS.move(connection, LIMIT.c.id == proposed.limit, to="withdrawn", was=["approved"], ended=now)
        return
    same_user = (LIMIT.c.database == proposed.database, LIMIT.c.name == proposed.name)
    try:
        with connection.begin_nested():
            connection.execute(LIMITS.update(*same_user, to="replaced", ended=now))
            LIMITS.move(connection, *_of_others(LIMIT, proposed, account), to="approved", decider=account, decided=now)
    except IntegrityError:  # two limits for one user, approved at the same time
        raise too_late() from None


def decline(connection: Connection, proposed: Agreed | Withdrawal, *, account: int, now: str, answer: str) -> None:
    """Reject another's proposal of a limit, or of a withdrawal, with a reason."""
    machine = WITHDRAWALS if isinstance(proposed, Withdrawal) else LIMITS
    mine = _of_others(machine.table, proposed, account)
    machine.move(connection, *mine, to="declined", decider=account, decided=now, answer=answer)


def _of_others(table: Table, proposed: Agreed | Withdrawal, account: int) -> tuple[Condition, Condition]:
    """The row of a proposal, unless this account made it."""
    return table.c.id == proposed.id, table.c.account != account


def withdraw(connection: Connection, limit: Agreed, *, now: str) -> None:
    """Withdraw a proposal. A limit in force is withdrawn by two people."""
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
    plain = [name for name in Withdrawal.__dataclass_fields__ if name != "decider"]
    rows = connection.execute(wanted)
    return [Withdrawal(**{name: getattr(row, name) for name in plain}, decider=row.decider_name) for row in rows]


def propose_withdrawal(connection: Connection, limit: Agreed, *, account: int, now: str, entry: int) -> None:
    """Propose to withdraw a limit in force, which holds until another person agrees; one proposal at a time."""
    current = find(connection, limit.id)
    if current is None or not current.holds(now) or withdrawals(connection, of=[limit.id], state="proposed"):
        raise too_late()
    values = {"limit": limit.id, "state": "proposed", "account": account, "made": now, "entry": entry}
    connection.execute(insert(WITHDRAWAL).values(values))
