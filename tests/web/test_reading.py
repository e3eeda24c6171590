"""A GET changes nothing, except for an entry of the ledger where the table of routes says so."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from discreet.web.permissions import ROLES
from discreet.web.route import Route
from discreet.web.routes import ROUTES
from tests.web.client import Browser, Clock, signed_in
from tests.web.samples import SAMPLES
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
        assert new in ([], [route.records])
