"""Data sets in a real browser: from a file to a report and a safe table, without a mouse, and without a script."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as TooLate

from discreet.demo.web_data import bring_hospital
from discreet.people import write_demo
from discreet.web.jobs import store as jobs
from discreet.web.jobs.store import ACTIVE
from tests.browser.walking import Look, Place, Visit, barriers, every_look, flaws, photograph, press, tab_to
from tests.web.jobs.working import until
from tests.web.samples import make_dataset

pytestmark = pytest.mark.browser
PATIENCE = 60_000
ATTEMPTS = 20
TABS = ("", "/risk", "/attacker", "/protect", "/policy", "/remove")


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hospital's table of people who do not exist."""
    return write_demo(tmp_path_factory.mktemp("people"), people=20_000, seed=2).hospital


def wait_for_jobs(place: Place) -> None:
    def idle() -> bool:
        with place.app.state.site.store.reading() as connection:
            return not jobs.newest(connection, states=ACTIVE)

    until(idle, what="the end of the jobs")


def choose_file(page: Page, path: Path) -> None:
    """Open the dialogue of the browser by keyboard and choose."""
    field = page.get_by_label("File", exact=True)
    tab_to(page, field)
    for _ in range(ATTEMPTS):
        try:
            with page.expect_file_chooser(timeout=1_000) as chooser:
                page.keyboard.press("Enter")
        except TooLate:  # a busy browser sometimes drops the dialogue that it was about to open
            continue
        chooser.value.set_files(path)
        return
    raise AssertionError("Enter does not open the dialogue")


def test_upload_assess_and_read_the_report_without_a_mouse(place: Place, visit: Visit, hospital: Path) -> None:
    page = visit("custodian")
    press(page, page.get_by_role("navigation", name="Places").get_by_role("link", name="Data sets"))
    expect(page.get_by_role("heading", name="No data set yet")).to_be_visible()
    press(page, page.get_by_role("link", name="Add a data set"))
    expect(page.locator("h1")).to_have_text("Add a data set")
    assert barriers(page) == []
    with page.expect_navigation():  # it is sent as soon as it is chosen
        choose_file(page, hospital)
    expect(page.get_by_role("status")).to_contain_text("The data set is added")
    expect(page.get_by_text("its name says 'zip'")).to_be_visible(timeout=PATIENCE)  # the page has redrawn itself
    assert barriers(page) == []
    role = page.get_by_label("Role of visits")
    tab_to(page, role)
    page.keyboard.press("q")  # as in any list: the first that begins so
    expect(role).to_have_value("quasi")
    press(page, page.get_by_role("button", name="Save the roles and measure the risk"))
    expect(page.get_by_role("heading", name="The risk with these roles")).to_be_visible(timeout=PATIENCE)
    photograph(page, "walk-profile")
    press(page, page.get_by_role("navigation", name="About this data set").get_by_role("link", name="Risk"))
    expect(page.get_by_role("heading", name="Findings", exact=True)).to_be_visible()
    assert barriers(page) == []
    photograph(page, "walk-risk")
    download = page.get_by_role("button", name="Download the report")
    tab_to(page, download)
    with page.expect_download() as report:
        page.keyboard.press("Enter")
    text = report.value.path().read_text(encoding="utf-8")
    assert "Risk of hospital.csv" in text
    press(page, page.get_by_role("navigation", name="Places").get_by_role("link", name="Reports"))
    press(page, page.get_by_role("link", name="Risk, report"))
    expect(page.locator("h1")).to_have_text("Risk: hospital.csv")
    assert barriers(page) == []


