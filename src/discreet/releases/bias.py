"""How far the marks of an average copy shift each column."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from discreet.kernel.hierarchy import Ints
from discreet.releases.keyed import Floats

Shifts = Mapping[str, float]
MOST_VALUES = 200
"""Different numbers beyond which they are put together in tenths."""


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


def tenths(values: Iterable[float], counts: Sequence[float]) -> Floats:
    """Edges that cut numbers into ten parts of about as many people."""
    known = np.array(list(values), dtype=np.float64)
    order = np.argsort(known, kind="stable")
    shares = np.cumsum(np.asarray(counts, dtype=np.float64)[order]) / max(float(np.sum(counts)), 1.0)
    places = np.searchsorted(shares, np.arange(1, 10) / 10)
    return np.unique(known[order][np.minimum(places, len(known) - 1)])


def cut(values: Floats, edges: Floats) -> Ints:
    """The part in which each number lies; -1 for missing ones."""
    return np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right"))
