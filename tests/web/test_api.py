"""The API: tokens with scopes, strict models, the same permissions, and a description that is true."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from discreet.web.framework.permissions import SESSIONS_ONLY
from discreet.web.routes import ROUTES, describe
from tests.web.client import Browser, Clock, signed_in
from tests.web.samples import account_number
from tests.web.snapshot import snapshot
from tests.web.test_matrix import make_token

AUDITOR = ("dashboard.read", "tokens.own", "ledger.read", "api.describe")


def program(app: FastAPI, *scopes: str, owner: str = "auditor", days: float = 30) -> Browser:
    return Browser(app, headers={"Authorization": f"Bearer {make_token(app, owner, *(scopes or AUDITOR), days=days)}"})


def post(browser: Browser, path: str, content: Any) -> httpx.Response:
    return browser.send("POST", path, json=content)


def test_who_am_i(app: FastAPI) -> None:
    assert program(app).get("/api/v1/me").json() == {
        "name": "auditor",
        "role": "auditor",
        "permissions": sorted(AUDITOR),
        "token": 1,
    }
    assert signed_in(app, "auditor").get("/api/v1/me").json()["token"] is None


def test_the_head_is_the_ledgers_own(app: FastAPI) -> None:
    assert program(app).get("/api/v1/ledger/head").json() == app.state.site.ledger.head()


def test_entries_come_page_by_page_newest_first(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    for number in range(7):
        ledger.record(actor="auditor" if number % 2 else "worker", event="web.shown", subject=f"data:1/page:{number}")
    browser, found, before = program(app), [], None
    while True:
        query: dict[str, Any] = {"most": 3, "subject": "data:1"} | ({} if before is None else {"before": before})
        page = browser.send("GET", "/api/v1/ledger/entries", params=query).json()
        found += page["entries"]
        assert len(page["entries"]) <= 3
        before = page["older"]
        if before is None:
            break
    assert [entry["subject"] for entry in found] == [f"data:1/page:{number}" for number in reversed(range(7))]
    by_actor = browser.send("GET", "/api/v1/ledger/entries", params={"actor": "worker"}).json()["entries"]
    assert len(by_actor) == 4
    assert browser.get(f"/api/v1/ledger/entries/{found[0]['sequence']}").json() == found[0]
    assert browser.get("/api/v1/ledger/entries/999").status_code == 404


@pytest.mark.parametrize(
    "query", ["most=0", "most=501", "most=x", "before=-1", "since=yesterday", "since=20260531", "until=2026-02-30", "colour=red", f"actor={'x' * 501}", f"before={'9' * 30}"]
)  # fmt: skip
def test_a_wrong_query_is_a_problem_that_says_where(app: FastAPI, query: str) -> None:
    answer = program(app).get(f"/api/v1/ledger/entries?{query}")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert sorted(problem) == ["detail", "next", "status", "title", "type"]
    assert problem["status"] == 422
    assert "red" not in problem["detail"]
    assert "yesterday" not in problem["detail"]


def test_a_token_makes_a_lesser_token_and_revokes_it(app: FastAPI) -> None:
    mother = program(app)
    made = post(mother, "/api/v1/tokens", {"name": "nightly", "scopes": ["ledger.read"], "days": 366})
    assert made.status_code == 201
    token, secret = made.json()["token"], made.json()["secret"]
    assert secret.startswith("discreet_")
    assert secret not in str(snapshot(app))
    assert token["scopes"] == ["ledger.read"]
    listed = mother.get("/api/v1/tokens").json()["tokens"]
    assert [one["id"] for one in listed] == [2, 1]
    assert token["expires"] <= listed[1]["expires"]
    child = Browser(app, headers={"Authorization": f"bearer {secret}"})
    assert child.get("/api/v1/ledger/head").status_code == 200
    assert child.get("/api/v1/tokens").status_code == 403
    assert post(mother, f"/api/v1/tokens/{token['id']}/revoke", {}).json()["state"] == "revoked"
    assert child.get("/api/v1/ledger/head").status_code == 401
    assert post(mother, f"/api/v1/tokens/{token['id']}/revoke", {}).status_code == 200
    acts = app.state.site.ledger.entries(event="web.account", actor="auditor")
    written = [(entry.details["act"], entry.details["token"]) for entry in acts]
    assert written == [("made a token", 1), ("revoked a token", 1)]


def test_a_token_cannot_make_one_that_may_more(app: FastAPI) -> None:
    small = program(app, "tokens.own", "ledger.read")
    before = snapshot(app)
    assert post(small, "/api/v1/tokens", {"name": "x", "scopes": ["ledger.export"]}).status_code == 403
    for scope in (*SESSIONS_ONLY, "nonsense", ""):
        assert post(small, "/api/v1/tokens", {"name": "x", "scopes": [scope]}).status_code == 422
    assert snapshot(app) == before


@pytest.mark.parametrize(
    "content",
    [
        {},
        [],
        None,
        "x",
        {"name": "x"},
        {"name": "x", "scopes": "ledger.read"},
        {"name": "x", "scopes": []},
        {"name": 1, "scopes": ["ledger.read"]},
        {"name": "", "scopes": ["ledger.read"]},
        {"name": "\u0000", "scopes": ["ledger.read"]},
        {"name": "\ud800", "scopes": ["ledger.read"]},
        {"name": "x", "scopes": ["ledger.read"], "days": "7"},
        {"name": "x", "scopes": ["ledger.read"], "days": 0},
        {"name": "x", "scopes": ["ledger.read"], "days": 1.5},
        {"name": "x", "scopes": ["ledger.read"], "admin": True},
    ],
)
def test_a_body_that_does_not_fit_is_refused(app: FastAPI, content: Any) -> None:
    browser = program(app)
    before = snapshot(app)
    answer = browser.send(
        "POST", "/api/v1/tokens", content=json.dumps(content).encode(), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert snapshot(app) == before


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 50_000, b'{"name":"x","scopes":["ledger.read"]} x'])
def test_a_body_that_is_no_json_is_refused(app: FastAPI, body: bytes) -> None:
    answer = program(app).send("POST", "/api/v1/tokens", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "given", ["Bearer", "Bearer ", "Bearer x", "Basic YTpi", "discreet_x", "Bearer discreet_" + "A" * 43, "\x00"]
)
def test_a_wrong_token_is_refused_even_beside_a_good_cookie(app: FastAPI, given: str) -> None:
    browser = signed_in(app, "auditor")
    answer = browser.get("/api/v1/me", headers={"Authorization": given.encode()})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "next" in answer.json()


def test_tokens_expire(app: FastAPI, clock: Clock) -> None:
    browser = program(app, days=1)
    clock.wait(hours=23)
    assert browser.get("/api/v1/me").status_code == 200
    clock.wait(hours=1)
    assert browser.get("/api/v1/me").status_code == 401


def test_a_token_loses_what_its_account_loses(app: FastAPI) -> None:
    from sqlalchemy import update

    from discreet.store.tables.web import ACCOUNT

    browser = program(app)
    assert browser.get("/api/v1/ledger/head").status_code == 200
    with app.state.site.store.writing() as connection:
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == account_number(app, "auditor")).values(role="worker"))
    assert browser.get("/api/v1/ledger/head").status_code == 403


def test_the_page_makes_a_token_that_works(app: FastAPI) -> None:
    browser = signed_in(app, "auditor")
    page = browser.post("/tokens", {"name": "from the page", "scopes": ["ledger.read"], "days": "7"}).text
    secret = re.search(r"discreet_[\w-]{43}", page)
    assert secret is not None
    assert secret[0] not in browser.get("/tokens").text
    headers = {"Authorization": f"Bearer {secret[0]}"}
    assert Browser(app).get("/api/v1/ledger/head", headers=headers).status_code == 200
    for wrong in ({"name": ""}, {"scopes": []}, {"scopes": ["accounts.change"]}, {"days": "0"}, {"days": "x"}):
        form = {"name": "n", "scopes": ["ledger.read"], "days": "7", **wrong}
        assert browser.post("/tokens", form).status_code == 422


def test_the_description_names_every_operation_and_its_permission(app: FastAPI) -> None:
    document = program(app).get("/api/v1/openapi.json").json()
    assert document == json.loads(json.dumps(describe(app)))
    described = {
        (method.upper(), path): operation["x-permission"]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert described == {route.key: route.permission for route in ROUTES if route.kind == "api"}
    assert signed_in(app, "worker").get("/api/v1/openapi.json").status_code == 403
    assert len({operation["operationId"] for path in document["paths"].values() for operation in path.values()}) == len(
        described
    )
