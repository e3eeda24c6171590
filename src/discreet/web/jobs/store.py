"""Jobs in the store: what was asked, the queue, results.

Every change is one statement that checks the state it starts from. The functions of the queue serve every table of jobs (`of`).

    queued ──claim──▶ running ──finish──▶ done
      ▲                 │  └────fail────▶ failed
      └─recover,release─┘
    queued, running ──cancel──▶ cancelled

A claim is a random word that only the runner knows. A runner that finds it changed has lost the job and may not finish it.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self

from sqlalchemy import Connection, Row, Select, Table, and_, func, insert, or_, select, text, update

from discreet.errors import DiscreetError
from discreet.ledger.entry import timestamp
from discreet.store.tables.web import ACCOUNT, DATASET, JOB, RESULT
from discreet.store.transitions import Condition, update_one
from discreet.web.jobs.kinds import KINDS

ACTIVE = ("queued", "running")
"""States in which a job is still to be done."""
State = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class Queued:
    """A job of any kind: request, asker, progress."""

    table: ClassVar[Table]
    """Where it is queued."""

    id: int
    kind: str
    asker: str
    asked: dict[str, Any] = field(repr=False)
    state: str
    made: int
    started: int | None
    ended: int | None
    attempts: int
    step: str
    progress: int | None
    """Parts of a thousand; None where that is not known."""
    problem: str | None
    remedy: str | None

    @classmethod
    def of(cls, row: Row[Any]) -> Self:
        """From a row that has a column for each of them."""
        columns = row._mapping
        plain = {name: columns[name] for name in cls.__dataclass_fields__ if name not in ("asked", "table")}
        return cls(**plain, asked=json.loads(columns["asked"]))

    @property
    def words(self) -> str:
        """What it does."""
        return KINDS[self.kind].words

    @property
    def active(self) -> bool:
        """Is it still to be done by the machine?"""
        return self.state in ACTIVE

    @property
    def percent(self) -> int | None:
        """How far it is."""
        return None if self.progress is None or self.state != "running" else self.progress // 10

    def seconds_left(self, now: int) -> int | None:
        """Time left at this pace; None before that can be said."""
        if self.state != "running" or self.started is None or not self.progress or self.progress < 20:
            return None
        spent = max(0, now - self.started) / 1000
        return round(spent * (1000 - self.progress) / self.progress)

    def progress_words(self, now: int | None = None) -> str:
        """How far it is; with the moment, also how long it will still take."""
        left = None if now is None else self.seconds_left(now)
        parts = [self.step]
        if self.percent is not None:
            parts.append(f"{self.percent} %")
        if left is not None and left < 10:
            parts.append("a few seconds left")
        elif left is not None:
            parts.append(f"about {left} seconds left" if left < 90 else f"about {-(-left // 60)} minutes left")
        if self.attempts > 1 and self.active:
            parts.append(f"attempt {self.attempts}")
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True)
class Job(Queued):
    """A job about a data set."""

    table: ClassVar[Table] = JOB

    state: State
    dataset: int
    dataset_name: str
    claim: str | None = field(repr=False)

    @property
    def key(self) -> str:
        """Its idempotency key: what it makes is written into the ledger once."""
        return f"job:{self.id}"


@dataclass(frozen=True)
class JobResult:
    """What a job found."""

    numbers: dict[str, Any] = field(repr=False)
    parts: list[dict[str, str]] = field(repr=False)
    """Sections of a page: key, name and markup."""
    report: str | None = field(repr=False)
    policy: str | None
    """The digest of the policy under which it was found."""
    hash: str | None
    """The SHA-256 of the file that was looked at."""
    file: str | None
    """The file it wrote."""


_WHOLE = (
    select(JOB, ACCOUNT.c.name.label("asker"), DATASET.c.name.label("dataset_name"))
    .join(ACCOUNT, ACCOUNT.c.id == JOB.c.account)
    .join(DATASET, DATASET.c.id == JOB.c.dataset)
)


def find(connection: Connection, number: int) -> Job | None:
    """By number."""
    row = connection.execute(_WHOLE.where(JOB.c.id == number)).one_or_none()
    return None if row is None else Job.of(row)


def newest(
    connection: Connection,
    *,
    dataset: int | None = None,
    kinds: tuple[str, ...] = (),
    states: tuple[str, ...] = (),
    most: int = 50,
) -> list[Job]:
    """Jobs, the newest first."""
    wanted: Select[Any] = _WHOLE.order_by(JOB.c.id.desc()).limit(most)
    if dataset is not None:
        wanted = wanted.where(JOB.c.dataset == dataset)
    if kinds:
        wanted = wanted.where(JOB.c.kind.in_(kinds))
    if states:
        wanted = wanted.where(JOB.c.state.in_(states))
    return [Job.of(row) for row in connection.execute(wanted)]


def result(connection: Connection, number: int) -> JobResult | None:
    """What a job found, if it is done."""
    row = connection.execute(select(RESULT).where(RESULT.c.job == number)).one_or_none()
    if row is None:
        return None
    return JobResult(json.loads(row.numbers), json.loads(row.parts), row.report, row.policy, row.hash, row.file)


def keep_result(connection: Connection, number: int, result: JobResult) -> None:
    """Store what a job found."""
    encoded = {"numbers": json.dumps(result.numbers), "parts": json.dumps(result.parts)}
    connection.execute(insert(RESULT).values(job=number, **{**vars(result), **encoded}))


def stamp(moment: int) -> str:
    """A moment of a job as all other moments are written."""
    return timestamp(datetime.fromtimestamp(moment / 1000, UTC))


# The queue: which process may run which job, and until when.
ADVISORY_LOCK = 0x6469736A6F6273
"""The PostgreSQL advisory lock of the search for work: processes on one store take turns."""
WAITING = "Waiting for its turn"
TOO_OFTEN = "Its process ended {attempts} times before it was done."
TOO_OFTEN_REMEDY = (
    "It may need more memory than there is: try fewer columns, or ask the operator of this server to look at its log."
)


@dataclass(frozen=True)
class JobClaim:
    """A job that a process may run, and the word that proves it."""

    id: int
    claim: str


class Lost(DiscreetError):
    """The job was cancelled, or another process has taken it up."""


def moment(connection: Connection) -> int:
    """Milliseconds since 1970, by the clock that all processes on the store share."""
    if connection.dialect.name == "postgresql":
        now = connection.execute(text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"))
        return int(now.scalar_one())
    return time.time_ns() // 1_000_000


def take_turns(connection: Connection) -> None:
    """Wait until no other process looks for work; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})


