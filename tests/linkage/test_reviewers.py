"""Reviewers who do not exist."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reviewers import STUDY, Adjudicated, Careless, Review, quality

from discreet.linkage import Pairs

MANY = 20_000
PAIRS = Pairs.of(np.arange(MANY), np.arange(MANY) + MANY, np.zeros(MANY))
TRUTH = np.random.default_rng(2).random(MANY) < 0.4


@pytest.mark.parametrize("accuracy", [0.0, *STUDY.values(), 1.0])
def test_right_as_often_as_said(accuracy: float) -> None:
    said = Careless(accuracy).review(PAIRS, TRUTH)
    assert (said.same == TRUTH).mean() == pytest.approx(accuracy, abs=0.01)
    assert said.characters is None


def test_two_and_a_third_are_a_vote_of_three() -> None:
    p = 0.8
    said = Adjudicated(Careless(p, 1), Careless(p, 2), Careless(p, 3)).review(PAIRS, TRUTH).same
    assert (said == TRUTH).mean() == pytest.approx(p**3 + 3 * p**2 * (1 - p), abs=0.01)


def test_anybody_who_answers_is_a_reviewer() -> None:
    class Knowing:
        def review(self, pairs: Pairs, truth: np.ndarray) -> Review:
            return Review(truth, characters=0.07, risk=0.01)

    said = Adjudicated(Knowing(), Careless(0.0), Knowing()).review(PAIRS, TRUTH)
    assert np.array_equal(said.same, TRUTH)


def test_quality_of_nothing() -> None:
    none = np.zeros(0, dtype=bool)
    assert quality(none, none, true_pairs=0).f1 == 1.0
    assert quality(np.array([False]), np.array([True]), true_pairs=1).f1 == 0.0
