"""Process of one job: `python -m discreet.web.jobs.process`; standard input says which job.

It ends with 0 when the job has come to an end in the store, whichever; with 3 when the job is not ours any more; with 4
when the store cannot be used. Killed at any moment it leaves either the whole result with its entry in the ledger, or
nothing but files that are swept out and folders that the next attempt replaces.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Table

from discreet.errors import DiscreetError, StoreError
from discreet.ledger import Ledger
from discreet.store.tables.web import JOB
from discreet.web.datasets import store as datasets
from discreet.web.datasets.files import DatasetPlaces, Folder
from discreet.web.datasets.inspection import renamed
from discreet.web.framework.middleware import place_of
from discreet.web.jobs import queue
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import KINDS, QUEUES
from discreet.web.jobs.store import Job, Queued
from discreet.web.jobs.task import Tell, prepare
from discreet.web.linkage import store as linkage_store
from discreet.web.linkage.store import Work

log = logging.getLogger("discreet.web")

LOOK = 0.3
"""Seconds between two looks whether the job is still ours."""
LOST, UNUSABLE = 3, 4
GENTLE = 5
"""How much less than the web process it asks of the processor."""


@dataclass
class Pulse:
    """A thread that renews the lease, reports progress, and ends the process when the job is not ours any more."""

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
        store, mine = self.ledger.store, (self.job, self.claim)
        while True:
            now, late = (self.step, self.progress), time.monotonic() - renewed
            try:
                if now != reported or late > self.lease / 4000:
                    with store.writing() as connection:
                        ours = queue.beat(connection, *mine, lease=self.lease, step=now[0], progress=now[1], of=self.of)
                    reported, renewed = now, time.monotonic()
                else:
                    with store.reading() as connection:
                        ours = queue.holds(connection, *mine, of=self.of)
                if not ours:
                    os._exit(LOST)
            except StoreError:
                if late > self.lease / 1000:
                    os._exit(UNUSABLE)
            time.sleep(LOOK)


def main() -> int:
    """Do the job that standard input names."""
    order = json.loads(sys.stdin.buffer.read())
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    os.umask(0o077)
    os.nice(GENTLE)
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
        if job is None or not queue.holds(connection, number, claim, of=table):
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
        for file, name in _uploads(ledger, job).items():  # people know a file by the name that they gave it
            problem = renamed(problem, folder.path / file, name)
    except Exception as error:
        log.error("job %s: %s", number, place_of(error))
        problem, remedy = "Something went wrong on our side.", f"Report this line: {place_of(error)}"
    with ledger.store.writing() as connection:
        failed = queue.fail(connection, number, claim, problem=problem, remedy=remedy, of=table)
    return 0 if failed else LOST


def perform(ledger: Ledger, job: Queued, claim: str, places: DatasetPlaces, tell: Tell) -> int:
    """Do a job and store what was found; an error of the work is left to the caller."""
    task = prepare(ledger, job, places, tell)
    outcome = KINDS[job.kind].load()(task)
    try:
        task.store(claim, outcome)
    except queue.Lost:
        if outcome.file is not None:
            places.folder.forget([outcome.file.name])
        return LOST
    places.folder.forget(outcome.useless)
    return 0


def _uploads(ledger: Ledger, job: Queued) -> dict[str, str]:
    """Our files that a job reads, with the names that people gave them."""
    if isinstance(job, Work):
        return {file["upload"]: file["name"] for file in job.files}
    population = (job.asked.get("population") or {}).get("dataset")
    with ledger.store.reading() as connection:
        read = [
            datasets.find(connection, number) for number in (cast(Job, job).dataset, population) if number is not None
        ]
    return {dataset.place: dataset.name for dataset in read if dataset is not None and dataset.kind == "upload"}


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
