"""Exact quantities: what must add up is a whole number of equal parts, and every rounding says its direction."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from discreet.errors import UsageError

Amount = int | Fraction | Decimal | float | str
"""What can be taken as an exact quantity; a float stands for the rational number it is, bit by bit."""

LONGEST = 2_000
"""Most characters of a written quantity."""
_HUGE = re.compile(r"[eE][+-]?[0-9_]{4,}")
"""A short text that stands for a number of too many digits, such as 1e999999999."""


def exact(value: Amount) -> Fraction:
    """The rational number that a value is.

    >>> exact("31/432"), exact(0.5), exact(7)
    (Fraction(31, 432), Fraction(1, 2), Fraction(7, 1))
    """
    if isinstance(value, bool) or not isinstance(value, int | Fraction | Decimal | float | str):
        raise UsageError(
            f"An amount is a number, not {type(value).__name__}.",
            remedy="Give an int, a Fraction or a text like 31/432.",
        )
    if isinstance(value, str) and (len(value) > LONGEST or _HUGE.search(value)):
        raise _too_long()
    try:
        return Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise UsageError("An amount is not a finite number.", remedy="Give an int, or a text like 31/432.") from None


def written(value: Amount) -> str:
    """A quantity as text that `exact` reads back unchanged.

    >>> written(Fraction(31, 432)), written(12), written(0.1)
    ('31/432', '12', '3602879701896397/36028797018963968')
    """
    number = exact(value)
    if number.numerator.bit_length() + number.denominator.bit_length() > 3 * LONGEST:
        raise _too_long()
    return str(number)


def parts_up(value: Amount, parts: int) -> int:
    """Parts that are enough for a quantity: a cost is never charged too low.

    >>> parts_up(Fraction(1, 3), 1000), parts_up(2, 1000)
    (334, 2000)
    """
    return math.ceil(exact(value) * parts)


def parts_down(value: Amount, parts: int) -> int:
    """Whole parts that fit into a quantity: a limit is never set too high.

    >>> parts_down(Fraction(1, 3), 1000)
    333
    """
    return math.floor(exact(value) * parts)


def _too_long() -> UsageError:
    return UsageError(
        f"An amount has more than {LONGEST:,} digits.",
        remedy="Round it up to a whole number of parts first (discreet.kernel.parts_up).",
    )
