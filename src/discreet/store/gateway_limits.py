"""Limits of database users, proposed by one custodian and approved by another; and their exposures.

The gateway and the web application both need them, and neither may import the other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, Select, Table, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from discreet.errors import Outdated
from discreet.store.store import Store
from discreet.store.tables.gateway import DENIAL, EXPOSURE, LIMIT, WITHDRAWAL
from discreet.store.tables.web import ACCOUNT
from discreet.store.transitions import Condition, StateMachine, update_one

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


Proposal = TypeVar("Proposal", Agreed, Withdrawal)


def _read(connection: Connection, query: Select[Any], kind: type[Proposal]) -> list[Proposal]:
    plain = [name for name in kind.__dataclass_fields__ if name != "decider"]
    rows = connection.execute(query)
    return [kind(**{name: getattr(row, name) for name in plain}, decider=row.decider_name) for row in rows]


def find(connection: Connection, number: int) -> Agreed | None:
    """A limit by its number."""
    return next(iter(_read(connection, _LIMITS.where(LIMIT.c.id == number), Agreed)), None)


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
    return _read(connection, wanted, Agreed)


def in_force(connection: Connection, database: str | None = None, *, now: str) -> list[Agreed]:
    """Limits in force at a moment, of one database or of all."""
    wanted = _LIMITS.where(LIMIT.c.state == "approved", or_(LIMIT.c.until.is_(None), LIMIT.c.until > now))
    if database is not None:
        wanted = wanted.where(LIMIT.c.database == database)
    return _read(connection, wanted.order_by(LIMIT.c.id), Agreed)


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
    row = _of_others(machine.table, proposed, account)
    machine.move(connection, *row, to="declined", decider=account, decided=now, answer=answer)


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
    return _read(connection, wanted, Withdrawal)


def propose_withdrawal(connection: Connection, limit: Agreed, *, account: int, now: str, entry: int) -> None:
    """Propose to withdraw a limit in force, which holds until another person agrees; one proposal at a time."""
    current = find(connection, limit.id)
    if current is None or not current.holds(now) or withdrawals(connection, of=[limit.id], state="proposed"):
        raise too_late()
    values = {"limit": limit.id, "state": "proposed", "account": account, "made": now, "entry": entry}
    connection.execute(insert(WITHDRAWAL).values(values))


# Exposures of database users, stored between requests and processes.
#
# The misuse room serialises an exposure (`Exposure.to_bytes`) and reads it again (`Exposure.from_bytes`); here it is only
# bytes. A writer names the version it has read, so that of two results at the same time neither is lost.
@dataclass(frozen=True)
class StoredExposure:
    """The stored exposure of one user, and how often it has changed."""

    content: bytes
    version: int


@dataclass(frozen=True)
class Exposures:
    """The exposures of all users in a store.

    >>> import tempfile, pathlib
    >>> with Store.open(pathlib.Path(tempfile.mkdtemp()) / "store.db") as store:
    ...     exposures = Exposures(store)
    ...     first = exposures.keep("ann", b"what ann knows", seen=0)
    ...     first, exposures.of("ann").content, exposures.of("eve")
    (1, b'what ann knows', None)
    """

    store: Store

    def of(self, person: str) -> StoredExposure | None:
        """The exposure of a user; None if nothing is stored."""
        with self.store.reading() as connection:
            row = connection.execute(select(EXPOSURE).where(EXPOSURE.c.person == person)).one_or_none()
        return None if row is None else StoredExposure(bytes(row.content), int(row.version))

    def keep(self, person: str, content: bytes, *, seen: int) -> int:
        """Store it in place of the version that was read (0: none); gives the new version."""
        with self.store.writing() as connection:
            return write_exposure(connection, person, content, seen=seen)


def write_exposure(connection: Connection, person: str, content: bytes, *, seen: int) -> int:
    """Store it within the caller's transaction, such as that of the ledger entry (`along=`)."""
    new = {"version": seen + 1, "content": content}
    if seen > 0:
        stored = update_one(connection, EXPOSURE, EXPOSURE.c.person == person, EXPOSURE.c.version == seen, **new)
    else:
        try:
            with connection.begin_nested():
                connection.execute(insert(EXPOSURE).values(person=person, **new))
            stored = True
        except IntegrityError:
            stored = False
    if not stored:
        raise Outdated(
            "The exposure of this user has changed in the meantime.", remedy="Read it again, add to it, and store that."
        )
    return seen + 1


MINUTE, HOUR = 60.0, 60


def count_denial(store: Store, person: str, at: float) -> int:
    """Count a refusal of a user; gives how many there were within an hour, in all gateways of the store.

    >>> import tempfile, pathlib
    >>> with Store.open(pathlib.Path(tempfile.mkdtemp()) / "store.db") as store:
    ...     [count_denial(store, "db/ann", at) for at in (0.0, 1.0, 70.0, 3_700.0)]
    [1, 2, 3, 1]
    """
    minute = int(at // MINUTE)
    row = (DENIAL.c.person == person, DENIAL.c.minute == minute)
    with store.writing() as connection:
        connection.execute(delete(DENIAL).where(DENIAL.c.person == person, DENIAL.c.minute <= minute - HOUR))
        if not connection.execute(update(DENIAL).where(*row).values(denials=DENIAL.c.denials + 1)).rowcount:
            connection.execute(insert(DENIAL).values(person=person, minute=minute, denials=1))
        counted = select(func.coalesce(func.sum(DENIAL.c.denials), 0)).where(DENIAL.c.person == person)
        return int(connection.execute(counted).scalar_one())
