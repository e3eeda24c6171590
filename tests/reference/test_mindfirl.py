"""The tables of the paper on the KAPR score."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.linkage import Display
from discreet.reference import mindfirl
from discreet.reference.items import Reproduction
from discreet.reference.mindfirl import KINDS, NUMBERS, PRINTED, PropertySearch, printed_row, row_of


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return mindfirl.reproduce()


def test_every_row_of_the_tables_comes_out_as_text_but_for_races_that_are_not_disclosed(found: Reproduction) -> None:
    rows = 0
    for mode, table in PRINTED.items():
        for row in range(len(table.split("\n")[1:])):
            item = found.item(f"mindfirl.table{NUMBERS[mode]}.row{row + 1}")
            printed, ours = printed_row(mode, row), row_of(mode, row)
            assert (item.printed, item.ours) == ([*printed[:2], *printed[3:]], [*ours[:2], *ours[3:]])
            assert item.verdict == "reproduces", item.id
            assert printed == ours or mode != "full"
            rows += 1
    assert rows == 36
    assert all(found.item(f"mindfirl.table{number}").ours == 12 for number in (3, 4, 5))


def test_the_printed_star_that_is_missing_is_named(found: Reproduction) -> None:
    for table in (3, 4):
        item = found.item(f"mindfirl.table{table}.row12")
        assert item.printed[1] == "**/**/***"
        assert "stars" in item.why


def test_what_differs_is_what_the_paper_prints_otherwise(found: Reproduction) -> None:
    assert {item.id for item in found.items if item.verdict == "differs"} == {
        "mindfirl.table1",
        "mindfirl.table1.id.partial",
        "mindfirl.table1.name.masked",
        "mindfirl.table3.race",
        "mindfirl.table4.race",
        "mindfirl.kapr.definition",
    }
    assert found.item("mindfirl.table1.id.partial").printed == ["********9", "*****6****"]
    assert found.item("mindfirl.table1.name.masked").printed[0].count("@") == 4
    assert "no partial mode" in found.item("mindfirl.table1.race.partial").why
    assert found.item("mindfirl.kapr.definition").ours == {"partial": 0.2153, "full": 2.25}


def test_the_scores_are_exact(found: Reproduction) -> None:
    assert [found.item(f"mindfirl.kapr.{mode}").ours for mode in PRINTED] == [0, "31/432", "3/4"]


def test_what_people_did_is_not_claimed(found: Reproduction) -> None:
    assert found.item("mindfirl.study.full").verdict == "cannot"
    assert found.item("mindfirl.study.full").ours is None


def test_the_search_for_a_counterexample_finds_one_where_there_is_one() -> None:
    search = PropertySearch(np.random.default_rng(1))
    masked = Display(mindfirl.RECORDS, kinds=KINDS, pairs=list(itertools.combinations(range(4), 2)))
    opened = masked.open(0, "Name", "full")
    search.compare_step(masked, opened, 0, "Name")
    assert search.failed == set()
    search.compare_step(opened, opened, 0, "Name")
    assert search.failed == {"rises", "price"}
