"""The queue keeps its promises on both databases: one runner per job, one result, no more at once than allowed."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, update

from discreet.store.tables.web import JOB
from discreet.web.jobs import store as jobs
from discreet.web.jobs.store import ACTIVE, Job, JobResult
from tests.examples import examples
from tests.web.client import BOTH_STORES
from tests.web.jobs.working import enqueue, look, made

pytestmark = BOTH_STORES
LEASE = 60_000
FOUND = JobResult({"records": 1}, [], None, None, None, None)


def claim(app: FastAPI, *, at_once: int = 100, lease: int = LEASE) -> Job | None:
    with app.state.site.store.writing() as connection:
        return jobs.claim(connection, at_once=at_once, lease=lease)


def taken(app: FastAPI, **options: int) -> Job:
    job = claim(app, **options)
    assert job is not None
    return job


def recover(app: FastAPI, most: int = 3) -> list[int]:
    with app.state.site.store.writing() as connection:
        return jobs.recover(connection, most_attempts=most)


def finish(app: FastAPI, job: Job) -> None:
    def along(connection: Connection) -> None:
        jobs.finish(connection, job.id, job.claim or "")
        jobs.keep_result(connection, job.id, FOUND)

    app.state.site.ledger.record(actor="custodian", event="risk.assessed", key=job.key, along=along)


def test_the_job_that_has_waited_longest_comes_first(app: FastAPI) -> None:
    numbers = [enqueue(app) for _ in range(3)]
    assert [taken(app).id for _ in numbers] == numbers
    assert claim(app) is None


def test_no_more_run_at_once_than_allowed(app: FastAPI) -> None:
    for _ in range(3):
        enqueue(app)
    assert taken(app, at_once=2)
    second = taken(app, at_once=2)
    assert claim(app, at_once=2) is None
    finish(app, second)
    assert taken(app, at_once=2)


def test_the_same_question_twice_is_one_job(app: FastAPI) -> None:
    number = enqueue(app)
    job = look(app, number)
    with app.state.site.store.writing() as connection:
        same = {"kind": job.kind, "dataset": job.dataset, "account": 1, "asked": job.asked}
        assert jobs.enqueue(connection, **same) == number
        jobs.cancel(connection, number)
        assert jobs.enqueue(connection, **same) != number


def test_a_result_and_its_entry_come_once(app: FastAPI) -> None:
    number = enqueue(app)
    job = taken(app)
    finish(app, job)
    assert look(app, number).state == "done"
    finish(app, job)  # the ledger recognises its key
    assert made(app, number) == (1, 1)


def test_whoever_lost_the_job_cannot_finish_it(app: FastAPI) -> None:
    number = enqueue(app)
    slow = taken(app, lease=-1)
    assert recover(app) == [number]
    quick = taken(app)
    with pytest.raises(jobs.Lost):
        finish(app, slow)
    assert made(app, number) == (0, 0)
    with app.state.site.store.writing() as connection:
        assert not jobs.beat(connection, number, slow.claim or "", lease=LEASE, step="x", progress=1)
        assert not jobs.fail(connection, number, slow.claim or "", problem="x", remedy="x")
        assert not jobs.release(connection, number, slow.claim or "")
    finish(app, quick)
    assert made(app, number) == (1, 1)
    assert look(app, number).attempts == 2


def test_a_job_that_dies_again_and_again_fails_in_words(app: FastAPI) -> None:
    number = enqueue(app)
    for _ in range(3):
        assert look(app, number).state == "queued"
        taken(app, lease=-1)
        assert recover(app) == [number]
    job = look(app, number)
    assert job.state == "failed"
    assert job.problem == "Its process ended 3 times before it was done."
    assert "memory" in (job.remedy or "")
    assert recover(app) == []


def test_a_job_that_is_heard_of_is_left_alone(app: FastAPI) -> None:
    enqueue(app)
    taken(app)
    assert recover(app) == []


def test_cancelling_is_done_once_and_may_be_asked_for_twice(app: FastAPI) -> None:
    waiting, running = enqueue(app), enqueue(app)
    with app.state.site.store.writing() as connection:
        assert jobs.cancel(connection, waiting)
        assert not jobs.cancel(connection, waiting)
    job = taken(app)
    assert job.id == running
    with app.state.site.store.writing() as connection:
        assert jobs.holds(connection, running, job.claim or "")
        assert jobs.cancel(connection, running)
        assert not jobs.holds(connection, running, job.claim or "")
    with pytest.raises(jobs.Lost):
        finish(app, job)
    assert [look(app, number).state for number in (waiting, running)] == ["cancelled", "cancelled"]
    assert made(app, running) == (0, 0)


def test_a_released_job_is_as_good_as_new(app: FastAPI) -> None:
    number = enqueue(app)
    job = taken(app)
    with app.state.site.store.writing() as connection:
        assert jobs.release(connection, number, job.claim or "")
    assert (look(app, number).state, look(app, number).attempts) == ("queued", 0)


def test_many_who_look_at_once_get_each_job_once(app: FastAPI) -> None:
    numbers = [enqueue(app) for _ in range(24)]
    got: list[int] = []
    most: list[int] = []

    def runner() -> None:
        while len(got) < len(numbers):
            job = claim(app, at_once=3)
            if job is None:
                continue
            with app.state.site.store.reading() as connection:
                most.append(len(jobs.newest(connection, states=("running",))))
            got.append(job.id)
            finish(app, job)

    threads = [threading.Thread(target=runner) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(got) == Counter(numbers)
    assert max(most) <= 3
    assert all(made(app, number) == (1, 1) for number in numbers)


STEPS = st.lists(st.sampled_from(["ask", "claim", "finish", "die", "cancel", "release", "recover"]), max_size=30)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, st.data())
def test_whatever_happens_in_whatever_order(app: FastAPI, steps: list[str], data: st.DataObject) -> None:
    """Against a model: a job is done exactly when it has one result and one entry, and never begun too often."""
    claims: list[Job] = []
    numbers: list[int] = []
    with app.state.site.store.writing() as connection:
        connection.execute(update(JOB).where(JOB.c.state.in_(ACTIVE)).values(state="cancelled", claim=None))
    for step in steps:
        if step == "ask":
            numbers.append(enqueue(app))
        elif step == "claim":
            claims += [job for job in [claim(app, at_once=2)] if job is not None]
        elif step == "recover":
            recover(app)
        elif claims:
            job = data.draw(st.sampled_from(claims))
            mine = look(app, job.id).claim == job.claim
            try:
                _step(app, step, job)
            except jobs.Lost:
                assert not mine
        with app.state.site.store.reading() as connection:
            assert len(jobs.newest(connection, states=("running",), most=500)) <= 2
    for number in numbers:
        job = look(app, number)
        assert made(app, number) == ((1, 1) if job.state == "done" else (0, 0))
        assert job.attempts <= 3
        assert (job.claim is not None) == (job.state == "running")


def _step(app: FastAPI, step: str, job: Job) -> None:
    if step == "finish":
        finish(app, job)
        return
    with app.state.site.store.writing() as connection:
        if step == "cancel":
            jobs.cancel(connection, job.id)
        elif step == "release":
            jobs.release(connection, job.id, job.claim or "")
        elif step == "die":
            jobs.give_up(connection, job.id, job.claim or "")
