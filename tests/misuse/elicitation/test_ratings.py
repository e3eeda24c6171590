"""The clamped fit against a search over the cube, and what it promises about the clamp."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.misuse.elicitation.ratings import clamped_errors, clamped_fit, incidence
from tests.examples import examples


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
