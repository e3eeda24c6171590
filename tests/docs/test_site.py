"""The documentation is built as a site: strictly, from every page, and so that it opens without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

PAGES = sorted(page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md"))
LOADS = {
    "link": "href",
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "use": "href",
}


class Seen(HTMLParser):
    """What a page loads, and the text of its paragraphs."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: set[str] = set()
        self.paragraphs: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [value or "" for name, value in attrs if LOADS.get(tag) == name]
        if tag == "p":
            self.inside = True
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "p"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it; a warning, a page outside the navigation or a dead link or anchor ends the build."""
    folder: Path = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "properdocs", "build", "--strict", "-f", str(ROOT / "handbook" / "properdocs.yml")]
    done = subprocess.run([*build, "-d", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def seen(site: Path, page: str) -> Seen:
    found = Seen()
    found.feed((site / f"{page}.html").read_text(encoding="utf-8"))
    return found


def test_every_page_is_built(site: Path) -> None:
    built = {page.relative_to(site).with_suffix("").as_posix() for page in site.rglob("*.html")}
    assert built == set(PAGES)


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in PAGES:
        found = seen(site, page)
        assert "script" not in found.tags
        assert found.loads
        assert all("//" not in address and ":" not in address for address in found.loads), page
    assert not re.search(r"url\(|@import", (site / "style.css").read_text(encoding="utf-8"))


def test_lists_tables_and_code_are_recognised_as_such(site: Path) -> None:
    for page in PAGES:
        for paragraph in seen(site, page).paragraphs:
            odd = re.search(r"^\s*(?:- |\* |\d+\. |\||```)", paragraph, re.MULTILINE)
            assert not odd, f"{page}: {paragraph[:120]}"


def test_a_dead_link_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[b](index.md#nowhere)\n", encoding="utf-8")
    told = (ROOT / "handbook" / "properdocs.yml").read_text(encoding="utf-8")
    told = re.sub(r"nav:\n  - .*", "nav: [index.md]", told, flags=re.DOTALL)
    told = told.replace("../docs", "docs").replace("custom_dir: theme", f"custom_dir: {ROOT / 'handbook' / 'theme'}")
    told = told.replace("[outside.py]", "[]").replace("../build/docs", "built")
    (tmp_path / "properdocs.yml").write_text(told, encoding="utf-8")
    build = [sys.executable, "-m", "properdocs", "build", "-f", str(tmp_path / "properdocs.yml")]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "#nowhere" in done.stderr
