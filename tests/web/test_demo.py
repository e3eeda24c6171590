"""The demonstration has something to look at; a folder that is opened can be used."""

from __future__ import annotations

from pathlib import Path

import httpx
from fastapi import FastAPI

from discreet.demo.web_data import bring_hospital
from discreet.web.jobs import store as jobs
from tests.web.client import signed_in
from tests.web.jobs.visiting import Visitor
from tests.web.running import discreet_serve


def test_the_demonstration_has_a_data_set_with_an_assessment(app: FastAPI) -> None:
    bring_hospital(app.state.site)
    with app.state.site.store.reading() as connection:
        found = {job.kind: (job.state, job.dataset) for job in jobs.newest(connection)}
    assert {kind: state for kind, (state, _) in found.items()} == dict.fromkeys(("profile", "assess", "attack"), "done")
    browser, number = signed_in(app, "custodian"), found["assess"][1]
    page = browser.get(f"/datasets/{number}/risk").text
    assert "alone in the population of" in page
    assert "the policy has changed since" not in page
    assert "the file diagnosis.csv" in browser.get(f"/datasets/{number}").text
    assert app.state.site.ledger.verify().holds


def test_files_of_an_opened_folder_are_registered(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open/people.csv").write_text("sex,age\nF,30\n", encoding="utf-8")
    options = ("--store", str(tmp_path / "s.db"), "--data", str(tmp_path / "data"), "--folder", str(tmp_path / "open"))
    with discreet_serve(*options) as running:
        visitor = Visitor(running)
        answers = [
            visitor.post("/datasets/register", json={"path": path})
            for path in ("people.csv", str(tmp_path / "open/people.csv"), "../s.db", "/etc/passwd")
        ]
        assert [answer.status_code for answer in answers] == [201, 201, 422, 422]
        page = httpx.get(f"{visitor.origin}/datasets/new", headers=visitor.headers, trust_env=False).text
        assert str(tmp_path / "open/people.csv") in page
        assert "Tables of PostgreSQL can be data sets as well" in page
