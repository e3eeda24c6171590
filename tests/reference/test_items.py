"""Items, their verdicts, and the page of a reproduction."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.reference import mindfirl, mscore
from discreet.reference.items import PrintedItem, Reproduction, cannot, judge, judge_masked, reproduction_page
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


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        ("****&****", "*****&****", "reproduces"),
        ("**/**/***", "**/**/****", "reproduces"),
        (["*", "a"], ["**", "a"], "reproduces"),
        ("*****6****", "****6*****", "differs"),
        ("*****@@@@", "*******@@@", "differs"),
        ("**", "*", "differs"),
        ("a*", "b*", "differs"),
        ("ab", "a*b", "differs"),
        (["*"], ["*", "*"], "differs"),
        ("N/A", "*", "differs"),
    ],
)
def test_stars_may_be_lost_in_print_and_nothing_else(printed: Any, ours: Any, verdict: str) -> None:
    item = judge_masked("a", "b", "c", printed, ours, why="since")
    assert (item.verdict, bool(item.why)) == (verdict, True)


def test_a_tolerance_is_stated_where_it_was_needed() -> None:
    assert judge("a", "b", "c", 0.63, 0.6299, within=0.005).why == "Equal to within 0.005."
    assert judge("a", "b", "c", 48, 48).why == ""


def test_what_is_not_printed_does_not_count_as_printed() -> None:
    items = (
        judge("a", "b", "c", 1, 1),
        judge("d", "b", "c", 1, 2, why="since"),
        cannot("e", "b", "c", None, "not printed", ours=3),
    )
    found = Reproduction("p", "P", "R", items)
    assert (found.counts, found.unprinted) == ({"reproduces": 1, "differs": 1, "cannot": 0}, 1)
    assert found.words().startswith("Of 2 printed items 1 come out as printed, 1 come out differently, and 0 cannot")
    assert "Beside 1 further items the paper prints nothing" in found.words()


def test_reasons_for_what_differs_and_notes_on_what_comes_out_are_two_lists() -> None:
    items = (judge("a", "b", "c", 0.1, 0.11, within=0.1), judge("d", "b", "c", 1, 2, why="since"))
    markup = reproduction_page(
        Reproduction("p", "P", "R", items), created=WHEN, command="discreet reproduce x", version="0.1.0"
    )
    differs, notes = markup.index('id="differs"'), markup.index('id="notes"')
    assert differs < markup.index("(1) since") < notes < markup.index("(2) Equal to within 0.1.")


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
