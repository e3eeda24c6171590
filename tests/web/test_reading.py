"""A GET changes nothing and hands out nothing that is written down; at most the ledger says that a page was looked at."""

from __future__ import annotations

import json

import pytest
from fastapi import FastAPI

from discreet.web.framework.permissions import ANYONE, GRANTED, ROLES
from discreet.web.framework.route import Route
from discreet.web.routes import ROUTES
from tests.web.client import Browser, Clock, signed_in
from tests.web.gateway_data import not_run
from tests.web.samples import SAMPLES, make_job, make_trace
from tests.web.snapshot import entries, snapshot

GETS = [route for route in ROUTES if route.method == "GET"]


@pytest.mark.parametrize("route", GETS, ids=lambda route: route.path)
def test_a_get_changes_nothing(app: FastAPI, clock: Clock, route: Route) -> None:
    browsers = [Browser(app), *(signed_in(app, role) for role in ROLES)]
    path = SAMPLES[route.loads.name](app, "custodian") if route.loads else {}
    for browser in browsers:
        clock.wait(seconds=30)
        before, known = snapshot(app, ledger=not route.records), len(entries(app))
        assert browser.get(route.path.format(**path)).status_code < 500
        assert snapshot(app, ledger=not route.records) == before
        new = [entry["event"] for entry in entries(app)[known:]]
        assert new in ([], ["web.shown"] * route.records)


def permitted(route: Route) -> list[str]:
    """Roles that may ask for it."""
    return [role for role in ROLES if route.permission == ANYONE or route.permission in GRANTED[role]]


@pytest.mark.parametrize("route", GETS, ids=lambda route: route.path)
def test_a_get_discloses_nothing_that_is_written_down(app: FastAPI, route: Route) -> None:
    """Asked by everybody who may, about an object of their own: at most the ledger says that they looked at a page."""
    for role in permitted(route):
        path = SAMPLES[route.loads.name](app, role) if route.loads else {}
        browser, asked = signed_in(app, role), route.path.format(**path) + query(app, route, role)
        known = len(entries(app))
        answer = browser.get(asked)
        assert answer.status_code in (200, 303), answer.text
        assert "attachment" not in answer.headers.get("content-disposition", "")
        new = [(entry["event"], json.loads(entry["body"])["details"]["act"]) for entry in entries(app)[known:]]
        assert new == ([("web.shown", "read")] * route.records)


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
    assert route.loads is not None
    path = route.path.format(**SAMPLES[route.loads.name](app, "auditor"))
    browser, before = signed_in(app, "auditor"), len(entries(app))
    answer = browser.get(path, headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 403
    assert f'href="{path}"' in answer.text
    assert len(entries(app)) == before
    assert browser.get(path, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert len(entries(app)) == before + 1
