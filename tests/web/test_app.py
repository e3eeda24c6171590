"""The application starts only with a complete table, and serves nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fastapi import FastAPI

from discreet.errors import UsageError
from discreet.web import Settings, create_app
from discreet.web.dashboard import about
from discreet.web.framework.app import refuse_undeclared
from discreet.web.framework.route import Route, Undeclared
from discreet.web.permissions import GRANTED, PERMISSIONS, ROLES
from discreet.web.routes import ROUTES

GOOD = Route("GET", "/x", "ledger.read", about.about_page)


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (replace(GOOD, permission=""), "no permission"),
        (replace(GOOD, permission="ledger.raed"), "no permission"),
        (replace(GOOD, path="/x/{number}"), "what it loads"),
        (replace(GOOD, method="PUT"), "neither GET nor POST"),
        (replace(GOOD, body="form"), "GET with a body"),
        (replace(GOOD, path="/api/v1/x"), "below /api/"),
        (replace(GOOD, method="POST", records=True), "only a page says"),
        (replace(GOOD, path="/api/v1/x", kind="api", records=True), "asked for by POST"),
        (ROUTES[0], "twice"),
    ],
)
def test_an_incomplete_row_stops_the_application_from_starting(settings: Settings, route: Route, words: str) -> None:
    with pytest.raises(Undeclared, match=words):
        create_app(settings, routes=(*ROUTES, route))


def test_what_is_served_without_standing_in_the_table_stops_it_too(app: FastAPI) -> None:
    app.add_api_route("/sneaked-in", lambda: "hello", methods=["GET"])
    with pytest.raises(Undeclared, match="/sneaked-in"):
        refuse_undeclared(app, ROUTES)


def test_a_mounted_application_is_refused(app: FastAPI) -> None:
    app.mount("/elsewhere", FastAPI())
    with pytest.raises(Undeclared, match="/elsewhere"):
        refuse_undeclared(app, ROUTES)


def test_permissions_are_granted_and_used() -> None:
    assert set(GRANTED) == set(ROLES)
    assert frozenset().union(*GRANTED.values()) == set(PERMISSIONS)
    assert {route.permission for route in ROUTES} <= {*PERMISSIONS, "anyone"}


@pytest.mark.parametrize(
    "origin",
    [
        "discreet.example",
        "http://discreet.example",
        "https://a@b",
        "ftp://x",
        "https://x/y",
        "http://127.0.0.1.example",
    ],
)
def test_an_origin_must_be_safe(origin: str) -> None:
    with pytest.raises(UsageError):
        Settings(origin=origin)


@pytest.mark.parametrize(
    "origin", ["https://discreet.example", "http://127.0.0.1:81", "http://localhost", "http://[::1]:9"]
)
def test_https_and_loopback_are_safe(origin: str) -> None:
    assert Settings(origin=origin).hosts
