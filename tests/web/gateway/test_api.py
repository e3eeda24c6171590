"""The same for programs: users, one user, refusals, incidents, references; limits, but never an approval by a token."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI

from tests.web.accounts.test_accounts import link_on
from tests.web.client import PASSWORD, Browser, Clock, make_accounts, signed_in
from tests.web.gateway_data import answered, not_run, proposed, refused, somebody
from tests.web.test_matrix import make_token

WANTED = {
    "database": "clinic",
    "name": "eve",
    "limit": "2.5",
    "action": "mask",
    "until": "2026-06-30",
    "reason": "why not",
}


def program(app: FastAPI, *scopes: str, owner: str = "custodian") -> Browser:
    return Browser(app, headers={"Authorization": f"Bearer {make_token(app, owner, *scopes)}"})


def tell(browser: Browser, path: str, body: Any) -> Any:
    return browser.send("POST", f"/api/v1/gateway{path}", json=body)


def test_users_refusals_and_references(app: FastAPI) -> None:
    ledger = app.state.site.ledger
    number = somebody(app)
    answered(ledger, "low", "0", "0.25", rows=7)
    entry = not_run(ledger, "low", "Refused: EXPLAIN tells of values.")
    browser = program(app, "gateway.read", "gateway.explain", owner="auditor")
    found = browser.get("/api/v1/gateway/users").json()
    assert (found["total"], found["pages"], [user["name"] for user in found["users"]]) == (2, 1, ["eve", "low"])
    eve = browser.get(f"/api/v1/gateway/users/{number}").json()
    assert (eve["exposure"], eve["limit"], eve["percent"], eve["rule"]) == ("1.5", "2", 75, "misuse.limit")
    assert [one["outcome"] for one in eve["history"]] == ["refused", "given"]
    assert browser.get("/api/v1/gateway/users?name=lo").json()["total"] == 1
    refusals = browser.get("/api/v1/gateway/refusals").json()
    assert next(one["reference"] for one in refusals["refusals"]) == f"{entry.sequence:04X}"
    assert refusals["refusals"][0]["reason"] == "EXPLAIN tells of values."
    assert refusals["older"] is None
    why = browser.get(f"/api/v1/gateway/why?reference={entry.sequence:04X}").json()
    assert why["headline"] == "A statement was refused: EXPLAIN tells of values."
    assert why["result"]["entry"] == entry.sequence
    assert browser.get("/api/v1/gateway/why").status_code == 422


def test_incidents_have_reasons(app: FastAPI) -> None:
    for _ in range(6):
        refused(app.state.site.ledger, "eve", "0.1", "9")
    (incident,) = program(app, "gateway.read").get("/api/v1/gateway/incidents").json()["incidents"]
    assert incident["name"] == "eve"
    assert incident["reasons"] == ["6 refusals in a row, with no new information given out in between."]


def test_a_token_proposes_and_withdraws_but_never_approves(app: FastAPI, clock: Clock) -> None:
    make_accounts(app, "custodian2")
    browser = program(app, "gateway.limit", "gateway.read", "gateway.approve")
    answer = tell(browser, "/limits", WANTED)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert (made["state"], made["holds"], made["limit"], made["proposer"]) == ("proposed", False, "2.5", "custodian")
    number = made["id"]
    other = program(app, "gateway.approve", "gateway.limit", "gateway.read", owner="custodian2")
    for act in ("approve", "decline"):
        assert tell(other, f"/limits/{number}/{act}", {"reason": "x"}).status_code == 403
    person = signed_in(app, "custodian2")
    approved = person.post(f"/api/v1/gateway/limits/{number}/approve")
    assert approved.status_code == 200, approved.text
    assert approved.json()["holds"] is True
    assert browser.get(f"/api/v1/gateway/limits/{number}").json()["decider"] == "custodian2"
    asked = tell(browser, f"/limits/{number}/withdraw", {}).json()
    assert (asked["state"], asked["holds"], asked["withdrawal_by"]) == ("approved", True, "custodian")
    listed = browser.get("/api/v1/gateway/limits?database=clinic").json()["limits"]
    assert [(one["state"], one["withdrawal_by"]) for one in listed] == [("approved", "custodian")]
    assert tell(browser, f"/limits/{number}/withdraw", {}).status_code == 409
    for act in ("approve", "decline"):
        assert tell(other, f"/limits/{number}/withdrawal/{act}", {"reason": "x"}).status_code == 403
    own = signed_in(app, "custodian").post(f"/api/v1/gateway/limits/{number}/withdrawal/approve")
    assert (own.status_code, own.json()["title"]) == (403, "Two people decide")
    ended = person.post(f"/api/v1/gateway/limits/{number}/withdrawal/approve").json()
    assert (ended["state"], ended["holds"], ended["withdrawal_by"]) == ("withdrawn", False, None)


def test_the_second_person_is_another_one_at_the_api_as_well(app: FastAPI) -> None:
    """A token proposes as its owner, so that an account which the same administrator opened does not approve."""
    administrator, guests = signed_in(app, "administrator"), []
    for name in ("puppet", "asker"):
        link = link_on(administrator.post("/accounts", {"name": name, "role": "custodian"}).text)
        guests.append(Browser(app))
        assert guests[-1].post(link, {"password": PASSWORD, "again": PASSWORD}).status_code == 303
    secret = make_token(app, "asker", "gateway.limit")
    number = tell(Browser(app, headers={"Authorization": f"Bearer {secret}"}), "/limits", WANTED).json()["id"]
    answer = guests[0].post(f"/api/v1/gateway/limits/{number}/approve")
    assert answer.status_code == 403
    assert "administrator opened both your account and that of asker" in answer.json()["detail"]
    assert "approved by custodian" in answer.json()["next"]


def test_a_person_rejects_with_a_reason(app: FastAPI) -> None:
    number, person = proposed(app, "auditor"), signed_in(app, "custodian")
    own = {"Sec-Fetch-Site": "same-origin"}
    path = f"/api/v1/gateway/limits/{number}/decline"
    assert person.send("POST", path, json={}, headers=own).status_code == 422
    answer = person.send("POST", path, json={"reason": "too much"}, headers=own)
    assert (answer.json()["state"], answer.json()["answer"]) == ("declined", "too much")


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 2.5},
        {"limit": "x"},
        {"action": "drop"},
        {"until": "soon"},
        {"until": "2001-01-01"},
        {"more": 1},
        {"name": "\x07"},
    ],
)
def test_what_does_not_fit_is_refused(app: FastAPI, wrong: dict[str, Any]) -> None:
    answer = tell(program(app, "gateway.limit"), "/limits", {**WANTED, **wrong})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
