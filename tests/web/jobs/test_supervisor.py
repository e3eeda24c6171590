"""Jobs in processes of their own: stopped, killed, cancelled and resumed, on both databases."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import update

from discreet.store.tables.web import JOB
from discreet.web import Settings, create_app
from discreet.web.jobs import pages
from discreet.web.jobs import store as jobs
from discreet.web.jobs.supervisor import Supervisor
from tests.web.client import MOSTLY_SQLITE, signed_in
from tests.web.jobs.working import alive, enqueue, freeze, kill, look, made, thaw, until, work
from tests.web.samples import make_dataset

pytestmark = MOSTLY_SQLITE


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Time is real here."""
    return replace(settings, lease=timedelta(seconds=60), clock=Settings().clock)


@pytest.fixture
def supervisor(app: FastAPI) -> Supervisor:
    """Somebody who starts processes when told to look."""
    app.state.site.supervisor = Supervisor(app.state.site)
    return app.state.site.supervisor


def started(supervisor: Supervisor, number: int) -> int:
    """Have a job begun; gives the number of its process."""
    until(lambda: (supervisor.look(), [one for one in supervisor.running if one.job.id == number])[1], what="the start")
    return next(one.process.pid for one in supervisor.running if one.job.id == number)


def test_every_kind_of_job_is_done_once_with_its_entry(app: FastAPI, supervisor: Supervisor) -> None:
    wanted = {"profile": {}, "assess": {}, "anonymise": {"k": 2, "suppression": 0.5}, "attack": {}, "records": {}}
    wanted |= {"compare": {"k": [2, 3], "suppression": [0.0, 0.5], "loss": "loss", "search": "optimal"}}
    numbers = {kind: enqueue(app, kind=kind, **asked) for kind, asked in wanted.items()}
    work(supervisor, *numbers.values())
    assert {kind: look(app, number).problem for kind, number in numbers.items()} == dict.fromkeys(wanted)
    assert {kind: made(app, number) for kind, number in numbers.items()} == dict.fromkeys(wanted, (1, 1))
    with app.state.site.store.reading() as connection:
        found = {kind: jobs.result(connection, number) for kind, number in numbers.items()}
    assert all(one is not None and one.hash for one in found.values())
    assert [kind for kind, one in found.items() if one and one.report] == ["assess", "anonymise", "attack", "compare"]
    compared, listed = found["compare"], found["records"]
    assert compared is not None
    assert [(one["k"], one["suppression"]) for one in compared.numbers["candidates"]] == [
        (2, 0),
        (2, 0.5),
        (3, 0),
        (3, 0.5),
    ]
    assert listed is not None
    assert listed.file is not None
    rows = (app.state.site.places.folder.path / listed.file).read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[0] for row in rows] == ["row", *map(str, range(1, 13))]
    table = found["anonymise"]
    assert table is not None
    path = app.state.site.places.folder.find(table.file or "")
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    written = app.state.site.ledger.receipt(actor="custodian", key=f"job:{numbers['anonymise']}")
    assert written.entry.event == "anonymity.made"
    assert written.entry.risk_after is not None
    assert "<script" not in "".join(part["html"] for one in found.values() if one for part in one.parts)


def test_a_killed_process_is_replaced_and_its_job_done_once(app: FastAPI, supervisor: Supervisor) -> None:
    number = enqueue(app)
    kill(started(supervisor, number))
    work(supervisor, number)
    job = look(app, number)
    assert (job.state, job.attempts) == ("done", 2)
    assert made(app, number) == (1, 1)


def test_a_process_that_is_not_heard_of_loses_its_job(app: FastAPI, supervisor: Supervisor) -> None:
    """It is stopped as by a debugger, its job is done by another, and then it goes on: too late."""
    number = enqueue(app)
    pid = started(supervisor, number)
    freeze(pid)
    with app.state.site.store.writing() as connection:  # as if a minute had passed
        connection.execute(update(JOB).values(lease=0))
    other = Supervisor(app.state.site)
    try:
        work(other, number)
        assert look(app, number).attempts == 2
        assert made(app, number) == (1, 1)
    finally:
        thaw(pid)
    until(lambda: (supervisor.look(), not supervisor.running)[1], what="the end of the slow process")
    assert made(app, number) == (1, 1)
    assert look(app, number).state == "done"


def test_a_job_whose_process_always_dies_fails_in_words(app: FastAPI, supervisor: Supervisor) -> None:
    number = enqueue(app)
    killed: list[int] = []
    while look(app, number).active:
        supervisor.look()
        pids = [one.process.pid for one in supervisor.running if one.process.pid not in killed]
        for pid in pids:
            kill(pid)
        killed += pids
        time.sleep(0.02)
    assert len(killed) == app.state.site.settings.most_attempts
    job = look(app, number)
    assert (job.state, job.problem) == ("failed", "Its process ended 3 times before it was done.")
    assert made(app, number) == (0, 0)


def test_cancelling_ends_the_process(app: FastAPI, supervisor: Supervisor) -> None:
    number = enqueue(app)
    pid = started(supervisor, number)
    browser = signed_in(app, "custodian")
    assert browser.post(f"/jobs/{number}/cancel").status_code == 303
    assert browser.post(f"/jobs/{number}/cancel").status_code == 303
    work(supervisor, number)
    assert not alive(pid)
    assert look(app, number).state == "cancelled"
    assert made(app, number) == (0, 0)


