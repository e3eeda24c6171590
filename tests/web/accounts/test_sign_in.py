"""Signing in: the same answer for whoever does not exist, a limit that is stored, sessions that end."""

from __future__ import annotations

import re
import threading

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from discreet.store.tables.web import ACCOUNT, LIMIT, SESSION
from discreet.web import Settings, create_app
from discreet.web.accounts import accounts, credentials
from discreet.web.accounts import sign_in as door
from discreet.web.framework.problems import Problem
from tests.web.client import BOTH_STORES, ORIGIN, PASSWORD, Browser, Clock, make_accounts, signed_in


def rows(app: FastAPI, table: object) -> list[dict[str, object]]:
    with app.state.site.store.reading() as connection:
        return [dict(row._mapping) for row in connection.execute(select(table))]


def without_values(text: str) -> str:
    """A page without what is filled in."""
    return re.sub(r'value="[^"]*"', "", text)


@BOTH_STORES
def test_signing_in_gives_a_host_cookie_and_stores_only_its_hash(browser: Browser) -> None:
    answer = browser.sign_in("auditor")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    name, _, rest = cookie.partition("=")
    token, *flags = [part.strip().lower() for part in rest.split(";")]
    assert name == "__Host-discreet"
    assert {"secure", "httponly", "path=/", "samesite=lax"} == set(flags)
    (row,) = rows(browser.app, SESSION)
    secret = browser.cookies[credentials.COOKIE]
    assert len(secret) == 43  # 256 bits in base64
    assert row["hash"] == accounts.digest_secret(secret)
    assert secret not in str(row)
    assert token == secret.lower()


@BOTH_STORES
def test_every_sign_in_gives_a_new_token_and_ends_the_old_session(browser: Browser) -> None:
    browser.sign_in("auditor")
    first = browser.cookies[credentials.COOKIE]
    browser.sign_in("auditor")
    assert browser.cookies[credentials.COOKIE] != first
    assert len(rows(browser.app, SESSION)) == 1


def test_a_token_that_the_visitor_chose_is_not_taken_over(browser: Browser) -> None:
    browser.cookies[credentials.COOKIE] = "chosen-by-somebody-else"
    browser.sign_in("auditor")
    assert browser.cookies[credentials.COOKIE] != "chosen-by-somebody-else"


@pytest.mark.parametrize("name", ["auditor", "nobody", "", "closed", "invited", "ä" * 100])
def test_the_answer_does_not_tell_who_exists(app: FastAPI, name: str) -> None:
    make_accounts(app, "worker2", "worker3")
    with app.state.site.store.writing() as connection:
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == "worker2").values(name="closed", disabled=True))
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.name == "worker3").values(name="invited", password=None))
    wrong = "wrong" if name == "auditor" else PASSWORD
    answer, other = Browser(app).sign_in(name, wrong), Browser(app).sign_in("somebody-else", wrong)
    assert answer.status_code == other.status_code == 403
    assert without_values(answer.text) == without_values(other.text)
    assert "set-cookie" not in answer.headers


@BOTH_STORES
def test_five_wrong_passwords_are_enough_and_a_right_one_comes_too_late(browser: Browser, clock: Clock) -> None:
    for _ in range(5):
        assert browser.sign_in("auditor", "wrong").status_code == 403
    answer = browser.sign_in("auditor")
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 900
    assert "15 minutes" in answer.text
    clock.wait(minutes=15, seconds=1)
    assert browser.sign_in("auditor").status_code == 303


def test_the_limit_holds_for_names_that_do_not_exist(browser: Browser) -> None:
    answers = [browser.sign_in("stranger", "wrong").status_code for _ in range(6)]
    assert answers == [403] * 5 + [429]


@BOTH_STORES
def test_many_at_once_get_no_more_than_the_limit(app: FastAPI) -> None:
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.append(Browser(app).sign_in("auditor", "wrong").status_code))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [403] * 5 + [429] * 11


@BOTH_STORES
def test_the_limit_survives_a_restart(app: FastAPI, settings: Settings) -> None:
    for _ in range(5):
        Browser(app).sign_in("auditor", "wrong")
    again = create_app(settings)
    assert Browser(again).sign_in("auditor").status_code == 429
    again.state.site.close()


def test_one_address_cannot_try_one_password_on_many_names(browser: Browser) -> None:
    answers = [browser.sign_in(f"name{number}", "wrong").status_code for number in range(31)]
    assert answers == [403] * 30 + [429]


def test_one_name_is_tried_fifty_times_at_most_from_whatever_addresses(app: FastAPI) -> None:
    site = app.state.site
    for number in range(50):
        door.take_attempt(site, door.sign_in_allowances(site, "auditor", f"10.0.0.{number}"))
    with pytest.raises(Problem) as caught:
        door.take_attempt(site, door.sign_in_allowances(site, "auditor", "10.0.0.50"))
    assert caught.value.status == 429
    door.take_attempt(site, door.sign_in_allowances(site, "manager", "10.0.0.50"))


