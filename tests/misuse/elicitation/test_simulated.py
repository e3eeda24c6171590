"""Noisy experts: with a fair number of questions both instruments together beat rating each value directly."""

from __future__ import annotations

import numpy as np
from benchmarks.elicitation import SEEDS, errors, estimated, expert_of


def test_both_together_beat_direct_rating() -> None:
    means = {}
    for way in ("naive", "compare", "rate", "both"):
        found = []
        for seed in SEEDS[:8]:
            expert = expert_of(seed, 0.4, 0.1)
            found.append(errors(estimated(way, expert, 45, seed), expert, np.random.default_rng(seed)))
        means[way] = np.mean(found, axis=0)
    order, size = 0, 1
    assert means["both"][order] < 0.8 * means["naive"][order]
    assert means["both"][size] < 0.85 * means["naive"][size]
    assert means["both"][size] < means["compare"][size]
    assert means["both"][order] < means["rate"][order]


def test_the_same_seed_says_the_same() -> None:
    one, other = (estimated("both", expert_of(3, 0.4, 0.1), 30, 3) for _ in range(2))
    assert (one == other).all()
