"""A real table in a real browser: a workbook with several sheets, people with several rows, limits compared, last year's levels."""

from __future__ import annotations

import csv
import random
import tomllib
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from discreet.web.framework.page_words import COMMAND
from tests.browser.test_datasets import PATIENCE, wait_for_jobs
from tests.browser.walking import Place, Visit, barriers, photograph, sideways
from tests.sources.files.workbooks import xlsx

pytestmark = pytest.mark.browser
PEOPLE = 300


@pytest.fixture(scope="module")
def workbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sheets with tables and one that is hidden; each person has two rows in the first."""
    path = tmp_path_factory.mktemp("office") / "visits.xlsx"
    rng = random.Random(7)
    visits = [["patient_nr", "household_nr", "birth_year", "sex", "postcode", "ward", "cost"]]
    for number in range(PEOPLE):
        home = f"{rng.randrange(10, 14)}{rng.randrange(100, 110)}"
        person = [f"P{number:05}", f"H{number // 2:04}", rng.randrange(1940, 2000), rng.choice("FM"), home]
        visits += [[*person, rng.choice(["surgery", "eye"]), rng.choice(["1,5", "2,5", "-9"])] for _ in range(2)]
    wards = [["ward", "beds"], ["surgery", 20]]
    path.write_bytes(xlsx({"Visits 2024": visits, "Wards": wards, "Old": wards}, hidden=["Old"]))
    return path


def seen(page: Page, name: str) -> None:
    """Without barriers, and as people see it: wide and narrow, by day and by night."""
    assert barriers(page) == []
    assert not COMMAND.search(page.locator("main").inner_text()), name
    for width, scheme in ((390, "dark"), (1440, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert sideways(page) <= 0, (name, width)
        photograph(page, f"{name}-{width}-{scheme}")


def test_from_a_workbook_to_next_years_table(place: Place, visit: Visit, workbook: Path) -> None:
    page = visit("custodian", viewport={"width": 1440, "height": 900})
    page.goto("/datasets/new")
    seen(page, "new")
    page.get_by_label("File", exact=True).set_input_files(workbook)  # it is sent at once
    expect(page.get_by_role("heading", name="Which sheet?")).to_be_visible()
    expect(page.get_by_label("Old")).to_have_count(0)  # hidden sheets are not offered
    seen(page, "sheet")
    page.get_by_label("Visits 2024").check()
    page.get_by_role("button", name="Use this sheet").click()
    confirm = page.get_by_role("button", name="Confirm all roles and measure the risk")
    expect(confirm).to_be_visible(timeout=PATIENCE)
    seen(page, "profile")

    page.get_by_role("link", name="Policy", exact=True).click()
    seen(page, "policy")
    page.get_by_label("a person may have several rows").check()
    page.get_by_label("Column of the person", exact=True).select_option("patient_nr")
    page.get_by_label("Household", exact=True).select_option("household_nr")
    page.get_by_label("Codes for a missing value").fill("NA\n-9")
    page.get_by_label("Decimals of numbers").select_option(",")
    page.get_by_role("button", name="Save rows and values").click()
    expect(page.get_by_role("status")).to_contain_text("The policy is saved")
    text = page.get_by_label("The policy as TOML").input_value()
    said = {"sheet": "Visits 2024", "person": "patient_nr", "household": "household_nr", "missing": ["NA", -9]}
    assert tomllib.loads(text)["data"] == {**said, "decimal": ","}
    page.get_by_label("Worth of the detail of birth_year").fill("2")
    page.get_by_role("button", name="Save worth and levels").click()
    expect(page.get_by_label("Worth of the detail of birth_year")).to_have_value("2")
    page.get_by_role("button", name="Confirm all").click()
    expect(page.get_by_role("status")).to_contain_text("Confirmed")
    seen(page, "policy-saved")

    page.get_by_role("link", name="Risk", exact=True).click()
    page.get_by_role("button", name="Measure the risk").first.click()
    expect(page.get_by_role("heading", name="Findings", exact=True)).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="List the risk of every record").click()
    button = page.get_by_role("button", name=f"Download the list of {2 * PEOPLE} rows")
    expect(button).to_be_visible(timeout=PATIENCE)
    seen(page, "risk")
    with page.expect_download() as listed:
        button.click()
    rows = list(csv.DictReader(listed.value.path().read_text(encoding="utf-8").splitlines()))
    assert [int(row["row"]) for row in rows] == list(range(1, 2 * PEOPLE + 1))
    assert "household" in rows[0]

    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_label("Smallest groups").fill("2, 3")
    page.get_by_label("People who may be left out").fill("0; 5")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="Side by side")).to_be_visible(timeout=PATIENCE)
    seen(page, "compare")
    page.get_by_role("link", name="Use k = 3 with up to 5 % left out").click()
    expect(page.get_by_label("Smallest group of people")).to_have_value("3")
    expect(page.get_by_label("People who may be left out")).to_have_value("5")
    page.get_by_role("button", name="Find the best table").click()
    expect(page.get_by_role("button", name="Download the table")).to_be_visible(timeout=PATIENCE)
    seen(page, "protect")
    page.get_by_label("Levels", exact=True).select_option(index=1)
    page.get_by_role("button", name="Find the best table").click()
    expect(page.get_by_text("Levels were given, not searched.").first).to_be_visible(timeout=PATIENCE)
    seen(page, "levels")
    wait_for_jobs(place)
