"""`discreet serve` is killed while jobs run, with and without their processes; nothing is lost, nothing is done twice."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from sqlalchemy import update

from discreet.ledger import Ledger
from discreet.store.tables.web import JOB
from discreet.web.jobs import store as jobs
from tests.swift import REAL
from tests.web.client import MOSTLY_SQLITE
from tests.web.jobs.visiting import Visitor, all_done, assert_once, expire, job_processes, states
from tests.web.jobs.working import SECONDS, alive, freeze, kill, thaw, until
from tests.web.running import discreet_serve

pytestmark = MOSTLY_SQLITE


def test_the_process_of_a_job_outlives_the_web_process(store_url: str, tmp_path: Path) -> None:
    options = ("--store", store_url, "--data", str(tmp_path / "data"))
    with discreet_serve(*options, program=REAL) as running:
        Visitor(running).upload("people.csv")
        until(lambda: job_processes(running), what="the process of the job")
        (pid,) = job_processes(running)
        kill(running.process.pid)
        running.process.wait()
    with Ledger.open(store_url) as ledger:
        until(lambda: all_done(ledger), what="the end of the job")
        until(lambda: not alive(pid), what="the end of its process")
        assert_once(ledger)
        with discreet_serve(*options, program=REAL) as again:
            assert again.origin
            time.sleep(1)
        assert_once(ledger)
        with ledger.store.reading() as connection:
            assert [job.attempts for job in jobs.newest(connection)] == [1]


def test_killed_with_its_jobs_it_takes_them_up_again(store_url: str, tmp_path: Path) -> None:
    options = ("--store", store_url, "--data", str(tmp_path / "data"))
    with discreet_serve(*options, program=REAL) as running:
        visitor = Visitor(running)
        for name in ("one.csv", "two.csv", "three.csv"):
            visitor.upload(name)
        until(lambda: len(job_processes(running)) == 2, what="two processes")
        pids = job_processes(running)
        for pid in pids:
            freeze(pid)
        kill(running.process.pid)
        for pid in pids:
            kill(pid)
            thaw(pid)
        running.process.wait()
    with Ledger.open(store_url) as ledger:
        assert sorted(states(ledger).values()) == ["queued", "running", "running"]
        expire(ledger)
        with discreet_serve(*options, program=REAL):
            until(lambda: all_done(ledger), what="the end of the jobs")
        assert_once(ledger)


@pytest.mark.slow
def test_killed_at_random_moments_nothing_is_lost_or_done_twice(store_url: str, tmp_path: Path) -> None:
    """Of the web process or of a job's process, whichever the dice say; in the end all is done, once."""
    dice = random.Random(5)
    options = ("--store", store_url, "--data", str(tmp_path / "data"), "--jobs", "3")
    with discreet_serve(*options, program=REAL) as running:
        visitor = Visitor(running)
        for number in range(4):
            visitor.upload(f"people-{number}.csv")
        time.sleep(dice.uniform(0, 1))
        kill(running.process.pid)
    with Ledger.open(store_url) as ledger:
        end = time.monotonic() + SECONDS
        kills = 0
        while not all_done(ledger) and time.monotonic() < end:
            expire(ledger)
            with discreet_serve(*options, program=REAL) as again:
                assert again.origin
                time.sleep(dice.uniform(0.2, 1.5) + kills / 4)
                victims = [pid for pid in job_processes(again) if dice.random() < 0.4]
                kill(again.process.pid) if dice.random() < 0.7 else None
                for pid in victims:
                    kill(pid)
            kills += 1
            _forgive(ledger)
        assert_once(ledger)
        assert all_done(ledger), states(ledger)
        assert ledger.verify().problems == ()


def _forgive(ledger: Ledger) -> None:
    """So that it is not given up: this test kills more often than three times."""
    with ledger.store.writing() as connection:
        connection.execute(update(JOB).where(JOB.c.attempts > 1, JOB.c.state == "running").values(attempts=1))
        again = {"state": "queued", "attempts": 0, "problem": None, "remedy": None, "ended": None}
        connection.execute(update(JOB).where(JOB.c.state == "failed").values(again))
