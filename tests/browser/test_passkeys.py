"""Passkeys, made and used by a real browser with an authenticator of its own (CDP, domain WebAuthn)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from discreet.web.accounts import passkeys
from discreet.web.accounts.accounts import by_name
from tests.browser.walking import Place, Watch, barriers, photograph, sign_in_by_keyboard
from tests.web.accounts.test_accounts import acts
from tests.web.client import PASSWORD

pytestmark = pytest.mark.browser
KEY = {"protocol": "ctap2", "transport": "internal", "hasUserVerification": True, "isUserVerified": True}


@contextmanager
def browsing(chromium: Browser, place: Place, **options: Any) -> Iterator[tuple[Page, CDPSession]]:
    """A page at the host name of the server, and the authenticators of its browser."""
    origin = place.origin.replace("127.0.0.1", "localhost")
    context = chromium.new_context(base_url=origin, **options)
    page = context.new_page()
    watch, session = Watch(page, origin), context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    page.goto("/sign-in")
    try:
        yield page, session
    finally:
        context.close()
    assert watch.found == []


def new_authenticator(session: CDPSession) -> str:
    """An authenticator that confirms everything at once."""
    options = {**KEY, "hasResidentKey": True, "automaticPresenceSimulation": True}
    return str(session.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"])


def add(page: Page, name: str) -> None:
    """Add a passkey on the page of the own account."""
    page.goto("/account")
    page.get_by_text("passkey", exact=False).and_(page.locator("summary")).first.click()
    page.get_by_label("Which device is it on?").fill(name)
    page.locator("#passkey-old").fill(PASSWORD)
    page.get_by_role("button", name="Continue").first.click()
    page.get_by_role("button", name="Make a passkey").click()


def sign_in(page: Page, name: str) -> None:
    page.context.clear_cookies()
    page.goto("/sign-in")
    page.get_by_label("Name of your account").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/sign-in/code")


def names(place: Place, account: str) -> list[str]:
    with place.app.state.site.store.reading() as connection:
        found = by_name(connection, account)
        assert found is not None
        return [one.name for one in passkeys.of_account(connection, found[0].id)]


def test_a_passkey_is_made_signs_in_and_is_removed(chromium: Browser, place: Place) -> None:
    with browsing(chromium, place) as (page, session):
        first = new_authenticator(session)
        sign_in_by_keyboard(page, "auditor")
        add(page, "laptop")
        expect(page.locator("h1")).to_have_text("Recovery codes")
        codes = re.findall(r"\b[a-z2-7]{5}-[a-z2-7]{5}\b", page.content())
        assert len(codes) == 10
        page.goto("/account")
        photograph(page, "passkeys-own")
        assert barriers(page) == []
        # A second one, on another device; the same device twice is refused by the browser.
        add(page, "laptop again")
        expect(page.locator("#passkey-problem")).to_contain_text("has a passkey for your account already")
        session.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": first})
        second = new_authenticator(session)
        add(page, "blue key")
        expect(page.get_by_role("status")).to_contain_text("The passkey is added.")
        assert names(place, "auditor") == ["laptop", "blue key"]
        # Sign in: the password alone opens nothing.
        sign_in(page, "auditor")
        assert barriers(page) == []
        photograph(page, "passkeys-sign-in")
        page.goto("/ledger")
        expect(page.locator("h1")).to_have_text("Sign in")
        page.goto("/sign-in/code")
        page.get_by_role("button", name="Use the passkey").click()
        page.wait_for_url("**/")
        page.goto("/account")
        expect(page.locator("main")).to_contain_text("password and passkey")
        # A device without any of the passkeys is no way in; a recovery code is, once.
        session.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": second})
        new_authenticator(session)
        sign_in(page, "auditor")
        page.get_by_role("button", name="Use the passkey").click()
        expect(page.locator("#passkey-problem")).to_contain_text("The browser gave no passkey.")
        page.get_by_label("Code", exact=True).fill(codes[0])
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/")
        # Remove both: the recovery codes go with the last one, and the password alone signs in.
        for name in ("laptop", "blue key"):
            page.goto("/account")
            page.get_by_text(f"Remove the passkey {name}").click()
            page.locator("details[open] input[type=password]").fill(PASSWORD)
            page.get_by_role("button", name="Remove it").and_(page.locator(":visible")).click()
        expect(page.get_by_role("status")).to_contain_text("Your password alone signs you in again.")
        page.context.clear_cookies()
        page.goto("/sign-in")
        sign_in_by_keyboard(page, "auditor")
    assert [act for _, act, _ in acts(place.app)] == ["added a passkey"] * 2 + ["removed a passkey"] * 2


def test_what_was_signed_once_or_for_another_account_opens_nothing(chromium: Browser, place: Place) -> None:
    """Replay, and the passkey of one account in the second step of another."""
    with browsing(chromium, place) as (page, session):
        new_authenticator(session)
        for name in ("auditor", "worker"):
            page.context.clear_cookies()
            page.goto("/sign-in")
            sign_in_by_keyboard(page, name)
            add(page, name)
            expect(page.locator("h1")).to_have_text("Recovery codes")
        sign_in(page, "auditor")
        step = page.context.cookies()
        with page.expect_request("**/sign-in/passkey") as sent:
            page.get_by_role("button", name="Use the passkey").click()
        page.wait_for_url("**/")
        answer = sent.value.post_data_json["answer"]
        assert set(json.loads(answer)["response"]) >= {"authenticatorData", "clientDataJSON", "signature"}

        def send(cookies: Any) -> int:
            page.context.clear_cookies()
            page.context.add_cookies(cookies)
            form = {"answer": answer}
            headers = {"Sec-Fetch-Site": "same-origin", "Origin": page.url.rstrip("/")}
            return page.request.post("/sign-in/passkey", form=form, headers=headers, max_redirects=0).status

        assert send(step) in (403, 429), "the counter has moved on, and the challenge was used"
        sign_in(page, "worker")
        assert send(page.context.cookies()) == 403, "signed by another account, for another challenge"


def test_a_role_that_needs_one_is_offered_a_passkey_before_anything_else(
    chromium: Browser, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = place.app.state.site
    monkeypatch.setattr(
        site, "settings", type(site.settings)(**{**vars(site.settings), "second_factor": frozenset({"custodian"})})
    )
    with browsing(chromium, place, viewport={"width": 390, "height": 844}, color_scheme="dark") as (page, session):
        new_authenticator(session)
        sign_in(page, "custodian")
        photograph(page, "passkeys-required")
        assert barriers(page) == []
        page.get_by_role("button", name="Make a passkey").click()
        expect(page.locator("h1")).to_have_text("Recovery codes")
        page.get_by_role("link", name="I have saved them").click()
        page.goto("/account")
        assert page.get_by_text("Remove the passkey").count() == 0
        sign_in(page, "custodian")
        page.get_by_role("button", name="Use the passkey").click()
        page.wait_for_url("**/")


def test_at_an_address_without_a_name_the_page_says_where_to_go(chromium: Browser, place: Place) -> None:
    context = chromium.new_context(base_url=place.origin)
    page = context.new_page()
    page.goto("/sign-in")
    sign_in_by_keyboard(page, "auditor")
    page.goto("/account")
    expect(page.locator("main")).to_contain_text("Passkeys need an address with a host name")
    expect(page.locator("main")).to_contain_text("open this server as localhost")
    context.close()
