"""What callers ask with: probabilities, whole numbers, group sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Ints

MOST_PEOPLE = 2**53
"""Numbers of people up to which a float counts each."""
PLANNED = 2**16
"""The largest group that is gone through candidate by candidate."""


def probability(value: Any, name: str, *, remedy: str) -> float:
    """A number between 0 and 1.

    >>> probability(0.2, "max_risk", remedy="")
    0.2
    """
    if not _is_number(value) or not 0 <= value <= 1:
        raise UsageError(f"{name} lies between 0 and 1.", remedy=remedy)
    return float(value)


def number(value: Any, name: str, *, remedy: str) -> float:
    """Any number, infinite ones included."""
    if not _is_number(value):
        raise UsageError(f"{name} must be a number.", remedy=remedy)
    return float(value)


def amount(value: Any, name: str, *, remedy: str) -> float:
    """A finite number that is not negative."""
    if not _is_number(value) or not 0 <= value < np.inf:
        raise UsageError(f"{name} must be a number and not negative.", remedy=remedy)
    return float(value)


def whole(value: Any, name: str, *, remedy: str) -> int:
    """A whole number from 1 up."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise UsageError(f"{name} is a whole number from 1 up.", remedy=remedy)
    return int(value)


def group_sizes(sizes: Any) -> Ints:
    """Whole numbers from 0 up, in one list; or one number.

    >>> group_sizes([3, 5]), group_sizes(4)
    (array([3, 5]), array([4]))
    """
    try:
        groups = np.atleast_1d(np.asarray(sizes))
    except ValueError:
        groups = np.zeros((1, 1))  # lists of different lengths
    whole = groups.dtype.kind in "iu" or not groups.size
    if groups.ndim != 1 or not whole or groups.min(initial=0) < 0 or groups.max(initial=0) > MOST_PEOPLE:
        raise UsageError(
            "Group sizes are whole numbers from 0 up, in one list.",
            remedy="Give how many people look like each target.",
        )
    return groups.astype(np.int64)


def planned_through(size: Any) -> Ints:
    """One group, not so large that going through it candidate by candidate would take too long."""
    group = group_sizes(size)
    if len(group) != 1 or group[0] > PLANNED:
        raise UsageError(
            f"size is the number of people in one group, up to {PLANNED:,}.", remedy="Ask about one group at a time."
        )
    return group


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
