"""What values look like."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.risk.value_shape import STYLES, Content, Shape
from tests.risk.strategies import some


@pytest.mark.parametrize(
    ("values", "looks"),
    [
        ([], "empty"),
        (["39", "50", "-7", "1.5", "1e3"], "number"),
        (["1e400", "5"], "number"),
        (["1964-08-09", "2001-12-01"], "date"),
        (["1964-08-09 10:30:00", "2001-12-01T00:00:00"], "date"),
        (["1964-02-30", "2001-12-01"], "text"),
        (["1964-08-09xyz", "2001-12-01"], "text"),
        (["19640809", "20011201"], "date"),
        (["19640809", "20011301"], "number"),
        (["31.12.1964", "1.2.2001"], "date"),
        (["31.13.1964", "1.2.2001"], "text"),
        (["true", "false"], "boolean"),
        (["Yes", "No"], "boolean"),
        (["0", "1"], "boolean"),
        (["0.0", "1.0"], "boolean"),
        (["0", "1", "2"], "number"),
        (["00123", "90210"], "code"),
        (["90210", "10115"], "number"),
        (["0123", "90210"], "number"),
        (["00123", "9021a"], "text"),
        (["NaN", "Infinity"], "text"),
        (["flu", "cold"], "text"),
        (["39", "forty"], "text"),
        ([""], "text"),
    ],
)
def test_values_look_like_what_they_are(values: list[str], looks: Content) -> None:
    assert Shape(values).looks == looks


@some
@given(st.lists(st.text(max_size=12), max_size=5))
def test_any_values_look_like_something(values: list[str]) -> None:
    assert Shape(values).looks in {"number", "date", "boolean", "code", "text", "empty"}


@some
@given(
    st.sampled_from(list(STYLES)),
    st.lists(st.dates(datetime.date(1901, 1, 1), datetime.date(2060, 1, 1)), min_size=1, max_size=9),
)
def test_the_style_of_dates_reads_all_of_them(style: str, days: list[datetime.date]) -> None:
    """Where two styles fit all values, such as 03/04/2001, either may be meant."""
    shape = Shape([day.strftime(style) for day in days])
    assert shape.looks == "date"
    assert shape.date_style is not None
    years = [shape.year(value) for value in shape.values]
    assert shape.date_style != style or [year % 100 for year in years] == [day.year % 100 for day in days]


@pytest.mark.parametrize(
    ("values", "running"),
    [
        (["1", "2", "3"], True),
        (["5", "900"], False),
        (["700001", "912345"], True),
        (["1.5", "2.5"], False),
        (["a"], False),
    ],
)
def test_running_and_long_numbers_are_those_of_records(values: list[str], running: bool) -> None:
    assert Shape(values).running == running
