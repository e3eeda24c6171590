"""A report on a whole project, made from what the store knows and chosen on a page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import text

from discreet.errors import DataError, IntegrityError
from discreet.web.jobs import store as jobs
from discreet.web.jobs.process import perform
from tests.web.client import BOTH_STORES, Browser, signed_in
from tests.web.samples import make_dataset, make_plan
from tests.web.snapshot import entries


def done(app: FastAPI) -> int:
    """Do the job that waits, in this process; gives its number."""
    site = app.state.site
    with site.store.writing() as connection:
        job = jobs.claim(connection, at_once=10, lease=10**6)
    assert job is not None
    assert perform(site.ledger, job, job.claim or "", site.places, lambda *_: None) == 0
    return job.id


def asked(app: FastAPI) -> dict[str, Any]:
    """What the newest job was asked."""
    with app.state.site.store.reading() as connection:
        return jobs.newest(connection, most=1)[0].asked


def anonymised(app: FastAPI, browser: Browser, dataset: int) -> int:
    """An anonymised table of a data set."""
    limits = {"k": "2", "suppression": "50", "loss": "loss", "risk_model": "prosecutor", "search": "optimal", "format": "csv"}  # fmt: skip
    assert browser.post(f"/datasets/{dataset}/protect", limits).status_code == 303
    return done(app)


@BOTH_STORES
def test_from_the_choice_to_the_report(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    dataset = make_dataset(app, "custodian")
    table = anonymised(app, browser, dataset)
    app.state.site.ledger.record(actor="gate", event="gateway.started", subject="database:clinic", details={"mode": "enforce"})  # fmt: skip
    page = browser.get("/reports/new").text  # there is but one data set
    assert f'<option value="{table}"' in page
    form = {"dataset": str(dataset), "title": "Spring", "published": str(table), "adversary": "yes"}
    answer = browser.post("/reports/new", form)
    assert answer.status_code == 303
    assert asked(app)["releases"] == []
    number = done(app)
    assert answer.headers["location"] == f"/jobs/{number}"
    assert f'href="/reports/{number}"' in browser.get(f"/jobs/{number}").text
    shown = signed_in(app, "auditor").get(f"/reports/{number}").text
    for words in ("What a decision can rest on", "What was made coarser", "What an adversary would do", "The ledger and its head"):  # fmt: skip
        assert words in shown
    assert "anonymised is" in shown  # what leaves is what was measured
    file = browser.post(f"/reports/{number}/file").text
    assert "<h1>Spring</h1>" in file
    assert app.state.site.ledger.head()["root"] not in file  # reading and taking were written down since
    written = [entry for entry in entries(app) if entry["key"] == f"job:{number}"]
    assert [entry["event"] for entry in written] == ["risk.assessed"]
    assert f"Spring, report {number}</a>" in browser.get("/reports").text


def test_what_belongs_to_it_is_chosen(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    dataset, other = make_dataset(app, "custodian"), make_dataset(app, "custodian")
    choose = browser.get("/reports/new").text
    assert {int(number) for number in re.findall(r"/reports/new\?dataset=(\d+)", choose)} == {dataset, other}
    table = anonymised(app, browser, other)
    form = {"dataset": str(dataset), "title": "Spring", "published": str(table)}
    assert browser.post("/reports/new", form).status_code == 422  # a table of another data set
    empty = browser.post("/reports/new", {**form, "published": "", "title": " "})
    assert empty.status_code == 422
    assert "title" in empty.text
    assert browser.post("/reports/new", {**form, "published": "", "release": "no such"}).status_code == 422
    assert browser.post("/reports/new", {**form, "dataset": "1", "published": ""}).status_code == 422
    assert browser.post("/reports/new", {**form, "published": ""}).status_code == 303
    assert (asked(app)["adversary"], asked(app).get("published")) == (False, None)


def test_without_a_data_set_that_has_roles_it_says_what_to_do_first(app: FastAPI) -> None:
    make_dataset(app, "custodian", policy=None)
    page = signed_in(app, "custodian").get("/reports/new").text
    assert "No data set has roles yet" in page


def test_a_plan_is_not_a_release_yet(app: FastAPI) -> None:
    _, name = make_plan(app, "custodian")
    assert name not in signed_in(app, "custodian").get("/reports/new").text


def test_nothing_is_told_beside_a_ledger_that_was_tampered_with(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    dataset = make_dataset(app, "custodian")
    browser.post("/reports/new", {"dataset": str(dataset), "title": "Spring", "published": ""})
    with app.state.site.store.writing() as connection:
        connection.execute(text("DROP TRIGGER ledger_entry_no_update"))
        connection.execute(text("UPDATE ledger_entry SET body = replace(body, 'ledger.opened', 'ledger.opemed')"))
    with pytest.raises(IntegrityError, match="not what was written"):
        done(app)


def test_a_table_that_is_gone_is_named_in_words(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    dataset = make_dataset(app, "custodian")
    table = anonymised(app, browser, dataset)
    with app.state.site.store.reading() as connection:
        found = jobs.result(connection, table)
    assert found is not None
    browser.post("/reports/new", {"dataset": str(dataset), "title": "Spring", "published": str(table)})
    app.state.site.places.folder.forget([found.file or ""])
    with pytest.raises(DataError, match="not there any more"):
        done(app)
