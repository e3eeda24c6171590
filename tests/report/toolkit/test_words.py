"""Numbers as people read them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.report.toolkit import words


@given(st.floats(1e-6, 1))
def test_a_crowd_is_just_large_enough(threshold: float) -> None:
    size = words.crowd(threshold)
    assert 1 / size <= threshold
    assert size == 1 or 1 / (size - 1) > threshold


@given(st.floats(0, 1))
def test_attempts_say_something_for_every_chance(chance: float) -> None:
    assert words.attempts(chance).endswith(("attempts", "attempt"))


@given(st.floats(0, 1e12))
def test_estimates_have_three_digits(number: float) -> None:
    text = words.about(number)
    digits = text.removeprefix("about ").replace(",", "")
    assert text == "fewer than 1" or float(digits) == pytest.approx(number, rel=0.006, abs=0.5)
    assert (text == "0") == (number == 0)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "nobody"), (1, "1 person"), (2, "2 people"), (32_561, "32,561 people")],
)
def test_people(number: int, expected: str) -> None:
    assert words.people(number) == expected


def test_lists_count_what_does_not_fit() -> None:
    assert words.columns([f"c{place}" for place in range(9)]) == "c0, c1, c2, c3, c4 and 4 more columns"
    assert words.columns(["a", "b"]) == "a and b"


def test_a_moment_without_a_zone_says_none() -> None:
    assert words.moment(datetime.datetime(2024, 12, 31, 23, 59)) == "31 December 2024, 23:59"
