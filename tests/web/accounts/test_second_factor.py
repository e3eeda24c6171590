"""Second factor: codes work once and for a moment, are asked for after the password, and can be recovered and reset."""

from __future__ import annotations

import base64
import re
from dataclasses import replace

import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from discreet.store.tables.web import FACTOR
from discreet.web import Settings, create_app
from discreet.web.accounts import second_factor
from discreet.web.accounts.second_factor import PERIOD, matching_period, totp
from tests.web.accounts.test_accounts import acts, link_on
from tests.web.client import BOTH_STORES, PASSWORD, Browser, Clock, make_accounts, signed_in
from tests.web.samples import account_number
from tests.web.snapshot import snapshot

VECTORS = {59: "94287082", 1111111109: "07081804", 1111111111: "14050471", 1234567890: "89005924", 2000000000: "69279037", 20000000000: "65353130"}  # fmt: skip
"""RFC 6238, appendix B, SHA-1."""


def test_the_published_vectors() -> None:
    for moment, code in VECTORS.items():
        assert totp(b"12345678901234567890", moment // PERIOD, digits=8) == code


@given(st.binary(min_size=20, max_size=20), st.integers(10**9, 4 * 10**9), st.integers(-3, 3))
def test_a_code_fits_within_a_period_either_way(secret: bytes, moment: int, late: int) -> None:
    now = moment // PERIOD
    found = matching_period(secret, totp(secret, now + late), moment)
    assert (
        found == now + late or abs(late) > 1 or totp(secret, now + late) in {totp(secret, now), totp(secret, now + 1)}
    )
    assert found is None or abs(found - now) <= 1


def key_on(page: str) -> bytes:
    """The key that a page shows for an app."""
    found = re.search(r'aria-label="The key for the app">([A-Z2-7 ]+)<', page)
    assert found is not None
    return base64.b32decode(found[1].replace(" ", ""))


def code_now(secret: bytes, clock: Clock) -> str:
    return totp(secret, int(clock.now.timestamp()) // PERIOD)


def set_up(browser: Browser, clock: Clock) -> tuple[bytes, list[str]]:
    """Set an app up on the page of the own account; gives its key and the recovery codes."""
    assert (
        browser.post("/account/second-factor", {"kind": "app", "old": PASSWORD}).headers["location"] == "/sign-in/code"
    )
    secret = key_on(browser.get("/sign-in/code").text)
    assert browser.post("/sign-in/code", {"code": "000000"}).status_code == 403
    page = browser.post("/sign-in/code", {"code": code_now(secret, clock)})
    assert page.status_code == 200, page.text
    clock.wait(seconds=PERIOD)
    return secret, re.findall(r"\b[a-z2-7]{5}-[a-z2-7]{5}\b", page.text)


@BOTH_STORES
def test_after_the_password_the_code_is_asked_for_and_works_once(app: FastAPI, clock: Clock) -> None:
    secret, codes = set_up(signed_in(app, "auditor"), clock)
    assert len(set(codes)) == 10
    browser = Browser(app)
    answer = browser.sign_in("auditor")
    assert answer.headers["location"] == "/sign-in/code"
    assert browser.get("/ledger").status_code == 303, "the password alone opens nothing"
    code = code_now(secret, clock)
    assert browser.post("/sign-in/code", {"code": code}).headers["location"] == "/"
    assert browser.get("/ledger").status_code == 200
    assert "password and code" in browser.get("/account").text
    other = Browser(app)
    other.sign_in("auditor")
    assert other.post("/sign-in/code", {"code": code}).status_code == 403, "a code works once"
    assert other.post("/sign-in/code", {"code": codes[3]}).status_code == 303
    other.sign_in("auditor")
    assert other.post("/sign-in/code", {"code": codes[3].replace("-", "").upper()}).status_code == 403
    assert acts(app) == [("auditor", "set a second factor", "account:auditor")]


def test_neither_the_key_nor_a_recovery_code_is_stored(app: FastAPI, clock: Clock) -> None:
    secret, codes = set_up(signed_in(app, "auditor"), clock)
    stored = str(snapshot(app))
    assert secret.hex() not in stored
    assert not any(code in stored or code.replace("-", "") in stored for code in codes)
    with app.state.site.store.reading() as connection:
        assert len(connection.execute(select(FACTOR)).all()) == 11


def test_guessing_codes_is_limited_and_the_step_ends(app: FastAPI, clock: Clock) -> None:
    secret, _ = set_up(signed_in(app, "auditor"), clock)
    browser = Browser(app)
    browser.sign_in("auditor")
    answers = [browser.post("/sign-in/code", {"code": f"{number:06}"}).status_code for number in range(11)]
    assert answers == [403] * 10 + [429]
    assert browser.post("/sign-in/code", {"code": code_now(secret, clock)}).status_code == 429
    clock.wait(minutes=16)
    answer = browser.post("/sign-in/code", {"code": code_now(secret, clock)})
    assert answer.headers["location"] == "/sign-in?said=step-over", "the password is asked for again"


def test_a_password_that_changed_meanwhile_ends_the_step(app: FastAPI, clock: Clock) -> None:
    owner = signed_in(app, "auditor")
    secret, _ = set_up(owner, clock)
    thief = Browser(app)
    thief.sign_in("auditor")
    new = {"password": "another sentence for tests", "again": "another sentence for tests"}
    assert owner.post("/account/password", {"old": PASSWORD, **new}).status_code == 303
    assert (
        thief.post("/sign-in/code", {"code": code_now(secret, clock)}).headers["location"] == "/sign-in?said=step-over"
    )


@pytest.mark.parametrize("cookie", ["", "00", "zz", "ab" * 60])
def test_a_made_up_step_is_none(app: FastAPI, cookie: str) -> None:
    browser = Browser(app, cookies={second_factor.STEP: cookie})
    assert browser.get("/sign-in/code").headers["location"] == "/sign-in?said=step-over"
    assert browser.post("/sign-in/code", {"code": "000000"}).headers["location"] == "/sign-in?said=step-over"


@pytest.fixture
def strict(app: FastAPI, settings: Settings) -> FastAPI:
    """The same store, where custodians need a second factor."""
    return create_app(replace(settings, second_factor=frozenset({"custodian"})))


def test_a_role_that_needs_one_sets_it_up_before_anything_else(strict: FastAPI, clock: Clock) -> None:
    browser = Browser(strict)
    assert browser.sign_in("custodian").headers["location"] == "/sign-in/code"
    assert browser.get("/datasets").status_code == 303
    page = browser.get("/sign-in/code").text
    answer = browser.post("/sign-in/code", {"code": code_now(key_on(page), clock)})
    assert "Recovery codes" in answer.text
    assert browser.get("/datasets").status_code == 200
    clock.wait(seconds=PERIOD)
    code = code_now(key_on(page), clock)
    assert browser.post("/account/second-factor/remove", {"code": code}).status_code == 409
    assert signed_in(strict, "auditor").get("/account").status_code == 200, "other roles are not asked"
    strict.state.site.close()


def test_an_invited_person_sets_it_up_after_the_password(strict: FastAPI, clock: Clock) -> None:
    link = link_on(signed_in(strict, "administrator").post("/accounts", {"name": "eve", "role": "custodian"}).text)
    browser = Browser(strict)
    answer = browser.post(link, {"password": PASSWORD, "again": PASSWORD})
    assert answer.headers["location"] == "/sign-in/code"
    assert browser.get("/datasets").status_code == 303
    secret = key_on(browser.get("/sign-in/code").text)
    assert browser.post("/sign-in/code", {"code": code_now(secret, clock)}).status_code == 200
    strict.state.site.close()


def test_a_link_to_set_the_password_does_not_lead_past_the_code(app: FastAPI, clock: Clock) -> None:
    set_up(signed_in(app, "auditor"), clock)
    link = link_on(signed_in(app, "administrator").post(f"/accounts/{account_number(app, 'auditor')}/link").text)
    thief = Browser(app)
    assert thief.post(link, {"password": PASSWORD, "again": PASSWORD}).headers["location"] == "/sign-in/code"
    assert thief.get("/ledger").status_code == 303


def test_an_administrator_resets_a_lost_one_and_counts_as_who_led_to_the_account(app: FastAPI, clock: Clock) -> None:
    make_accounts(app, "custodian2")
    owner = signed_in(app, "custodian")
    set_up(owner, clock)
    administrator, number = signed_in(app, "administrator"), account_number(app, "custodian")
    assert administrator.post(f"/accounts/{number}/second-factor").status_code == 303
    assert owner.get("/account").status_code == 303, "signed out"
    assert Browser(app).sign_in("custodian").headers["location"] == "/"
    assert "administrator" in administrator.get(f"/accounts/{number}").text.partition("Opened by")[2][:200]


def test_new_codes_replace_the_old_and_the_factor_is_removed_with_a_code(app: FastAPI, clock: Clock) -> None:
    browser = signed_in(app, "auditor")
    secret, old = set_up(browser, clock)
    page = browser.post("/account/recovery", {"code": code_now(secret, clock)}).text
    new = re.findall(r"\b[a-z2-7]{5}-[a-z2-7]{5}\b", page)
    assert not {*old} & {*new}
    assert browser.post("/account/second-factor/remove", {"code": old[0]}).status_code == 403
    assert browser.post("/account/second-factor/remove", {"code": new[0]}).status_code == 303
    assert Browser(app).sign_in("auditor").headers["location"] == "/"


def test_sessions_are_listed_and_ended_one_by_one(app: FastAPI) -> None:
    mine, phone = signed_in(app, "auditor"), Browser(app, headers={"User-Agent": "Phone <b>1</b>"})
    phone.sign_in("auditor")
    stranger = signed_in(app, "worker")
    page = mine.get("/account").text
    assert "Phone &lt;b&gt;1&lt;/b&gt;" in page
    (name,) = re.findall(r'name="session" value="(\w+)"', page)
    assert mine.post("/account/sessions", {"session": name}).status_code == 303
    assert phone.get("/account").status_code == 303
    assert mine.get("/account").status_code == stranger.get("/account").status_code == 200
    phone.sign_in("auditor")
    assert mine.post("/account/sessions").status_code == 303
    assert phone.get("/account").status_code == 303
    assert mine.get("/account").status_code == stranger.get("/account").status_code == 200
