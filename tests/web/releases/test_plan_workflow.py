"""Two people decide on a release: not one twice, not on something else, not one who was made for it."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from discreet.releases.delivery.service import Registry
from discreet.store.tables.web import PLAN
from discreet.web.releases import store as plans
from tests.web.accounts.test_accounts import link_on
from tests.web.client import PASSWORD, Browser, make_accounts, signed_in
from tests.web.release_data import (
    approve,
    events,
    folder_files,
    form_of,
    plan,
    seen_on,
    state_of,
    work_off,
)
from tests.web.samples import account_number, make_plan
from tests.web.snapshot import snapshot


@pytest.fixture
def app(app: FastAPI) -> FastAPI:
    """With two custodians more."""
    make_accounts(app, "custodian2", "custodian3")
    return app


def test_nobody_approves_what_he_planned_himself(app: FastAPI) -> None:
    one = signed_in(app, "custodian")
    number = plan(app, one)
    work_off(app)
    assert seen_on(one, number) == "", "the page does not offer it"
    seen = seen_on(signed_in(app, "custodian2"), number)
    answer = one.post(f"/releases/plans/{number}/approve", {"seen": seen})
    assert answer.status_code == 403
    assert "You planned this yourself" in answer.text
    assert one.post(f"/releases/plans/{number}/reject", {"seen": seen, "reason": "x"}).status_code == 403
    assert state_of(app, number) == "planned"
    assert events(app)[-2:] == [("web.approved", "custodian", "refused"), ("web.rejected", "custodian", "refused")]


def test_the_store_itself_refuses_one_person_deciding_alone(app: FastAPI) -> None:
    number, _ = make_plan(app, "custodian")
    alone = update(PLAN).where(PLAN.c.id == number).values(state="approved", decider=PLAN.c.account)
    with app.state.site.store.writing() as connection, pytest.raises(IntegrityError):
        connection.execute(alone)


@pytest.mark.parametrize("role", ["manager", "worker", "auditor"])
def test_other_roles_neither_approve_nor_take(app: FastAPI, role: str) -> None:
    number = plan(app)
    work_off(app)
    seen = seen_on(signed_in(app, "custodian2"), number)
    browser = signed_in(app, role)
    paths = [f"/releases/plans/{number}/{act}" for act in ("approve", "reject", "make", "change", "withdraw", "look")]
    paths += ["/releases/named/spring/deliver", "/releases/named/spring/retire", "/releases/named/spring/recipients"]
    for path in paths:
        assert browser.post(path, {"seen": seen, "recipient": "north"}).status_code == 403, path
    assert state_of(app, number) == "planned"


@pytest.mark.parametrize("seen", ["", "0" * 64, "x", "forged"])
def test_a_forged_approval_is_none(app: FastAPI, seen: str) -> None:
    number = plan(app)
    work_off(app)
    answer = signed_in(app, "custodian2").post(f"/releases/plans/{number}/approve", {"seen": seen})
    assert answer.status_code == 409
    assert state_of(app, number) == "planned"
    other = plan(app, name="other")
    work_off(app)
    foreign = seen_on(signed_in(app, "custodian2"), other)
    assert signed_in(app, "custodian2").post(f"/releases/plans/{number}/approve", {"seen": foreign}).status_code == 409


def test_nothing_is_approved_that_nobody_looked_at(app: FastAPI) -> None:
    number = plan(app)
    browser = signed_in(app, "custodian2")
    assert seen_on(browser, number) == ""
    with app.state.site.store.reading() as connection:
        found = plans.find(connection, number)
    assert found is not None
    assert browser.post(f"/releases/plans/{number}/approve", {"seen": found.seen}).status_code == 409


def change_of(browser: Browser, number: int) -> dict[str, Any]:
    """The form of a plan as its page shows it."""
    page = browser.get(f"/releases/plans/{number}/change").text
    version = re.search(r'name="version" value="(\d+)"', page)
    chosen = re.findall(r'<option value="(\d+)" selected', page)
    assert version
    return {**form_of(int(chosen[0]), int(chosen[1])), "version": version[1]}


def test_a_plan_that_is_changed_needs_a_new_approval(app: FastAPI) -> None:
    one, other = signed_in(app, "custodian"), signed_in(app, "custodian2")
    number = plan(app, one)
    work_off(app)
    old = seen_on(other, number)
    approve(app, number)
    form = {**change_of(one, number), "recipients": "north\nsouth\neast"}
    assert one.post(f"/releases/plans/{number}/change", form).status_code == 303
    assert state_of(app, number) == "planned"
    assert one.post(f"/releases/plans/{number}/make").status_code == 409
    assert other.post(f"/releases/plans/{number}/approve", {"seen": old}).status_code == 409, "a replay"
    assert work_off(app) == ["done"]
    assert other.post(f"/releases/plans/{number}/approve", {"seen": old}).status_code == 409, "a replay"
    approve(app, number)
    assert one.post(f"/releases/plans/{number}/make").status_code == 303
    assert work_off(app) == ["done"]
    kept = Registry(app.state.site.ledger).require("spring")
    assert kept.recipients == ("north", "south", "east")


def test_of_racing_decisions_one_counts(app: FastAPI) -> None:
    number = plan(app)
    work_off(app)
    browsers = [signed_in(app, name) for name in ("custodian2", "custodian3")] * 3
    seen = seen_on(browsers[0], number)
    start, found = threading.Barrier(len(browsers)), []

    def decide(browser: Browser, act: str) -> None:
        start.wait()
        found.append(browser.post(f"/releases/plans/{number}/{act}", {"seen": seen, "reason": "no"}).status_code)

    threads = [
        threading.Thread(target=decide, args=(browser, ("approve", "reject")[place % 2]))
        for place, browser in enumerate(browsers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [303] + [409] * 5
    done = [event for event, _, outcome in events(app) if event in ("web.approved", "web.rejected")]
    assert len(done) == 1
    assert state_of(app, number) == {"web.approved": "approved", "web.rejected": "rejected"}[done[0]]


def test_a_change_and_an_approval_that_race_leave_nothing_approved_that_was_not_seen(app: FastAPI) -> None:
    number = plan(app)
    work_off(app)
    one, other = signed_in(app, "custodian"), signed_in(app, "custodian2")
    seen, form = seen_on(other, number), {**change_of(one, number), "recipients": "east"}
    start, found = threading.Barrier(2), {}

    def send(name: str, browser: Browser, data: dict[str, Any]) -> None:
        start.wait()
        found[name] = browser.post(f"/releases/plans/{number}/{name}", data).status_code

    threads = [
        threading.Thread(target=send, args=("approve", other, {"seen": seen})),
        threading.Thread(target=send, args=("change", one, form)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["change"] == 303, "a plan can be changed before and after it is approved"
    assert state_of(app, number) == "planned"


def test_an_account_that_the_planner_took_over_meanwhile_is_no_second_pair_of_eyes(app: FastAPI) -> None:
    """The planner's account is one that the administrator opened, and so took over."""
    one = signed_in(app, "administrator")
    invited = link_on(one.post("/accounts", {"name": "bruno", "role": "custodian"}).text)
    planner = Browser(app)
    assert planner.post(invited, {"password": PASSWORD, "again": PASSWORD}).status_code == 303
    number = plan(app, planner)
    work_off(app)
    link = link_on(one.post(f"/accounts/{account_number(app, 'custodian2')}/link").text)
    browser, seen = Browser(app), seen_on(signed_in(app, "custodian3"), number)
    assert browser.post(link, {"password": PASSWORD, "again": PASSWORD}).status_code == 303
    assert seen_on(browser, number) == "", "the page does not offer it"
    answer = browser.post(f"/releases/plans/{number}/approve", {"seen": seen})
    assert answer.status_code == 403
    assert "administrator opened both your account and that of bruno, gave out a link" in answer.text
    assert "It can be approved by custodian or custodian3." in answer.text
    assert events(app)[-1] == ("web.approved", "custodian2", "refused")
    approve(app, number, "custodian3")


