"""Both instruments in one fit: stationary, lower than from anywhere else, and right without noise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.misuse.elicitation import SimulatedExpert
from discreet.misuse.elicitation.joint_fit import ElicitedAnswers, clamped_errors, clamped_fit, fit, incidence
from tests.examples import examples
from tests.misuse.elicitation.strategies import ITEMS, connected, interviewed

TRUE = np.array([0.05, 0.3, 0.6, 0.95, 0.15, 0.4, 0.1, 0.7, 0.2])


@st.composite
def evidence(draw: st.DrawFn) -> ElicitedAnswers:
    items, pairs = draw(connected(most=5))
    records = draw(st.lists(st.sets(st.integers(0, items - 1), min_size=1, max_size=3), max_size=6))
    ratings = [draw(st.integers(0, 10)) / 10 for _ in records]
    return ElicitedAnswers(pairs, incidence([sorted(one) for one in records], items), np.array(ratings))


@settings(max_examples=examples(50), deadline=None)
@given(evidence())
def test_the_fit_is_stationary(case: ElicitedAnswers) -> None:
    found = fit(case)
    judged = found.evidence
    gradient = judged.slopes(found.theta).T @ judged.residuals(found.theta)
    assert np.abs(gradient).max() < 1e-3 * (1 + judged.cost(found.theta))


@settings(max_examples=examples(25), deadline=None)
@given(evidence(), st.integers(0, 2**16))
def test_other_starts_end_no_lower(case: ElicitedAnswers, seed: int) -> None:
    best = fit(case)
    found = best.evidence.cost(best.theta)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        other = scipy.optimize.minimize(best.evidence.cost, rng.normal(-1.5, 1.5, case.items))
        assert found <= other.fun * 1.02 + 1e-6


@given(evidence(), st.integers(0, 2**16))
def test_slopes_are_the_derivatives(case: ElicitedAnswers, seed: int) -> None:
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


@st.composite
def rated(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    items = draw(st.integers(1, 4))
    record = st.sets(st.integers(0, items - 1), min_size=1)
    records = draw(st.lists(record, min_size=1, max_size=7))
    rating = st.integers(0, 10).map(lambda number: number / 10)
    ratings = draw(st.lists(rating, min_size=len(records), max_size=len(records)))
    return incidence([sorted(one) for one in records], items), np.array(ratings)


def cost(matrix: np.ndarray, ratings: np.ndarray, scores: np.ndarray) -> float:
    """Written out, one record after the other."""
    total = 0.0
    for row, rating in zip(matrix, ratings, strict=True):
        weight = sum(score for has, score in zip(row, scores, strict=True) if has)
        total += max(0.0, 1 - weight) ** 2 if rating >= 1 else (weight - rating) ** 2
    return total


@settings(max_examples=examples(60), deadline=None)
@given(rated())
def test_a_general_solver_in_the_cube_finds_nothing_better(case: tuple[np.ndarray, np.ndarray]) -> None:
    matrix, ratings = case
    found = clamped_fit(matrix, ratings)
    assert (found >= 0).all()
    assert (found <= 1).all()
    box = [(0.0, 1.0)] * matrix.shape[1]
    for start in (np.zeros(matrix.shape[1]), np.full(matrix.shape[1], 0.5), np.ones(matrix.shape[1])):
        other = scipy.optimize.minimize(lambda scores: cost(matrix, ratings, scores), start, bounds=box)
        assert cost(matrix, ratings, found) <= other.fun + 1e-8


@given(rated())
def test_no_step_of_any_single_score_improves_it(case: tuple[np.ndarray, np.ndarray]) -> None:
    matrix, ratings = case
    found = clamped_fit(matrix, ratings)
    least = cost(matrix, ratings, found)
    for item in range(len(found)):
        for step in (-0.05, -0.001, 0.001, 0.05):
            moved = found.copy()
            moved[item] = np.clip(moved[item] + step, 0, 1)
            assert cost(matrix, ratings, moved) >= least - 1e-9


@given(rated())
def test_the_errors_are_those_of_the_definition(case: tuple[np.ndarray, np.ndarray]) -> None:
    matrix, ratings = case
    scores = np.linspace(0, 1, matrix.shape[1])
    errors = clamped_errors(matrix, ratings, scores)
    assert np.sum(errors**2) == pytest.approx(cost(matrix, ratings, scores))


def test_a_rating_at_the_clamp_only_pushes_up() -> None:
    matrix = incidence([(0, 1), (0,), (1,)], 2)
    clamped = clamped_fit(matrix, np.array([1.0, 0.9, 0.8]))
    assert clamped.round(9).tolist() == [0.9, 0.8]
    taken_literally = np.linalg.lstsq(matrix, np.array([1.0, 0.9, 0.8]), rcond=None)[0]
    assert taken_literally.sum() < 1.3


def test_values_without_noise_are_found_again() -> None:
    true = np.array([0.05, 0.3, 0.6, 1.0, 0.15])
    records = [(0,), (1,), (2,), (3,), (4,), (0, 1), (1, 2), (2, 3), (0, 4), (1, 4, 2)]
    matrix = incidence(records, 5)
    assert clamped_fit(matrix, np.minimum(1, matrix @ true)) == pytest.approx(true)