def enqueue(connection: Connection, *, kind: str, dataset: int, account: int, asked: dict[str, Any]) -> int:
    """A new job; if the very same one waits or runs already, that one."""
    take_turns(connection)
    words = json.dumps(asked, sort_keys=True)
    same = and_(JOB.c.kind == kind, JOB.c.dataset == dataset, JOB.c.asked == words, JOB.c.state.in_(ACTIVE))
    present = connection.execute(select(JOB.c.id).where(same)).scalar()
    if present is not None:
        return int(present)
    values = {"kind": kind, "dataset": dataset, "account": account, "asked": words, **new_row(connection)}
    return int(connection.execute(insert(JOB).values(values).returning(JOB.c.id)).scalar_one())


def new_row(connection: Connection, state: str = "queued") -> dict[str, Any]:
    """What the columns of the queue hold for a new job."""
    return {"state": state, "made": moment(connection), "attempts": 0, "step": WAITING}


def recover(connection: Connection, *, most_attempts: int, of: Table = JOB) -> list[int]:
    """Put jobs of dead processes back; those at their last attempt have failed."""
    take_turns(connection)
    dead = and_(of.c.state == "running", of.c.lease < moment(connection))
    again = {**_idle("queued"), "progress": None, "step": "Waiting to be taken up again"}
    problem = {"problem": TOO_OFTEN.format(attempts=most_attempts), "remedy": TOO_OFTEN_REMEDY}
    failed = {**_idle("failed"), "ended": moment(connection), **problem}
    changes = (
        update(of).where(dead, of.c.attempts < most_attempts).values(again),
        update(of).where(dead).values(failed),
    )
    return [number for change in changes for number in connection.execute(change.returning(of.c.id)).scalars()]


