"""The page on room for decoys: one well-formed document that loads nothing and tells nobody's value."""

from __future__ import annotations

import html

import pytest

from discreet.report.feasibility import candidates, factors, largest
from discreet.report.toolkit.page import figure
from tests.report.documents import (
    check_landmarks_and_headings,
    check_that_names_and_links_meet,
    check_that_nothing_is_loaded_or_runs,
    drawn,
)
from tests.report.feasibility_samples import KINDS, page
from tests.report.samples import HOSTILE, Outline

PAGES = {(kind, grid): page(kind, grid=grid) for kind in KINDS for grid in (True, False)}


@pytest.mark.parametrize("key", PAGES, ids=str)
def test_the_page_keeps_the_promises_of_every_report(key: tuple[str, bool]) -> None:
    outline = Outline(PAGES[key])
    check_that_nothing_is_loaded_or_runs(outline)
    check_that_names_and_links_meet(outline)
    check_landmarks_and_headings(outline)
    assert len(PAGES[key].encode()) < 200_000
    assert len(outline.all("table")) == len(outline.all("caption"))


@pytest.mark.parametrize("kind", KINDS)
def test_no_value_of_a_person_is_told(kind: str) -> None:
    for code in ("101", "202", "304", "999"):
        assert f">{code}<" not in PAGES[kind, True]
    assert HOSTILE not in PAGES[kind, True]


def test_hostile_names_are_escaped() -> None:
    assert html.escape(HOSTILE) in PAGES["hostile", True]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("room", "There is room for decoys"),
        ("no room", "No room for decoys"),
        ("nobody released", "Nobody would be released"),
        ("uncovered", "not found in the population"),
    ],
)
def test_the_answer_is_said_in_words(kind: str, words: str) -> None:
    assert words in PAGES[kind, False]


def test_the_bands_of_factors_hold_every_candidate() -> None:
    found, _ = KINDS["room"]
    _, table = drawn(factors(found))
    cells = [text for tag, text in table.texts if tag == "td"]
    assert sum(int(cell) for cell in cells[::2]) == found.candidate_classes > 0


def test_the_grid_shows_every_cell() -> None:
    found, grid = KINDS["room"]
    outline = Outline(str(figure(candidates(grid), 1)))
    assert len(outline.all("path")) == len(grid.ks)
    cells = [text for tag, text in outline.texts if tag == "td"]
    assert len(cells) == 25
    assert f"{found.candidate_classes} ({found.candidates_without_subjects})" in cells
    outline = Outline(str(figure(largest(grid), 1)))
    assert found.max_factor == 120.0
    assert any(text.startswith("120 (") for tag, text in outline.texts if tag == "td")
