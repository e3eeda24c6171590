"""Array types, whole numbers, and tuples of codes packed as integer keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Array = TypeVar("Array", Ints, Floats)
Label = str | None

LIMIT = 2**62
"""Keys stay below this, so that sums of differences cannot overflow 64 bits."""


def whole(value: Any, name: str, *, remedy: str) -> int:
    """A whole number from 1 up."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise UsageError(f"{name} is a whole number from 1 up.", remedy=remedy)
    return int(value)


def pack(codes: Sequence[Ints], sizes: Sequence[int], rows: int) -> tuple[Ints, int]:
    """Integer key per row, equal where all codes are, and the number of keys.

    >>> keys, bound = pack([np.array([0, 1, 1]), np.array([2, 0, 2])], [2, 3], 3)
    >>> keys.tolist(), bound
    ([2, 3, 5], 6)
    """
    keys, bound = np.zeros(rows, dtype=np.int64), 1
    for column, size in zip(codes, sizes, strict=True):
        if bound * max(size, 1) >= LIMIT:
            distinct, keys = np.unique(keys, return_inverse=True)
            bound = len(distinct)
        keys = keys * max(size, 1) + column
        bound *= max(size, 1)
    return keys, bound


def group(keys: Ints, bound: int) -> tuple[Ints, Ints, int]:
    """First row of each group, group of each row, and number of groups."""
    if bound <= 4 * len(keys) + 1024:
        # Grouping by a table over all possible keys: no sorting.
        first_of = np.full(bound, -1, dtype=np.int64)
        first_of[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)
        present = np.flatnonzero(first_of >= 0)
        number_of = np.empty(bound, dtype=np.int64)
        number_of[present] = np.arange(len(present))
        return first_of[present], number_of[keys], len(present)
    order = by_digits(keys, bound)
    ordered = keys[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(keys) else np.zeros(0, dtype=bool)
    member = np.empty(len(keys), dtype=np.int64)
    member[order] = np.cumsum(new) - 1
    return order[new], member, int(new.sum())


def by_digits(keys: Ints, bound: int) -> Ints:
    """A stable order of keys from 0 to a bound, by digits of 16 bits where few are needed: several times as quick."""
    if bound > 2**32:
        return np.argsort(keys, kind="stable")
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    if bound > 2**16:
        order = order[np.argsort((keys >> 16).astype(np.uint16)[order], kind="stable")]
    return order


def total(member: Ints, counts: Ints, groups: int) -> Ints:
    """Exact sums of counts per group."""
    if counts.sum(dtype=np.float64) < 2**52:
        # Floats hold every whole number up to 2**53, so these sums are exact, and far faster than np.add.at.
        return np.bincount(member, weights=counts, minlength=groups).astype(np.int64)
    sums = np.zeros(groups, dtype=np.int64)
    np.add.at(sums, member, counts)
    return sums
