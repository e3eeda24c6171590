"""The tables of the paper on the KAPR score."""

from __future__ import annotations

from discreet.reference import mindfirl
from discreet.reference.mindfirl import NUMBERS, PRINTED


def test_every_row_of_the_tables_comes_out_as_text() -> None:
    rows = 0
    for mode, table in PRINTED.items():
        for row, line in enumerate(table.split("\n")[1:]):
            assert " ".join(mindfirl.row_of(mode, row)) == " ".join(line.split()), (mode, row)  # type: ignore[arg-type]
            rows += 1
    assert rows == 36
    assert NUMBERS == {"masked": "3", "partial": "4", "full": "5"}


def test_nothing_differs_and_the_scores_are_exact() -> None:
    found = mindfirl.reproduce()
    assert found.counts["differs"] == 0
    assert [found.item(f"mindfirl.kapr.{mode}").ours for mode in PRINTED] == [0, "31/432", "3/4"]
    assert found.item("mindfirl.table1").ours is True
    assert all(found.item(f"mindfirl.table{number}").ours == 12 for number in (3, 4, 5))


def test_what_people_did_is_not_claimed() -> None:
    found = mindfirl.reproduce()
    assert found.item("mindfirl.study.full").verdict == "cannot"
    assert found.item("mindfirl.study.full").ours is None
