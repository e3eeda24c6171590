"""Task of a child process: one job, what its work needs, and its outcome."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from discreet.ledger import Ledger
from discreet.ledger.entry import Detail
from discreet.policy import Policy
from discreet.report.toolkit.page import Part
from discreet.sources import Table
from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.files import DatasetPlaces
from discreet.web.datasets.store import Dataset
from discreet.web.jobs import queue
from discreet.web.jobs import store as jobs
from discreet.web.jobs.store import Job, JobResult, Queued

Tell = Callable[[str, float | None], None]
"""Reports progress: in words, and as a share of the whole if that is known."""


@dataclass(frozen=True)
class JobOutcome:
    """What the work found, and what the ledger says about it."""

    event: str = ""
    """Empty if the work has written its own entry."""
    numbers: dict[str, Any] = field(default_factory=dict)
    parts: Sequence[Part] = ()
    report: str | None = None
    policy: Policy | None = None
    file: Path | None = None
    draft: str | None = None
    """A policy for a data set that has none."""
    risk_before: Fraction | None = None
    risk_after: Fraction | None = None
    details: Mapping[str, Detail] = field(default_factory=dict)
    subject: str | None = None
    """What the ledger calls it, if it is not about the data set."""
    along: Callable[[Connection], object] | None = None
    """What changes in the store with it."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """What the row of the job says from then on, such as the project that was made."""
    useless: Sequence[str] = ()
    """Our files that nothing needs once the job is done."""


@dataclass(frozen=True, kw_only=True)
class JobTask:
    """One job, with all that it needs."""

    job: Queued
    ledger: Ledger
    """Also for work that must be written down before it goes on."""
    places: DatasetPlaces
    tell: Tell

    @property
    def asked(self) -> dict[str, Any]:
        """What was chosen in the request."""
        return self.job.asked

    def now(self) -> datetime:
        """For the head of a report."""
        return datetime.now(UTC)

    def store(self, claim: str, outcome: JobOutcome) -> None:
        """The job is done; raises `Lost` if it is not ours any more."""
        with self.ledger.store.writing() as connection:
            queue.finish(connection, self.job.id, claim, of=self.job.table, **outcome.columns)


@dataclass(frozen=True, kw_only=True)
class TableTask(JobTask):
    """A job about a data set."""

    job: Job
    dataset: Dataset
    policy: Policy
    population: Dataset | None
    population_size: int | None
    hash: str | None
    """The SHA-256 of the file."""

    def counting(self, steps: int, *, upto: float, words: str, start: float = 0.0) -> Callable[[], None]:
        """To be called after each of so many counts; they come to this share of the whole."""
        done = 0

        def counted() -> None:
            nonlocal done
            done += 1
            self.tell(words, start + (upto - start) * min(done / steps, 0.98))

        return counted

    def table(self, counted: Callable[[], None]) -> Table:
        """The data set, seen through its policy."""
        return self.places.open(self.dataset, self.policy, counted)

    def population_table(self, counted: Callable[[], None]) -> Table | None:
        """The table of people among whom an adversary looks, if there is one."""
        if self.population is None:
            return None
        return self.places.open(self.population, self.policy.for_population(), counted)

    def command(self, verb: str, *options: str) -> str:
        """The command that gives the same on the command line."""
        size = None if self.population_size is None else str(self.population_size)
        people = size if self.population is None else self.population.name
        given = ["--population", shlex.quote(people)] if people else []
        return " ".join(["discreet", verb, shlex.quote(self.dataset.name), "--policy policy.toml", *given, *options])

    def store(self, claim: str, outcome: JobOutcome) -> None:
        """The result and the entry that says what was made: both, or neither, and once."""
        parts = [
            {"key": part.key, "name": part.name, "html": str(part.content)}
            for part in outcome.parts
            if part.content is not None
        ]
        digest = outcome.policy.digest or None if outcome.policy else None
        file = outcome.file.name if outcome.file else None
        result = JobResult(outcome.numbers, parts, outcome.report, digest, self.hash, file)

        def along(connection: Connection) -> None:
            queue.finish(connection, self.job.id, claim)
            jobs.keep_result(connection, self.job.id, result)
            if outcome.draft is not None and self.dataset.policy is None:
                datasets.set_policy(connection, self.dataset.id, outcome.draft, version=self.dataset.version)
            if outcome.along is not None:
                outcome.along(connection)

        facts: dict[str, Detail] = {
            "job": self.job.id,
            "kind": self.job.kind,
            "data": self.dataset.name,
            "sha256": self.hash,
        }
        self.ledger.record(
            actor=self.job.asker,
            event=outcome.event,
            subject=outcome.subject or f"{self.dataset.subject}/job:{self.job.id}",
            key=self.job.key,
            risk_before=outcome.risk_before,
            risk_after=outcome.risk_after,
            policy=digest,
            details={**facts, **outcome.details},
            along=along,
        )


def prepare(ledger: Ledger, job: Queued, places: DatasetPlaces, tell: Tell) -> JobTask:
    """All that the work needs, read in one go."""
    if not isinstance(job, Job):
        return JobTask(job=job, ledger=ledger, places=places, tell=tell)
    with ledger.store.reading() as connection:
        dataset = datasets.find(connection, job.dataset)
        hierarchies = datasets.hierarchies(connection, job.dataset)
        wanted = job.asked.get("population") or {}
        population = datasets.find(connection, wanted["dataset"]) if "dataset" in wanted else None
    if dataset is None or ("dataset" in wanted and population is None):
        raise queue.Lost("The data set was removed.", remedy="Nothing.")
    text = job.asked.get("policy")
    policy = Policy(encoding=dataset.encoding) if text is None else policies.parse(text, hierarchies)
    if job.kind == "profile":
        policy = Policy(delimiter=policy.delimiter, encoding=policy.encoding, count=policy.count)
    tell("Reading the file", None)
    return TableTask(
        job=job,
        ledger=ledger,
        places=places,
        tell=tell,
        dataset=dataset,
        policy=policy,
        population=population,
        population_size=wanted.get("size"),
        hash=places.hash(dataset),
    )
