"""Getting started and the report on a whole project, by keyboard, in light and dark, narrow and wide."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.walking import LOOKS, Look, Place, Visit, barriers, flaws, photograph, press, type_into
from tests.web.samples import make_dataset, make_job

pytestmark = pytest.mark.browser


def test_the_steps_are_followed_put_away_and_taken_out_again_by_keyboard(place: Place, visit: Visit) -> None:
    page = visit("custodian")
    steps = page.get_by_role("region", name="Getting started")
    expect(steps.get_by_role("listitem")).to_have_count(4)
    expect(steps.locator("[aria-current=step]")).to_contain_text("Add a data set: this comes next")
    assert barriers(page) == []
    press(page, steps.get_by_role("link", name="Add a data set"))
    make_job(place.app, "custodian")
    page.goto("/")
    press(page, steps.get_by_role("link", name="Read the report"))
    page.goto("/")
    expect(steps).to_contain_text("All steps are done.")
    press(page, steps.get_by_role("button", name="Hide this guide"))
    expect(page.get_by_role("status")).to_contain_text("Getting-started guide hidden.")
    expect(steps).to_have_count(0)
    press(page, page.get_by_role("contentinfo").get_by_role("link", name="Getting started"))
    assert barriers(page) == []
    press(page, page.get_by_role("button", name="Show the guide on the dashboard"))
    expect(page.get_by_role("status")).to_contain_text("on the dashboard again")


@pytest.mark.parametrize(
    "look",
    [LOOKS[1], *(pytest.param(*one.values, id=one.id, marks=pytest.mark.slow) for one in (LOOKS[0], *LOOKS[2:]))],
)
def test_a_report_on_a_project_is_made_and_read(place: Place, visit: Visit, look: Look) -> None:
    make_dataset(place.app, "custodian")
    page = visit("custodian", **look.window)
    page.goto("/reports/new")
    expect(page.get_by_role("complementary", name="Getting started")).to_contain_text("step 2 of 4")
    photograph(page, f"{look.name}-project-form")
    assert flaws(page, look) == []
    type_into(page, "Title", "Spring and summer")
    press(page, page.get_by_role("button", name="Make the report"))
    expect(page.get_by_role("link", name="Read the report on the project")).to_be_visible(timeout=60_000)
    press(page, page.get_by_role("link", name="Read the report on the project"))
    expect(page.locator("h1")).to_have_text("Spring and summer")
    photograph(page, f"{look.name}-project-report")
    assert flaws(page, look) == []