def test_nothing_is_made_or_taken_before_it_is_approved(app: FastAPI) -> None:
    number = plan(app)
    work_off(app)
    browser = signed_in(app, "custodian2")
    before, files = snapshot(app), folder_files(app)
    assert browser.post(f"/releases/plans/{number}/make").status_code == 409
    assert browser.post("/releases/named/spring/deliver", {"recipient": "north"}).status_code == 409
    assert work_off(app) == []
    assert (snapshot(app), folder_files(app)) == (before, files)
    approve(app, number)
    assert browser.post("/releases/named/spring/deliver", {"recipient": "north"}).status_code == 409


def test_a_job_that_nobody_approved_makes_nothing(app: FastAPI) -> None:
    """Somebody who can write into the queue but not approve."""
    from discreet.web.jobs import store as jobs

    number = plan(app)
    work_off(app)
    with app.state.site.store.writing() as connection:
        found = plans.find(connection, number)
        assert found is not None
        asked = {"plan": number, "digest": found.digest, "seen": found.seen, "policy": found.content["policy"]}
        asked["population"] = {"dataset": found.content["population"]}
        jobs.enqueue(connection, kind="release", dataset=found.dataset, account=found.account, asked=asked)
    assert work_off(app) == ["Nobody has approved this plan as it is."]
    assert Registry(app.state.site.ledger).find("spring") is None


def test_whoever_changes_a_plan_last_does_not_approve_it(app: FastAPI) -> None:
    number = plan(app)
    work_off(app)
    other = signed_in(app, "custodian2")
    assert other.post(f"/releases/plans/{number}/change", {**change_of(other, number), "k": "4"}).status_code == 303
    work_off(app)
    seen = seen_on(signed_in(app, "custodian3"), number)
    assert other.post(f"/releases/plans/{number}/approve", {"seen": seen}).status_code == 403
    approve(app, number, "custodian")
    assert state_of(app, number) == "approved"
