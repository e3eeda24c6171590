"""Limits under four eyes: not one person twice, not oneself, not too late, and each step in the ledger."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from discreet.store import gateway_limits
from discreet.store.gateway_limits import Agreed
from discreet.store.tables.gateway import LIMIT, WITHDRAWAL
from tests.web.client import BOTH_STORES, Browser, Clock, make_accounts, signed_in
from tests.web.gateway_data import MILLION, answered, proposed, somebody
from tests.web.snapshot import entries, snapshot

FORM = {
    "database": "clinic",
    "name": "eve",
    "limit": "2.5",
    "action": "subset",
    "until": "",
    "reason": "a yearly report",
}


@pytest.fixture
def app(app: FastAPI) -> FastAPI:
    """With two custodians more."""
    make_accounts(app, "custodian2", "custodian3")
    return app


def found(app: FastAPI, number: int) -> Agreed:
    with app.state.site.store.reading() as connection:
        limit = gateway_limits.find(connection, number)
    assert limit is not None
    return limit


def propose(browser: Browser, **other: str) -> int:
    answer = browser.post("/gateway/limits", {**FORM, **other})
    assert answer.status_code == 303, answer.text
    return int(answer.headers["location"].removeprefix("/gateway/limits/").partition("?")[0])


def last(app: FastAPI) -> tuple[str, str, str, str]:
    entry = entries(app)[-1]
    return entry["event"], entry["actor"], entry["outcome"], entry["subject"]


@BOTH_STORES
def test_one_proposes_another_approves_and_two_withdraw(app: FastAPI, clock: Clock) -> None:
    one, other = signed_in(app, "custodian"), signed_in(app, "custodian2")
    number = propose(one, until="2026-05-10")
    assert last(app) == ("gateway.limited", "custodian", "done", "database:clinic/user:eve")
    limit = found(app, number)
    assert (limit.allowed, limit.action, limit.state) == (2_500_000, "subset", "proposed")
    assert (limit.until, limit.last_day) == ("2026-05-11T00:00:00.000000Z", "2026-05-10")
    page = other.get(f"/gateway/limits/{number}").text
    assert "custodian asks you" in page
    assert "until 10 May 2026" in page
    assert other.post(f"/gateway/limits/{number}/approve").status_code == 303
    assert last(app) == ("web.approved", "custodian2", "done", f"database:clinic/user:eve/limit:{number}")
    assert found(app, number).holds(app.state.site.stamp())
    assert "In force" in one.get(f"/gateway/limits/{number}").text
    assert other.post(f"/gateway/limits/{number}/withdraw").status_code == 303
    assert last(app) == ("gateway.limited", "custodian2", "done", f"database:clinic/user:eve/limit:{number}")
    assert found(app, number).holds(app.state.site.stamp()), "until the other agrees"
    assert "custodian2 asks you" in one.get(f"/gateway/limits/{number}").text
    assert one.post(f"/gateway/limits/{number}/withdrawal/approve").status_code == 303
    assert last(app) == ("web.approved", "custodian", "done", f"database:clinic/user:eve/limit:{number}")
    assert not found(app, number).holds(app.state.site.stamp())
    assert found(app, number).state == "withdrawn"
    assert "approved by custodian" in one.get(f"/gateway/limits/{number}").text


def in_force(app: FastAPI, **other: str) -> int:
    """A limit that custodian proposed and custodian2 approved."""
    number = propose(signed_in(app, "custodian"), **other)
    assert signed_in(app, "custodian2").post(f"/gateway/limits/{number}/approve").status_code == 303
    return number


@BOTH_STORES
@pytest.mark.parametrize("who", ["custodian", "custodian2", "custodian3"])
def test_nobody_withdraws_a_limit_in_force_alone(app: FastAPI, who: str) -> None:
    """Neither who proposed it, nor who approved it, nor anybody else."""
    number, one = in_force(app), signed_in(app, who)
    assert one.post(f"/gateway/limits/{number}/withdraw").status_code == 303
    for act in ("approve", "decline"):
        answer = one.post(f"/gateway/limits/{number}/withdrawal/{act}", {"reason": "x"})
        assert answer.status_code == 403
        assert "You proposed this yourself" in answer.text
        assert last(app)[1:3] == (who, "refused")
    page = one.get(f"/gateway/limits/{number}").text
    assert "Another custodian decides" in page
    assert "/withdrawal/approve" not in page
    assert one.post(f"/gateway/limits/{number}/withdraw").status_code == 409, "once is enough"
    assert found(app, number).holds(app.state.site.stamp())


def test_a_proposal_is_withdrawn_by_one(app: FastAPI) -> None:
    """It is not in force, so nothing is lost."""
    number, one = propose(signed_in(app, "custodian")), signed_in(app, "custodian")
    assert "Withdraw the proposal" in one.get(f"/gateway/limits/{number}").text
    assert one.post(f"/gateway/limits/{number}/withdraw").status_code == 303
    assert found(app, number).state == "withdrawn"
    assert one.post(f"/gateway/limits/{number}/withdraw").status_code == 409


def test_a_withdrawal_that_is_rejected_leaves_the_limit_in_force(app: FastAPI) -> None:
    number, one, other = in_force(app), signed_in(app, "custodian"), signed_in(app, "custodian2")
    one.post(f"/gateway/limits/{number}/withdraw")
    assert "custodian proposes to withdraw it" in other.get("/gateway/limits").text
    assert "1 withdrawal of a limit awaits your approval" in other.get("/").text
    assert other.post(f"/gateway/limits/{number}/withdrawal/decline", {"reason": " "}).status_code == 422
    assert other.post(f"/gateway/limits/{number}/withdrawal/decline", {"reason": "still needed"}).status_code == 303
    assert last(app)[0] == "web.rejected"
    assert found(app, number).holds(app.state.site.stamp())
    assert "still needed" in one.get(f"/gateway/limits/{number}").text
    assert other.post(f"/gateway/limits/{number}/withdrawal/approve").status_code == 409
    assert one.post(f"/gateway/limits/{number}/withdraw").status_code == 303, "it may be proposed again"


def test_what_is_over_or_replaced_cannot_be_withdrawn(app: FastAPI, clock: Clock) -> None:
    number, other = in_force(app, until="2026-05-04"), signed_in(app, "custodian2")
    other.post(f"/gateway/limits/{number}/withdraw")
    in_force(app)  # takes its place
    answer = signed_in(app, "custodian").post(f"/gateway/limits/{number}/withdrawal/approve")
    assert answer.status_code == 409
    assert found(app, number).state == "replaced"
    late = in_force(app, name="bob", until="2026-05-04")
    clock.now += timedelta(days=1)
    assert signed_in(app, "custodian2").post(f"/gateway/limits/{late}/withdraw").status_code == 409


def test_nobody_approves_the_withdrawal_of_a_limit_for_a_user_of_their_own_name(app: FastAPI) -> None:
    number = in_force(app, name="custodian3")
    signed_in(app, "custodian").post(f"/gateway/limits/{number}/withdraw")
    assert signed_in(app, "custodian3").post(f"/gateway/limits/{number}/withdrawal/approve").status_code == 403
    assert signed_in(app, "custodian2").post(f"/gateway/limits/{number}/withdrawal/approve").status_code == 303


@BOTH_STORES
def test_the_store_itself_refuses_a_withdrawal_by_one(app: FastAPI) -> None:
    number = in_force(app)
    signed_in(app, "custodian").post(f"/gateway/limits/{number}/withdraw")
    alone = update(WITHDRAWAL).values(state="approved", decider=WITHDRAWAL.c.account)
    with app.state.site.store.writing() as connection, pytest.raises(IntegrityError), connection.begin_nested():
        connection.execute(alone)
    with app.state.site.store.writing() as connection, pytest.raises(IntegrityError), connection.begin_nested():
        connection.execute(update(WITHDRAWAL).values(state="approved"))


def test_it_ceases_after_its_last_day(app: FastAPI, clock: Clock) -> None:
    number = propose(signed_in(app, "custodian"), until="2026-05-04")
    assert signed_in(app, "custodian2").post(f"/gateway/limits/{number}/approve").status_code == 303
    assert found(app, number).holds(app.state.site.stamp())
    clock.wait(hours=15)
    assert not found(app, number).holds(app.state.site.stamp())
    assert "Its last day has passed" in signed_in(app, "custodian2").get(f"/gateway/limits/{number}").text


def test_nobody_approves_what_they_proposed(app: FastAPI) -> None:
    one = signed_in(app, "custodian")
    number = propose(one)
    assert "Another custodian decides" in one.get(f"/gateway/limits/{number}").text
    for act in ("approve", "decline"):
        answer = one.post(f"/gateway/limits/{number}/{act}", {"reason": "x"})
        assert answer.status_code == 403
        assert "You proposed this yourself" in answer.text
        assert last(app)[1:3] == ("custodian", "refused")
    assert found(app, number).state == "proposed"


def test_nobody_approves_a_limit_for_a_database_user_of_their_own_name(app: FastAPI) -> None:
    number = propose(signed_in(app, "custodian"), name="custodian2")
    other = signed_in(app, "custodian2")
    assert "of your own name" in other.get(f"/gateway/limits/{number}").text
    assert other.post(f"/gateway/limits/{number}/approve").status_code == 403
    assert signed_in(app, "custodian3").post(f"/gateway/limits/{number}/approve").status_code == 303


@BOTH_STORES
def test_the_store_itself_refuses_one_person_deciding_alone(app: FastAPI) -> None:
    number = proposed(app, "custodian")
    alone = update(LIMIT).where(LIMIT.c.id == number).values(state="approved", decider=LIMIT.c.account)
    with app.state.site.store.writing() as connection, pytest.raises(IntegrityError), connection.begin_nested():
        connection.execute(alone)
    nobody = update(LIMIT).where(LIMIT.c.id == number).values(state="approved")
    with app.state.site.store.writing() as connection, pytest.raises(IntegrityError), connection.begin_nested():
        connection.execute(nobody)


def test_an_account_that_the_proposer_opened_since_does_not_approve(app: FastAPI) -> None:
    one = signed_in(app, "custodian")
    number = propose(one)
    other = signed_in(app, "custodian2")
    app.state.site.ledger.record(
        actor="custodian", event="web.account", subject="account:custodian2", details={"act": "changed role"}
    )
    answer = other.post(f"/gateway/limits/{number}/approve")
    assert answer.status_code == 403
    assert "not as it is now, when custodian proposed this" in answer.text
    assert "It can be approved by custodian3." in answer.text
    assert found(app, number).state == "proposed"
    later = propose(one)
    assert "custodian, who proposed this, opened your account" in other.post(f"/gateway/limits/{later}/approve").text
    assert signed_in(app, "custodian3").post(f"/gateway/limits/{number}/approve").status_code == 303


@pytest.mark.parametrize("role", ["manager", "worker", "auditor"])
def test_other_roles_decide_nothing(app: FastAPI, role: str) -> None:
    number, browser = proposed(app, "custodian"), signed_in(app, role)
    for path in (f"{number}/approve", f"{number}/decline", f"{number}/withdraw"):
        assert browser.post(f"/gateway/limits/{path}").status_code == 403
    assert browser.post("/gateway/limits", FORM).status_code == 403
    assert found(app, number).state == "proposed"


def test_a_rejection_says_why(app: FastAPI) -> None:
    number, other = propose(signed_in(app, "custodian")), signed_in(app, "custodian2")
    assert other.post(f"/gateway/limits/{number}/decline", {"reason": " "}).status_code == 422
    assert other.post(f"/gateway/limits/{number}/decline", {"reason": "too much"}).status_code == 303
    assert last(app)[0] == "web.rejected"
    page = signed_in(app, "custodian").get(f"/gateway/limits/{number}").text
    assert "Rejected by custodian2" in page
    assert "too much" in page
    assert "declined" not in page
    assert other.post(f"/gateway/limits/{number}/approve").status_code == 409
    assert signed_in(app, "custodian").post(f"/gateway/limits/{number}/withdraw").status_code == 409


@BOTH_STORES
def test_a_new_limit_takes_the_place_of_the_old_one(app: FastAPI) -> None:
    other = signed_in(app, "custodian2")
    first, second = (propose(signed_in(app, "custodian"), limit=value) for value in ("3", "4"))
    for number in (first, second):
        assert other.post(f"/gateway/limits/{number}/approve").status_code == 303
    assert [found(app, number).state for number in (first, second)] == ["replaced", "approved"]
    with app.state.site.store.reading() as connection:
        held = gateway_limits.in_force(connection, "clinic", now=app.state.site.stamp())
        assert [one.id for one in held] == [second]
        assert gateway_limits.in_force(connection, "other", now=app.state.site.stamp()) == []


@BOTH_STORES
def test_two_who_decide_at_once_decide_once(app: FastAPI) -> None:
    number = proposed(app, "custodian")
    people = [signed_in(app, name) for name in ("custodian2", "custodian3")]
    answers: list[int] = []
    threads = [
        threading.Thread(
            target=lambda one=one: answers.append(one.post(f"/gateway/limits/{number}/approve").status_code)
        )
        for one in people
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [303, 409]
    assert sum(entry["event"] == "web.approved" and entry["outcome"] == "done" for entry in entries(app)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": "-1"}, {"limit": "much"}, {"limit": "nan"}, {"limit": "1e400"}, {"limit": "1e9999999999"}, {"limit": "1/3"}, {"limit": "٣"}, {"limit": "0.0000001"}, {"limit": ""},
        {"limit": "10000000000"}, {"action": "drop"}, {"until": "2026-05-03"}, {"until": "soon"}, {"reason": ""},
        {"name": ""}, {"name": "x" * 64}, {"database": " "}, {"reason": "x" * 401}, {"name": "a\x00b"},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_and_changes_nothing(app: FastAPI, wrong: dict[str, str]) -> None:
    browser = signed_in(app, "custodian")
    before = snapshot(app)
    answer = browser.post("/gateway/limits", {**FORM, **wrong})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert snapshot(app) == before


@pytest.mark.parametrize("name", ["*", 'o\'brien "<b>" &', " eve ", "a/user:b", "名前", "limit:1"])
def test_names_may_hold_anything(app: FastAPI, name: str) -> None:
    number = propose(signed_in(app, "custodian"), name=name, limit="0", database='d"<&/')
    assert (found(app, number).name, found(app, number).database) == (name, 'd"<&/')
    assert signed_in(app, "custodian2").post(f"/gateway/limits/{number}/approve").status_code == 303
    for path in (f"/gateway/limits/{number}", "/gateway/limits", "/"):
        page = signed_in(app, "custodian3").get(path)
        assert page.status_code == 200
        assert '"<b>"' not in page.text


def test_a_limit_below_what_is_known_is_warned_of(app: FastAPI) -> None:
    somebody(app)
    number = proposed(app, "custodian", allowed=MILLION)
    assert (
        "every result with something new would be stopped at once"
        in signed_in(app, "custodian2").get(f"/gateway/limits/{number}").text
    )


def test_a_limit_whose_day_is_over_cannot_be_approved(app: FastAPI, clock: Clock) -> None:
    number = propose(signed_in(app, "custodian"), until="2026-05-04")
    clock.now += timedelta(days=2)
    other = signed_in(app, "custodian2")
    assert other.post(f"/gateway/limits/{number}/approve").status_code == 409
    assert found(app, number).state == "proposed"


def test_the_form_knows_whom_one_came_from(app: FastAPI) -> None:
    answered(app.state.site.ledger, "a&b", "0", "1")
    browser = signed_in(app, "custodian")
    browser.get("/gateway")
    page = browser.get("/gateway/users/1").text
    assert "/gateway/limits?database=clinic&amp;name=a%26b#propose" in page
    form = browser.get("/gateway/limits?database=clinic&name=a%26b").text
    assert 'value="a&amp;b"' in form


def test_a_demonstration_has_a_past_and_a_limit_that_waits(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.demo import web_data as web
    from discreet.web import Settings, create_app
    from discreet.web.gateway.users import follow, incidents
    from tests.web.client import CHEAP, ORIGIN

    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    settings = Settings(store=str(tmp_path / "s.db"), data=tmp_path / "data", origin=ORIGIN, hashing=CHEAP, demo=True)
    web.begin(settings)
    app = create_app(settings)
    site = app.state.site
    try:
        monkeypatch.setattr(web, "STEPS", (web.bring_gateway,))
        assert {"custodian", "deputy"} <= {visitor.name for visitor in web.furnish(site)}
        assert site.ledger.verify().problems == ()
        assert follow(site.store)
        with site.store.reading() as connection:
            assert [one.name for one in incidents(connection, site.now())] == ["k.brandt", "k.brandt", "m.lindqvist"]
            assert [one.name for one in gateway_limits.everything(connection, state="proposed")] == ["r.okafor"]
        times = [entry["time"] for entry in entries(app)]
        assert times == sorted(times)
    finally:
        site.close()
