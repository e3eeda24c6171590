"""Who may what: every role, every token and nobody, at every route, with objects of their own and of others."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI

from discreet.web.accounts import credentials
from discreet.web.framework.permissions import ANYONE, GRANTED, PERMISSIONS, ROLES, SESSIONS_ONLY, scopes_of
from discreet.web.framework.route import Route
from discreet.web.routes import ROUTES
from tests.web.client import Browser, make_accounts, signed_in
from tests.web.samples import NEVER_OWN, OWNED, SAMPLES, Kept, account_number, sample

ADMITTED = {200, 201, 204, 303, 409, 422}
"""What a handler answers to whoever has come through the door, here with forms that are mostly empty."""


PROVEN = {
    "/account/second-factor",
    "/account/second-factor/remove",
    "/account/recovery",
    "/account/passkeys/{number}/remove",
}
"""Where the own password or a code is asked for again."""


def ask(browser: Browser, route: Route, path: dict[str, str], **headers: str) -> httpx.Response:
    address = route.path.format(**path)
    if route.method == "GET":
        return browser.get(address, headers=headers)
    if route.body == "upload":
        return browser.post(address, files={"other": ("x.csv", b"a")}, headers=headers)
    if route.body == "json":
        return browser.send("POST", address, json={}, headers={"Sec-Fetch-Site": "same-origin", **headers})
    return browser.post(address, headers=headers)


def is_turned_away(answer: httpx.Response, route: Route) -> bool:
    """Asked to sign in."""
    if route.kind == "api":
        return answer.status_code == 401
    return answer.status_code == 303 and answer.headers["location"].startswith("/sign-in?next=")


def test_every_object_has_a_sample() -> None:
    assert {route.loads.name for route in ROUTES if route.loads} == set(SAMPLES)


def awaited(route: Route, role: str, owner: str) -> set[int]:
    """What a role may be answered at a route with an object of this owner."""
    if route.permission == ANYONE:
        return ADMITTED | {403}  # a wrong password
    if route.permission not in GRANTED[role] or (route.path in NEVER_OWN and owner == role):
        return {403}
    if route.loads and route.loads.name in OWNED and owner != role:
        return {404}
    return {403, 422} if route.path in PROVEN else ADMITTED  # nothing was proven


@pytest.mark.parametrize("role", list(ROLES))
def test_a_role_gets_what_it_may_and_nothing_else(app: FastAPI, role: str) -> None:
    """Each route with an object of one's own, and with one of somebody else in the same role."""
    make_accounts(app, f"{role}2")
    browser, kept = signed_in(app, role), Kept(app)
    # First the GETs; last what gives an account a passkey, without which it does not sign in again.
    for route in sorted(ROUTES, key=lambda route: (route.method, "/passkeys/" in route.path)):
        if route.path == "/sign-out":
            continue
        for owner in (role, f"{role}2"):
            answers = awaited(route, role, owner)
            changes = route.method != "GET" and 303 in answers
            answer = ask(browser, route, sample(app, route, owner) if changes else kept(route, owner))
            cell = f"{role} at {route.method} {route.path}, object of {owner}: {answer.status_code}"
            assert answer.status_code in answers, cell
            assert route.permission == ANYONE or not is_turned_away(answer, route), cell
            if changes:  # it may have ended the session
                browser = signed_in(app, role)


def test_nobody_gets_only_what_is_for_anyone(app: FastAPI) -> None:
    kept = Kept(app)
    for route in ROUTES:
        answer = ask(Browser(app), route, kept(route, "custodian"))
        if route.permission == ANYONE:
            assert answer.status_code in ADMITTED | {403}, route.path  # 403: a wrong password
        else:
            assert is_turned_away(answer, route), (route.path, answer.status_code)


@pytest.mark.parametrize("cookie", ["", "x", "A" * 43, "\x00", "é" * 50])
def test_a_made_up_session_is_nobody(app: FastAPI, cookie: str) -> None:
    kept = Kept(app)
    for route in ROUTES:
        if route.permission != ANYONE:
            browser = Browser(app, headers={"Cookie": f"__Host-discreet={cookie}".encode()})
            answer = ask(browser, route, kept(route, "custodian"))
            assert is_turned_away(answer, route), route.path


def make_token(app: FastAPI, owner: str, *scopes: str, days: float = 1) -> str:
    site = app.state.site
    with site.store.writing() as connection:
        _, secret = credentials.add_token(
            connection,
            account=account_number(app, owner),
            name="test",
            scopes=scopes,
            now=site.stamp(),
            expires=site.stamp(ago=-timedelta(days=days)),
        )
    return secret


@pytest.mark.parametrize("role", [role for role in ROLES if scopes_of(role)])
def test_a_token_gets_the_api_within_its_scopes(app: FastAPI, role: str) -> None:
    """At each route with the one scope that it asks for, with all others, and with none."""
    kept = Kept(app)
    one = {scope: make_token(app, role, scope) for scope in PERMISSIONS}
    others = {scope: make_token(app, role, *({*PERMISSIONS} - {scope})) for scope in PERMISSIONS}
    none = make_token(app, role)
    for route in ROUTES:
        if route.permission == ANYONE or route.kind != "api":
            continue
        for secret in (one[route.permission], others[route.permission], none):
            browser = Browser(app, headers={"Authorization": f"Bearer {secret}"})
            within = secret == one[route.permission] and route.permission in GRANTED[role] - SESSIONS_ONLY
            answer = ask(browser, route, sample(app, route, role) if within else kept(route, role))
            cell = f"{role} at {route.method} {route.path}, {within}: {answer.status_code}"
            assert answer.status_code in (ADMITTED if within else {403}), cell


@pytest.mark.parametrize(
    ("role", "scopes"),
    [*((role, tuple(PERMISSIONS)) for role in ROLES if scopes_of(role)), ("custodian", ())],
    ids=lambda value: value if isinstance(value, str) else "every scope" if value else "no scope",
)
def test_a_token_never_gets_a_page(app: FastAPI, role: str, scopes: tuple[str, ...]) -> None:
    secret, kept = make_token(app, role, *scopes), Kept(app)
    for route in ROUTES:
        if route.permission != ANYONE and route.kind != "api":
            browser = Browser(app, headers={"Authorization": f"Bearer {secret}"})
            answer = ask(browser, route, kept(route, role))
            assert is_turned_away(answer, route), f"{role} at {route.method} {route.path}: {answer.status_code}"


@pytest.mark.parametrize("number", ["99999", "0", "-1", "x", "1e3", "%00", "9" * 40, "..", "１"])
def test_what_does_not_exist_looks_like_what_is_somebody_elses(app: FastAPI, number: str) -> None:
    make_accounts(app, "auditor2")
    browser = signed_in(app, "auditor")
    foreign = browser.post(f"/tokens/{SAMPLES['token'](app, 'auditor2')['number']}/revoke")
    missing = browser.post(f"/tokens/{number}/revoke")
    assert foreign.status_code == missing.status_code == 404
    assert foreign.text == missing.text or number == ".."
