"""A GET changes nothing and hands out nothing that is written down; at most the ledger says that a page was looked at."""

from __future__ import annotations

import json

import pytest
from fastapi import FastAPI

from discreet.web.framework.permissions import ANYONE, GRANTED, ROLES
from discreet.web.framework.route import Route
from discreet.web.jobs import store as jobs
from discreet.web.routes import ROUTES
from tests.web.client import Browser, Clock, signed_in
from tests.web.gateway_data import not_run
from tests.web.samples import SAMPLES, make_job, make_trace
from tests.web.snapshot import entries, snapshot

EMPTY = ("/compare", "/protect")
"""Tabs whose samples have no result; what they write down is seen where tables are made."""
GETS = [route for route in ROUTES if route.method == "GET"]


@pytest.mark.parametrize("route", GETS, ids=lambda route: route.path)
def test_a_get_changes_nothing(app: FastAPI, clock: Clock, route: Route) -> None:
    browsers = [Browser(app), *(signed_in(app, role) for role in ROLES)]
    path = looked_at(app, route, "custodian")
    before, known = snapshot(app, ledger=not route.records), len(entries(app))
    for browser in browsers:
        clock.wait(seconds=30)
        assert browser.get(route.path.format(**path)).status_code < 500
        assert snapshot(app, ledger=not route.records) == before
        new = {entry["event"] for entry in entries(app)[known:]}
        assert new <= ({"web.shown"} if route.records else set())


def looked_at(app: FastAPI, route: Route, role: str) -> dict[str, str]:
    """An object to look at: a data set with an assessment, if that is what it is."""
    if route.loads is None:
        return {}
    if route.records and route.loads.name == "data set" and not route.path.endswith(EMPTY):
        kind = route.path.rpartition("/")[2]
        made = make_job(app, role, kind={"attacker": "attack"}.get(kind, "assess"))
        with app.state.site.store.reading() as connection:
            job = jobs.find(connection, made)
        assert job is not None
        return {"number": str(job.dataset)}
    return SAMPLES[route.loads.name](app, role)


def permitted(route: Route) -> list[str]:
    """Roles that may ask for it."""
    return [role for role in ROLES if route.permission == ANYONE or route.permission in GRANTED[role]]


@pytest.mark.parametrize("route", GETS, ids=lambda route: route.path)
def test_a_get_discloses_nothing_that_is_written_down(app: FastAPI, route: Route) -> None:
    """Asked by everybody who may, about an object of their own: at most the ledger says that they looked at a page."""
    for role in permitted(route):
        path = looked_at(app, route, role)
        browser, asked = signed_in(app, role), route.path.format(**path) + query(app, route, role)
        known = len(entries(app))
        answer = browser.get(asked)
        assert answer.status_code in (200, 303), answer.text
        assert "attachment" not in answer.headers.get("content-disposition", "")
        new = [(entry["event"], json.loads(entry["body"])["details"]["act"]) for entry in entries(app)[known:]]
        assert new == (
            [("web.shown", "read")]
            * (route.records and not route.path.startswith("/lab") and not route.path.endswith(EMPTY))
        )
        browser.get(asked)
        assert len(entries(app)) == known + len(new), "once a day per reader"


def query(app: FastAPI, route: Route, role: str) -> str:
    """What an address needs beside its path."""
    if not route.path.endswith("/gateway/why"):
        return ""
    refusal = not_run(app.state.site.ledger, role, "Refused: EXPLAIN tells of values.")
    return f"?reference={refusal.sequence:04X}"


def test_there_is_an_entry_of_the_ledger_behind_every_download(app: FastAPI) -> None:
    """So that the test above would notice: each is asked for by POST, and is an entry."""
    known = len(entries(app))
    for path in ("/jobs/{}/file", "/reports/{}/file", "/api/v1/jobs/{}/file", "/api/v1/reports/{}"):
        answer = signed_in(app, "custodian").post(path.format(make_job(app, "custodian")))
        assert answer.status_code == 200, answer.text
        assert answer.content
    trace = signed_in(app, "custodian").post(f"/api/v1/traces/{make_trace(app, 'custodian')}")
    assert trace.json()["kind"] == "claims"
    written = [entry["event"] for entry in entries(app)[known:]]
    assert written == ["anonymity.published", "web.shown", "anonymity.published", "web.shown", "web.shown"]


@pytest.mark.parametrize("path", ["/api/v1/jobs/{}/file", "/api/v1/reports/{}", "/jobs/{}/file", "/reports/{}/file"])
def test_a_download_that_is_asked_for_by_get_is_refused_with_what_to_do(app: FastAPI, path: str) -> None:
    browser, number = signed_in(app, "custodian"), make_job(app, "custodian")
    before = snapshot(app)
    answer = browser.get(path.format(number))
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "POST" in answer.text
    assert "a link alone" in answer.text
    assert snapshot(app) == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("route", [route for route in GETS if route.records], ids=lambda route: route.path)
def test_a_link_on_another_site_writes_down_nothing(app: FastAPI, route: Route, site: str) -> None:
    """A link of another site must not make the ledger say that a person read something; from our own page they can."""
    role = permitted(route)[0]
    path = route.path.format(**looked_at(app, route, role))
    browser, before = signed_in(app, role), len(entries(app))
    answer = browser.get(path, headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 403
    assert route.kind != "page" or f'href="{path}"' in answer.text
    assert len(entries(app)) == before
    assert browser.get(path, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert len(entries(app)) == before + (not route.path.startswith("/lab") and not route.path.endswith(EMPTY))
