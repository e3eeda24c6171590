"""Flows as people take them: what is next is a button that does it, and everything is found by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from discreet.policy import Policy
from discreet.web.jobs import store as jobs
from tests.browser.walking import LOOKS, Look, Place, Visit, flaws, photograph, press
from tests.web.samples import NUMBERS, POLICY, make_dataset, make_job

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("look", [LOOKS[0], pytest.param(*LOOKS[1].values, id="narrow", marks=pytest.mark.slow)])
def test_commands_are_found_by_their_words(place: Place, visit: Visit, look: Look) -> None:
    make_dataset(place.app, "custodian")
    page = visit("custodian", **look.window)
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Commands")
    expect(dialog).to_be_visible()
    page.keyboard.type("data s")
    expect(dialog.get_by_role("option")).to_have_count(2)
    photograph(page, f"{look.name}-palette")
    assert flaws(page, look) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Data sets", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("people")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Data sets", level=2)).to_be_visible()
    photograph(page, f"{look.name}-search")
    assert flaws(page, look) == []
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_protecting_leads_to_a_release_of_the_same_table(place: Place, visit: Visit) -> None:
    dataset = make_dataset(place.app, "custodian", rows=40)
    page = visit("custodian")
    page.goto(f"/datasets/{dataset}/protect?k=7")
    expect(page.get_by_label("Smallest group of people who look alike (k)")).to_have_value("7")
    press(page, page.get_by_role("button", name="Find the best table"))
    release = page.get_by_role("link", name="Release it to several recipients")
    expect(release).to_be_visible(timeout=60_000)
    photograph(page, "light-protected")
    press(page, release)
    expect(page.get_by_label("Data set", exact=True)).to_have_value(str(dataset))
    expect(page.get_by_label("Smallest class (k): people who look alike")).to_have_value("7")
    expect(page.get_by_role("radio", name="those of the table that was made")).to_be_checked()
    photograph(page, "light-release-of-table")


@pytest.mark.parametrize("exceeded", [True, False])
def test_a_risk_above_the_limit_leads_to_its_protection(place: Place, visit: Visit, exceeded: bool) -> None:
    policy = Policy.parse(POLICY).digest
    numbers = {**NUMBERS, "limit": {"at_risk": 0.0, "exceeded": exceeded}}
    job = make_job(place.app, "custodian", numbers=numbers, policy=policy)
    with place.app.state.site.store.reading() as connection:
        found = jobs.find(connection, job)
    assert found is not None
    page = visit("custodian")
    page.goto(f"/datasets/{found.dataset}/risk")
    leading = page.get_by_role("link", name="Anonymise with k = 5")
    expect(leading).to_have_count(int(exceeded))
    if exceeded:
        press(page, leading)
        expect(page.get_by_label("Smallest group of people who look alike (k)")).to_have_value("5")
