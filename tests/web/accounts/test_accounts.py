"""Accounts: the first one by a link that is printed, others by invitation; every change is an entry."""

from __future__ import annotations

import re
import threading

import pytest
from fastapi import FastAPI
from sqlalchemy import select

from discreet.store.tables.web import ACCOUNT, LINK
from discreet.web.accounts import credentials
from tests.web.client import BOTH_STORES, ORIGIN, PASSWORD, Browser, Clock, make_accounts, signed_in
from tests.web.samples import account_number
from tests.web.snapshot import entries, snapshot

NEW = {"password": PASSWORD, "again": PASSWORD}


def first_link(app: FastAPI) -> str:
    link = credentials.first_link(app.state.site)
    assert link is not None
    assert link.startswith(f"{ORIGIN}/welcome/")
    return link.removeprefix(ORIGIN)


def acts(app: FastAPI) -> list[tuple[str, str, str]]:
    """Who did what to which account, but for what the test brought along."""
    found = [one for one in app.state.site.ledger.entries(event="web.account") if one.actor != "test"]
    return [(one.actor, str(one.details["act"]), one.subject) for one in found]


def link_on(text: str) -> str:
    found = re.search(rf"{ORIGIN}(/welcome/[\w-]+)", text)
    assert found is not None
    return found[1]


@BOTH_STORES
def test_the_first_link_makes_a_custodian_once(empty_app: FastAPI) -> None:
    link, browser = first_link(empty_app), Browser(empty_app)
    assert "Make the first account" in browser.get(link).text
    assert browser.get(link).status_code == 200  # looking does not use it up
    assert browser.post(link, {"name": "Ann.Lee", **NEW}).headers["location"] == "/datasets/new?said=welcome"
    assert "Your password is set, and you are signed in." in browser.get("/datasets/new?said=welcome").text
    assert browser.post(link, {"name": "bob", **NEW}).status_code == 404
    assert browser.get(link).status_code == 404
    assert signed_in(empty_app, "ann.lee").get("/accounts").status_code == 200
    assert acts(empty_app) == [("ann.lee", "made", "account:ann.lee")]


def test_only_the_hash_of_a_link_is_stored(empty_app: FastAPI) -> None:
    secret = first_link(empty_app).rpartition("/")[2]
    assert secret not in str(snapshot(empty_app))


@BOTH_STORES
def test_there_is_no_first_link_once_there_is_an_account(empty_app: FastAPI) -> None:
    one, other = first_link(empty_app), first_link(empty_app)
    assert Browser(empty_app).post(one, {"name": "ann", **NEW}).status_code == 303
    assert Browser(empty_app).get(other).status_code == 404
    assert Browser(empty_app).post(other, {"name": "eve", **NEW}).status_code == 404
    assert credentials.first_link(empty_app.state.site) is None


@BOTH_STORES
def test_a_link_expires_after_a_day(empty_app: FastAPI, clock: Clock) -> None:
    link = first_link(empty_app)
    clock.wait(hours=23, minutes=59)
    assert Browser(empty_app).get(link).status_code == 200
    clock.wait(minutes=1)
    assert Browser(empty_app).get(link).status_code == 404
    assert Browser(empty_app).post(link, {"name": "ann", **NEW}).status_code == 404


@BOTH_STORES
def test_of_many_at_once_one_makes_the_first_account(empty_app: FastAPI) -> None:
    wanted = [(first_link(empty_app), f"name{number}") for number in range(3)] * 2
    answers: list[int] = []

    def rush(link: str, name: str) -> None:
        answers.append(Browser(empty_app).post(link, {"name": name, **NEW}).status_code)

    threads = [threading.Thread(target=rush, args=pair) for pair in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [303, 404, 404, 404, 404, 404]
    with empty_app.state.site.store.reading() as connection:
        assert len(connection.execute(select(ACCOUNT)).all()) == 1
    assert len(acts(empty_app)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "-x"},
        {"name": "a b"},
        {"name": "x" * 41},
        {"name": "<script>"},
        {"password": "short", "again": "short"},
        {"again": "another one altogether"},
    ],
)
def test_a_wrong_form_says_what_is_wrong_and_keeps_the_link(empty_app: FastAPI, wrong: dict[str, str]) -> None:
    link = first_link(empty_app)
    answer = Browser(empty_app).post(link, {"name": "ann", **NEW, **wrong})
    assert answer.status_code == 422
    assert "<script>" not in answer.text
    assert PASSWORD not in answer.text
    assert Browser(empty_app).post(link, {"name": "ann", **NEW}).status_code == 303