def test_the_whole_way_without_a_script(place: Place, visit: Visit, hospital: Path) -> None:
    page = visit("custodian", java_script_enabled=False)
    page.goto("/datasets/new")
    page.get_by_label("File", exact=True).set_input_files(hospital)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("its name says 'zip'")).to_be_visible(timeout=PATIENCE)  # loaded again by itself
    page.get_by_role("link", name="Protect").click()
    expect(page.get_by_role("button", name="Find the best table")).to_be_disabled()
    page.get_by_role("link", name="Confirm the roles of the columns").click()
    page.get_by_role("button", name="Confirm identifier for surname").click()
    expect(page.get_by_role("status")).to_contain_text("Confirmed")
    expect(page.get_by_role("button", name="Confirm identifier for surname")).to_have_count(0)
    page.get_by_role("link", name="Profile", exact=True).first.click()
    page.get_by_role("button", name="Confirm the role of zip").click()
    expect(page.get_by_label("Role of zip")).to_have_value("quasi")
    page.get_by_role("button", name="Confirm all roles and measure the risk").click()
    expect(page.get_by_role("heading", name="The risk with these roles")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("link", name="Protect").click()
    page.get_by_label("Smallest group of people who look alike (k)").fill("3")
    page.get_by_label("People who may be left out, in per cent").fill("40")
    page.get_by_role("button", name="Find the best table").click()
    expect(page.locator(".pill", has_text="Nothing better exists")).to_be_visible(timeout=PATIENCE)
    photograph(page, "without-script-protect")
    with page.expect_download() as table:
        page.get_by_role("button", name="Download the table").click()
    assert table.value.path().read_text(encoding="utf-8").startswith("birth_date,")
    page.get_by_role("link", name="Profile").click()
    page.get_by_role("link", name="Remove this data set").click()
    expect(page.get_by_text("This cannot be undone")).to_be_visible()
    page.get_by_role("button", name="Remove hospital.csv").click()
    expect(page.get_by_role("status")).to_contain_text("is removed")


def test_a_job_is_cancelled_while_somebody_looks_at_it(place: Place, visit: Visit) -> None:
    number = make_dataset(place.app, "custodian")
    site = place.app.state.site
    site.supervisor.close()  # so that it waits
    page = visit("custodian")
    page.goto(f"/datasets/{number}/risk")
    press(page, page.get_by_role("button", name="Measure the risk").first)
    expect(page.get_by_text("Waiting for its turn")).to_be_visible()
    assert barriers(page) == []
    photograph(page, "job-waiting")
    press(page, page.get_by_role("button", name="Cancel"))
    expect(page.get_by_role("status")).to_contain_text("The job is cancelled.")
    assert barriers(page) == []


def test_a_bad_file_is_explained(place: Place, visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,age\n", encoding="utf-8")
    page = visit("custodian")
    page.goto("/datasets/new")
    with page.expect_navigation():
        choose_file(page, tmp_path / "people.csv")
    expect(page.get_by_role("alert")).to_contain_text("nobody in people.csv")
    expect(page.get_by_role("alert")).to_contain_text("Next")
    photograph(page, "bad-file")
    assert barriers(page) == []


@every_look
def test_a_furnished_data_set_is_without_barriers_and_fits(place: Place, visit: Visit, look: Look) -> None:
    site = place.app.state.site
    bring_hospital(site)
    page = visit("custodian", **look.window)
    page.goto("/datasets")
    page.get_by_role("link", name="hospital.csv").click()
    here = page.url.partition("?")[0]
    for tab, button in (("/attacker", "Plan the attack"), ("/protect", "Find the best table")):
        page.goto(here + tab)
        page.get_by_role("button", name=button).click()
    wait_for_jobs(place)
    for tab in TABS:
        page.goto(here + tab)
        photograph(page, f"{look.name}-hospital{tab.replace('/', '-')}")
        assert flaws(page, look) == [], tab
    page.goto(f"{here}/protect")
    press(page, page.get_by_role("link", name="Look at other combinations of levels"))
    photograph(page, f"{look.name}-lattice")
    assert flaws(page, look) == []
    press(page, page.locator("table").first.get_by_role("link").last)
    expect(page.get_by_role("heading", name="Another combination of levels")).to_be_visible()
    photograph(page, f"{look.name}-lattice-other")
    assert barriers(page) == []
    page.goto("/jobs")
    photograph(page, f"{look.name}-jobs-full")
    assert barriers(page) == []


GUESSES = '[columns.sex]\nrole = "quasi?"\n\n[columns.age]\nrole = "sensitive?"\n'


@every_look
def test_guessed_roles_are_shown_without_barriers_and_confirmed_without_a_mouse(
    place: Place, visit: Visit, look: Look
) -> None:
    number = make_dataset(place.app, "custodian", policy=GUESSES)
    page = visit("custodian", **look.window)
    for tab in ("", "/protect", "/releases", "/policy"):
        page.goto(f"/datasets/{number}{tab}")
        photograph(page, f"{look.name}-guesses{tab.replace('/', '-')}")
        assert flaws(page, look) == [], tab
    if look.name == "light":
        press(page, page.get_by_role("button", name="Confirm sensitive for age"))
        expect(page.get_by_role("status")).to_contain_text("Confirmed")
        press(page, page.get_by_role("button", name="Confirm all"))
        expect(page.get_by_role("heading", name="Roles to confirm")).to_have_count(0)
        assert barriers(page) == []
