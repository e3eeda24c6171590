"""Pairs by link count, against all pairings there are."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel.arrays import Ints
from discreet.releases.pairing import closest, most

NUMBERS = st.lists(st.integers(1, 60).map(lambda tenths: tenths / 20), max_size=7)


def brute(left: tuple[float, ...], right: tuple[float, ...], tolerance: float) -> int:
    """The size of a largest pairing, by trying everything."""

    @cache
    def best(place: int, taken: int) -> int:
        if place == len(left):
            return 0
        found = best(place + 1, taken)
        for other, value in enumerate(right):
            if not taken >> other & 1 and abs(left[place] - value) <= tolerance + 1e-12:
                found = max(found, 1 + best(place + 1, taken | 1 << other))
        return found

    return best(0, 0)


def check(pairs: Ints, left: list[float], right: list[float]) -> None:
    assert len(set(pairs[:, 0].tolist())) == len(pairs) == len(set(pairs[:, 1].tolist()))
    assert all(abs(left[one] - right[other]) <= 0.1 + 1e-9 for one, other in pairs.tolist())


@given(NUMBERS, NUMBERS)
def test_most_is_a_largest_pairing(left: list[float], right: list[float]) -> None:
    pairs = most(np.array(left), np.array(right))
    check(pairs, left, right)
    assert len(pairs) == brute(tuple(left), tuple(right), 0.1)


@given(NUMBERS, NUMBERS)
def test_closest_leaves_nothing_that_could_be_paired(left: list[float], right: list[float]) -> None:
    pairs = closest(np.array(left), np.array(right))
    check(pairs, left, right)
    free_left = [value for place, value in enumerate(left) if place not in pairs[:, 0]]
    free_right = [value for place, value in enumerate(right) if place not in pairs[:, 1]]
    assert not any(abs(one - other) <= 0.1 for one in free_left for other in free_right)
    assert 2 * len(pairs) >= brute(tuple(left), tuple(right), 0.1)


def test_equal_link_counts_are_paired_with_each_other() -> None:
    """The largest pairing may shift one side against the other; the closest one does not."""
    left, right = np.log(np.arange(100, 200)), np.log(np.arange(95, 200))
    pairs = closest(left, right)
    assert len(pairs) == 100
    assert np.array_equal(left[pairs[:, 0]], right[pairs[:, 1]])
