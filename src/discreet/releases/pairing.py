"""Pairing each real class with an unreleased one of about the same link count, so that the count tells nobody which is which."""

from __future__ import annotations

import numpy as np

from discreet.kernel.arrays import Floats, Ints

TOLERANCE = 0.1
"""How far the logarithms of two link counts may lie apart."""
STEPS = 10
_ROUNDING = 1e-12


def closest(left: Floats, right: Floats, *, tolerance: float = TOLERANCE) -> Ints:
    """Pairs within the tolerance, the closest first: rows of a place on the left and one on the right.

    Nothing that could still be paired is left, so there are at least half as many pairs as there could be.

    >>> closest(np.array([1.0, 1.2]), np.array([1.05, 1.2, 3.0])).tolist()
    [[0, 0], [1, 1]]
    """
    lefts, rights = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    found = []
    for step in range(STEPS + 1):
        pairs = _two_pointers(left[lefts], right[rights], tolerance * step / STEPS)
        found.append(np.stack([lefts[pairs[:, 0]], rights[pairs[:, 1]]], axis=1))
        lefts, rights = np.delete(lefts, pairs[:, 0]), np.delete(rights, pairs[:, 1])
    return _sorted(np.concatenate(found))


def most(left: Floats, right: Floats, *, tolerance: float = TOLERANCE) -> Ints:
    """As many pairs within the tolerance as there can be: rows of a place on the left and one on the right.

    Both sides in order, the smallest that fit are paired: by exchange, some largest pairing begins with them.
    """
    lefts, rights = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    pairs = _two_pointers(left[lefts], right[rights], tolerance)
    return _sorted(np.stack([lefts[pairs[:, 0]], rights[pairs[:, 1]]], axis=1))


def _two_pointers(left: Floats, right: Floats, tolerance: float) -> Ints:
    pairs, one, other = [], 0, 0
    mine, theirs, reach = left.tolist(), right.tolist(), tolerance + _ROUNDING
    while one < len(mine) and other < len(theirs):
        apart = mine[one] - theirs[other]
        if apart > reach:
            other += 1
        elif apart < -reach:
            one += 1
        else:
            pairs.append((one, other))
            one, other = one + 1, other + 1
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _sorted(pairs: Ints) -> Ints:
    return pairs[np.argsort(pairs[:, 0], kind="stable")]
