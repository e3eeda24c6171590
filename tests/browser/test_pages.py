"""Every page in a real browser: reachable by keyboard, without barriers, in light and dark, narrow and enlarged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from discreet.web.accounts import credentials
from discreet.web.framework.permissions import GRANTED, ROLES
from discreet.web.routes import ROUTES
from tests.browser.walking import (
    Look,
    Place,
    Visit,
    barriers,
    every_look,
    flaws,
    photograph,
    press,
    tab_to,
    type_into,
)
from tests.web.client import PASSWORD
from tests.web.samples import SAMPLES, account_number, make_job

pytestmark = pytest.mark.browser


def furnish(place: Place) -> None:
    """Something to see on every page."""
    site = place.app.state.site
    ledger = site.ledger
    ledger.set_budget("ann", limit=10, actor="custodian")
    ledger.set_budget("project:cancer registry", limit=100, parts=1_000, actor="custodian")
    ledger.set_budget("bob", limit=40, actor="custodian")
    for number in range(60):
        ledger.spend("project:cancer registry", "1.5", actor="worker", event="linkage.revealed", key=f"r{number}", subject=f"project:7/pair:{number}")  # fmt: skip
    ledger.spend("ann", 8, actor="ann", event="gateway.answered", key="g1", subject="statement:4f2a")
    ledger.spend("ann", 5, actor="ann", event="gateway.answered", key="g2", subject="statement:9c11")
    ledger.record(actor="custodian", event="releases.delivered", subject="release:1/recipient:institute")
    with site.store.writing() as connection:
        from discreet.web.accounts import accounts

        accounts.add(connection, name="eve.invited", role="worker", now=site.stamp(ago=timedelta(days=2)))
    SAMPLES["token"](place.app, "custodian")


def addresses(place: Place, role: str) -> Iterator[str]:
    """Every page that a role may see."""
    for route in ROUTES:
        if route.method == "GET" and route.kind == "page" and route.permission in GRANTED[role]:
            path = SAMPLES[route.loads.name](place.app, role) if route.loads else {}
            yield route.path.format(**path)


@every_look
def test_every_page_is_without_barriers_and_fits(place: Place, visit: Visit, look: Look) -> None:
    furnish(place)
    page = visit("custodian", **look.window)
    for address in (*addresses(place, "custodian"), "/about", "/nothing-here"):
        page.goto(address)
        photograph(page, f"{look.name}{address.replace('/', '-')}")
        assert flaws(page, look) == [], address
        assert page.locator("h1").count() == 1


@every_look
def test_pages_before_signing_in(place: Place, visit: Visit, look: Look) -> None:
    page = visit(**look.window)
    site = place.app.state.site
    with site.store.writing() as connection:
        secret = credentials.make_link(connection, site.settings, account_number(place.app, "worker"))
    for name, address in (("sign-in", "/sign-in"), ("welcome", f"/welcome/{secret}"), ("gone", "/welcome/x")):
        page.goto(address)
        photograph(page, f"{look.name}-{name}")
        assert flaws(page, look) == [], address


@pytest.mark.parametrize(
    "role", ["custodian", *(pytest.param(role, marks=pytest.mark.slow) for role in sorted({*ROLES} - {"custodian"}))]
)
def test_every_place_is_reached_by_keyboard(place: Place, visit: Visit, role: str) -> None:
    page = visit(role)
    expect(page.locator("h1")).to_have_text("Dashboard")
    photograph(page, f"empty-{role}")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator(":focus")).to_have_attribute("id", "main")
    names = page.get_by_role("navigation", name="Places").get_by_role("link").all_text_contents()
    for name in names:
        page.goto("/about")
        press(page, page.get_by_role("navigation", name="Places").get_by_role("link", name=name))
        expect(page.locator("h1")).to_have_text(name)
        assert barriers(page) == []
    press(page, page.get_by_role("link", name=role, exact=True))
    expect(page.locator("h1")).to_have_text("Your account")
    press(page, page.get_by_role("button", name="Sign out"))
    expect(page.get_by_role("status")).to_contain_text("You are signed out.")
    page.goto("/account")
    expect(page.locator("h1")).to_have_text("Sign in")


def test_from_the_printed_link_to_a_second_person_without_a_mouse(place: Place, visit: Visit) -> None:
    """An administrator invites, the invited one sets a password and signs in; both by keyboard."""
    page = visit("administrator")
    page.goto("/accounts")
    type_into(page, "Name", "ann.lee")
    tab_to(page, page.get_by_role("radio", name="custodian"))
    page.keyboard.press("ArrowUp")  # to the last one
    expect(page.get_by_role("radio", name="administrator")).to_be_checked()
    press(page, page.get_by_role("button", name="Make the link"))
    photograph(page, "link-shown-once")
    assert barriers(page) == []
    link = page.locator(".secret").inner_text()
    guest = visit()
    guest.goto(link)
    type_into(guest, "Password", PASSWORD)
    guest.keyboard.press("Enter")
    expect(guest.get_by_role("status")).to_contain_text("Your password is set, and you are signed in.")
    expect(guest.locator("h1")).to_have_text("Dashboard")
    page.goto("/accounts")
    press(page, page.get_by_role("link", name="ann.lee"))
    tab_to(page, page.get_by_text("Close the account").first)
    page.keyboard.press("Enter")
    photograph(page, "confirm")
    assert barriers(page) == []
    press(page, page.get_by_role("button", name="Close the account"))
    expect(page.get_by_role("status")).to_contain_text("The account is closed")
    guest.goto("/account")
    expect(guest.locator("h1")).to_have_text("Sign in")
    photograph(guest, "signed-out")


def test_an_auditor_verifies_and_exports_by_keyboard(place: Place, visit: Visit) -> None:
    furnish(place)
    page = visit("auditor")
    page.goto("/ledger")
    press(page, page.get_by_role("button", name="Verify now"))
    expect(page.get_by_role("status")).to_contain_text("The ledger is intact")
    photograph(page, "verified")
    tab_to(page, page.get_by_role("button", name="Export the ledger"))
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == "ledger.jsonl"
    type_into(page, "Who", "ann")
    page.keyboard.press("Enter")
    page.wait_for_url("**actor=ann**")
    assert page.get_by_role("row").count() == 3
    photograph(page, "filtered")
    press(page, page.get_by_role("row").nth(1).get_by_role("link"))
    expect(page.locator("h1")).to_contain_text("Entry")


def test_a_token_is_shown_once(place: Place, visit: Visit) -> None:
    page = visit("auditor")
    page.goto("/tokens")
    photograph(page, "tokens-empty")
    type_into(page, "Name", "nightly")
    tab_to(page, page.locator('input[value="ledger.read"]'))
    page.keyboard.press("Space")
    press(page, page.get_by_role("button", name="Make the token"))
    assert page.locator(".secret").inner_text().startswith("discreet_")
    photograph(page, "token-shown-once")
    assert barriers(page) == []
    page.goto("/tokens")
    assert page.locator(".secret").count() == 0


def test_the_cookie_has_its_prefix_and_flags_on_loopback(place: Place, visit: Visit) -> None:
    page = visit("worker")
    (cookie,) = page.context.cookies()
    assert cookie["name"] == credentials.COOKIE
    assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, True, "Lax", "/")
    assert cookie["domain"] == "127.0.0.1"
    assert page.evaluate("document.cookie") == ""


def test_a_role_is_proposed_by_one_and_approved_by_another_by_keyboard(place: Place, visit: Visit) -> None:
    """The administrator proposes on the account's page, a custodian finds it on the dashboard and approves."""
    page, number = visit("administrator"), account_number(place.app, "worker")
    page.goto(f"/accounts/{number}")
    tab_to(page, page.get_by_text("Propose another role").first)
    page.keyboard.press("Enter")
    page.get_by_label("Role").select_option("manager")
    type_into(page, "Why", "runs a project from May on")
    press(page, page.get_by_role("button", name="Propose the role"))
    expect(page.get_by_role("status")).to_contain_text("The role is proposed")
    assert barriers(page) == []
    for look in (Look("light", 1440, "light"), Look("narrow", 390, "dark")):
        custodian = visit("custodian", **look.window)
        press(custodian, custodian.get_by_role("link", name="Review the role"))
        expect(custodian.locator("h1")).to_have_text("worker: worker becomes manager")
        photograph(custodian, f"role-change-{look.name}")
        assert flaws(custodian, look) == []
    press(custodian, custodian.get_by_role("button", name="Approve"))
    expect(custodian.get_by_role("status")).to_contain_text("The role is changed")


