"""Every promise has its argument and its test, and every test that a page names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, name

PROMISE = DOCS / "explain" / "promise.md"
LINKED = re.compile(r"\[`(test_\w+)`\]\(([^)#]+)\)")
NAMED = re.compile(r"`(tests/[\w/]+(?:\.py|/)?)`")
ROOMS = {
    "kernel",
    "risk",
    "attacker",
    "anonymity",
    "releases",
    "linkage",
    "misuse",
    "gateway",
    "ledger",
    "web",
    "report",
}


def rows() -> list[list[str]]:
    """The rows of the table of promises, cell by cell."""
    lines = [line for line in PROMISE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    told = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [cells for cells in told if cells[0] != "promise"]


@pytest.mark.parametrize("cells", rows(), ids=lambda cells: cells[0][:60])
def test_a_promise_has_an_argument_and_a_test(cells: list[str]) -> None:
    promise, argument, tests = cells
    assert promise
    assert argument
    assert LINKED.search(tests)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_tests_that_a_page_links_to_are_there(page: Path) -> None:
    for test, file in LINKED.findall(page.read_text(encoding="utf-8")):
        assert f"def {test}(" in (page.parent / file).read_text(encoding="utf-8"), test


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_of_tests_that_a_page_names_are_there(page: Path) -> None:
    for file in NAMED.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / file).exists(), file


def test_every_room_promises_something() -> None:
    told = {file.split("/")[3] for _, file in LINKED.findall(PROMISE.read_text(encoding="utf-8"))}
    assert told >= ROOMS


@pytest.mark.parametrize("page", sorted((DOCS / "explain").glob("*.md")), ids=name)
def test_every_explanation_says_where_it_is_checked(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert LINKED.search(text) or NAMED.search(text) or re.search(r"\]\(\.\./\.\./tests/[\w/]+\.py\)", text)
