"""Every answer, good or bad, tells browsers the same: load nothing from elsewhere, keep nothing, be framed by nobody."""

from __future__ import annotations

import re

import httpx
import pytest
from fastapi import FastAPI

from discreet.web import Settings, create_app
from discreet.web.framework.context import CONTENT_POLICY, LIVE
from discreet.web.framework.route import Route
from discreet.web.routes import ROUTES
from tests.web.client import CHEAP, Browser, signed_in
from tests.web.samples import Kept, sample

SPEC = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)


def assert_guarded(answer: httpx.Response, route: Route | None = None) -> None:
    headers = answer.headers
    live = route is not None and route.live and answer.status_code < 300
    assert headers["content-security-policy"] == SPEC + (LIVE if live else "")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-frame-options"] == "DENY"
    asset = route is not None and route.kind == "asset" and answer.status_code == 200
    assert headers["cache-control"] == ("public, max-age=31536000, immutable" if asset else "no-store")
    assert "server" not in headers


def assert_nothing_inline(text: str) -> None:
    assert not re.search(
        r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:|https?://(?!127\.0\.0\.1)", text
    )


def test_the_policy_is_that_of_the_specification() -> None:
    assert CONTENT_POLICY == SPEC


GETS, POSTS = ([route for route in ROUTES if route.method == method] for method in ("GET", "POST"))


def test_what_is_read_signed_in_and_not(app: FastAPI) -> None:
    custodian, kept = signed_in(app, "custodian"), Kept(app)
    for route in GETS:
        look(route, kept(route, "custodian"), custodian, Browser(app))


@pytest.mark.parametrize("route", POSTS, ids=lambda route: route.path)
def test_what_is_sent_signed_in_and_not(app: FastAPI, route: Route) -> None:
    look(route, sample(app, route, "custodian"), signed_in(app, "custodian"), Browser(app))


def look(route: Route, path: dict[str, str], *browsers: Browser) -> None:
    """Whatever is answered, and to whom: it is guarded."""
    for browser in browsers:
        answer = browser.send(route.method, route.path.format(**path), headers={"Sec-Fetch-Site": "same-origin"})
        assert answer.status_code < 500
        assert_guarded(answer, route)
        if "html" in answer.headers.get("content-type", ""):
            assert_nothing_inline(answer.text)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/api/v1/nothing", 404),
        ("DELETE", "/ledger", 405),
        ("PUT", "/api/v1/tokens", 405),
        ("HEAD", "/about", 405),
        ("OPTIONS", "/api/v1/me", 405),
        ("TRACE", "/", 405),
        ("GET", "/assets/../app.py", 404),
        ("GET", "/assets/%2e%2e%2fapp.py", 404),
        ("GET", "/about/", 404),
    ],
)
def test_what_is_not_served_is_guarded_as_well(browser: Browser, method: str, path: str, status: int) -> None:
    answer = browser.send(method, path)
    assert answer.status_code == status
    assert_guarded(answer)
    if status == 405:
        both = path in ("/api/v1/tokens", "/sign-in")
        assert answer.headers["allow"] == ("GET, POST" if both else "GET")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil", "127.0.0.1:8000@evil", "127.0.0.1:x"]
)
def test_other_names_are_refused(browser: Browser, host: str) -> None:
    answer = browser.get("/about", headers={"Host": host})
    assert answer.status_code == 400
    assert_guarded(answer)
    assert "evil" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "127.0.0.1", "LOCALHOST:8000", "[::1]:8000"])
def test_our_own_names_are_served(browser: Browser, host: str) -> None:
    assert browser.get("/about", headers={"Host": host}).status_code == 200


def test_behind_tls_browsers_are_told_to_stay_there(store_url: str) -> None:
    app = create_app(Settings(store=store_url, origin="https://discreet.example", hashing=CHEAP))
    answer = Browser(app).get("/about", headers={"Host": "discreet.example"})
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert Browser(app).get("/about").status_code == 400
    app.state.site.close()
