"""Process of one job: `python -m discreet.web.jobs.process`; standard input says which job.

It ends with 0 when the job has come to an end in the store, whichever; with 3 when the job is not ours any more; with 4
when the store cannot be used. Killed at any moment it leaves either the whole result with its entry in the ledger, or
nothing but files that are swept out and folders that the next attempt replaces.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table

from discreet import __version__
from discreet.errors import DiscreetError, StoreError
from discreet.ledger import Ledger
from discreet.ledger.entry import Detail
from discreet.operations.event_log import MESSAGES, EventLog
from discreet.policy import Policy
from discreet.report.toolkit.page import Part
from discreet.sources import Table as PeopleTable
from discreet.sources.duckdb_scratch import confine
from discreet.store.tables.web import JOB
from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.files import DatasetPlaces, Folder
from discreet.web.datasets.inspection import renamed
from discreet.web.datasets.store import Dataset
from discreet.web.framework.problems import place_of
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import KINDS, QUEUES
from discreet.web.jobs.store import Job, JobResult, Queued
from discreet.web.linkage import store as linkage_store
from discreet.web.linkage.store import Work

log = logging.getLogger("discreet.web")

LOOK = 0.3
"""Seconds between two looks whether the job is still ours."""
LOST, UNUSABLE = 3, 4
GENTLE = 5
"""How much less than the web process it asks of the processor."""

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
            jobs.finish(connection, self.job.id, claim, of=self.job.table, **outcome.columns)


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
        """A callback after each of so many counts, to report progress."""
        done = 0

        def counted() -> None:
            nonlocal done
            done += 1
            self.tell(words, start + (upto - start) * min(done / steps, 0.98))

        return counted

    def table(self, counted: Callable[[], None]) -> PeopleTable:
        """The data set, seen through its policy."""
        return self.places.open(self.dataset, self.policy, counted)

    def population_table(self, counted: Callable[[], None]) -> PeopleTable | None:
        """The table of people among whom an adversary looks, if there is one."""
        if self.population is None:
            return None
        return self.places.open(self.population, self.policy.for_population(), counted)

    def head(self, title: str) -> dict[str, Any]:
        """The head of a report."""
        return {"title": title, "created": self.now(), "version": __version__}

    def command(self, verb: str, *options: str) -> str:
        """The command that gives the same on the command line."""
        size = None if self.population_size is None else str(self.population_size)
        people = size if self.population is None else self.population.name
        given = ["--population", shlex.quote(people)] if people else []
        return " ".join(["discreet", verb, shlex.quote(self.dataset.name), "--policy policy.toml", *given, *options])

    def store(self, claim: str, outcome: JobOutcome) -> None:
        """The result and its entry in the ledger: both, or neither, and once."""
        parts = [
            {"key": part.key, "name": part.name, "html": str(part.content)}
            for part in outcome.parts
            if part.content is not None
        ]
        digest = outcome.policy.digest or None if outcome.policy else None
        file = outcome.file.name if outcome.file else None
        result = JobResult(outcome.numbers, parts, outcome.report, digest, self.hash, file)

        def along(connection: Connection) -> None:
            jobs.finish(connection, self.job.id, claim)
            jobs.keep_result(connection, self.job.id, result)
            if outcome.draft is not None and not policies.rules(self.dataset.policy):
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
        raise jobs.Lost("The data set was removed.", remedy="Nothing.")
    text = job.asked.get("policy")
    policy = Policy(encoding=dataset.encoding) if text is None else policies.parse(text, hierarchies)
    if job.kind == "profile":
        policy = Policy(
            delimiter=policy.delimiter,
            encoding=policy.encoding,
            sheet=policy.sheet,
            labels=policy.labels,
            count=policy.count,
        )
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


@dataclass
class Pulse:
    """A thread that renews the lease, or ends a process that lost its job."""

    ledger: Ledger
    job: int
    claim: str
    lease: int
    of: Table
    step: str = "Starting"
    progress: int | None = None

    def start(self) -> None:
        """Begin to beat."""
        threading.Thread(target=self._run, name="discreet-pulse", daemon=True).start()

    def tell(self, step: str, share: float | None) -> None:
        """Progress: in words, and as a share of the whole if that is known."""
        self.step = step
        self.progress = None if share is None else max(0, min(999, int(share * 1000)))

    def _run(self) -> None:
        reported: tuple[str, int | None] | None = None
        renewed = time.monotonic()
        store, claim = self.ledger.store, (self.job, self.claim)
        while True:
            now, late = (self.step, self.progress), time.monotonic() - renewed
            try:
                if now != reported or late > self.lease / 4000:
                    with store.writing() as connection:
                        ours = jobs.beat(connection, *claim, lease=self.lease, step=now[0], progress=now[1], of=self.of)
                    reported, renewed = now, time.monotonic()
                else:
                    with store.reading() as connection:
                        ours = jobs.holds(connection, *claim, of=self.of)
                if not ours:
                    os._exit(LOST)
            except StoreError:
                if late > self.lease / 1000:
                    os._exit(UNUSABLE)
            time.sleep(LOOK)


def main() -> int:
    """Do the job that standard input names."""
    order = json.loads(sys.stdin.buffer.read())
    if order["log"] is None:
        logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    else:
        events = EventLog(sys.stderr if order["log"] == "-" else Path(order["log"]), named=MESSAGES)
        logging.basicConfig(level=logging.WARNING, handlers=[events.handler()])
    os.umask(0o077)
    os.nice(GENTLE)
    confine([Path(order["data"]), *map(Path, order["folders"])], memory=order["memory"])
    try:
        with Ledger.open(order["store"], create=False) as ledger:
            return _run(ledger, order)
    except StoreError as error:
        log.warning("job %s: %s", order["job"], error.problem)
        return UNUSABLE


def _run(ledger: Ledger, order: dict[str, Any]) -> int:
    number, claim, table = order["job"], order["claim"], QUEUES[order["queue"]]
    find = jobs.find if table is JOB else linkage_store.find_work
    with ledger.store.reading() as connection:
        job: Queued | None = find(connection, number)
        if job is None or not jobs.holds(connection, number, claim, of=table):
            return LOST
    pulse = Pulse(ledger, number, claim, order["lease"], table)
    pulse.start()
    folder = Folder.of(Path(order["data"]), ledger.head()["ledger"])
    places = DatasetPlaces(folder, tuple(map(Path, order["folders"])), ledger.keys)
    try:
        return perform(ledger, job, claim, places, pulse.tell)
    except StoreError:
        raise
    except DiscreetError as error:
        problem, remedy = error.problem, error.remedy
        # People know a file by the name that they gave it.
        uploads = {file["upload"]: file["name"] for file in job.files} if isinstance(job, Work) else {}
        if isinstance(job, Job):
            population = (job.asked.get("population") or {}).get("dataset")
            with ledger.store.reading() as connection:
                read = [datasets.find(connection, each) for each in (job.dataset, population) if each is not None]
            uploads = {dataset.place: dataset.name for dataset in read if dataset and dataset.kind == "upload"}
        for file, name in uploads.items():
            problem = renamed(problem, folder.path / file, name)
    except Exception as error:
        log.error("job %s: %s", number, place_of(error))
        problem, remedy = "Something went wrong on our side.", f"Report this line: {place_of(error)}"
    with ledger.store.writing() as connection:
        failed = jobs.fail(connection, number, claim, problem=problem, remedy=remedy, of=table)
    return 0 if failed else LOST


def perform(ledger: Ledger, job: Queued, claim: str, places: DatasetPlaces, tell: Tell) -> int:
    """Do a job and store its outcome; errors are left to the caller."""
    task = prepare(ledger, job, places, tell)
    outcome = KINDS[job.kind].load()(task)
    try:
        task.store(claim, outcome)
    except jobs.Lost:
        if outcome.file is not None:
            places.folder.forget([outcome.file.name])
        return LOST
    places.folder.forget(outcome.useless)
    return 0


if __name__ == "__main__":
    from discreet.web.jobs import process  # the module by its own name, by which the work imports its classes

    code = process.main()
    sys.stderr.flush()
    os._exit(code)
