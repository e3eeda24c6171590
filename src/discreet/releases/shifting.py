"""By how much the share of a value changes when rows come and go."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from discreet.releases.keyed import Floats


def shift(base: Mapping[Hashable, float], values: Sequence[Hashable], changes: Floats) -> float:
    """The largest change of the share of any value, given by how many rows each value gains or loses.

    >>> shift({"a": 10.0, "b": 10.0}, ["a", "b"], np.array([1.0, -1.0]))
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
