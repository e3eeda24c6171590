"""A study of reviewers in a real browser: made, three participants from consent to the last pair, exported, evaluated."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from discreet.linkage.review.assignments import Limits
from tests.browser.walking import Place, Visit, barriers, photograph
from tests.linkage.worlds import PAIRS, PEOPLE, folder_of, registered
from tests.web.client import make_accounts
from tests.web.linking import given_out

pytestmark = pytest.mark.browser
SAME = [(0, 1), (2, 3), (4, 5)]
NAMES = ("worker", "worker2", "worker3")


def go_on(page: Page, button: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=button, exact=True).click()


def take_part(page: Page, picture: str) -> str:
    """From consent to the first pair; gives the interface by what the tutorial says."""
    page.goto("/linkage")
    page.get_by_role("link", name="Begin").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your consent")
    go_on(page, "Take part")
    expect(page.get_by_role("alert")).to_contain_text("Without consent nobody takes part")
    page.get_by_label("I have read this and take part.").check()
    go_on(page, "Take part")
    told = page.locator("section.panel p").nth(1).inner_text()
    photograph(page, f"study-tutorial-{picture}")
    assert barriers(page) == []
    go_on(page, "Practise")
    if "Opening a cell" in told:
        page.get_by_role("link", name="Open first name of pair 2").click()
        expect(page.locator("table.pair").nth(1)).to_contain_text("James")
    photograph(page, f"study-practice-{picture}")
    assert barriers(page) == []
    for pair, answer in enumerate(("same", "different", "same", "same"), start=1):
        page.get_by_role("group", name=f"Pair {pair}: one person?").get_by_label(answer).check()
    go_on(page, "See the answers")
    expect(page.locator("main")).to_contain_text("You were right about 3 of 4.")
    photograph(page, f"study-feedback-{picture}")
    go_on(page, "Go on to the quiz")
    for group in page.locator("fieldset").all():
        group.get_by_role("radio").first.check()
    photograph(page, f"study-quiz-{picture}")
    assert barriers(page) == []
    go_on(page, "See the answers")
    go_on(page, "Begin with the pairs")
    return told


def test_three_participants_from_consent_to_exported_results(place: Place, visit: Visit, tmp_path: Path) -> None:
    make_accounts(place.app, "worker2", "worker3")
    home, records = folder_of(tmp_path / "people")
    project = registered(place.app.state.site.ledger, home.path, name="Interfaces")
    truth, gold = tmp_path / "truth.csv", tmp_path / "gold.csv"
    truth.write_text("a,b\n" + "".join(f"r{a},r{b}\n" for a, b in SAME), encoding="utf-8")
    gold.write_text("a,b,same\nr0,r1,1\nr3,r6,0\n", encoding="utf-8")
    manager = visit("manager")
    manager.goto(f"/linkage/{project.id}")
    manager.set_input_files("#gold-truth", gold)
    go_on(manager, "Hide them")
    for name in ("minimum", "moderate", "full"):
        manager.get_by_role("checkbox", name=name, exact=False).locator(
            f"xpath=self::*[following-sibling::span/b='{name}']"
        ).first.uncheck()
    photograph(manager, "study-begin")
    assert barriers(manager) == []
    go_on(manager, "Make it a study")
    for name in NAMES:
        manager.get_by_role("checkbox", name=name, exact=True).check()
    go_on(manager, "Enrol")
    expect(manager.get_by_role("status")).to_contain_text("The pairs are assigned")

    seen = {}
    number = {tuple(sorted(pair)): at for at, pair in enumerate(records, start=1)}
    assert len(number) == len(PAIRS)
    assert len(PEOPLE) == 8
    for name in NAMES:
        page = visit(name)
        seen[name] = take_part(page, name)
        for decided in range(len(PAIRS) + 1):
            expect(page.get_by_role("checkbox", name="Single keys work")).to_be_visible()
            if decided == 0:
                photograph(page, f"study-pair-{name}")
                assert barriers(page) == []
                page.locator("tr.cell").nth(1).hover()
                page.wait_for_timeout(250)
                page.locator("h1").hover()
                if "Opening a cell" in seen[name]:
                    page.keyboard.press("ArrowRight")
                    page.keyboard.press("Enter")
                    expect(page.locator("#said")).to_contain_text("privacy risk")
            before = page.url
            page.keyboard.press("6" if decided % 2 else "2")
            page.wait_for_url(lambda address, before=before: address != before)
        expect(page.locator("h1")).to_have_text("Thank you")
    assert len(set(seen.values())) == 3, "three interfaces"

    manager.reload()
    expect(manager.get_by_role("region", name="Reviewers, their progress")).to_contain_text("faster than people read")
    expect(manager.get_by_role("region", name="Reviewers, their progress")).to_contain_text("3 of 4")
    photograph(manager, "study-done")
    assert barriers(manager) == []
    with manager.expect_download() as taken:
        manager.get_by_role("button", name="Export the study").click()
    with zipfile.ZipFile(taken.value.path()) as archive:
        tables = {
            name: list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8")))) for name in archive.namelist()
        }
    assert {row["condition"] for row in tables["participants.csv"]} == {"masked", "full without markup", "on demand"}
    assert len(tables["decisions.csv"]) == 3 * (len(PAIRS) + 1)
    assert all(row["seconds"] for row in tables["decisions.csv"]), "also of the first pair"
    acts = [(row["participant"], row["act"]) for row in tables["log.csv"]]
    for name in NAMES:
        assert {"tutorial", "practice", "quiz", "pairs", "hover", "decided"} <= {
            act for who, act in acts if who == name
        }
    assert {row["condition"] for row in tables["log.csv"] if row["act"] == "opened"} == {"on demand"}
    assert "Miller" not in str(tables)

    manager.set_input_files("#truth", truth)
    go_on(manager, "Evaluate")
    expect(manager.locator("main")).to_contain_text("By interface: all its reviewers together")
    expect(manager.locator("main")).to_contain_text("full without markup")
    photograph(manager, "study-evaluation")
    assert barriers(manager) == []


def test_four_pairs_on_a_page(place: Place, visit: Visit, tmp_path: Path) -> None:
    project = given_out(place.app, folder_of(tmp_path / "people")[0].path, limits=Limits.of("0.5"))
    page = visit("worker")
    page.goto(f"/linkage/{project.id}/review")
    page.get_by_role("link", name="four pairs on a page").click()
    expect(page.locator("h1")).to_have_text("Pairs 1 to 4 of 7")
    page.get_by_role("button", name="privacy risk: number of pair 2").click()
    expect(page.locator("section.sheet").nth(1).locator(".open").first).to_be_visible()
    go_on(page, "pair 2: same, high confidence")
    assert page.url.endswith("/sheet?from=1#" + (page.locator("section.sheet").nth(1).get_attribute("id") or ""))
    expect(page.get_by_role("button", name="pair 2: same, high confidence")).to_have_attribute("aria-pressed", "true")
    photograph(page, "review-sheet")
    assert barriers(page) == []
    page.get_by_role("link", name="Next pairs").click()
    expect(page.locator("h1")).to_have_text("Pairs 5 to 7 of 7")
