"""The generated log: the same for the same seed, and every score as the measure defines it."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.misuse.generated import HABITS, generate_log

LOG = generate_log(np.random.default_rng(5), days=6)


def test_the_same_seed_gives_the_same_log() -> None:
    again = generate_log(np.random.default_rng(5), days=6)
    assert again == LOG
    assert generate_log(np.random.default_rng(6), days=6) != LOG


def test_every_score_follows_from_its_rows() -> None:
    detailed = [one for one in LOG.results if one.detailed]
    assert len(detailed) > 500
    for one in detailed:
        assert one.weights is not None
        assert one.alike is not None
        record = [min(1.0, sum(column)) for column in zip(*one.weights.values(), strict=True)]
        worst = max(weight / alike for weight, alike in zip(record, one.alike, strict=True))
        assert one.score == pytest.approx(one.rows**0.5 * worst)


def test_every_role_and_every_misuse_occurs() -> None:
    assert {one.role for one in LOG.results} == set(HABITS)
    assert set(LOG.misuse.values()) == {"strangers", "harvest", "too fine", "newcomer"}
    asked = {(one.user, one.time.date()) for one in LOG.results}
    assert set(LOG.misuse) <= asked


def test_results_come_in_order_of_time_with_ids_of_their_own() -> None:
    times = [one.time for one in LOG.results]
    assert times == sorted(times)
    assert len({one.id for one in LOG.results}) == len(LOG.results)
