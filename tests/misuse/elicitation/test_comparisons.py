"""AHP: consistent answers are found again, complete or not; the ratio knows contradiction."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nst

from discreet.misuse.elicitation.comparisons import (
    PairwiseJudgement,
    consistency,
    eigenvector,
    harker,
    log_least_squares,
    nnls,
    parts,
    random_index,
)
from tests.misuse.elicitation.strategies import connected

PUBLISHED = {3: 0.5245, 4: 0.8815, 5: 1.1086, 6: 1.2479, 7: 1.3417, 8: 1.4056, 9: 1.4499, 10: 1.4854}
"""Alonso & Lamata (2006), from 100,000 matrices each."""


def complete(weights: list[float]) -> list[PairwiseJudgement]:
    return [PairwiseJudgement(i, j, weights[i] / weights[j]) for i, j in itertools.combinations(range(len(weights)), 2)]


def saaty(pairs: list[PairwiseJudgement], items: int) -> np.ndarray:
    """The complete matrix, and its eigenvector by multiplying often enough."""
    matrix = np.eye(items)
    for pair in pairs:
        matrix[pair.first, pair.second], matrix[pair.second, pair.first] = pair.ratio, 1 / pair.ratio
    vector = np.ones(items)
    for _ in range(500):
        vector = matrix @ vector
        vector /= vector.max()
    return vector


@given(st.lists(st.floats(0.12, 1.0), min_size=2, max_size=7), st.data())
def test_consistent_answers_give_the_weights_whatever_is_missing(weights: list[float], data: st.DataObject) -> None:
    items = len(weights)
    asked = [(data.draw(st.integers(0, place - 1)), place) for place in range(1, items)]
    asked += data.draw(st.lists(st.sampled_from(list(itertools.combinations(range(items), 2))), max_size=6))
    pairs = [PairwiseJudgement(i, j, weights[i] / weights[j]) for i, j in sorted(set(asked))]
    wanted = np.array(weights) / max(weights)
    assert eigenvector(pairs, items) == pytest.approx(wanted, rel=1e-5)
    logs = log_least_squares(pairs, items)
    assert np.exp(logs - logs.max()) == pytest.approx(wanted, rel=1e-6)
    found = consistency(pairs, items)
    assert found.ratio is None or found.ratio == pytest.approx(0, abs=1e-6)


@given(st.lists(st.sampled_from([1 / 9, 1 / 3, 0.5, 1, 2, 3, 7, 9]), min_size=6, max_size=6))
def test_a_complete_matrix_is_saatys(ratios: list[float]) -> None:
    pairs = [
        PairwiseJudgement(i, j, ratio)
        for (i, j), ratio in zip(itertools.combinations(range(4), 2), ratios, strict=True)
    ]
    assert eigenvector(pairs, 4) == pytest.approx(saaty(pairs, 4), rel=1e-6)


@given(connected())
def test_the_matrix_is_reciprocal_and_its_leading_value_at_least_its_size(
    case: tuple[int, list[PairwiseJudgement]],
) -> None:
    items, pairs = case
    matrix = harker(pairs, items)
    off = ~np.eye(items, dtype=bool) & (matrix > 0)
    assert (matrix * matrix.T)[off] == pytest.approx(1.0)
    assert (matrix.diagonal() + off.sum(axis=1) == items).all()
    assert np.linalg.eigvals(matrix).real.max() >= items - 1e-8


@settings(deadline=None)
@given(connected())
def test_a_tree_contradicts_nobody_and_a_circle_can(case: tuple[int, list[PairwiseJudgement]]) -> None:
    items, pairs = case
    found = consistency(pairs, items)
    assert (found.ratio is None) == (len(pairs) == items - 1)
    assert found.ratio is None or found.ratio >= 0


def test_a_contradiction_is_seen_and_located() -> None:
    pairs = complete([1.0, 0.5, 0.25, 0.2])
    assert consistency(pairs, 4).tolerable
    wrong = [*pairs[:-1], PairwiseJudgement(2, 3, 1 / 9)]
    found = consistency(wrong, 4)
    assert found.ratio is not None
    assert found.ratio > 0.10
    assert not found.tolerable
    assert found.worst == PairwiseJudgement(2, 3, 1 / 9)


def test_going_round_in_a_circle_is_no_order() -> None:
    found = consistency([PairwiseJudgement(0, 1, 9.0), PairwiseJudgement(1, 2, 9.0), PairwiseJudgement(2, 0, 9.0)], 3)
    assert found.ratio is not None
    assert found.ratio > 1


@pytest.mark.parametrize(("items", "published"), PUBLISHED.items())
def test_random_answers_are_as_inconsistent_as_published(items: int, published: float) -> None:
    assert random_index(items) == pytest.approx(published, rel=0.03)


def test_the_documentation_has_these_random_indices() -> None:
    page = (Path(__file__).parents[3] / "docs" / "explain" / "elicitation.md").read_text(encoding="utf-8")
    for items in PUBLISHED:
        assert f"| {items} | {random_index(items):.2f} |" in page


def test_parts_are_what_comparisons_connect() -> None:
    assert parts([PairwiseJudgement(0, 1, 2.0), PairwiseJudgement(3, 4, 2.0), PairwiseJudgement(4, 1, 1.0)], 6) == [
        0,
        0,
        2,
        0,
        0,
        5,
    ]


numbers = st.integers(-5_000, 5_000).map(lambda number: number / 1_000)


@st.composite
def problems(draw: st.DrawFn, *, columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, columns)))
    entries = draw(st.sampled_from([numbers, st.sampled_from([0.0, 1.0]), st.integers(-2, 2).map(float)]))
    return draw(nst.arrays(float, shape, elements=entries)), draw(nst.arrays(float, shape[0], elements=numbers))


def error(matrix: np.ndarray, wanted: np.ndarray, solution: np.ndarray) -> float:
    return float(np.sum((matrix @ solution - wanted) ** 2))


@given(problems())
def test_no_other_set_of_positive_variables_does_better(problem: tuple[np.ndarray, np.ndarray]) -> None:
    matrix, wanted = problem
    found = nnls(matrix, wanted)
    assert (found >= 0).all()
    best = float(np.sum(wanted**2))
    for size in range(1, matrix.shape[1] + 1):
        for chosen in itertools.combinations(range(matrix.shape[1]), size):
            part = np.linalg.lstsq(matrix[:, chosen], wanted, rcond=None)[0]
            if (part >= 0).all():
                best = min(best, error(matrix[:, chosen], wanted, part))
    assert error(matrix, wanted, found) <= best + 1e-6


@given(problems(columns=12))
def test_another_solver_finds_nothing_better(problem: tuple[np.ndarray, np.ndarray]) -> None:
    matrix, wanted = problem
    other = scipy.optimize.nnls(matrix, wanted)[0]
    assert error(matrix, wanted, nnls(matrix, wanted)) <= error(matrix, wanted, other) + 1e-6


def test_dependent_columns_do_not_go_round_in_circles() -> None:
    matrix = np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
    assert error(matrix, np.array([1.0, 2.0, 3.0]), nnls(matrix, np.array([1.0, 2.0, 3.0]))) == 9.5


def test_a_variable_that_comes_in_stays_while_another_blocks() -> None:
    matrix = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 1], [1, 1, 1, 0], [1, 1, 1, 1]], dtype=float)
    wanted = np.array([0, 0, 0, 0, 0.1])
    assert error(matrix, wanted, nnls(matrix, wanted)) < 0.0033334


def test_nothing_to_choose_from() -> None:
    assert nnls(np.zeros((2, 0)), np.ones(2)).tolist() == []
