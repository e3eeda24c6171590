"""Items, their verdicts, and the page of a reproduction."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.reference import mindfirl, mscore
from discreet.reference.items import PrintedItem, Reproduction, cannot, judge, reproduction_page
from tests.report.documents import check_that_names_and_links_meet, check_that_nothing_is_loaded_or_runs
from tests.report.samples import WHEN, Outline


@pytest.mark.parametrize(
    ("printed", "ours", "within", "verdict"),
    [
        (48, 48, 0, "reproduces"),
        (48, 54, 0, "differs"),
        (0.63, 0.6299, 0.005, "reproduces"),
        ("31/432", "31/432", 0, "reproduces"),
        ("3/4", 0.75, 0, "differs"),
        ([2, 3], [2, 3], 0, "reproduces"),
        ([2, 3], [2, 3, 1], 0, "differs"),
        ({"a": 1}, {"a": 2}, 0.5, "differs"),
        ({"a": 1}, {"b": 1}, 0, "differs"),
    ],
)
def test_the_verdict_follows_from_the_values(printed: Any, ours: Any, within: float, verdict: str) -> None:
    assert judge("a", "b", "c", printed, ours, within=within, why="since").verdict == verdict


def test_no_verdict_but_the_best_goes_without_a_reason() -> None:
    with pytest.raises(ValueError, match="no reason"):
        judge("a", "b", "c", 1, 2)
    with pytest.raises(ValueError, match="no reason"):
        cannot("a", "b", "c", 1, "")


def test_an_id_is_there_once() -> None:
    item = PrintedItem("a", "b", "c", 1, 1, "reproduces")
    with pytest.raises(ValueError, match="two items a"):
        Reproduction("p", "P", "R", (item, item))


@pytest.mark.parametrize("paper", [mindfirl, mscore])
def test_the_page_has_every_item_and_loads_nothing(paper: Any) -> None:
    found = paper.reproduce()
    markup = reproduction_page(found, created=WHEN, command="discreet reproduce x", version="0.1.0")
    outline = Outline(markup)
    check_that_nothing_is_loaded_or_runs(outline)
    check_that_names_and_links_meet(outline)
    texts = {text for _, text in outline.texts}
    assert {item.id for item in found.items} <= texts
    assert found.words() in texts
