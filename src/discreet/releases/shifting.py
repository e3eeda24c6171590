"""By how much the share of a value changes when rows come and go."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.releases.keyed import Floats


def shift(base: Mapping[Hashable, float], values: Sequence[Hashable], changes: Floats) -> float:
    """The largest change of the share of any value, given by how many rows each value gains or loses.

    >>> round(shift({"a": 10.0, "b": 10.0}, ["a", "b"], np.array([1.0, -1.0])), 6)
    0.05
    """
    return float(shifts_so_far(base, values, changes)[-1]) if len(values) else 0.0


def shifts_so_far(base: Mapping[Hashable, float], values: Sequence[Hashable], changes: Floats) -> Floats:
    """The same after the first value, the first two, and so on."""
    index = {value: place for place, value in enumerate(dict.fromkeys([*base, *values]))}
    before = np.zeros(len(index))
    before[: len(base)] = list(base.values())
    after, total, found = before.copy(), before.sum(), []
    for value, change in zip(values, changes.tolist(), strict=True):
        after[index[value]] += change
        found.append(float(np.abs(after / after.sum() - before / total).max()))
    return np.array(found)


@dataclass(frozen=True, eq=False)
class Balance:
    """The values of one column, and what a first and a second class of each pair would add to them or take away."""

    base: Floats
    values: NDArray[np.int64]
    """Per pair, the places of the values of both classes."""

    @classmethod
    def of(cls, base: Mapping[Hashable, float], first: Sequence[Hashable], second: Sequence[Hashable]) -> Balance:
        """From people per value, and the value of each pair's classes."""
        index = {value: place for place, value in enumerate(dict.fromkeys([*base, *first, *second]))}
        before = np.zeros(len(index))
        before[: len(base)] = list(base.values())
        places = [[index[value] for value in values] for values in (first, second)]
        return cls(before, np.array(places, dtype=np.int64).reshape(2, -1).T)


def balanced(columns: Sequence[Balance], changes: Floats, limit: float) -> NDArray[np.int64]:
    """The pairs, in their order, that can be taken one after another without any column shifting beyond the limit.

    A pair that would shift a column too far is passed over; a later one may shift it back.
    """
    after, kept = [column.base.copy() for column in columns], []
    shares = [column.base / column.base.sum() for column in columns]
    for pair, change in enumerate(changes):
        tried = [counts.copy() for counts in after]
        for counts, column in zip(tried, columns, strict=True):
            np.add.at(counts, column.values[pair], change)
        if all(
            np.abs(counts / counts.sum() - share).max() <= limit for counts, share in zip(tried, shares, strict=True)
        ):
            after = tried
            kept.append(pair)
    return np.array(kept, dtype=np.int64)