def claim(connection: Connection, *, at_once: int, lease: int) -> Job | None:
    """Claim the job that has waited longest, for `lease` milliseconds."""
    taken = take(connection, at_once=at_once, lease=lease)
    return None if taken is None else find(connection, taken.id)


def take(connection: Connection, *, at_once: int, lease: int, of: Table = JOB) -> JobClaim | None:
    """Claim the job of a table that has waited longest, unless enough are running."""
    take_turns(connection)
    running = connection.execute(select(func.count()).select_from(of).where(of.c.state == "running")).scalar_one()
    first = connection.execute(select(of.c.id).where(of.c.state == "queued").order_by(of.c.id).limit(1)).scalar()
    if first is None or running >= at_once:
        return None
    now, word = moment(connection), secrets.token_hex(16)
    values = {
        "state": "running",
        "claim": word,
        "lease": now + lease,
        "started": now,
        "attempts": of.c.attempts + 1,
        "step": "Starting",
        "progress": None,
    }
    taken = update_one(connection, of, of.c.id == first, of.c.state == "queued", **values)
    return JobClaim(int(first), word) if taken else None


def anything(connection: Connection, *, of: Table = JOB) -> bool:
    """Does a job wait, or one run that was not heard of in time?"""
    late = and_(of.c.state == "running", of.c.lease < moment(connection))
    wanted = select(of.c.id).where(or_(of.c.state == "queued", late)).limit(1)
    return connection.execute(wanted).scalar() is not None


def holds(connection: Connection, number: int, claim: str, *, of: Table = JOB) -> bool:
    """Is the job still ours?"""
    return connection.execute(select(of.c.id).where(*_held(number, claim, of))).scalar() is not None


def beat(
    connection: Connection, number: int, claim: str, *, lease: int, step: str, progress: int | None, of: Table = JOB
) -> bool:
    """Renew the lease and report progress; False if the claim is lost."""
    values = {"lease": moment(connection) + lease, "step": step, "progress": progress}
    return update_one(connection, of, *_held(number, claim, of), **values)


def finish(connection: Connection, number: int, claim: str, *, of: Table = JOB, **columns: Any) -> None:
    """Done; to be called in the transaction that stores the result."""
    done = {**_idle("done"), "ended": moment(connection), "step": "Done", "progress": 1000, **columns}
    if not update_one(connection, of, *_held(number, claim, of), **done):
        raise Lost("The job was cancelled, or another process has taken it up.", remedy="Nothing: it is in good hands.")


def fail(connection: Connection, number: int, claim: str, *, problem: str, remedy: str, of: Table = JOB) -> bool:
    """It cannot be done, and trying again would not help."""
    failed = {**_idle("failed"), "ended": moment(connection), "problem": problem, "remedy": remedy}
    return update_one(connection, of, *_held(number, claim, of), **failed)


def release(connection: Connection, number: int, claim: str, *, of: Table = JOB) -> bool:
    """Put it back as if it had not begun: the server is being stopped."""
    waiting = {**_idle("queued"), "progress": None, "step": WAITING, "attempts": of.c.attempts - 1}
    return update_one(connection, of, *_held(number, claim, of), **waiting)


def give_up(connection: Connection, number: int, claim: str, *, of: Table = JOB) -> bool:
    """End the lease of a job whose process ended without a word."""
    return update_one(connection, of, *_held(number, claim, of), lease=0)


def cancel(connection: Connection, number: int, *, of: Table = JOB, states: tuple[str, ...] = ACTIVE) -> bool:
    """Cancel it; False if it had come to its end already."""
    values = {**_idle("cancelled"), "ended": moment(connection), "step": "Cancelled"}
    return update_one(connection, of, of.c.id == number, of.c.state.in_(states), **values)


def _held(number: int, claim: str, of: Table) -> tuple[Condition, ...]:
    """Conditions under which the claim on a job still holds."""
    return (of.c.id == number, of.c.claim == claim, of.c.state == "running")


def _idle(state: str) -> dict[str, Any]:
    """A state in which no process holds the job."""
    return {"state": state, "claim": None, "lease": None}
