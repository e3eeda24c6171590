"""Queue of jobs: which process may run which job, and until when.

Every change is one statement that checks the state it starts from. The functions serve every table of jobs (`of`).

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
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, and_, func, insert, or_, select, text, update

from discreet.errors import DiscreetError
from discreet.store.tables.web import JOB
from discreet.web.jobs.store import ACTIVE, Job, find

ADVISORY_LOCK = 0x6469736A6F6273
"""The PostgreSQL advisory lock of the search for work: processes on one store take turns."""
WAITING = "Waiting for its turn"
TOO_OFTEN = "Its process ended {attempts} times before it was done."
TOO_OFTEN_REMEDY = (
    "It may need more memory than there is: try fewer columns, or ask the operator of this server to look at its log."
)


@dataclass(frozen=True)
class Taken:
    """A job that is ours to run, and the word that says so."""

    id: int
    claim: str


class Lost(DiscreetError):
    """The job is not ours any more: it was cancelled, or another process has taken it up."""


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
    known = connection.execute(select(JOB.c.id).where(same)).scalar()
    if known is not None:
        return int(known)
    values = {"kind": kind, "dataset": dataset, "account": account, "asked": words, **new_row(connection)}
    return int(connection.execute(insert(JOB).values(values).returning(JOB.c.id)).scalar_one())


def new_row(connection: Connection, state: str = "queued") -> dict[str, Any]:
    """What the columns of the queue hold for a new job."""
    return {"state": state, "made": moment(connection), "attempts": 0, "step": WAITING}


def recover(connection: Connection, *, most_attempts: int, of: Table = JOB) -> list[int]:
    """Jobs whose process was not heard of: back into the queue, or failed if that was the last attempt."""
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
    """The job that has waited longest, now ours for `lease` milliseconds; None if enough are running, or none waits."""
    taken = take(connection, at_once=at_once, lease=lease)
    return None if taken is None else find(connection, taken.id)


def take(connection: Connection, *, at_once: int, lease: int, of: Table = JOB) -> Taken | None:
    """The same for any table of jobs."""
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
    taken = connection.execute(update(of).where(of.c.id == first, of.c.state == "queued").values(values)).rowcount
    return Taken(int(first), word) if taken == 1 else None


def anything(connection: Connection, *, of: Table = JOB) -> bool:
    """Does a job wait, or one run that was not heard of in time?"""
    late = and_(of.c.state == "running", of.c.lease < moment(connection))
    wanted = select(of.c.id).where(or_(of.c.state == "queued", late)).limit(1)
    return connection.execute(wanted).scalar() is not None


def holds(connection: Connection, number: int, claim: str, *, of: Table = JOB) -> bool:
    """Is the job still ours?"""
    mine = select(of.c.id).where(of.c.id == number, of.c.claim == claim, of.c.state == "running")
    return connection.execute(mine).scalar() is not None


def beat(
    connection: Connection, number: int, claim: str, *, lease: int, step: str, progress: int | None, of: Table = JOB
) -> bool:
    """Renew the lease and report progress; False if the job is not ours any more."""
    values = {"lease": moment(connection) + lease, "step": step, "progress": progress}
    return _change(connection, number, claim, values, of)


def finish(connection: Connection, number: int, claim: str, *, of: Table = JOB, **columns: Any) -> None:
    """The work is done; to be called in the transaction that stores what was found."""
    done = {**_idle("done"), "ended": moment(connection), "step": "Done", "progress": 1000, **columns}
    if not _change(connection, number, claim, done, of):
        raise Lost("The job was cancelled, or another process has taken it up.", remedy="Nothing: it is in good hands.")


def fail(connection: Connection, number: int, claim: str, *, problem: str, remedy: str, of: Table = JOB) -> bool:
    """It cannot be done, and trying again would not help."""
    failed = {**_idle("failed"), "ended": moment(connection), "problem": problem, "remedy": remedy}
    return _change(connection, number, claim, failed, of)


def release(connection: Connection, number: int, claim: str, *, of: Table = JOB) -> bool:
    """Put it back as if it had not begun: the server is being stopped."""
    waiting = {**_idle("queued"), "progress": None, "step": WAITING, "attempts": of.c.attempts - 1}
    return _change(connection, number, claim, waiting, of)


def give_up(connection: Connection, number: int, claim: str, *, of: Table = JOB) -> bool:
    """Its process has ended without a word: nothing waits for the end of the lease."""
    return _change(connection, number, claim, {"lease": 0}, of)


def cancel(connection: Connection, number: int, *, of: Table = JOB, states: tuple[str, ...] = ACTIVE) -> bool:
    """It shall not be done; False if it had come to its end already, which is just as well."""
    values = {**_idle("cancelled"), "ended": moment(connection), "step": "Cancelled"}
    return connection.execute(update(of).where(of.c.id == number, of.c.state.in_(states)).values(values)).rowcount == 1


def _change(connection: Connection, number: int, claim: str, values: dict[str, Any], of: Table) -> bool:
    mine = and_(of.c.id == number, of.c.claim == claim, of.c.state == "running")
    return connection.execute(update(of).where(mine).values(values)).rowcount == 1


def _idle(state: str) -> dict[str, Any]:
    """A state in which no process holds the job."""
    return {"state": state, "claim": None, "lease": None}
