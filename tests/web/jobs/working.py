"""Jobs as they run: real processes that tests stop, kill and wait for."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from sqlalchemy import func, select

from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import RESULT
from discreet.web.jobs import store as jobs
from discreet.web.jobs.store import Job
from discreet.web.jobs.supervisor import Supervisor
from tests.web.samples import POLICY, account_number, make_dataset

SECONDS = 90


def enqueue(app: FastAPI, *, kind: str = "assess", rows: int = 12, owner: str = "custodian", **asked: Any) -> int:
    """A job on a data set of its own."""
    dataset = make_dataset(app, owner, rows=rows)
    account = account_number(app, owner)
    with app.state.site.store.writing() as connection:
        given = {"policy": POLICY, **asked}
        return jobs.enqueue(connection, kind=kind, dataset=dataset, account=account, asked=given)


def look(app: FastAPI, number: int) -> Job:
    """The job as it is now."""
    with app.state.site.store.reading() as connection:
        found = jobs.find(connection, number)
    assert found is not None
    return found


def until(true: Callable[[], Any], *, what: str = "it") -> None:
    """Wait for something."""
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, f"{what} did not happen within {SECONDS} s"
        time.sleep(0.05)


def work(supervisor: Supervisor, *numbers: int) -> None:
    """Have jobs done, with this thread as the supervisor's."""

    def ended() -> bool:
        supervisor.look()
        return not any(look_of(supervisor, number).active for number in numbers)

    until(ended, what="the end of the job")
    until(lambda: (supervisor.look(), not supervisor.running)[1], what="the end of its process")


def look_of(supervisor: Supervisor, number: int) -> Job:
    """The job as it is now."""
    with supervisor.site.store.reading() as connection:
        found = jobs.find(connection, number)
    assert found is not None
    return found


def made(app: FastAPI, number: int) -> tuple[int, int]:
    """How many results and how many entries of the ledger a job has led to."""
    with app.state.site.store.reading() as connection:
        results = connection.execute(
            select(func.count()).select_from(RESULT).where(RESULT.c.job == number)
        ).scalar_one()
        entries = connection.execute(
            select(func.count()).select_from(ENTRY).where(ENTRY.c.key == f"job:{number}")
        ).scalar_one()
    return results, entries


def freeze(pid: int) -> None:
    """Stop a process where it is; it is still there, but it does nothing and says nothing."""
    os.kill(pid, signal.SIGSTOP)


def thaw(pid: int) -> None:
    """Let it go on."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def kill(pid: int) -> None:
    """As if the power had gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    """Does it run? What has ended and was not yet asked for its exit code does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(stat.parent.name))
    return found
