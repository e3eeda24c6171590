"""Releases for programs: plan, poll, trace; approving is for people."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from discreet.web.framework.permissions import scopes_of
from tests.web.client import Browser, make_accounts, signed_in
from tests.web.release_data import RECIPIENTS, approve, bring_town, work_off
from tests.web.releases.test_tracing import hits_of
from tests.web.test_matrix import make_token


@pytest.fixture
def program(app: FastAPI) -> Browser:
    """With every scope that a custodian's token can have."""
    make_accounts(app, "custodian2")
    return Browser(app, headers={"Authorization": f"Bearer {make_token(app, 'custodian', *scopes_of('custodian'))}"})


def post(browser: Browser, path: str, **options: Any) -> httpx.Response:
    return browser.send("POST", f"/api/v1{path}", **options)


def wanted(app: FastAPI, **more: Any) -> dict[str, Any]:
    data, crowd = bring_town(app)
    return {
        "name": "spring", "dataset": data, "population": crowd, "recipients": list(RECIPIENTS), "k": 3, "suppression": 0.3,
        "format": "csv", "population_source": "a made-up town", "population_licence": "made up", "counts_only": True,
        "sign_off": "TEST-1", "force": True, **more,
    }  # fmt: skip


def test_from_a_plan_to_a_trace(app: FastAPI, program: Browser) -> None:
    made = post(program, "/releases", json=wanted(app))
    assert made.status_code == 201, made.text
    number = made.json()["id"]
    assert (made.json()["state"], made.json()["preflight"]) == ("planned", None)
    assert work_off(app) == ["done"]
    plan = program.get(f"/api/v1/plans/{number}").json()
    assert plan["preflight"]["marks"] >= 30
    assert plan["preflight"]["recipients"] == 3
    assert "of" not in plan["preflight"]
    approve(app, number)
    assert signed_in(app, "custodian").post(f"/releases/plans/{number}/make").status_code == 303
    assert work_off(app) == ["done"]
    (release,) = program.get("/api/v1/releases").json()["releases"]
    assert release == program.get("/api/v1/releases/spring").json()
    assert [(copy["state"], copy["ready"]) for copy in release["copies"]] == [("approved", True)] * 3
    claims = {"file": ("claims.csv", "\n".join(hits_of(app, "south")).encode())}
    trace = post(program, "/releases/spring/claims", files=claims)
    assert trace.status_code == 201, trace.text
    assert trace.json()["accused"] == ["south"]
    assert program.post(f"/api/v1/traces/{trace.json()['id']}").json() == trace.json()
    more = post(program, "/releases/spring/recipients", json={"recipients": ["east"]})
    assert (more.status_code, more.json()["kind"]) == (201, "more")


def test_a_token_never_approves_nor_takes(app: FastAPI, program: Browser) -> None:
    assert {"releases.approve", "releases.take"}.isdisjoint(scopes_of("custodian"))
    number = post(program, "/releases", json=wanted(app)).json()["id"]
    work_off(app)
    secret = make_token(app, "custodian2", "releases.approve", "releases.take", "releases.read")
    browser = Browser(app, headers={"Authorization": f"Bearer {secret}"})
    answer = browser.post(f"/releases/plans/{number}/approve", {"seen": "x"})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/sign-in")
    assert program.get(f"/api/v1/plans/{number}").json()["state"] == "planned"


@pytest.mark.parametrize(
    "change",
    [{"k": "3"}, {"k": 1}, {"recipients": []}, {"recipients": ["a/b"]}, {"counts_only": False}, {"law": "x"}, {"decoys": 3}, {"mode": "bait", "decoys": 0}, {"other": 1}, {"dataset": 1}],
)  # fmt: skip
def test_what_does_not_fit_is_said(app: FastAPI, program: Browser, change: dict[str, Any]) -> None:
    answer = post(program, "/releases", json=wanted(app, **change))
    assert answer.status_code == 422
    assert answer.json()["next"]
    assert program.get("/api/v1/releases").json() == {"releases": []}


def test_there_is_nothing_where_there_is_nothing(program: Browser) -> None:
    for path in ("/releases/none", "/plans/9"):
        assert program.get(f"/api/v1{path}").status_code == 404
    assert program.post("/api/v1/traces/9").status_code == 404