def test_another_site_cannot_act_for_somebody_who_is_signed_in(place: Place, visit: Visit) -> None:
    """The browser itself says where a form comes from; and it keeps the cookie to itself."""
    before = len(list(place.app.state.site.ledger.entries()))
    page = visit("custodian").context.new_page()
    form = f'<form method="post" action="{place.origin}/accounts"><input name="name" value="eve"><input name="role" value="custodian"><button>Win</button></form>'
    page.route("http://elsewhere.test/", lambda route: route.fulfill(body=form, content_type="text/html"))
    page.goto("http://elsewhere.test/")
    page.get_by_role("button").click()
    expect(page.locator("body")).to_contain_text("did not come from a page of this server")
    assert len(list(place.app.state.site.ledger.entries())) == before


def test_a_link_on_another_site_opens_a_report_only_if_its_reader_wants_it(place: Place, visit: Visit) -> None:
    """What is written down as read was meant to be read."""
    number, ledger = make_job(place.app, "custodian"), place.app.state.site.ledger
    page = visit("custodian").context.new_page()
    link = f'<a href="{place.origin}/reports/{number}">Win</a>'
    page.route("http://elsewhere.test/", lambda route: route.fulfill(body=link, content_type="text/html"))
    page.goto("http://elsewhere.test/")
    page.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Do you want to open this page?")
    assert list(ledger.entries(event="web.shown")) == []
    assert barriers(page) == []
    photograph(page, "link-from-elsewhere")
    page.get_by_role("link", name="Open the page").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Risk")
    assert len(list(ledger.entries(event="web.shown"))) == 1


def test_a_problem_is_announced_and_says_what_to_do(place: Place, visit: Visit) -> None:
    page = visit()
    type_into(page, "Name of your account", "worker")
    type_into(page, "Password", "wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("do not go together")
    photograph(page, "wrong-password")
    assert barriers(page) == []
    expect(page.get_by_label("Name of your account")).to_have_value("worker")