def test_a_process_ends_itself_when_nobody_is_left_to_end_it(app: FastAPI, supervisor: Supervisor) -> None:
    """Cancelled in another web process, while the one that started it is not looking."""
    number = enqueue(app)
    pid = started(supervisor, number)
    with app.state.site.store.writing() as connection:
        jobs.cancel(connection, number)
    until(lambda: not alive(pid), what="the end of the process")
    assert made(app, number) == (0, 0)


def test_closing_puts_jobs_back_and_the_next_one_does_them(
    app: FastAPI, supervisor: Supervisor, settings: Settings
) -> None:
    number = enqueue(app)
    pid = started(supervisor, number)
    supervisor.close()
    assert not alive(pid)
    assert (look(app, number).state, look(app, number).attempts) == ("queued", 0)
    again = create_app(settings)
    try:
        work(Supervisor(again.state.site), number)
    finally:
        again.state.site.close()
    assert (look(app, number).state, look(app, number).attempts) == ("done", 1)
    assert made(app, number) == (1, 1)


def test_bad_data_fail_in_words_without_a_value(app: FastAPI, supervisor: Supervisor) -> None:
    number = enqueue(app)
    dataset = look(app, number).dataset
    with app.state.site.store.reading() as connection:
        from discreet.web.datasets import store as datasets

        one = datasets.find(connection, dataset)
    assert one is not None
    path = app.state.site.places.folder.path / one.place
    path.write_text("sex,age\nF,30\nHenrietta,31,of Nowhere\n", encoding="utf-8")
    work(supervisor, number)
    job = look(app, number)
    assert (job.state, job.attempts) == ("failed", 1)
    assert job.problem == f"line 3 of {one.name} has 3 cells where the header has 2."
    assert "Henrietta" not in str(job)


def test_a_removed_data_set_takes_its_jobs_along(app: FastAPI, supervisor: Supervisor) -> None:
    number = enqueue(app)
    pid, dataset = started(supervisor, number), look(app, number).dataset
    answer = signed_in(app, "custodian").post(f"/datasets/{dataset}/remove")
    assert answer.headers["location"] == "/datasets?said=removed"
    until(lambda: (supervisor.look(), not alive(pid))[1], what="the end of the process")
    assert list(app.state.site.places.folder.path.iterdir()) == []
    again = enqueue(app)
    assert again > number  # the ledger speaks of the old one, so its number is not given again


def test_progress_and_time_left_are_told(app: FastAPI) -> None:
    number = enqueue(app)
    with app.state.site.store.writing() as connection:
        job = jobs.claim(connection, at_once=9, lease=60_000)
        assert job is not None
        assert jobs.beat(connection, number, job.claim or "", lease=60_000, step="Counting", progress=250)
        now = jobs.moment(connection)
    told = look(app, number)
    assert told.percent == 25
    assert told.seconds_left((told.started or 0) + 10_000) == 30
    assert told.seconds_left(now) is not None
    browser = signed_in(app, "custodian")
    page = browser.get(f"/jobs/{number}").text
    assert 'value="25"' in page
    assert "Counting, 25 %" in page
    state = browser.get(f"/jobs/{number}/state").json()
    assert (state["state"], state["percent"]) == ("running", 25)


def test_what_a_crash_left_behind_is_swept_out(app: FastAPI, supervisor: Supervisor) -> None:
    folder = app.state.site.places.folder
    make_dataset(app, "custodian")
    kept = set(folder.path.iterdir())
    old, new, other = folder.new("result", "csv"), folder.new("upload", "csv"), folder.path / "notes.txt"
    for path in (old, new, other):
        path.write_text("x", encoding="utf-8")
    long_ago = time.time() - 7_200
    for path in (old, other, *kept):
        os.utime(path, (long_ago, long_ago))
    supervisor.look()
    assert set(folder.path.iterdir()) == {*kept, new, other}


def test_too_many_that_wait_are_refused(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_WAITING", 2)
    dataset = make_dataset(app, "custodian")
    browser = signed_in(app, "custodian")
    address = f"/api/v1/datasets/{dataset}/assess"
    answers = [
        browser.send("POST", address, json={"threshold": share}, headers={"Sec-Fetch-Site": "same-origin"}).status_code
        for share in (0.1, 0.2, 0.3)
    ]
    assert answers == [201, 201, 429]


def test_a_supervisor_outlives_a_store_that_is_gone(
    app: FastAPI, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    from discreet.errors import StoreUnreachable

    class Broken(Supervisor):
        looks = 0

        def look(self) -> None:
            self.looks += 1
            raise (
                StoreUnreachable("The store cannot be reached.", remedy="") if self.looks == 1 else ValueError("a name")
            )

    supervisor = Broken(app.state.site)
    with caplog.at_level(logging.WARNING, logger="discreet.web"):
        supervisor.start()
        until(lambda: supervisor.looks > 2)
        supervisor.close()
    assert "cannot be reached" in caplog.text
    assert "ValueError" in caplog.text
    assert "a name" not in caplog.text
