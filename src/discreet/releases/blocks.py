"""Which columns belong together: a row is spliced along these seams, so that no cell contradicts its neighbour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.kernel.arrays import Floats, Ints
from discreet.releases.decoys.donors import Column

STRONG = 0.5
"""The association from which on two columns are not torn apart."""
GLANCE = 4096
"""Rows that are looked at first: mostly they show already that one column does not give another."""


def association(one: Ints, other: Ints) -> float:
    """Cramér's V, corrected for bias (Bergsma 2013): 0 where two columns have nothing to do with each other, 1 where one gives the other.

    >>> round(association(np.array([0, 0, 1, 1] * 9), np.array([1, 1, 0, 0] * 9)), 6)
    1.0
    """
    rows, columns, n = int(one.max()) + 1, int(other.max()) + 1, len(one)
    if min(rows, columns) < 2 or n < 2:
        return 0.0
    seen = np.bincount(one * columns + other, minlength=rows * columns).reshape(rows, columns).astype(np.float64)
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        phi = float(np.nansum((seen - expected) ** 2 / expected)) / n
    excess = max(0.0, phi - (rows - 1) * (columns - 1) / (n - 1))
    room = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(excess / room))) if room > 0 else 0.0


def determines(one: Ints, other: Ints) -> bool:
    """Whether every value of one column comes with a single value of the other, and comes often enough to say so.

    >>> determines(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1]))
    True
    """
    if contradicted(one[:GLANCE], other[:GLANCE]):
        return False
    return 2 * len(np.unique(one)) <= len(one) and not contradicted(one, other)


def contradicted(one: Ints, other: Ints) -> bool:
    """Whether some value of one column comes with several of the other.

    >>> contradicted(np.array([0, 0, 1]), np.array([0, 1, 1]))
    True
    """
    width = int(other.max()) + 1 if len(other) else 1
    return len(np.unique(one * width + other)) > len(np.unique(one))


def associations(columns: Sequence[Column]) -> Floats:
    """Between all pairs of columns; 1 where one determines the other."""
    found = np.eye(len(columns))
    for left in range(len(columns)):
        for right in range(left):
            one, other = columns[left], columns[right]
            sure = determines(one.codes, other.codes) or determines(other.codes, one.codes)
            found[left, right] = found[right, left] = 1.0 if sure else association(one.binned, other.binned)
    return found


def blocks(strength: Floats) -> list[list[int]]:
    """Columns in groups that are strongly associated, each group in the order of the columns."""
    group = list(range(len(strength)))
    for left, right in zip(*np.nonzero(strength >= STRONG), strict=True):
        old, new = group[int(left)], group[int(right)]
        group = [new if one == old else one for one in group]
    return [[place for place, one in enumerate(group) if one == name] for name in dict.fromkeys(group)]
