"""The attacker lab in a real browser: sliders by keyboard, live; the same without a script; no barrier anywhere."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.walking import Look, Place, Visit, barriers, every_look, flaws, photograph, press, tab_to

pytestmark = pytest.mark.browser


def thresholds(page: Page) -> list[str]:
    """What the strip chart says, in words."""
    return page.locator("#strip svg .note.lifted").all_text_contents()


@every_look
def test_the_lab_fits_and_has_no_barriers(place: Place, visit: Visit, look: Look) -> None:
    page = visit("auditor", **look.window)
    for state, query in (("start", ""), ("rising", "?rising=20&k=5"), ("wrong", "?gain=many&k=0"), ("safe", "?k=60")):
        page.goto(f"/lab{query}")
        photograph(page, f"lab-{state}-{look.name}")
        assert flaws(page, look) == [], state


def test_a_slider_moved_by_keyboard_changes_the_thresholds(place: Place, visit: Visit) -> None:
    page = visit("custodian")
    page.goto("/lab")
    assert "46: does not buy the list" in thresholds(page)
    slider = page.get_by_role("slider", name="Fine")
    tab_to(page, slider)
    with page.expect_response("**/lab/result?*"):
        page.keyboard.press("Home")
    expect(page.get_by_role("textbox", name="Fine", exact=True)).to_have_value("0")
    expect(page.locator("#strip svg")).to_contain_text("206: does not buy the list")
    expect(page.locator(".headline")).to_contain_text("risks no fine")
    expect(page.locator("#lab-said")).to_contain_text("risks no fine")
    assert "penalty=0" in page.url
    assert page.evaluate("document.activeElement.id") == "penalty-slider"
    page.reload()
    expect(page.locator(".headline")).to_contain_text("risks no fine")


def test_an_exact_number_moves_the_slider_and_nonsense_is_told_beside_it(place: Place, visit: Visit) -> None:
    page = visit("custodian")
    page.goto("/lab")
    exact = page.get_by_role("textbox", name="Gain", exact=True)
    exact.fill("20000")
    expect(page.locator(".headline")).to_contain_text("can gain 20,000")
    assert page.get_by_role("slider", name="Gain").get_attribute("aria-valuetext") == "20000"
    exact.fill("much")
    expect(page.get_by_role("alert")).to_contain_text("a number from 0 to 1,000,000,000")
    expect(exact).to_have_attribute("aria-invalid", "true")
    photograph(page, "lab-nonsense")
    assert barriers(page) == []
    exact.fill("8000")
    expect(page.locator(".headline")).to_contain_text("can gain 8,000")
    assert exact.get_attribute("aria-invalid") is None


@pytest.mark.parametrize("name", ["penalty", "access_cost", "k"])
def test_each_button_deters(place: Place, visit: Visit, name: str) -> None:
    page = visit("manager")
    page.goto("/lab?rising=19.7217")
    expect(page.locator(".headline")).to_contain_text("would attack 3,79")
    press(page, page.locator(f"#deter-{name}"))
    expect(page.locator(".headline")).to_contain_text("would attack none of the 10,000 people")
    assert page.evaluate("document.activeElement.id") == f"deter-{name}"
    photograph(page, f"lab-deterred-{name}")
    page.reload()
    expect(page.locator(".headline")).to_contain_text("would attack none of the 10,000 people")


def test_the_lab_works_without_a_script(place: Place, visit: Visit) -> None:
    page = visit("auditor", java_script_enabled=False)
    page.goto("/lab")
    assert page.get_by_role("slider").count() == 0
    page.get_by_label("Fine", exact=True).fill("0")
    page.get_by_role("button", name="Show the result").click()
    expect(page.locator(".headline")).to_contain_text("risks no fine")
    page.locator("#deter-k").click()
    expect(page.locator(".headline")).to_contain_text("would attack none")
    page.get_by_label("Gain", exact=True).fill("-1")
    page.get_by_role("button", name="Show the result").click()
    expect(page.locator("#gain-wrong")).to_contain_text("a number from 0 to 1,000,000,000")
    expect(page.get_by_label("Gain", exact=True)).to_have_value("-1")


def test_several_numbers_in_one_field_are_shown_at_once(place: Place, visit: Visit) -> None:
    page = visit("custodian")
    page.goto("/lab")
    page.get_by_label("Lists for sale").fill("100:1-6 50:5-12")
    expect(page.locator("#lab-beyond ~ dl")).to_contain_text("several lists for sale")
    page.get_by_label("List bought").select_option("yes")
    expect(page.locator("#lab-everybody")).to_be_visible()
    page.get_by_label("Lists for sale").fill("100:1-99")
    expect(page.get_by_role("alert")).to_contain_text("A list holds person 99, but only 12 are alike.")
    assert barriers(page) == []


def test_tables_that_were_opened_stay_open(place: Place, visit: Visit) -> None:
    page = visit("auditor")
    page.goto("/lab")
    page.locator("#strip summary").get_by_text("Show the table").click()
    page.get_by_role("slider", name="Gain").press("ArrowRight")
    expect(page.locator(".headline")).to_contain_text("can gain 10,000")
    expect(page.locator("#strip table")).to_be_visible()
    photograph(page, "lab-table")


def test_who_was_signed_out_is_led_to_the_form(place: Place, visit: Visit) -> None:
    page = visit("auditor")
    page.goto("/lab")
    page.context.clear_cookies()
    page.get_by_role("slider", name="Gain").press("ArrowRight")
    page.wait_for_url("**/sign-in?*")
