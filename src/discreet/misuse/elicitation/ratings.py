"""Calibration: the values' scores that best explain how whole records were rated.

A record weighs min(1, Σ f) over its values. A rating below 1 says what the sum is; a rating of 1 only says that the
sum is at least 1, so there only an estimate below 1 is wrong:

    minimise  Σ over ratings < 1 of (Σ f − rating)²  +  Σ over ratings at 1 of max(0, 1 − Σ f)²      over f ≥ 0

Since max(0, 1 − s)² is the least of (s − u − 1)² over u ≥ 0, one more non-negative variable per rating at the clamp
makes this plain non-negative least squares, which is solved exactly. No upper bound is needed: a value scored above
1 at the optimum can only occur in records rated 1 (lowering it would improve any other), and lowering it to 1 changes
no clamped sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.kernel.arrays import Floats
from discreet.misuse.elicitation.nnls import nnls

CLAMP = 1.0


def incidence(records: Sequence[Sequence[int]], items: int) -> Floats:
    """Which value occurs in which record.

    >>> incidence([(0, 2), (1,)], 3).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    matrix = np.zeros((len(records), items))
    for row, record in enumerate(records):
        matrix[row, list(record)] = 1.0
    return matrix


def clamped_fit(matrix: Floats, ratings: Floats) -> Floats:
    """The scores in [0, 1] of least clamped error.

    >>> clamped_fit(incidence([(0,), (0, 1), (2,)], 3), np.array([0.2, 0.5, 1.0])).round(9).tolist()
    [0.2, 0.3, 1.0]
    """
    full = np.flatnonzero(ratings >= CLAMP)
    slack = np.zeros((len(ratings), len(full)))
    slack[full, np.arange(len(full))] = -1.0
    found = nnls(np.hstack([matrix, slack]), np.minimum(ratings, CLAMP))
    return np.minimum(found[: matrix.shape[1]], CLAMP)


def clamped_errors(matrix: Floats, ratings: Floats, scores: Floats) -> Floats:
    """How far each rating is missed; above the clamp nothing is.

    >>> clamped_errors(incidence([(0, 1), (0, 1)], 2), np.array([1.0, 0.75]), np.array([0.75, 0.5])).tolist()
    [0.0, 0.5]
    """
    errors = matrix @ scores - ratings
    errors[(ratings >= CLAMP) & (errors > 0)] = 0.0
    return errors
