"""Two custodians see who has seen how much and agree on a limit: by keyboard, without a script, without a barrier."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from discreet.gateway.statistics import Admission
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
from tests.gateway.statistics.worlds import COUNT, SUM, PeopleWorld, answers
from tests.web.client import PASSWORD, make_accounts
from tests.web.gateway_data import answered, not_run, proposed, refused, started
from tests.web.samples import account_number

pytestmark = pytest.mark.browser


def furnish(place: Place) -> str:
    """An analyst, and somebody who was refused; gives the reference."""
    ledger = place.app.state.site.ledger
    started(ledger)
    started(ledger, "registry", mode="shadow")
    answered(ledger, "ann", "0", "0.6", rows=40)
    answered(ledger, "eve", "0", "1.2", rows=12)
    answered(ledger, "eve", "1.2", "1.9", rows=30)
    world = PeopleWorld()
    for number in range(0, 30, 3):
        asked = [world.question(f"q{number}", SUM, COUNT, near=[*range(9), number + 20], far=range(100, 200 + number))]
        assert isinstance(answers(ledger).admit("eve", asked, world.ask), Admission)
    for _ in range(5):
        entry = refused(ledger, "eve", "1.9", "2.31", rows=40)
    not_run(ledger, "a rather long name of somebody", "Refused: EXPLAIN tells of values.", database="registry")
    return f"{entry.sequence:04X}"


def test_from_the_meter_to_a_limit_in_force_by_keyboard(place: Place, visit: Visit) -> None:
    make_accounts(place.app, "custodian2")
    reference = furnish(place)
    one = visit("custodian")
    press(one, one.get_by_role("navigation", name="Places").get_by_role("link", name="Gateway"))
    expect(one.get_by_role("meter", name="Exposure of eve")).to_have_attribute("aria-valuenow", "95")
    type_into(one, "Reference", reference)
    one.keyboard.press("Enter")
    expect(one.get_by_role("heading", level=2).first).to_contain_text("40 rows would have raised the exposure")
    press(one, one.get_by_role("link", name="Propose a limit"))
    expect(one.get_by_label("User")).to_have_value("eve")
    type_into(one, "Exposure up to", "2.5")
    type_into(one, "Why", "the study of the winter")
    press(one, one.get_by_role("button", name="Propose it"))
    expect(one.get_by_role("status")).to_contain_text("It takes effect once another custodian approves it")
    assert barriers(one) == []
    other = visit("custodian2", java_script_enabled=False)
    other.get_by_role("link", name="Review the limit").click()
    expect(other.locator("main")).to_contain_text("the study of the winter")
    other.get_by_role("button", name="Approve").click()
    expect(other.get_by_role("status")).to_contain_text("The limit is in force")
    other.locator("summary", has_text="Withdraw it").click()
    other.get_by_role("button", name="Propose the withdrawal").click()
    expect(other.get_by_role("status")).to_contain_text(
        "The limit holds until another custodian approves the withdrawal"
    )
    expect(other.locator("main")).to_contain_text("It can be approved by custodian.")
    one.goto("/")
    press(one, one.get_by_role("link", name="Review the limit"))
    photograph(one, "gateway-limit-withdrawal")
    assert flaws(one, Look("light", 1280, "light")) == []
    press(one, one.get_by_role("button", name="Approve the withdrawal"))
    expect(one.get_by_role("status")).to_contain_text("The limit is withdrawn")
    photograph(one, "gateway-limit-withdrawn")


def test_a_page_says_who_is_no_second_person_and_what_to_do(place: Place, visit: Visit) -> None:
    """One administrator has opened both accounts, so that neither can approve; the operator helps."""
    one = visit("administrator")
    guests = []
    for name in ("guest", "asker"):
        one.goto("/accounts")
        photograph(one, "accounts")
        one.get_by_label("Name").fill(name)
        one.get_by_label("custodian decides").check()
        one.get_by_role("button", name="Make the link").click()
        link = one.locator("pre.secret").inner_text()
        guests.append(visit())
        guests[-1].goto(link.strip())
        for label in ("Password",):
            guests[-1].get_by_label(label, exact=True).fill(PASSWORD)
        guests[-1].get_by_role("button").last.click()
        expect(guests[-1].get_by_role("status")).to_contain_text("Your password is set")
    guest, number = guests[0], proposed(place.app, "asker")
    guest.goto(f"/gateway/limits/{number}")
    expect(guest.locator("main")).to_contain_text("administrator opened both your account and that of asker")
    expect(guest.locator("main")).to_contain_text("It can be approved by custodian.")
    expect(guest.get_by_role("button", name="Approve")).to_have_count(0)
    assert flaws(guest, Look("light", 1280, "light")) == []
    photograph(guest, "gateway-limit-no-second")
    guests[1].goto(f"/gateway/limits/{number}")
    photograph(guests[1], "gateway-limit-own")
    one.goto(f"/accounts/{account_number(place.app, 'guest')}")
    expect(one.locator("main")).to_contain_text("do not approve requests of guest")
    assert flaws(one, Look("light", 1280, "light")) == []
    photograph(one, "account")


@every_look
def test_every_page_fits_and_has_no_barriers(place: Place, visit: Visit, look: Look) -> None:
    reference = furnish(place)
    number = proposed(place.app, "auditor")
    page = visit("custodian", **look.window)
    paths = ["", "/users/2", "/refusals", "/incidents", f"/why?reference={reference}", "/why?reference=0", "/limits"]
    for path in [*paths, f"/limits/{number}"]:
        page.goto(f"/gateway{path}")
        photograph(page, f"gateway{path.partition('?')[0].replace('/', '-')}-{look.name}")
        assert flaws(page, look) == [], path
    tab_to(page, page.get_by_role("button", name="Approve"))
