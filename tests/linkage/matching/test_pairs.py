"""Which pairs to label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.linkage import Pairs, sample_to_label


@given(st.lists(st.floats(-25, 25), min_size=1, max_size=200), st.integers(1, 50), st.integers(0, 5))
def test_labels_stand_for_all_pairs(weights: list[float], size: int, seed: int) -> None:
    pairs = Pairs.of(np.arange(len(weights)), np.arange(len(weights)) + 1000, weights)
    chosen, stands = sample_to_label(pairs, size, seed=seed)
    assert stands.sum() == pytest.approx(len(weights))
    assert len(np.unique(chosen)) == len(chosen)
    assert len(chosen) <= size + 13
    assert (stands >= 1).all()
    again, _ = sample_to_label(pairs, size, seed=seed)
    assert np.array_equal(again, chosen)


def test_pairs_in_doubt_are_asked_most() -> None:
    weights = np.concatenate([np.full(10_000, -30.0), np.full(100, 0.0), np.full(1000, 30.0)])
    pairs = Pairs.of(np.arange(len(weights)), np.arange(len(weights)) + 20_000, weights)
    chosen, _ = sample_to_label(pairs, 100, seed=1)
    asked = np.isin(chosen, np.arange(10_000, 10_100))
    assert asked.mean() > 0.6


def test_nothing_to_label_is_refused() -> None:
    with pytest.raises(UsageError):
        sample_to_label(Pairs.of([0], [1], [0.0]), 0, seed=1)
