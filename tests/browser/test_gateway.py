"""Two custodians see who has seen how much and agree on a limit: by keyboard, without a script, without a barrier."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

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
from tests.web.client import make_accounts
from tests.web.gateway_data import answered, not_run, proposed, refused, started

pytestmark = pytest.mark.browser


def furnish(place: Place) -> str:
    """An analyst, and somebody who was refused; gives the reference."""
    ledger = place.app.state.site.ledger
    started(ledger)
    started(ledger, "registry", mode="shadow")
    answered(ledger, "ann", "0", "0.6", rows=40)
    answered(ledger, "eve", "0", "1.2", rows=12)
    answered(ledger, "eve", "1.2", "1.9", rows=30)
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
    expect(one.get_by_role("heading", level=2).first).to_contain_text("40 rows would have brought the exposure")
    press(one, one.get_by_role("link", name="Propose a limit"))
    expect(one.get_by_label("User")).to_have_value("eve")
    type_into(one, "Exposure up to", "2.5")
    type_into(one, "Why", "the study of the winter")
    press(one, one.get_by_role("button", name="Propose it"))
    expect(one.get_by_role("status")).to_contain_text("Nothing changes before another custodian approves it")
    assert barriers(one) == []
    other = visit("custodian2", java_script_enabled=False)
    other.get_by_role("link", name="Look at the limit").click()
    expect(other.locator("main")).to_contain_text("the study of the winter")
    other.get_by_role("button", name="Approve").click()
    expect(other.get_by_role("status")).to_contain_text("The limit is in force")
    other.locator("summary", has_text="Withdraw it").click()
    other.get_by_role("button", name="Withdraw the limit").click()
    expect(other.get_by_role("status")).to_contain_text("The limit is withdrawn")


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
