"""The process of one job: `python -m discreet.web.jobs.process`, told by its standard input which job it is.

It ends with 0 when the job has come to an end in the store, whichever; with 3 when the job is not ours any more; with 4
when the store cannot be used. Killed at any moment it leaves either the whole result with its entry in the ledger, or
nothing but files that are swept out.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Table

from discreet.errors import DiscreetError, StoreError
from discreet.ledger import Ledger
from discreet.policy import Policy
from discreet.store.tables.web import JOB
from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.files import Folder, Places
from discreet.web.datasets.inspection import renamed
from discreet.web.framework.middleware import place_of
from discreet.web.jobs import queue
from discreet.web.jobs.store import Job, Result, find
from discreet.web.jobs.task import Outcome, Task
from discreet.web.jobs.work import work_of

log = logging.getLogger("discreet.web")

LOOK = 0.3
"""Seconds between two looks whether the job is still ours."""
LOST, UNUSABLE = 3, 4
GENTLE = 5
"""How much less than the web process it asks of the processor."""


@dataclass
class Pulse:
    """A thread that says that we live, how far we are, and ends the process when the job is not ours any more."""

    ledger: Ledger
    job: int
    claim: str
    lease: int
    of: Table = JOB
    step: str = "Starting"
    progress: int | None = None

    def start(self) -> None:
        """Begin to beat."""
        threading.Thread(target=self._run, name="discreet-pulse", daemon=True).start()

    def tell(self, step: str, share: float | None) -> None:
        """Where we are: in words, and as a share of the whole if that is known."""
        self.step = step
        self.progress = None if share is None else max(0, min(999, int(share * 1000)))

    def _run(self) -> None:
        told: tuple[str, int | None] | None = None
        renewed = time.monotonic()
        while True:
            now, late = (self.step, self.progress), time.monotonic() - renewed
            try:
                if now != told or late > self.lease / 4000:
                    ours = self._beat(now)
                    told, renewed = now, time.monotonic()
                else:
                    ours = self._looked()
                if not ours:
                    os._exit(LOST)
            except StoreError:
                if late > self.lease / 1000:
                    os._exit(UNUSABLE)
            time.sleep(LOOK)

    def _beat(self, now: tuple[str, int | None]) -> bool:
        with self.ledger.store.writing() as connection:
            return queue.beat(
                connection, self.job, self.claim, lease=self.lease, step=now[0], progress=now[1], of=self.of
            )

    def _looked(self) -> bool:
        with self.ledger.store.reading() as connection:
            return queue.holds(connection, self.job, self.claim, of=self.of)


def main(work: Callable[[Ledger, dict[str, Any]], int] | None = None) -> int:
    """Do the job that standard input tells."""
    order = json.loads(sys.stdin.buffer.read())
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    os.umask(0o077)
    os.nice(GENTLE)
    try:
        with Ledger.open(order["store"], create=False) as ledger:
            return (work or _do)(ledger, order)
    except StoreError as error:
        log.warning("job %s: %s", order["job"], error.problem)
        return UNUSABLE


def _do(ledger: Ledger, order: dict[str, Any]) -> int:
    number, claim = order["job"], order["claim"]
    with ledger.store.reading() as connection:
        job = find(connection, number)
        if job is None or not queue.holds(connection, number, claim):
            return LOST
    pulse = Pulse(ledger, number, claim, order["lease"])
    pulse.start()
    folder = Folder.of(Path(order["data"]), ledger.head()["ledger"])
    places = Places(folder, tuple(map(Path, order["folders"])), ledger.keys)
    try:
        task = prepared(ledger, job, places, pulse.tell)
        outcome = work_of(job.kind)(task)
    except StoreError:
        raise
    except DiscreetError as error:
        return _failed(ledger, job, claim, *_in_words(error, ledger, job, places))
    except Exception as error:
        log.error("job %s: %s", number, place_of(error))
        return _failed(ledger, job, claim, "Something went wrong on our side.", f"Report this line: {place_of(error)}")
    return store(ledger, job, claim, task, outcome)


def prepared(ledger: Ledger, job: Job, places: Places, tell: Any) -> Task:
    """All that the work needs, read in one go."""
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
    found = places.hash(dataset)
    return Task(job, dataset, policy, population, wanted.get("size"), places, tell, found, ledger)


def store(ledger: Ledger, job: Job, claim: str, task: Task, outcome: Outcome) -> int:
    """The result and the entry that says what was made: both, or neither, and once."""
    parts = [
        {"key": part.key, "name": part.name, "html": str(part.content)}
        for part in outcome.parts
        if part.content is not None
    ]
    digest = outcome.policy.digest or None if outcome.policy else None
    file = outcome.file.name if outcome.file else None
    result = Result(outcome.numbers, parts, outcome.report, digest, task.hash, file)

    def along(connection: Any) -> None:
        queue.finish(connection, job.id, claim, result)
        if outcome.draft is not None and task.dataset.policy is None:
            datasets.set_policy(connection, task.dataset.id, outcome.draft, version=task.dataset.version)
        if outcome.along is not None:
            outcome.along(connection)

    details = {"job": job.id, "kind": job.kind, "data": task.dataset.name, "sha256": task.hash, **outcome.details}
    try:
        ledger.record(
            actor=job.asker,
            event=outcome.event,
            subject=outcome.subject or f"{task.dataset.subject}/job:{job.id}",
            key=job.key,
            risk_before=outcome.risk_before,
            risk_after=outcome.risk_after,
            policy=digest,
            details=details,
            along=along,
        )
    except queue.Lost:
        if file is not None:
            task.places.folder.forget([file])
        return LOST
    return 0


def _in_words(error: DiscreetError, ledger: Ledger, job: Job, places: Places) -> tuple[str, str]:
    """Words about files with the names that people gave them."""
    problem = error.problem
    wanted = (job.asked.get("population") or {}).get("dataset")
    with ledger.store.reading() as connection:
        known = [datasets.find(connection, number) for number in (job.dataset, wanted) if number is not None]
    for one in known:
        if one is not None and one.kind == "upload":
            problem = renamed(problem, places.folder.path / one.place, one.name)
    return problem, error.remedy


def _failed(ledger: Ledger, job: Job, claim: str, problem: str, remedy: str) -> int:
    with ledger.store.writing() as connection:
        done = queue.fail(connection, job.id, claim, problem=problem, remedy=remedy)
    return 0 if done else LOST


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
