"""`discreet serve` with jobs on it, as somebody with a session sees it, and what the store says afterwards."""

from __future__ import annotations

import httpx
from sqlalchemy import select, update

from discreet.ledger import Ledger
from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import JOB, RESULT
from discreet.web.jobs import store as jobs
from tests.web.client import PASSWORD
from tests.web.jobs.working import alive, children
from tests.web.running import Running

OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
PEOPLE = b"sex,age\n" + b"".join(f"{'FM'[n % 2]},{20 + n % 5}\n".encode() for n in range(200))


class Visitor:
    """Somebody with a session, at any process on the store."""

    def __init__(self, running: Running) -> None:
        self.origin = running.origin
        link = running.wait_for(r"(http://127\.0\.0\.1:\d+/welcome/\S+)")
        form = {"name": "ann", "password": PASSWORD, "again": PASSWORD}
        assert httpx.post(link, data=form, headers=OWN_PAGE, trust_env=False).status_code == 303
        form = {"name": "ann", "password": PASSWORD, "next": "/"}
        answer = httpx.post(f"{self.origin}/sign-in", data=form, headers=OWN_PAGE, trust_env=False)
        self.headers = {**OWN_PAGE, "Cookie": answer.headers["set-cookie"].partition(";")[0]}

    def post(self, path: str, **content: object) -> httpx.Response:
        """Send something to the API."""
        return httpx.post(f"{self.origin}/api/v1{path}", headers=self.headers, trust_env=False, timeout=30, **content)  # type: ignore[arg-type]

    def upload(self, name: str) -> int:
        """Bring a data set; gives its number."""
        answer = self.post("/datasets", files={"file": (name, PEOPLE)})
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    def assess(self, dataset: int, threshold: float = 0.2) -> int:
        """Ask for an assessment."""
        answer = self.post(f"/datasets/{dataset}/assess", json={"threshold": threshold})
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])


def states(ledger: Ledger) -> dict[int, str]:
    """The state of every job."""
    with ledger.store.reading() as connection:
        return {job.id: job.state for job in jobs.newest(connection, most=500)}


def all_done(ledger: Ledger) -> bool:
    """Has every job come to a good end?"""
    return set(states(ledger).values()) == {"done"}


def assert_once(ledger: Ledger) -> None:
    """Every job that is done has one result and one entry, and nothing else has either."""
    done = {number for number, state in states(ledger).items() if state == "done"}
    with ledger.store.reading() as connection:
        results = list(connection.execute(select(RESULT.c.job)).scalars())
        keys = list(connection.execute(select(ENTRY.c.key).where(ENTRY.c.key.like("job:%"))).scalars())
    assert sorted(results) == sorted(done)
    assert sorted(keys) == sorted(f"job:{number}" for number in done)


def expire(ledger: Ledger) -> None:
    """As if so much time had passed that dead processes are known to be dead."""
    with ledger.store.writing() as connection:
        connection.execute(update(JOB).where(JOB.c.state == "running").values(lease=0))


def job_processes(running: Running) -> list[int]:
    """The processes of jobs that a server has started and that run."""
    return [pid for pid in children(running.process.pid) if alive(pid)]
