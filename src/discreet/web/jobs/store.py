"""Jobs in the store."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Self

from sqlalchemy import Connection, Row, Select, select

from discreet.ledger.entry import timestamp
from discreet.store.tables.web import ACCOUNT, DATASET, JOB, RESULT

# Work that waits for its turn, goes on and ends: what the store keeps of it, whatever it is about.
ACTIVE = ("queued", "running")
"""States in which it is still to be done."""


@dataclass(frozen=True, kw_only=True)
class Queued:
    """Something that takes its time, and who asked for it."""

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
    """Parts of a thousand; None where nobody knows."""
    problem: str | None
    remedy: str | None

    @classmethod
    def of(cls, row: Row[Any]) -> Self:
        """From a row that has a column for each of them."""
        found = row._mapping
        plain = {name: found[name] for name in cls.__dataclass_fields__ if name != "asked"}
        return cls(**plain, asked=json.loads(found["asked"]))

    @property
    def active(self) -> bool:
        """Is it still to be done by the machine?"""
        return self.state in ACTIVE

    @property
    def percent(self) -> int | None:
        """How far it is."""
        return None if self.progress is None or self.state != "running" else self.progress // 10


KINDS = {
    "profile": "look at the columns",
    "assess": "measure the risk",
    "anonymise": "anonymise",
    "attack": "plan an attack",
    "preflight": "see what a release would look like",
    "release": "seal a release and make its copies",
    "project": "report on a whole project",
}
"""What jobs do, in words."""
State = Literal["queued", "running", "done", "failed", "cancelled"]
REPORTED = ("assess", "anonymise", "attack", "project")
"""Kinds whose result is a report that holds no value of anybody."""


@dataclass(frozen=True, kw_only=True)
class Job(Queued):
    """Something that takes its time, about a data set."""

    state: State
    dataset: int
    dataset_name: str
    claim: str | None = field(repr=False)

    @property
    def words(self) -> str:
        """What it does."""
        return KINDS[self.kind]

    @property
    def key(self) -> str:
        """Its idempotency key: what it makes is written into the ledger once."""
        return f"job:{self.id}"

    def seconds_left(self, now: int) -> int | None:
        """How long it will still take, if it goes on like this; None before that can be said."""
        if self.state != "running" or self.started is None or not self.progress or self.progress < 20:
            return None
        spent = max(0, now - self.started) / 1000
        return round(spent * (1000 - self.progress) / self.progress)


@dataclass(frozen=True)
class Result:
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


def result(connection: Connection, number: int) -> Result | None:
    """What a job found, if it is done."""
    row = connection.execute(select(RESULT).where(RESULT.c.job == number)).one_or_none()
    if row is None:
        return None
    return Result(json.loads(row.numbers), json.loads(row.parts), row.report, row.policy, row.hash, row.file)


def stamp(moment: int) -> str:
    """A moment of a job as all other moments are written."""
    return timestamp(datetime.fromtimestamp(moment / 1000, UTC))
