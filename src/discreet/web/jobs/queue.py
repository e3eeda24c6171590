"""The queue: who may run which job, and until when. Every change is one statement that says what it found before.

    queued ──claim──▶ running ──finish──▶ done
      ▲                 │  └────fail────▶ failed
      └─recover,release─┘
    queued, running ──cancel──▶ cancelled

A claim is a random word that only the runner knows. Whoever finds it changed has lost the job and may not finish it.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, and_, func, insert, or_, select, text, update

from discreet.errors import DiscreetError
from discreet.store.tables.web import JOB, RESULT
from discreet.web.jobs.store import ACTIVE, Job, Result, find

ADVISORY_LOCK = 0x6469736A6F6273
"""The PostgreSQL advisory lock of whoever looks for work: processes on one store take turns."""
TOO_OFTEN = "Its process ended {attempts} times before it was done."
TOO_OFTEN_REMEDY = (
    "It may need more memory than there is: try fewer columns, or ask whoever runs this server to look at its log."
)


class Lost(DiscreetError):
    """The job is not ours any more: it was cancelled, or somebody else has taken it up."""


def moment(connection: Connection) -> int:
    """Milliseconds since 1970, by the clock that all processes on the store share."""
    if connection.dialect.name == "postgresql":
        now = connection.execute(text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"))
        return int(now.scalar_one())
    return time.time_ns() // 1_000_000


def take_turns(connection: Connection) -> None:
    """Wait until nobody else looks for work; SQLite has one writer anyway."""
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
    values = {"kind": kind, "dataset": dataset, "account": account, "asked": words, "state": "queued", "attempts": 0}
    made = insert(JOB).values(**values, made=moment(connection), step="Waiting for its turn").returning(JOB.c.id)
    return int(connection.execute(made).scalar_one())


def recover(connection: Connection, *, most_attempts: int, of: Table = JOB) -> list[int]:
    """Jobs whose process was not heard of: back into the queue, or failed if that was the last attempt."""
    take_turns(connection)
    now = moment(connection)
    dead = and_(of.c.state == "running", of.c.lease < now)
    again = update(of).where(dead, of.c.attempts < most_attempts)
    values = {"state": "queued", "claim": None, "lease": None, "progress": None, "step": "Waiting to be taken up again"}
    found = list(connection.execute(again.values(values).returning(of.c.id)).scalars())
    words = TOO_OFTEN.format(attempts=most_attempts)
    failed = {
        "state": "failed",
        "claim": None,
        "lease": None,
        "ended": now,
        "problem": words,
        "remedy": TOO_OFTEN_REMEDY,
    }
    found += connection.execute(update(of).where(dead).values(failed).returning(of.c.id)).scalars()
    return found


def claim(connection: Connection, *, at_once: int, lease: int) -> Job | None:
    """The job that has waited longest, now ours for `lease` milliseconds; None if enough are running, or none waits."""
    taken = take(connection, at_once=at_once, lease=lease)
    return None if taken is None else find(connection, taken.id)


@dataclass(frozen=True)
class Taken:
    """What is ours to run, and the word that says so."""

    id: int
    claim: str


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
    """Still at it: the lease begins anew. False if the job is not ours any more."""
    values = {"lease": moment(connection) + lease, "step": step, "progress": progress}
    return _change(connection, number, claim, values, of)


def finish(connection: Connection, number: int, claim: str, found: Result) -> None:
    """Store what was found; to be called along with the entry of the ledger that says so."""
    if not _change(connection, number, claim, _ended(connection, "done", step="Done", progress=1000)):
        raise Lost("The job was cancelled, or somebody else has taken it up.", remedy="Nothing: it is in good hands.")
    values = {"numbers": json.dumps(found.numbers), "parts": json.dumps(found.parts), "report": found.report}
    values |= {"policy": found.policy, "hash": found.hash, "file": found.file}
    connection.execute(insert(RESULT).values(job=number, **values))


def fail(connection: Connection, number: int, claim: str, *, problem: str, remedy: str, of: Table = JOB) -> bool:
    """It cannot be done, and trying again would not help."""
    return _change(connection, number, claim, _ended(connection, "failed", problem=problem, remedy=remedy), of)


def release(connection: Connection, number: int, claim: str, *, of: Table = JOB) -> bool:
    """Put it back as if nobody had begun it: the server is being stopped."""
    values = {"state": "queued", "claim": None, "lease": None, "progress": None, "step": "Waiting for its turn"}
    return _change(connection, number, claim, {**values, "attempts": of.c.attempts - 1}, of)


def give_up(connection: Connection, number: int, claim: str, *, of: Table = JOB) -> bool:
    """Its process has ended without a word: nobody needs to wait for the end of the lease."""
    return _change(connection, number, claim, {"lease": 0}, of)


def cancel(connection: Connection, number: int, *, of: Table = JOB) -> bool:
    """It shall not be done; False if it had come to its end already, which is just as well."""
    values = _ended(connection, "cancelled", step="Cancelled")
    return connection.execute(update(of).where(of.c.id == number, of.c.state.in_(ACTIVE)).values(values)).rowcount == 1


def _change(connection: Connection, number: int, claim: str, values: dict[str, Any], of: Table = JOB) -> bool:
    mine = and_(of.c.id == number, of.c.claim == claim, of.c.state == "running")
    return connection.execute(update(of).where(mine).values(values)).rowcount == 1


def _ended(connection: Connection, state: str, **more: Any) -> dict[str, Any]:
    return {"state": state, "claim": None, "lease": None, "ended": moment(connection), **more}
