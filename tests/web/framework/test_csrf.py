"""What other sites have a browser send is refused, at every POST."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from discreet.web.routes import ROUTES
from tests.web.client import ORIGIN, Browser, signed_in
from tests.web.samples import Kept
from tests.web.snapshot import snapshot

POSTS = [route for route in ROUTES if route.method == "POST"]

FOREIGN: list[dict[str, str | None]] = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "cross-site", "Origin": ORIGIN},
    {"Sec-Fetch-Site": None, "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": None, "Origin": "http://127.0.0.1:9999"},
    {"Sec-Fetch-Site": None, "Origin": "null"},
    {"Sec-Fetch-Site": None},
]


def test_a_post_from_elsewhere_is_refused_and_changes_nothing(app: FastAPI) -> None:
    """At every route, about one object of each kind."""
    browser, kept = signed_in(app, "custodian"), Kept(app)
    paths = [route.path.format(**kept(route, "custodian")) for route in POSTS]
    before = snapshot(app)
    for path in paths:
        for headers in FOREIGN:
            answer = browser.post(path, headers=headers)
            assert answer.status_code == 403, (path, headers)
            assert "did not come from a page of this server" in answer.text, path
        assert snapshot(app) == before, path


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": None, "Origin": ORIGIN}], ids=["fetch", "origin"]
)
def test_a_post_from_our_own_page_goes_through(app: FastAPI, headers: dict[str, str | None]) -> None:
    assert signed_in(app, "custodian").post("/sign-out", headers=headers).status_code == 303


def test_a_page_elsewhere_cannot_use_a_token(app: FastAPI) -> None:
    headers = {"Authorization": "Bearer x"}
    assert Browser(app).get("/api/v1/me", headers=headers).status_code == 401
    from tests.web.test_matrix import make_token

    headers = {"Authorization": f"Bearer {make_token(app, 'auditor', 'dashboard.read')}"}
    assert Browser(app).get("/api/v1/me", headers=headers).status_code == 200
    assert Browser(app).get("/api/v1/me", headers={**headers, "Sec-Fetch-Site": "cross-site"}).status_code == 403
