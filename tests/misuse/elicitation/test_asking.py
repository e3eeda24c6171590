"""Which values of a table are asked about."""

from __future__ import annotations

import pytest

from discreet.errors import DataError, UsageError
from discreet.kernel import Tree
from discreet.misuse.elicitation.asking import items_of
from tests.risk.strategies import Rows

TREE = Tree((("flu", "lungs", "*"), ("asthma", "lungs", "*"), ("gout", "joints", "*")))
TABLE = Rows(
    ("illness", "debt"),
    [(name, place * 10) for place in range(20) for name in ("flu", "asthma", "gout")] + [("plague", 7), (None, None)],
)


def test_values_ranges_and_groups() -> None:
    found = items_of(TABLE, ["illness", "debt"], rules={"illness": TREE}, levels={"illness": 1})
    assert [str(item) for item in found[:3]] == ["illness: lungs", "illness: joints", "illness: any other value"]
    assert {item.kind for item in found[3:]} == {"range", "rest"}
    assert found[0].values == ("asthma", "flu")


def test_codes_that_look_like_numbers_can_be_asked_about_by_value() -> None:
    found = items_of(TABLE, ["debt"], by_value=["debt"], most=30, fewest=3)
    assert {item.kind for item in found} == {"values", "rest"}


def test_a_value_of_one_person_is_not_shown() -> None:
    found = items_of(TABLE, ["illness"])
    assert "plague" not in str(found)
    assert [item.label for item in found] == ["asthma", "flu", "gout", "any other value"]


def test_only_columns_are_counted_never_rows_read() -> None:
    table = Rows(TABLE.columns, TABLE.rows)
    items_of(table, ["illness", "debt"])
    assert table.asked == [("illness",), ("debt",)]


@pytest.mark.parametrize("level", [3, 9])
def test_a_level_must_be_there(level: int) -> None:
    with pytest.raises(UsageError, match="1 to 2"):
        items_of(TABLE, ["illness"], rules={"illness": TREE}, levels={"illness": level})
    with pytest.raises(UsageError, match="none"):
        items_of(TABLE, ["illness"], levels={"illness": level})


def test_nothing_to_ask_about() -> None:
    with pytest.raises(DataError):
        items_of(Rows(("illness",), [("flu",)]), ["illness"])
