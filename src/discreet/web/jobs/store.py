"""Jobs in the store: requests, states, results."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self

from sqlalchemy import Connection, Row, Select, Table, insert, select

from discreet.ledger.entry import timestamp
from discreet.store.tables.web import ACCOUNT, DATASET, JOB, RESULT
from discreet.web.jobs.kinds import KINDS

ACTIVE = ("queued", "running")
"""States in which a job is still to be done."""
State = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class Queued:
    """A job of any kind: what was asked, by whom, and how far it is."""

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
        """How long it will still take, if it goes on like this; None before that can be said."""
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
    values = {"numbers": json.dumps(result.numbers), "parts": json.dumps(result.parts), "report": result.report}
    values |= {"policy": result.policy, "hash": result.hash, "file": result.file}
    connection.execute(insert(RESULT).values(job=number, **values))


def stamp(moment: int) -> str:
    """A moment of a job as all other moments are written."""
    return timestamp(datetime.fromtimestamp(moment / 1000, UTC))
