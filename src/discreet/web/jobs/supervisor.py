"""Supervisor: one thread per web process that starts a process for each job.

The process of a job reports to the store by itself, so that it goes on if this one is killed. The supervisor only starts
processes, ends those whose job was cancelled, and puts jobs back whose process is not heard of any more.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Table, select

from discreet.errors import DiscreetError
from discreet.store.tables.web import DATASET, PARCEL, RESULT
from discreet.web.framework.problems import place_of
from discreet.web.framework.shared_state import Site
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import QUEUES
from discreet.web.jobs.store import JobClaim
from discreet.web.linkage.store import needed_files

log = logging.getLogger("discreet.web")

PAUSE = 0.5
"""Seconds between two looks at the jobs."""
GRACE = 5.0
"""Seconds that a process has to end by itself."""
SWEEP = 3_600.0
"""Seconds between two looks for files that a crash left behind."""
MEMORY = 0.6
"""Share of this machine's memory that the tables of all jobs together may take; beyond, they take room on the disk."""
INTERPRETER = sys.executable
"""What runs the module of the process."""


@dataclass(frozen=True)
class Running:
    """A job, its queue and its process."""

    job: JobClaim
    process: subprocess.Popen[bytes]
    of: Table


class Supervisor:
    """Starts jobs; one per web process."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.running: list[Running] = []
        self._awake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._swept = 0.0

    def start(self) -> None:
        """Begin to look for work."""
        self._thread = threading.Thread(target=self._run, name="discreet-supervisor", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look now: something has changed."""
        self._awake.set()

    def close(self) -> None:
        """Stop, and put running jobs back into the queue."""
        self._stopping = True
        self._awake.set()
        if self._thread is not None:
            self._thread.join()
        for running in self.running:
            _end(running.process)
        for running in self.running:
            self._write(jobs.release, running)
        self.running.clear()

    def _run(self) -> None:
        while not self._stopping:
            try:
                self.look()
                self.site.ledger.write_counts()
            except DiscreetError as error:
                log.warning("jobs: %s", error.problem)
            except Exception as error:
                log.error("jobs: %s", place_of(error))
            self._awake.wait(PAUSE)
            self._awake.clear()

    def look(self) -> None:
        """One round: see to what runs, put back what died, start what waits."""
        self.running = [running for running in self.running if self._goes_on(running)]
        settings = self.site.settings
        lease = int(settings.lease.total_seconds() * 1000)
        for of in QUEUES.values():
            with self.site.store.reading() as connection:  # a look without a lock: an idle server writes nothing
                waiting = jobs.anything(connection, of=of)
            while waiting:
                with self.site.store.writing() as connection:
                    jobs.recover(connection, most_attempts=settings.most_attempts, of=of)
                    job = jobs.take(connection, at_once=settings.jobs_at_once, lease=lease, of=of)
                if job is None:
                    break
                self.running.append(Running(job, self._start_process(job, of, lease), of))
        if time.monotonic() - self._swept > SWEEP or not self._swept:
            self._swept = time.monotonic()
            with self.site.store.reading() as connection:
                uploaded = connection.execute(select(DATASET.c.place).where(DATASET.c.kind == "upload")).scalars().all()
                written = connection.execute(select(RESULT.c.file).where(RESULT.c.file.is_not(None))).scalars().all()
                packed = connection.execute(select(PARCEL.c.file)).scalars().all()
                lent = needed_files(connection)
            self.site.places.folder.sweep({*uploaded, *written, *packed, *lent})

    def _start_process(self, job: JobClaim, of: Table, lease: int) -> subprocess.Popen[bytes]:
        """A process of its own; others on the machine cannot read its standard input."""
        settings = self.site.settings
        order = {
            "store": settings.store,
            "data": str(settings.data),
            "folders": [str(folder) for folder in settings.folders],
            "job": job.id,
            "claim": job.claim,
            "queue": of.name,
            "lease": lease,
            "log": None if settings.operations.log is None else str(settings.operations.log),
            "memory": int(MEMORY * physical_memory() / settings.jobs_at_once),
        }
        command = [INTERPRETER, "-m", "discreet.web.jobs.process"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
        if process.stdin is not None:
            try:
                process.stdin.write(json.dumps(order).encode())
                process.stdin.close()
            except BrokenPipeError:
                log.warning("jobs: the process of job %s ended at once", job.id)
        return process

    def _goes_on(self, running: Running) -> bool:
        process, job = running.process, running.job
        if process.poll() is not None:
            if process.returncode != 0:
                self._write(jobs.give_up, running)
            return False
        with self.site.store.reading() as connection:
            ours = jobs.holds(connection, job.id, job.claim, of=running.of)
        if not ours:  # it was cancelled, or has just finished and is closing its store
            try:
                process.wait(timeout=0.3)
            except subprocess.TimeoutExpired:
                _end(process)
        return ours or process.poll() is None

    def _write(self, change: Callable[..., bool], running: Running) -> None:
        with self.site.store.writing() as connection:
            change(connection, running.job.id, running.job.claim, of=running.of)


def physical_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
