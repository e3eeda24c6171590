"""Two custodians release a table in a real browser: by keyboard, without a script, without a barrier; then a leak is traced."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

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
from tests.web.client import make_accounts
from tests.web.release_data import bring_town, plan, released, work_off

pytestmark = pytest.mark.browser


def fill_in(page: Page) -> None:
    """Plan a release by keyboard."""
    press(page, page.get_by_role("navigation", name="Places").get_by_role("link", name="Releases"))
    photograph(page, "releases-empty")
    press(page, page.get_by_role("link", name="Plan a release"))
    type_into(page, "Name of the release", "spring")
    tab_to(page, page.get_by_label("Data set", exact=True))
    page.keyboard.type("town")
    tab_to(page, page.get_by_label("Its population"))
    page.keyboard.type("everybody")
    tab_to(page, page.get_by_label("Recipients"))
    page.keyboard.insert_text("north\nsouth\nwest")
    type_into(page, "Smallest class (k): people who look alike", "3")
    type_into(page, "People who may be left out, in per cent", "30")
    tab_to(page, page.get_by_text("If it is refused"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("checkbox", name="Proceed with fewer"))
    page.keyboard.press("Space")
    type_into(page, "Where the population comes from", "A town that does not exist")
    type_into(page, "What allows its use for this", "made up")
    type_into(page, "Sign-off", "TEST-1")
    tab_to(page, page.get_by_role("checkbox", name="Only counts"))
    page.keyboard.press("Space")
    photograph(page, "releases-new-filled")
    press(page, page.get_by_role("button", name="Plan and run the pre-flight"))


def test_from_the_plan_to_the_evidence_by_keyboard(place: Place, visit: Visit, tmp_path: Path) -> None:
    make_accounts(place.app, "custodian2")
    bring_town(place.app)
    one = visit("custodian")
    fill_in(one)
    expect(one.get_by_role("status")).to_contain_text("The plan is saved")
    expect(one.get_by_text("claims until identified")).to_be_visible(timeout=60_000)
    photograph(one, "releases-plan-own")
    assert barriers(one) == []
    other = visit("custodian2")
    press(other, other.get_by_role("link", name="Review the plan"))
    photograph(other, "releases-plan-other")
    assert barriers(other) == []
    press(other, other.get_by_role("button", name="Approve"))
    expect(other.get_by_role("status")).to_contain_text("You approved the plan")
    photograph(other, "releases-plan-approved")
    press(other, other.get_by_role("button", name="Make the copies"))
    expect(other.get_by_text("The copies are made")).to_be_visible(timeout=60_000)
    press(other, other.get_by_role("link", name="Go to the copies"))
    assert barriers(other) == []
    with other.expect_download() as taken:
        tab_to(other, other.get_by_role("button", name="Hand over : south"))
        other.keyboard.press("Enter")
    archive = zipfile.ZipFile(io.BytesIO(Path(taken.value.path()).read_bytes()))
    leak = tmp_path / "found.csv"
    leak.write_bytes(b"".join(archive.read(name) for name in archive.namelist() if name.startswith("data")))
    if "data.parquet" in archive.namelist():
        leak = leak.rename(tmp_path / "found.parquet")
    other.reload()
    expect(other.get_by_role("row", name="south")).to_contain_text("Hand over again")
    photograph(other, "releases-release")
    other.get_by_label("Drop the file here, or choose it").set_input_files(leak)
    press(other, other.get_by_role("button", name="Trace the file"))
    expect(other.locator("main")).to_contain_text("south is accused")
    photograph(other, "releases-trace")
    assert barriers(other) == []


@every_look
def test_every_page_fits_and_has_no_barriers(place: Place, visit: Visit, look: Look) -> None:
    make_accounts(place.app, "custodian2")
    released(place.app)
    plan(place.app, name="autumn-2026", recipients="university\nregistry of diseases\ninstitute")
    work_off(place.app)
    page = visit("custodian2", **look.window)
    page.goto("/releases/named/spring")
    page.get_by_label("Paste claims").fill("zip,year,sex\n001,1950,F\n")
    page.get_by_role("button", name="Trace the claims").click()
    expect(page.get_by_role("status")).to_contain_text("The trace is recorded")
    trace = page.url.partition("?")[0].removeprefix(place.origin)
    for path in ("/releases", "/releases/new", "/releases/named/spring", "/releases/plans/2", trace, "/"):
        page.goto(path)
        photograph(page, f"releases-{path.strip('/').replace('/', '-') or 'dashboard'}-{look.name}")
        assert flaws(page, look) == [], path


def test_the_desk_needs_no_script(place: Place, visit: Visit) -> None:
    make_accounts(place.app, "custodian2")
    plan(place.app)
    page = visit("custodian2", java_script_enabled=False)
    page.goto("/releases/plans/1")
    expect(page.get_by_role("button", name="Approve")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="Make the copies").click()
    expect(page.get_by_text("The copies are made")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Go to the copies").click()
    with page.expect_download():
        page.get_by_role("button", name="Hand over : north").click()
    page.reload()
    page.locator("summary", has_text="Retire west").click()
    page.get_by_role("button", name="Retire west").click()
    expect(page.get_by_role("status")).to_contain_text("gets no further copies")
