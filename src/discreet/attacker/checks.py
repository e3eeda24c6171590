"""What callers ask with: probabilities, whole numbers, group sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.hierarchy import Ints


def probability(value: Any, name: str, *, remedy: str) -> float:
    """A number between 0 and 1.

    >>> probability(0.2, "max_risk", remedy="")
    0.2
    """
    if not _is_number(value) or not 0 <= value <= 1:
        raise UsageError(f"{name} lies between 0 and 1.", remedy=remedy)
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
    """Whole numbers from 0 up, in one list."""
    groups = np.asarray(sizes)
    if groups.ndim != 1 or (groups.size and (groups.dtype.kind not in "iu" or groups.min() < 0)):
        raise UsageError(
            "Group sizes are whole numbers from 0 up.", remedy="Give how many people look like the target."
        )
    return groups.astype(np.int64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
