"""What experts see: frequent values, groups, round ranges; never a rare value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError, UsageError
from discreet.kernel import Tree
from discreet.misuse.elicitation import Item, categories, ranges
from discreet.misuse.elicitation.items import REST, items_of
from tests.risk.strategies import Rows


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 50), min_size=1))
def test_rare_values_are_never_shown_and_none_is_forgotten(counts: dict[str, int]) -> None:
    found = categories("illness", counts, most=4, fewest=5)
    assert len([item for item in found if item.label != REST]) <= 4
    shown = [value for item in found for value in item.values]
    assert all(counts[value] >= 5 for value in shown)
    assert len(shown) == len(counts) or found[-1].kind == "rest"
    assert len(set(shown)) == len(shown)


def test_the_most_frequent_come_first() -> None:
    found = categories("illness", {"a": 5, "b": 90, "c": 7}, most=2)
    assert [item.label for item in found] == ["b", REST]


def test_values_can_be_grouped() -> None:
    groups = {"flu": "lungs", "asthma": "lungs", "gout": "joints"}
    found = categories("illness", {"flu": 3, "asthma": 4, "gout": 9, "?": 50}, group=groups.get)
    assert found == [
        Item("illness", "joints", ("gout",)),
        Item("illness", "lungs", ("asthma", "flu")),
        Item("illness", REST),
    ]


@given(st.dictionaries(st.integers(-1000, 1000).map(str), st.integers(1, 9), min_size=1, max_size=60))
def test_ranges_grow_and_the_last_is_open(counts: dict[str, int]) -> None:
    found = ranges("debt", counts, most=4)
    assert 1 <= len(found) <= 4
    edges = [item.upper for item in found[:-1]]
    assert edges == sorted(set(edges))  # type: ignore[type-var]
    assert found[-1].kind == "rest"


def test_what_is_no_number_has_no_range_and_is_not_repeated() -> None:
    with pytest.raises(DataError) as caught:
        ranges("debt", {"12": 3, "Zaphod": 1})
    assert "Zaphod" not in str(caught.value)


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
