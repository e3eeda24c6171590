"""Lots drawn among a few things, against numpy's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.releases.lots import drawn, in_order

ODDS = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=7)


@given(ODDS, st.integers(0, 1000))
def test_lots_are_those_that_numpy_draws(odds: list[float], seed: int) -> None:
    shares = np.array(odds) / np.sum(odds)
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(3):
        order = theirs.choice(len(odds), len(odds), replace=False, p=shares)
        assert in_order(shares.tolist(), ours) == order.tolist()
        assert drawn(odds, ours) == theirs.choice(len(odds), p=shares)
    assert ours.random() == theirs.random()
