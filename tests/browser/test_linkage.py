"""A whole linkage project in a real browser, by keyboard alone: made, given out, reviewed, settled, taken away."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from discreet.linkage import Pairs, adopt_pairs, load_candidates
from discreet.linkage.project import Project
from discreet.linkage.review.assignments import Limits
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
from tests.linkage.worlds import folder_of, registered
from tests.web.client import make_accounts
from tests.web.linking import given_out

pytestmark = pytest.mark.browser
FIRST = "id,given_name,surname,birth_date,sex,diagnosis\n" + "".join(
    f"a{at},{given},{family},{born},{sex},J{at}\n"
    for at, (given, family, born, sex) in enumerate(
        [
            ("Mary", "Miller", "1964-08-09", "F"),
            ("Robert", "Jones", "1971-01-30", "M"),
            ("Anne", "Leigh", "1980-05-05", "F"),
        ]
    )
)
SECOND = "id,given_name,surname,born,sex,plan\n" + "".join(
    f"b{at},{given},{family},{born},{sex},P{at}\n"
    for at, (given, family, born, sex) in enumerate(
        [
            ("Marie", "Miller", "1964-09-08", "F"),
            ("Jones", "Robert", "1971-01-30", "M"),
            ("Ann", "Lee", "1981-05-05", "F"),
        ]
    )
)
PAIRS = "a,b\n" + "".join(f"a{at},b{at}\n" for at in range(3))


def choose(page: Page, label: str, value: str) -> None:
    """Choose from a list by keyboard: its first letters are typed."""
    tab_to(page, page.get_by_label(label, exact=True))
    page.keyboard.type(value)


def tick(page: Page, name: str) -> None:
    """Check a box by keyboard."""
    tab_to(page, page.get_by_role("checkbox", name=name, exact=True))
    page.keyboard.press("Space")


def listening(page: Page) -> None:
    """Wait until the page listens to keys."""
    expect(page.get_by_role("checkbox", name="Single keys work")).to_be_visible()


def here(page: Page) -> str:
    """The attribute whose cell has the focus."""
    return page.locator("tr.cell.here th").inner_text()


def go_to(page: Page, attribute: str) -> None:
    """By arrows to a cell."""
    for _ in range(12):
        if page.locator("tr.cell.here").count() and here(page) == attribute:
            return
        page.keyboard.press("ArrowRight")
    raise AssertionError(f"the arrows do not lead to {attribute}")


def value(page: Page, attribute: str, row: int) -> str:
    """What stands in a cell."""
    cell = page.locator("tr.cell", has=page.get_by_role("rowheader", name=attribute, exact=True))
    return cell.locator(".mask").nth(row).inner_text()


def meter(page: Page, name: str) -> str:
    """What a meter says."""
    return page.get_by_role("meter", name=name).get_attribute("aria-valuetext") or ""


def decide(page: Page, key: str) -> None:
    """Answer by a key and wait for the next page."""
    listening(page)
    before = page.url
    page.keyboard.press(key)
    page.wait_for_url(lambda address: address != before)


def make_project(page: Page, place: Path) -> None:
    """A manager brings three files and declares the columns."""
    for name, text in (("a.csv", FIRST), ("b.csv", SECOND), ("p.csv", PAIRS)):
        (place / name).write_text(text, encoding="utf-8")
    page.goto("/linkage")
    press(page, page.get_by_role("link", name="Make a project").first)
    type_into(page, "Name of the project", "Clinic and registry")
    for label, name in (("#first", "a.csv"), ("#second", "b.csv")):
        page.set_input_files(label, place / name)
    tab_to(page, page.get_by_text("Ready pairs, encoding"))
    page.keyboard.press("Enter")
    page.set_input_files("#pairs", place / "p.csv")
    photograph(page, "linkage-new")
    assert barriers(page) == []
    press(page, page.get_by_role("button", name="Continue to the columns"))
    choose(page, "What diagnosis is for", "sens")
    choose(page, "What plan of b.csv is for", "sens")
    photograph(page, "linkage-columns")
    assert barriers(page) == []
    press(page, page.get_by_role("button", name="Make the project"))
    page.wait_for_url("**/linkage/1?said=made", timeout=90_000)
    photograph(page, "linkage-project-new")
    assert barriers(page) == []


def test_a_whole_project_by_keyboard(place: Place, visit: Visit, tmp_path: Path) -> None:
    make_accounts(place.app, "worker2", "worker3")
    manager = visit("manager")
    make_project(manager, tmp_path)
    for name in ("worker", "worker2"):
        tick(manager, name)
    type_into(manager, "Reviewers per pair", "2")
    type_into(manager, "Privacy risk limit, in per cent", "25")
    type_into(manager, "Character limit, in per cent", "60")
    press(manager, manager.get_by_role("button", name="Assign", exact=True))
    expect(manager.get_by_role("status")).to_contain_text("The pairs are assigned")

    review(visit("worker"))
    second = visit("worker2")
    press(second, second.get_by_role("navigation", name="Places").get_by_role("link", name="Linkage"))
    press(second, second.get_by_role("link", name="Begin"))
    for _ in range(3):
        decide(second, "2")
    expect(second.locator("h1")).to_have_text("Thank you")

    manager.reload()
    expect(manager.get_by_text("3 pairs are in dispute")).to_be_visible()
    photograph(manager, "linkage-project-disputes")
    assert barriers(manager) == []
    choose(manager, "Adjudicator", "worker3")
    press(manager, manager.get_by_role("button", name="Assign disputed pairs"))
    third = visit("worker3")
    third.goto("/linkage")
    press(third, third.get_by_role("link", name="Begin"))
    expect(third.get_by_text("adjudication:")).to_be_visible()
    opened = 0
    for _ in range(3):
        opened += third.locator("tr.cell .p.open").count()
        decide(third, "6")
    assert opened, "what the reviewers opened is open to whoever settles"
    expect(third.locator("h1")).to_have_text("Thank you")

    manager.goto("/linkage/1")
    tab_to(manager, manager.get_by_role("button", name="Export"))
    with manager.expect_download() as waiting:
        manager.keyboard.press("Enter")
    with zipfile.ZipFile(io.BytesIO(waiting.value.path().read_bytes())) as archive:
        linked = list(csv.DictReader(io.StringIO(archive.read("linked.csv").decode())))
    assert {(row["diagnosis"], row["plan"]) for row in linked} == {("J0", "P0"), ("J1", "P1"), ("J2", "P2")}
    assert set(linked[0]) == {"person", "diagnosis", "plan"}


def review(page: Page) -> None:
    """One reviewer: looks, pays, hits a limit, decides, undoes, finishes; all by keys."""
    press(page, page.get_by_role("navigation", name="Places").get_by_role("link", name="Linkage"))
    press(page, page.get_by_role("link", name="Begin"))
    expect(page.locator("h1")).to_have_text("Pair 1 of 3")
    listening(page)
    free = meter(page, "Privacy risk (KAPR)")
    page.keyboard.press("ArrowRight")
    attribute = here(page)
    masked = value(page, attribute, 0)
    expect(page.locator("[data-gauge=risk] [data-preview]")).to_contain_text("+")
    assert meter(page, "Privacy risk (KAPR)") == free, "a look at the price costs nothing"
    photograph(page, "review-price")
    page.keyboard.press("r")
    expect(page.locator("#said")).to_contain_text("row A:")
    assert value(page, attribute, 0) != masked
    assert meter(page, "Privacy risk (KAPR)") != free
    assert here(page) == attribute, "the focus stays"
    assert barriers(page) == []
    paid = open_until_refused(page)
    photograph(page, "review-limit")
    assert barriers(page) == []
    decide(page, "6")
    expect(page.locator("h1")).to_have_text("Pair 2 of 3")
    listening(page)
    page.keyboard.press("z")
    expect(page.get_by_text("The decision is undone")).to_be_visible()
    expect(page.locator("h1")).to_have_text("Pair 1 of 3")
    assert meter(page, "Privacy risk (KAPR)") == paid, "what was opened stays paid"
    listening(page)
    page.keyboard.press("n")
    expect(page.locator("h1")).to_have_text("Pair 2 of 3")
    listening(page)
    page.keyboard.press("p")
    expect(page.locator("h1")).to_have_text("Pair 1 of 3")
    for key in ("5", "4"):
        decide(page, key)
    expect(page.locator("h1")).to_have_text("Pair 3 of 3")
    decide(page, "0")
    expect(page.locator("h1")).to_have_text("Thank you")
    photograph(page, "review-thanks")
    assert barriers(page) == []


def open_until_refused(page: Page) -> str:
    """Open cell after cell until one is refused; gives what the meter says then."""
    for _ in range(20):
        if page.locator("tr.cell.shut").count():
            go_to(page, page.locator("tr.cell.shut th").first.inner_text())
            page.keyboard.press("Enter")
            expect(page.locator("#said")).to_contain_text("Stays shut: your limit")
            return meter(page, "Privacy risk (KAPR)")
        before = page.locator("#review").get_attribute("data-announce")
        open_one = page.locator("tr.cell:not(.shut):not(.whole) th").first.inner_text()
        go_to(page, open_one)
        page.keyboard.press("Enter")
        expect(page.locator("#review")).not_to_have_attribute("data-announce", before or "")
        if page.locator(".refusal").count():
            expect(page.locator("#said")).to_contain_text("Refused: your limit")
            return meter(page, "Privacy risk (KAPR)")
    raise AssertionError("no limit was met")


@pytest.fixture
def project(place: Place, tmp_path: Path) -> Project:
    """A project whose pairs the worker has."""
    return given_out(place.app, folder_of(tmp_path / "people")[0].path, limits=Limits.of("0.3", "0.5"))


@every_look
def test_pairs_fit_and_have_no_barriers(place: Place, visit: Visit, project: Project, look: Look) -> None:
    page = visit("worker", **look.window)
    for pair in (1, 3):
        page.goto(f"/linkage/{project.id}/pairs/{pair}")
        listening(page)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("r")
        expect(page.locator("#said")).to_contain_text("row A:")
        photograph(page, f"review-{pair}-{look.name}")
        assert flaws(page, look) == [], pair
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    photograph(page, f"review-help-{look.name}")
    assert barriers(page) == []
    page.keyboard.press("Escape")
    page.goto("/linkage")
    photograph(page, f"linkage-list-{look.name}")
    assert barriers(page) == []


@every_look
def test_pages_of_managers_have_no_barriers(place: Place, visit: Visit, project: Project, look: Look) -> None:
    page = visit("manager", **look.window)
    for at in ("", f"/{project.id}", f"/{project.id}/zones", "/new"):
        page.goto(f"/linkage{at}")
        photograph(page, f"manager{at.replace('/', '-')}-{look.name}")
        assert flaws(page, look) == [], at


def test_thresholds_are_dragged_with_live_counts(place: Place, visit: Visit, tmp_path: Path) -> None:
    """By mouse and by keyboard; the numbers are those of the server, and what is saved is what was shown."""
    folder, _ = folder_of(tmp_path / "scored")
    pairs = load_candidates(folder).pairs
    weights = np.linspace(-8, 12, len(pairs))
    adopt_pairs(folder, Pairs.of(pairs.first.tolist(), pairs.second.tolist(), weights.tolist())).save(folder)
    project = registered(place.app.state.site.ledger, folder.path, name="scored")
    page = visit("manager", viewport={"width": 1440, "height": 900})
    page.goto(f"/linkage/{project.id}/zones")
    counts = page.locator(".zone-counts b")
    slider = page.get_by_role("slider", name="The same from")
    slider.scroll_into_view_if_needed()
    photograph(page, "zones-before")
    box = slider.bounding_box()
    assert box is not None
    with page.expect_response("**/zones/preview?*"):
        page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2, steps=8)
        page.mouse.up()
    expect(page.locator("#zones-shown:not([aria-busy])")).to_have_count(1)
    upper = float(page.get_by_label("The same from", exact=True).first.input_value())
    assert -8 < upper < 12
    expect(counts.nth(2)).to_have_text(str(int((weights >= upper).sum())))
    photograph(page, "zones-dragged")
    assert barriers(page) == []
    # By keyboard: the lower threshold pushes the upper one along.
    lower = page.get_by_role("slider", name="Different below")
    tab_to(page, lower)
    page.keyboard.press("End")
    expect(counts.nth(0)).to_have_text(str(len(weights)))
    page.keyboard.press("Home")
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    moved = float(page.get_by_label("Different below", exact=True).first.input_value())
    expect(counts.nth(0)).to_have_text(str(int((weights < moved).sum())))
    expect(page.locator("#zones-said")).to_contain_text("for people")
    # Another way to divide moves the sliders to what it gives.
    page.get_by_label("Pairs for people").fill("3")
    expect(counts.nth(1)).to_have_text("3")
    assert page.get_by_role("radio", name="by how many pairs people can review").is_checked()
    people = counts.nth(1).inner_text()
    # What cannot be is said, and the form goes on.
    page.get_by_label("Pairs for people").fill("many")
    expect(page.locator("#zones-shown")).to_contain_text("must be a whole number")
    page.get_by_label("Pairs for people").fill("3")
    expect(counts.nth(1)).to_have_text("3")
    press(page, page.get_by_role("button", name="Divide"))
    expect(counts.nth(1)).to_have_text(people)
    assert load_candidates(folder).counts["people"] == 3


def test_every_sign_is_said_in_words(place: Place, visit: Visit, project: Project) -> None:
    page = visit("worker")
    told = []
    for pair in range(1, 8):
        page.goto(f"/linkage/{project.id}/pairs/{pair}")
        told += page.locator("tr.cell .unseen").all_inner_texts()
    words = " ".join(told)
    assert "family, row A: 5 characters, all different; swapped with given of row B" in words or (
        "family, row A: 6 characters, all different; swapped with given of row B" in words
    )
    assert "day and month exchanged" in words
    assert "row B: missing" in words or "row A: missing" in words
    assert not {"@", "&", "*"} & set(words), "signs are not read aloud"


def test_keys_can_be_switched_off(place: Place, visit: Visit, project: Project) -> None:
    page = visit("worker")
    page.goto(f"/linkage/{project.id}/pairs/1")
    page.get_by_role("checkbox", name="Single keys work").uncheck()
    page.locator("h1").click()
    for key in ("6", "r", "z", "n"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    expect(page.locator("h1")).to_have_text(page.locator("h1").inner_text())
    assert page.url.endswith("/pairs/1")
    assert meter(page, "Privacy risk (KAPR)").startswith("0 %")
    page.reload()
    expect(page.get_by_role("checkbox", name="Single keys work")).not_to_be_checked()
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert stored == '[{"discreet-keys":"off"},{}]'


def test_the_mouse_previews_and_opens(place: Place, visit: Visit, project: Project) -> None:
    page = visit("worker")
    page.goto(f"/linkage/{project.id}/pairs/1")
    listening(page)
    cell = page.locator("tr.cell").first
    cell.hover()
    expect(page.locator("[data-gauge=risk] [data-preview]")).to_contain_text("+")
    page.locator("h1").hover()
    expect(page.locator("[data-gauge=risk] [data-preview]")).to_have_text("")
    cell.get_by_role("button").click()
    expect(page.locator("#said")).to_contain_text("row A:")


def test_reviewers_need_no_script(place: Place, visit: Visit, project: Project) -> None:
    page = visit("worker", java_script_enabled=False)
    page.goto(f"/linkage/{project.id}/pairs/1")
    expect(page.get_by_role("checkbox")).to_have_count(0)
    before = meter(page, "Privacy risk (KAPR)")
    page.get_by_role("button", name="Show").first.click()
    assert meter(page, "Privacy risk (KAPR)") != before
    page.get_by_text("Keys and signs").click()
    expect(page.get_by_text("a character that is the same in both rows")).to_be_visible()
    page.get_by_role("button", name="same, high confidence").click()
    expect(page.locator("h1")).to_contain_text("of 7")
    page.get_by_role("button", name="undo").click()
    expect(page.get_by_text("The decision is undone")).to_be_visible()
