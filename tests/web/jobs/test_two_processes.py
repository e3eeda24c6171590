"""Two web processes on one store share the work: every job is run by one of them, and no more at once than allowed."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select

from discreet.ledger import Ledger
from discreet.store.tables.web import JOB
from discreet.web.jobs import store as jobs
from tests.web.jobs.visiting import Visitor, all_done, assert_once
from tests.web.jobs.working import until
from tests.web.running import discreet_serve

pytestmark = [pytest.mark.postgres, pytest.mark.slow]  # test_queue.py lets many take one job in every run


@pytest.fixture
def store_kind() -> str:
    """Several processes work on one PostgreSQL."""
    return "postgresql"


def test_two_web_processes_never_run_one_job_twice(store_url: str, tmp_path: Path) -> None:
    options = ("--store", store_url, "--data", str(tmp_path / "data"), "--jobs", "3")
    with discreet_serve(*options) as one, discreet_serve(*options) as other, Ledger.open(store_url) as ledger:
        visitor = Visitor(one)
        dataset = visitor.upload("people.csv")
        until(lambda: all_done(ledger), what="the first look")
        numbers = []
        for turn in range(6):
            visitor.origin = (one if turn % 2 else other).origin
            numbers.append(visitor.assess(dataset, 0.01 * (turn + 1)))
        most = 0
        while not all_done(ledger):
            with ledger.store.reading() as connection:
                running = select(func.count()).select_from(JOB).where(JOB.c.state == "running")
                most = max(most, connection.execute(running).scalar_one())
            time.sleep(0.02)
        assert most <= 3
        assert_once(ledger)
        with ledger.store.reading() as connection:
            assert {job.attempts for job in jobs.newest(connection)} == {1}
        said = "".join([*one.said, *other.said])
        assert not re.search("bug|Error", said), said