def test_neither_a_stranger_elsewhere_nor_a_neighbour_locks_an_owner_out(app: FastAPI, clock: Clock) -> None:
    """Who has signed in from here before is not counted with others behind the same proxy, nor with attempts from elsewhere."""
    signed_in(app, "auditor")
    site = app.state.site
    for number in range(50):
        door.take_attempt(site, door.sign_in_allowances(site, "auditor", f"10.0.0.{number}"))
    answers = [Browser(app).sign_in(f"name{number}", "wrong").status_code for number in range(31)]
    assert answers[-1] == 429, "a neighbour has used the address up"
    assert Browser(app).sign_in("worker").status_code == 429, "for people who were never here"
    assert Browser(app).sign_in("auditor").status_code == 303
    assert [Browser(app).sign_in("auditor", "wrong").status_code for _ in range(6)] == [403] * 5 + [429]
    clock.wait(days=31)
    site_keys = door.sign_in_allowances(site, "auditor", "127.0.0.1")
    assert len(site_keys) == 3, "a place is forgotten"


def test_signing_in_well_is_not_counted(browser: Browser) -> None:
    for _ in range(40):
        assert browser.sign_in("auditor").status_code == 303
    assert {row["count"] for row in rows(browser.app, LIMIT)} == {0}


def test_what_was_typed_is_not_stored_in_the_clear(browser: Browser) -> None:
    browser.sign_in("my-password-in-the-wrong-box", "x")
    assert "my-password" not in str(rows(browser.app, LIMIT))


@BOTH_STORES
def test_a_session_ends_after_fifteen_minutes_without_use(app: FastAPI, clock: Clock) -> None:
    browser = signed_in(app, "auditor")
    for _ in range(4):
        clock.wait(minutes=14, seconds=40)
        assert browser.get("/account").status_code == 200
    clock.wait(minutes=15)
    answer = browser.get("/account")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Faccount&said=signed-out-idle"
    assert credentials.COOKIE not in browser.cookies


def test_a_session_ends_after_eight_hours_in_any_case(app: FastAPI, clock: Clock) -> None:
    browser = signed_in(app, "auditor")
    for _ in range(47):
        clock.wait(minutes=10)
        assert browser.get("/account").status_code == 200
    clock.wait(minutes=10)
    assert browser.get("/account").status_code == 303


@BOTH_STORES
def test_sessions_that_have_ended_are_swept_out(app: FastAPI, clock: Clock) -> None:
    signed_in(app, "auditor")
    clock.wait(hours=1)
    signed_in(app, "worker")
    assert len(rows(app, SESSION)) == 1


@BOTH_STORES
def test_signing_out_ends_the_session_on_the_server(app: FastAPI) -> None:
    browser = signed_in(app, "auditor")
    kept = dict(browser.cookies)
    assert browser.post("/sign-out").headers["location"] == "/sign-in?said=signed-out"
    assert rows(app, SESSION) == []
    assert Browser(app, cookies=kept).get("/account").status_code == 303


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("/ledger", "/ledger"),
        ("/ledger/0", "/ledger/0"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("/api/v1/me", "/"),
        ("/sign-out", "/"),
        ("", "/"),
    ],
)
def test_after_signing_in_one_goes_only_to_pages_of_ours(browser: Browser, wanted: str, there: str) -> None:
    answer = browser.post("/sign-in", {"name": "auditor", "password": PASSWORD, "next": wanted})
    assert answer.headers["location"] == there


def test_the_page_that_was_wanted_is_remembered(browser: Browser) -> None:
    answer = browser.get("/ledger/0")
    assert answer.headers["location"] == "/sign-in?next=%2Fledger%2F0"
    assert 'value="/ledger/0"' in browser.get(answer.headers["location"]).text
    assert ORIGIN.startswith("http://127.0.0.1")


def reset_during_checks(app: FastAPI, monkeypatch: pytest.MonkeyPatch, name: str) -> str:
    """While a password of this account is checked, its owner sets another one; gives the hash of that."""
    site = app.state.site
    check, new = site.hasher.fits, site.hasher.hash("the owner's own password now")

    def slow(password: str, stored: str | None) -> bool:
        fits: bool = check(password, stored)
        with site.store.writing() as connection:
            found = accounts.by_name(connection, name)
            assert found is not None
            accounts.set_password(connection, found[0].id, new, now=site.stamp())
        return fits

    monkeypatch.setattr(site.hasher, "fits", slow)
    return str(new)


@BOTH_STORES
def test_no_session_begins_with_a_password_that_was_replaced_while_it_was_checked(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    reset_during_checks(browser.app, monkeypatch, "auditor")
    assert browser.sign_in("auditor").status_code == 403
    assert rows(browser.app, SESSION) == []


@BOTH_STORES
def test_a_password_that_was_set_while_the_old_one_was_checked_is_not_replaced(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.sign_in("auditor")
    new = reset_during_checks(browser.app, monkeypatch, "auditor")
    mine = {"old": PASSWORD, "password": "taken over for good 17", "again": "taken over for good 17"}
    assert browser.post("/account/password", mine).status_code == 403
    (row,) = [row for row in rows(browser.app, ACCOUNT) if row["name"] == "auditor"]
    assert row["password"] == new
    assert rows(browser.app, SESSION) == []
