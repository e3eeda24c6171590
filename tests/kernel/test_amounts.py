"""Exact quantities: nothing is lost, and roundings go the way their names say."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.kernel import exact, parts_down, parts_up, written

numbers = st.one_of(
    st.integers(), st.fractions(), st.floats(allow_nan=False, allow_infinity=False), st.decimals(-1000, 1000, places=9)
)


@given(numbers)
def test_what_is_written_is_read_back(number: int | Fraction | float | Decimal) -> None:
    assert exact(written(number)) == Fraction(number)


@given(st.fractions(min_value=0), st.integers(1, 10**15))
def test_a_cost_is_never_too_low_and_a_limit_never_too_high(amount: Fraction, parts: int) -> None:
    up, down = parts_up(amount, parts), parts_down(amount, parts)
    assert Fraction(down, parts) <= amount <= Fraction(up, parts)
    assert up - down == (0 if (amount * parts).denominator == 1 else 1)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), "1/0", "many", True, None, 1j, "9" * 3000])
def test_what_is_no_number_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError):
        exact(wrong)  # type: ignore[arg-type]


def test_numbers_with_thousands_of_digits_are_not_written() -> None:
    with pytest.raises(UsageError, match="digits"):
        written(Fraction(1, 7**3000))


@pytest.mark.parametrize("text", ["1e999999999", "1E+9999999999", "1e-999999999", "1e9_999_999"])
def test_a_short_text_does_not_stand_for_a_number_that_fills_the_memory(text: str) -> None:
    with pytest.raises(UsageError, match="digits"):
        exact(text)
    assert exact("1e100") == 10**100
