"""What experts see: frequent values, groups, round ranges; never a rare value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.misuse.elicitation import Item, categories, ranges
from discreet.misuse.elicitation.items import REST


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
