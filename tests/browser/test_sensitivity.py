"""Experts answer in a real browser: by single keys, without a script, without a barrier; a custodian combines."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

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

pytestmark = pytest.mark.browser
VALUES = "[diagnosis]\nFlu\nAngina\nHIV\n\n[bill]\nup to 100\nover 100\n"


def begin(page: Page, *experts: str, name: str = "Hospital") -> None:
    """A custodian begins a study by keyboard."""
    page.goto("/sensitivity")
    press(page, page.get_by_role("link", name="Ask experts").first)
    type_into(page, "Name of the study", name)
    tab_to(page, page.get_by_label("Values", exact=True))
    page.keyboard.insert_text(VALUES)
    type_into(page, "Made-up records to rate", "3")
    for expert in experts:
        tab_to(page, page.get_by_role("checkbox", name=expert))
        page.keyboard.press("Space")
    photograph(page, "sensitivity-new-filled")
    press(page, page.get_by_role("button", name="Begin the study"))
    expect(page.get_by_role("status")).to_contain_text("The study is open")


def key(page: Page, pressed: str) -> None:
    """Press a key once the page listens to keys."""
    expect(page.get_by_role("checkbox", name="Keys answer at once")).to_be_visible()
    page.keyboard.press(pressed)


def answer_all(page: Page, pressed: str) -> int:
    """One key after the other until nothing is asked any more."""
    for answered in range(60):
        if page.locator("h1").inner_text() == "Thank you":
            return answered
        heading = page.locator("h1").inner_text()
        key(page, pressed)
        expect(page.locator("h1")).not_to_have_text(heading)
    raise AssertionError("the questions do not end")


def test_from_the_study_to_a_version_by_keyboard(place: Place, visit: Visit) -> None:
    custodian = visit("custodian")
    begin(custodian, "worker", "auditor")
    assert barriers(custodian) == []
    for name, pressed in (("worker", "3"), ("auditor", "7")):
        expert = visit(name)
        press(expert, expert.get_by_role("navigation", name="Places").get_by_role("link", name="Sensitivity"))
        press(expert, expert.get_by_role("link", name="Begin"))
        expect(expert.locator("h1")).to_have_text("Question 1")
        assert answer_all(expert, pressed) == 8 + 3
        photograph(expert, f"sensitivity-thanks-{name}")
        assert barriers(expert) == []
    custodian.reload()
    expect(custodian.get_by_text("Agreement (Kendall's tau, averaged")).to_be_visible()
    photograph(custodian, "sensitivity-panel")
    assert barriers(custodian) == []
    press(custodian, custodian.get_by_role("button", name="Store this version"))
    expect(custodian.locator("h1")).to_contain_text("Version")
    photograph(custodian, "sensitivity-version")
    assert barriers(custodian) == []


@every_look
def test_questions_fit_and_have_no_barriers(place: Place, visit: Visit, look: Look) -> None:
    begin(visit("custodian"), "manager")
    page = visit("manager", **look.window)
    page.goto("/sensitivity")
    photograph(page, f"sensitivity-list-{look.name}")
    assert barriers(page) == []
    page.get_by_role("link", name="Begin").click()
    for kind in ("compare", "rate"):
        photograph(page, f"sensitivity-{kind}-{look.name}")
        assert flaws(page, look) == [], kind
        while kind == "compare" and page.get_by_text("Which would harm").count():
            heading = page.locator("h1").inner_text()
            key(page, "2")
            expect(page.locator("h1")).not_to_have_text(heading)
    assert page.get_by_text("The record is made up").count() == 1


def test_keys_can_be_switched_off_and_an_answer_undone(place: Place, visit: Visit) -> None:
    begin(visit("custodian"), "worker")
    page = visit("worker")
    page.goto("/sensitivity")
    page.get_by_role("link", name="Begin").click()
    key(page, "5")
    expect(page.locator("h1")).to_have_text("Question 2")
    key(page, "u")
    expect(page.locator("h1")).to_have_text("Question 1")
    page.get_by_role("checkbox", name="Keys answer at once").uncheck()
    page.locator("h1").click()
    page.keyboard.press("5")
    page.wait_for_timeout(300)
    expect(page.locator("h1")).to_have_text("Question 1")
    page.reload()
    expect(page.get_by_role("checkbox", name="Keys answer at once")).not_to_be_checked()
    press(page, page.get_by_role("button", name="B is somewhat more harmful, 3 times"))
    expect(page.locator("h1")).to_have_text("Question 2")


def test_experts_need_no_script(place: Place, visit: Visit) -> None:
    begin(visit("custodian"), "auditor")
    page = visit("auditor", java_script_enabled=False)
    page.goto("/sensitivity")
    page.get_by_role("link", name="Begin").click()
    expect(page.get_by_role("checkbox")).to_have_count(0)
    page.get_by_role("button", name="A is much more harmful").first.click()
    expect(page.locator("h1")).to_have_text("Question 2")
    page.get_by_role("button", name="Pass").click()
    expect(page.locator("h1")).to_have_text("Question 3")
    page.get_by_role("button", name="Undo the last answer").click()
    expect(page.locator("h1")).to_have_text("Question 2")
