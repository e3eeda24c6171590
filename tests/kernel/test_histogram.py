"""What engines hand over: one spelling for one value, whatever type it comes in."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Coded, Histogram
from discreet.kernel.hierarchy import text
from tests.kernel.strategies import some

DAY = datetime.date(1964, 8, 9)
MORNING = datetime.datetime(1964, 8, 9, 10, 30)

SPELLINGS: list[tuple[str | None, list[Any]]] = [
    ("39", [39, 39.0, Decimal("39"), Decimal("39.00"), np.int64(39), np.uint8(39), np.float64(39), np.float32(39)]),
    ("-7", [-7, -7.0, Decimal("-7.0"), np.int16(-7), np.float32(-7)]),
    ("0", [0, 0.0, -0.0, Decimal("0"), Decimal("0.00"), Decimal("0E+3"), Decimal("-0"), np.int8(0), np.float64(-0.0)]),
    ("100", [100, 1e2, Decimal("1E+2"), Decimal("100.0")]),
    ("0.5", [0.5, Decimal("0.5"), Decimal("0.500"), np.float64(0.5), np.float32(0.5)]),
    ("0.1", [0.1, Decimal("0.1"), np.float64(0.1), np.float32(0.1)]),
    ("0.0000001", [1e-7, Decimal("0.0000001"), Decimal("1E-7"), np.float64(1e-7)]),
    ("10000000000000000000000", [10**22, 1e22, Decimal("1E+22")]),
    (
        "12345678901234567890123456789012345678",
        [Decimal("12345678901234567890123456789012345678"), 10**37 + int("2345678901234567890123456789012345678")],
    ),
    ("true", [True, np.True_]),
    ("false", [False, np.False_]),
    (
        "1964-08-09",
        [DAY, datetime.datetime(1964, 8, 9), np.datetime64("1964-08-09"), np.datetime64("1964-08-09", "us")],
    ),
    ("1964-08-09", [np.datetime64("1964-08-09", "ns"), pd.Timestamp("1964-08-09")]),
    ("1964-08-09 10:30:00", [MORNING, np.datetime64("1964-08-09T10:30", "s"), np.datetime64("1964-08-09T10:30", "us")]),
    ("1964-08-09 10:30:00", [np.datetime64("1964-08-09T10:30", "ns"), pd.Timestamp("1964-08-09 10:30")]),
    ("00ff", [b"\x00\xff", bytearray(b"\x00\xff"), memoryview(b"\x00\xff")]),
    ("", [""]),
    ("Ünïcode 🦉", ["Ünïcode 🦉", np.str_("Ünïcode 🦉")]),
    (None, [None, math.nan, np.float64("nan"), np.float32("nan"), Decimal("NaN")]),
    (None, [np.datetime64("NaT", "s"), np.datetime64("NaT", "ns"), np.datetime64("NaT", "D")]),
    (None, [pd.NaT, pd.NA]),
]


@pytest.mark.parametrize(
    ("expected", "value"),
    [(expected, value) for expected, values in SPELLINGS for value in values],
    ids=lambda value: (
        type(value).__name__ if isinstance(value, memoryview) else f"{type(value).__name__}-{value!r}"[:60]
    ),
)
def test_one_value_has_one_spelling(expected: str | None, value: Any) -> None:
    assert text(value) == expected


def test_infinity_has_one_spelling() -> None:
    assert text(math.inf) == text(Decimal("Infinity")) == text(np.float32("inf"))


@some
@given(st.integers(-(2**53), 2**53))
def test_whole_numbers_are_spelled_alike_in_every_type(number: int) -> None:
    assert text(number) == text(float(number)) == text(Decimal(number)) == text(np.int64(number)) == str(number)


@some
@given(st.decimals(-(10**6), 10**6, places=4))
def test_decimals_are_spelled_as_the_floats_they_stand_for(number: Decimal) -> None:
    assert text(number + 0) == text(float(number))  # + 0 turns a negative zero into zero


# coded columns


@some
@given(st.lists(st.sampled_from([39, 39.0, "39", None, math.nan, True, "true", DAY, "1964-08-09", 2.5])))
def test_codes_lead_back_to_the_spelling_of_each_cell(cells: list[Any]) -> None:
    coded = Coded.of(cells)
    assert [coded.values[code] for code in coded.codes] == [text(cell) for cell in cells]
    assert len(set(coded.values)) == len(coded.values)


@pytest.mark.parametrize("cell", [bytearray(b"ab"), [1, 2], {"street": "x"}], ids=["bytearray", "list", "struct"])
def test_cells_that_cannot_be_hashed_are_coded_all_the_same(cell: Any) -> None:
    assert Coded.of([cell, cell]).codes.tolist() == [0, 0]


def test_the_same_moment_in_two_time_zones_is_spelled_the_same_in_any_order() -> None:
    noon = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
    elsewhere = noon.astimezone(datetime.timezone(datetime.timedelta(hours=1)))
    assert set(Coded.of([noon, elsewhere]).values) == set(Coded.of([elsewhere, noon]).values)


@some
@given(st.lists(st.sampled_from(["b", "a", "", None, "Z", "10", "9"])))
def test_ordering_changes_codes_but_no_cell(cells: list[str | None]) -> None:
    ordered = Coded.of(cells).ordered()
    assert [ordered.values[code] for code in ordered.codes] == cells
    assert list(ordered.values) == sorted(set(cells), key=lambda value: (value is None, value or ""))


def test_values_that_do_not_occur_are_left_out_when_ordering() -> None:
    assert Coded(("b", "never", "a"), np.array([0, 2])).ordered().values == ("a", "b")


def test_merging_joins_values_whose_spellings_coincide() -> None:
    merged = Coded.merged([39, "x", 39.0], np.array([0, 1, 2, 2]))
    assert merged.values == ("39", "x")
    assert merged.codes.tolist() == [0, 1, 0, 0]


# histograms


def test_rows_of_a_cursor_become_columns_and_counts() -> None:
    histogram = Histogram.from_rows(["sex", "age"], [("F", 39, Decimal(2)), ("M", None, 1)])
    assert histogram.columns["sex"].values == ("F", "M")
    assert histogram.columns["age"].values == ("39", None)
    assert histogram.counts.tolist() == [2, 1]


def test_no_rows_make_an_empty_histogram_with_all_its_columns() -> None:
    histogram = Histogram.from_rows(["sex", "age"], [])
    assert list(histogram.columns) == ["sex", "age"]
    assert histogram.counts.tolist() == []


@pytest.mark.parametrize("make", [lambda: Coded.of(["F", "M"]), lambda: Histogram.from_rows(["sex"], [("F", 1)] * 2)])
def test_what_engines_hand_over_can_be_compared(make: Callable[[], object]) -> None:
    assert isinstance(make() == make(), bool)


@pytest.mark.parametrize("shown", [Coded.of(["Ada"]), Histogram.from_rows(["name"], [("Ada", 1)])], ids=type)
def test_the_repr_shows_no_value(shown: object) -> None:
    assert "Ada" not in repr(shown)
