"""Least squares without negative numbers, solved exactly by the active-set method of Lawson & Hanson (1974, ch. 23)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Floats

TOLERANCE = 1e-10
"""Relative to the size of the problem: below, a gradient counts as zero."""


def nnls(matrix: Floats, wanted: Floats) -> Floats:
    """The x ≥ 0 that makes |matrix·x − wanted| least.

    Variables enter the passive set one by one, the one with the steepest gradient first; whenever the least squares
    solution on that set leaves the positive orthant, the step stops at its border and the variables met there go
    back. The residual falls with every step and there are finitely many sets, so it ends, at a point that meets the
    Karush-Kuhn-Tucker conditions, which for a convex problem is a minimum.

    >>> nnls(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([0.3, 0.5])).round(9).tolist()
    [0.4, 0.0]
    """
    solution = np.zeros(matrix.shape[1])
    passive = np.zeros(matrix.shape[1], dtype=bool)
    small = TOLERANCE * max(1.0, float(np.abs(matrix).max(initial=0.0) * np.abs(wanted).max(initial=0.0)))
    refused: set[int] = set()
    while (entering := _steepest(matrix, wanted, solution, passive, refused, small)) is not None:
        passive[entering] = True
        moved = _settle(matrix, wanted, solution, passive)
        # A variable that cannot grow is linearly dependent on those inside: it would come in for ever.
        refused = set() if moved[entering] > 0 else refused | {entering}
        solution = moved
    return solution


def _steepest(
    matrix: Floats, wanted: Floats, solution: Floats, passive: NDArray[np.bool_], refused: set[int], small: float
) -> int | None:
    gradient = matrix.T @ (wanted - matrix @ solution)
    gradient[passive] = -np.inf
    gradient[list(refused)] = -np.inf
    if not len(gradient) or gradient.max() <= small:
        return None
    return int(np.argmax(gradient))


def _settle(matrix: Floats, wanted: Floats, solution: Floats, passive: NDArray[np.bool_]) -> Floats:
    """Least squares on the passive set, shrunk to what stays positive; `passive` loses what is met at the border."""
    while passive.any():
        free = np.zeros_like(solution)
        free[passive] = np.linalg.lstsq(matrix[:, passive], wanted, rcond=None)[0]
        below = passive & (free <= 0)
        if not below.any():
            return free
        steps = np.full(len(solution), np.inf)
        steps[below] = solution[below] / (solution[below] - free[below] + np.finfo(float).tiny)
        solution = solution + steps.min() * (free - solution)
        # Only what blocks goes, and at least one does: a variable that has just come in is at 0, too.
        passive &= steps > steps.min()
        solution[~passive] = 0.0
    return np.zeros_like(solution)
