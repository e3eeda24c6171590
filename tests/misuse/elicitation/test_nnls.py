"""Against another solver, and against trying every set of positive variables."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nst

from discreet.misuse.elicitation.nnls import nnls

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
