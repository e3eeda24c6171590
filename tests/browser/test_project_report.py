"""The report on a whole project in a real browser: without barriers, in any window, and on paper."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from discreet.report.project import ProjectFile, project_page, tell
from tests.browser.walking import Look, every_look, flaws, photograph, sideways
from tests.report.project.world import furnish
from tests.report.samples import WHEN

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    story = tell(ProjectFile.load(furnish(tmp_path_factory.mktemp("project"))))
    target = tmp_path_factory.mktemp("report") / "project.html"
    page = project_page(story, created=WHEN, command="discreet report project.toml", version="0.1.0")
    target.write_text(page, encoding="utf-8")
    return target


@pytest.fixture
def paper(chromium: Browser, report: Path) -> Iterator[Page]:
    page = chromium.new_page()
    page.goto(report.as_uri())
    yield page
    page.close()


@every_look
def test_it_is_without_barriers_and_fits(chromium: Browser, report: Path, look: Look) -> None:
    context = chromium.new_context(**look.window)
    page = context.new_page()
    page.goto(report.as_uri())
    photograph(page, f"project-{look.name}")
    assert sideways(page) == 0
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert flaws(page, look) == []
    context.close()


def test_on_paper_nothing_is_cut_off_and_every_page_says_what_it_is(paper: Page, tmp_path: Path) -> None:
    paper.emulate_media(media="print")
    paper.set_viewport_size({"width": 688, "height": 1000})  # A4 without its margins
    cut = paper.evaluate(
        "[...document.querySelectorAll('table')].filter(t => t.offsetParent && t.getBoundingClientRect().right > innerWidth + 1)"
        ".map(t => t.caption.textContent)"
    )
    assert cut == []
    target = tmp_path / "project.pdf"
    paper.pdf(path=target, format="A4", prefer_css_page_size=True, print_background=True)
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    done = subprocess.run(["pdftotext", "-layout", str(target), "-"], capture_output=True, text=True, check=True)
    pages = done.stdout.split("\f")[:-1]
    assert 4 <= len(pages) <= 14
    for number, text in enumerate(pages, start=1):
        assert "A whole story" in text
        assert "4 March 2025" in text
        assert f"Page {number} of {len(pages)}" in text
        assert "Discreet · head" in text