@BOTH_STORES
def test_an_administrator_invites_and_the_link_works_once(app: FastAPI) -> None:
    administrator = signed_in(app, "administrator")
    answer = administrator.post("/accounts", {"name": "Eve", "role": "worker"})
    link = link_on(answer.text)
    assert link not in administrator.get("/accounts").text
    assert "eve" in administrator.get("/").text  # the dashboard reminds of open invitations
    assert Browser(app).sign_in("eve").status_code == 403
    assert Browser(app).post(link, NEW).status_code == 303
    assert Browser(app).post(link, NEW).status_code == 404
    assert signed_in(app, "eve").get("/ledger").status_code == 403
    assert acts(app) == [("administrator", "invited", "account:eve"), ("eve", "set password", "account:eve")]


@BOTH_STORES
def test_of_many_at_once_one_takes_up_an_invitation(app: FastAPI) -> None:
    link = link_on(signed_in(app, "administrator").post("/accounts", {"name": "eve", "role": "worker"}).text)
    answers: dict[str, int] = {}

    def rush(password: str) -> None:
        answers[password] = Browser(app).post(link, {"password": password, "again": password}).status_code

    threads = [threading.Thread(target=rush, args=(f"sentence number {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers.values()) == [303] + [404] * 7
    (winner,) = (password for password, status in answers.items() if status == 303)
    assert Browser(app).sign_in("eve", winner).status_code == 303
    assert [act for _, act, _ in acts(app)] == ["invited", "set password"]


@pytest.mark.parametrize("wrong", [{"role": "king"}, {"name": ""}, {"name": "administrator"}, {"name": "CUSTODIAN"}])
def test_a_wrong_invitation_makes_nothing(app: FastAPI, wrong: dict[str, str]) -> None:
    administrator = signed_in(app, "administrator")
    before = snapshot(app)
    answer = administrator.post("/accounts", {"name": "eve", "role": "worker", **wrong})
    assert answer.status_code in (409, 422)
    assert snapshot(app) == before


@BOTH_STORES
def test_closing_ends_sessions_links_and_tokens_at_once(app: FastAPI) -> None:
    from tests.web.test_matrix import make_token

    administrator, auditor = signed_in(app, "administrator"), signed_in(app, "auditor")
    number = account_number(app, "auditor")
    link = link_on(administrator.post(f"/accounts/{number}/link").text)
    headers = {"Authorization": f"Bearer {make_token(app, 'auditor', 'ledger.read')}"}
    assert Browser(app).get("/api/v1/ledger/head", headers=headers).status_code == 200
    assert administrator.post(f"/accounts/{number}/close").status_code == 303
    assert auditor.get("/ledger").status_code == 303
    assert Browser(app).sign_in("auditor").status_code == 403
    assert Browser(app).get(link).status_code == 404
    assert Browser(app).get("/api/v1/ledger/head", headers=headers).status_code == 401
    assert administrator.post(f"/accounts/{number}/link").status_code == 409
    assert administrator.post(f"/accounts/{number}/reopen").status_code == 303
    assert Browser(app).sign_in("auditor").status_code == 303


@BOTH_STORES
def test_the_last_administrator_stays(app: FastAPI) -> None:
    make_accounts(app, "administrator2")
    first, second = signed_in(app, "administrator"), signed_in(app, "administrator2")
    assert first.post(f"/accounts/{account_number(app, 'administrator')}/close").status_code == 409
    assert first.post(f"/accounts/{account_number(app, 'administrator2')}/close").status_code == 303
    assert second.get("/accounts").status_code == 303
    before = snapshot(app)
    assert first.post(f"/accounts/{account_number(app, 'administrator')}/close").status_code == 409
    assert snapshot(app) == before


@BOTH_STORES
def test_two_administrators_who_close_each_other_do_not_both_succeed(app: FastAPI) -> None:
    make_accounts(app, "administrator2")
    pairs = [("administrator", "administrator2"), ("administrator2", "administrator")]
    browsers = [(signed_in(app, mine), account_number(app, other)) for mine, other in pairs]
    threads = [
        threading.Thread(target=browser.post, args=(f"/accounts/{number}/close",)) for browser, number in browsers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with app.state.site.store.reading() as connection:
        open_ones = connection.execute(
            select(ACCOUNT.c.name).where(ACCOUNT.c.role == "administrator", ACCOUNT.c.disabled.is_(False))
        ).all()
    assert len(open_ones) == 1


@BOTH_STORES
def test_ending_sessions_signs_out_everywhere(app: FastAPI) -> None:
    one, other = signed_in(app, "worker"), signed_in(app, "worker")
    signed_in(app, "administrator").post(f"/accounts/{account_number(app, 'worker')}/sign-out")
    assert one.get("/account").status_code == other.get("/account").status_code == 303


@BOTH_STORES
def test_a_new_link_takes_back_the_one_before_and_sets_a_password(app: FastAPI) -> None:
    administrator, number = signed_in(app, "administrator"), account_number(app, "worker")
    first = link_on(administrator.post(f"/accounts/{number}/link").text)
    second = link_on(administrator.post(f"/accounts/{number}/link").text)
    worker = signed_in(app, "worker")
    assert Browser(app).post(first, NEW).status_code == 404
    new = "another sentence for tests"
    assert Browser(app).post(second, {"password": new, "again": new}).status_code == 303
    assert worker.get("/account").status_code == 303
    assert Browser(app).sign_in("worker").status_code == 403
    assert Browser(app).sign_in("worker", new).status_code == 303


@BOTH_STORES
def test_changing_ones_password_needs_the_old_one_and_ends_other_sessions(app: FastAPI) -> None:
    mine, elsewhere = signed_in(app, "worker"), signed_in(app, "worker")
    new = {"password": "another sentence for tests", "again": "another sentence for tests"}
    assert mine.post("/account/password", {"old": "wrong", **new}).status_code == 403
    assert mine.post("/account/password", {"old": PASSWORD, **new, "again": "x"}).status_code == 422
    before = dict(mine.cookies)
    assert mine.post("/account/password", {"old": PASSWORD, **new}).status_code == 303
    assert mine.cookies != before
    assert mine.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 303
    assert Browser(app, cookies=before).get("/account").status_code == 303
    assert Browser(app).sign_in("worker", new["password"]).status_code == 303


def test_guessing_the_old_password_is_limited(app: FastAPI) -> None:
    worker = signed_in(app, "worker")
    new = {"password": "another sentence for tests", "again": "another sentence for tests"}
    answers = [worker.post("/account/password", {"old": "wrong", **new}).status_code for _ in range(6)]
    assert answers == [403] * 5 + [429]


@BOTH_STORES
def test_without_a_ledger_nothing_happens(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry cannot be written, so there is no account and no link."""
    from discreet.errors import StoreFull

    administrator = signed_in(app, "administrator")
    before, known = snapshot(app), len(entries(app))

    def full(*_: object, **__: object) -> None:
        raise StoreFull("The store is full.", remedy="Make room.")

    with monkeypatch.context() as broken:
        broken.setattr("discreet.ledger.commit.MerkleTree.save", full)
        answer = administrator.post("/accounts", {"name": "eve", "role": "worker"})
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert "welcome/" not in answer.text
    assert (snapshot(app), len(entries(app))) == (before, known)
    with app.state.site.store.reading() as connection:
        assert connection.execute(select(LINK)).all() == []


def test_a_link_signs_in_its_own_account_and_nobody_else(app: FastAPI) -> None:
    administrator, browser = signed_in(app, "administrator"), signed_in(app, "auditor")
    before = dict(browser.cookies)
    shown = administrator.post(f"/accounts/{account_number(app, 'worker')}/link").text
    answer = browser.post(link_on(shown), NEW)
    assert answer.headers["location"] == "/?said=welcome"
    assert 'href="/account">worker</a>' in browser.get("/").text
    stale = Browser(app, cookies=before)
    assert stale.get("/account").headers["location"].startswith("/sign-in")  # the session that the browser had is over
