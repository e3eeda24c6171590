"""Both instruments in one fit: stationary, lower than from anywhere else, and right without noise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.misuse.elicitation import SimulatedExpert
from discreet.misuse.elicitation.joint_fit import Evidence, fit
from discreet.misuse.elicitation.ratings import incidence
from tests.examples import examples
from tests.misuse.elicitation.strategies import ITEMS, connected, interviewed

TRUE = np.array([0.05, 0.3, 0.6, 0.95, 0.15, 0.4, 0.1, 0.7, 0.2])


@st.composite
def evidence(draw: st.DrawFn) -> Evidence:
    items, pairs = draw(connected(most=5))
    records = draw(st.lists(st.sets(st.integers(0, items - 1), min_size=1, max_size=3), max_size=6))
    ratings = [draw(st.integers(0, 10)) / 10 for _ in records]
    return Evidence(pairs, incidence([sorted(one) for one in records], items), np.array(ratings))


@settings(max_examples=examples(50), deadline=None)
@given(evidence())
def test_the_fit_is_stationary(case: Evidence) -> None:
    found = fit(case)
    judged = found.evidence
    gradient = judged.slopes(found.theta).T @ judged.residuals(found.theta)
    assert np.abs(gradient).max() < 1e-3 * (1 + judged.cost(found.theta))


@settings(max_examples=examples(25), deadline=None)
@given(evidence(), st.integers(0, 2**16))
def test_other_starts_end_no_lower(case: Evidence, seed: int) -> None:
    best = fit(case)
    found = best.evidence.cost(best.theta)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        other = scipy.optimize.minimize(best.evidence.cost, rng.normal(-1.5, 1.5, case.items))
        assert found <= other.fun * 1.02 + 1e-6


@given(evidence(), st.integers(0, 2**16))
def test_slopes_are_the_derivatives(case: Evidence, seed: int) -> None:
    theta = np.random.default_rng(seed).normal(-1.0, 1.0, case.items)
    sums = case.matrix @ np.exp(theta)
    step = 1e-6
    slopes = case.slopes(theta)
    smooth = np.abs(np.concatenate([np.full(len(case.pairs), 9.0), sums - 1, np.full(case.items, 9.0)])) > 1e-3
    for item in range(case.items):
        nudge = np.eye(case.items)[item] * step
        numeric = (case.residuals(theta + nudge) - case.residuals(theta - nudge)) / (2 * step)
        assert slopes[smooth, item] == pytest.approx(numeric[smooth], rel=1e-3, abs=1e-3)


def test_without_noise_the_scores_are_found_again() -> None:
    found = interviewed(TRUE, comparisons=16, ratings=20)
    assert len(found.items) == len(ITEMS)
    assert found.scores() == pytest.approx(TRUE, abs=0.03)


def test_what_was_asked_more_is_known_better() -> None:
    few, many = interviewed(TRUE, comparisons=8, ratings=2), interviewed(TRUE, comparisons=30, ratings=25)
    assert np.diag(many.fit.covariance).max() < np.diag(few.fit.covariance).max() / 2


def test_errors_are_those_that_the_expert_makes() -> None:
    careful, careless = (
        SimulatedExpert(TRUE, np.random.default_rng(1), comparing, rating)
        .interview("expert", ITEMS, comparisons=36, ratings=30)
        .fit.evidence
        for comparing, rating in ((0.1, 0.2), (0.9, 0.05))
    )
    assert careful.comparing < 0.4 < 0.6 < careless.comparing
    assert careful.rating > 1.3 * careless.rating
