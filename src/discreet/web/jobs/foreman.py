"""The foreman: one thread in every web process that looks for work and starts a process for each job.

The process of a job reports to the store by itself, so that it goes on if this one is killed. The foreman only starts
processes, ends those whose job was cancelled, and puts jobs back whose process is not heard of any more.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

from sqlalchemy import Table, select

from discreet.errors import DiscreetError
from discreet.store.tables.linkage import WORK
from discreet.store.tables.releases import PARCEL
from discreet.store.tables.web import DATASET, JOB, RESULT
from discreet.web.framework.middleware import place_of
from discreet.web.framework.site import Site
from discreet.web.jobs import queue
from discreet.web.jobs.queue import Taken
from discreet.web.linkage.jobs import kept_files

log = logging.getLogger("discreet.web")

PAUSE = 0.5
"""Seconds between two looks at the queue."""
GRACE = 5.0
"""Seconds that a process has to end by itself."""
SWEEP = 3_600.0
"""Seconds between two looks for files that a crash left behind."""
LINES: tuple[tuple[Table, str], ...] = ((JOB, "discreet.web.jobs.process"), (WORK, "discreet.web.linkage.process"))
"""The tables of jobs, and the module that does each."""
INTERPRETER = sys.executable
"""What runs those modules."""


@dataclass(frozen=True)
class Running:
    """A job and its process."""

    job: Taken
    process: subprocess.Popen[bytes]
    of: Table


class Foreman:
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
        self._thread = threading.Thread(target=self._run, name="discreet-foreman", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look now: something has changed."""
        self._awake.set()

    def close(self) -> None:
        """Stop; jobs that run go back into the queue, for whoever starts next."""
        self._stopping = True
        self._awake.set()
        if self._thread is not None:
            self._thread.join()
        for one in self.running:
            _end(one.process)
        for one in self.running:
            self._write(queue.release, one)
        self.running.clear()

    def _run(self) -> None:
        while not self._stopping:
            try:
                self.look()
            except DiscreetError as error:
                log.warning("jobs: %s", error.problem)
            except Exception as error:
                log.error("jobs: %s", place_of(error))
            self._awake.wait(PAUSE)
            self._awake.clear()

    def look(self) -> None:
        """One round: see to what runs, put back what died, start what waits."""
        self.running = [one for one in self.running if self._goes_on(one)]
        for of, module in LINES:
            self._begin(of, module)
        if time.monotonic() - self._swept > SWEEP or not self._swept:
            self._swept = time.monotonic()
            self._sweep()

    def _begin(self, of: Table, module: str) -> None:
        with self.site.store.reading() as connection:  # a look without a lock, so that an idle server writes nothing
            waiting = queue.anything(connection, of=of)
        if not waiting:
            return
        with self.site.store.writing() as connection:
            queue.recover(connection, most_attempts=self.site.settings.most_attempts, of=of)
        while (job := self._claimed(of)) is not None:
            self.running.append(Running(job, self._started(job, module), of))

    def _claimed(self, of: Table) -> Taken | None:
        settings = self.site.settings
        lease = int(settings.lease.total_seconds() * 1000)
        with self.site.store.writing() as connection:
            return queue.take(connection, at_once=settings.jobs_at_once, lease=lease, of=of)

    def _started(self, job: Taken, module: str) -> subprocess.Popen[bytes]:
        """A process of its own, which is told by its standard input what others on the machine shall not read."""
        settings = self.site.settings
        order = {
            "store": settings.store,
            "data": str(settings.data),
            "folders": [str(folder) for folder in settings.folders],
            "job": job.id,
            "claim": job.claim,
            "lease": int(settings.lease.total_seconds() * 1000),
        }
        command = [INTERPRETER, "-m", module]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
        if process.stdin is not None:
            try:
                process.stdin.write(json.dumps(order).encode())
                process.stdin.close()
            except BrokenPipeError:
                log.warning("jobs: the process of job %s ended at once", job.id)
        return process

    def _goes_on(self, one: Running) -> bool:
        if one.process.poll() is not None:
            if one.process.returncode != 0:
                self._write(queue.give_up, one)
            return False
        with self.site.store.reading() as connection:
            ours = queue.holds(connection, one.job.id, one.job.claim, of=one.of)
        if not ours:
            self._end_soon(one.process)
        return ours or one.process.poll() is None

    def _end_soon(self, process: subprocess.Popen[bytes]) -> None:
        """It was cancelled, or has just finished and is closing its store."""
        try:
            process.wait(timeout=0.3)
        except subprocess.TimeoutExpired:
            _end(process)

    def _write(self, change: object, one: Running) -> None:
        with self.site.store.writing() as connection:
            change(connection, one.job.id, one.job.claim, of=one.of)  # type: ignore[operator]

    def _sweep(self) -> None:
        with self.site.store.reading() as connection:
            uploaded = connection.execute(select(DATASET.c.place).where(DATASET.c.kind == "upload")).scalars().all()
            written = connection.execute(select(RESULT.c.file).where(RESULT.c.file.is_not(None))).scalars().all()
            packed = connection.execute(select(PARCEL.c.file)).scalars().all()
            lent = kept_files(connection)
        self.site.places.folder.sweep({*uploaded, *written, *packed, *lent})


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
