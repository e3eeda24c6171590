"""What values look like."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.risk.role_guess import guess
from discreet.risk.value_shape import STYLES, Content, Shape, decimal_mark, majority, missing_codes
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


def test_one_wrong_value_does_not_hide_what_the_others_are() -> None:
    """A few days that are none, or a few words among numbers; 90+ and whole numbers of texts are no such thing."""
    days = [f"{day:02}.{month:02}.1970" for day in range(1, 29) for month in range(1, 13)]
    for odd in ("31.02.1970", "unleserlich"):
        mostly = majority(Shape([*days, odd]))
        assert (mostly.looks, mostly.date_style, mostly.odd) == ("date", "%d.%m.%Y", 1)
    assert majority(Shape([*days, *(f"im Mai {number}" for number in range(20))])).looks == "text"
    assert majority(Shape([*map(str, range(10)), "10+"])).looks == "text"
    prices = [f"{number},{number:02}" for number in range(10, 99)]
    assert decimal_mark([[*prices, "k.A."]]) == decimal_mark([[*prices, "viel"]]) == ","
    assert decimal_mark([[*prices, *("viel " * number for number in range(1, 9))]]) is None


def test_what_people_write_where_a_value_is_missing_is_proposed() -> None:
    class Cells:
        def __init__(self, *values: str) -> None:
            self.values = values

    days = [f"{day:02}.{month:02}.1970" for day in range(1, 29) for month in range(1, 13)]
    assert missing_codes([Cells(*days, "99.99.9999", "31.02.1970"), Cells("1", "2", "k.A.", "-inf")]) == (
        "-inf",
        "99.99.9999",
        "k.A.",
    )
    assert missing_codes([Cells("k.A.", "ja", "nein"), Cells("17", "90+")]) == ()


def test_sentences_are_drafted_as_free_text_whoever_shares_them() -> None:
    """Names and addresses are identifiers all the same, and a few long answers are categories."""
    notes = [f"The patient was sent here on day {number} by a friend" for number in range(300)]
    answers = [f"Agrees with what was said in the {number}th of the questions" for number in range(9)]
    for name, values, share, role in (
        ("remark", notes, 0.2, "drop"),
        ("v17", notes, 1.0, "drop"),
        ("address", notes, 1.0, "identifier"),
        ("v18", answers, 0.0, "quasi"),
    ):
        assert guess(name, Shape(sorted(values)), share_unique=share, records=600).role == role
