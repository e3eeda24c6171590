"""Pairwise comparison (AHP, Saaty 1980) with missing pairs, by non-negative least squares.

A comparison says that one value is `ratio` times as harmful as another. Missing pairs follow Harker (1987): the
matrix has 0 where a pair is missing and, on its diagonal, one plus the number of missing pairs of that row. Its
principal eigenvector gives the weights; for a complete matrix that is Saaty's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.kernel.arrays import Floats

MOST = 9
"""The largest ratio of Saaty's scale."""
SCALE = tuple([1 / number for number in range(MOST, 1, -1)] + [float(number) for number in range(1, MOST + 1)])
TOLERABLE = 0.10
"""Consistency ratio above which answers contradict each other too much (Saaty)."""
DRAWN, FEWEST_DRAWS = 24_000, 400
"""Rows of random matrices per consistency ratio, and the fewest matrices; the same ones every time."""


@dataclass(frozen=True)
class PairwiseJudgement:
    """Judgement that item `first` is `ratio` times as harmful as item `second`."""

    first: int
    second: int
    ratio: float


@dataclass(frozen=True)
class Consistency:
    """How far the comparisons agree with each other."""

    ratio: float | None
    """Saaty's consistency ratio; None as long as no comparison could contradict another."""
    worst: PairwiseJudgement | None
    """The comparison furthest from what the others say."""

    @property
    def tolerable(self) -> bool:
        """Whether the ratio is at most 0.10."""
        return self.ratio is None or self.ratio <= TOLERABLE


def laplacian(pairs: Sequence[PairwiseJudgement], items: int) -> tuple[Floats, Floats]:
    """The graph of comparisons and the right-hand side of its normal equations in logarithms."""
    matrix, side = np.zeros((items, items)), np.zeros(items)
    for pair in pairs:
        i, j, answer = pair.first, pair.second, np.log(pair.ratio)
        matrix[[i, j], [i, j]] += 1
        matrix[[i, j], [j, i]] -= 1
        side[i] += answer
        side[j] -= answer
    return matrix, side


def log_least_squares(pairs: Sequence[PairwiseJudgement], items: int) -> Floats:
    """Logarithms of the best-fitting weights, centred in each connected part (Crawford & Williams 1985).

    >>> np.exp(log_least_squares([PairwiseJudgement(0, 1, 2.0), PairwiseJudgement(1, 2, 3.0)], 3)[0] - log_least_squares([PairwiseJudgement(0, 1, 2.0), PairwiseJudgement(1, 2, 3.0)], 3)[2]).round(6).item()
    6.0
    """
    matrix, side = laplacian(pairs, items)
    found: Floats = np.linalg.pinv(matrix, hermitian=True) @ side
    return found


def parts(pairs: Sequence[PairwiseJudgement], items: int) -> list[int]:
    """For each item the smallest item it is connected with.

    >>> parts([PairwiseJudgement(0, 2, 1.0)], 4)
    [0, 1, 0, 3]
    """
    part = list(range(items))
    for pair in pairs:
        low, high = sorted((part[pair.first], part[pair.second]))
        part = [low if one == high else one for one in part]
    return part


def harker(pairs: Sequence[PairwiseJudgement], items: int) -> Floats:
    """Matrix of comparisons with Harker's diagonal; of a repeated pair the latest answer counts.

    >>> harker([PairwiseJudgement(0, 1, 2.0)], 3).tolist()
    [[2.0, 2.0, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 3.0]]
    """
    matrix = np.zeros((items, items))
    for pair in pairs:
        matrix[pair.first, pair.second] = pair.ratio
        matrix[pair.second, pair.first] = 1 / pair.ratio
    np.fill_diagonal(matrix, items - (matrix > 0).sum(axis=1))
    return matrix


def eigenvector(pairs: Sequence[PairwiseJudgement], items: int) -> Floats:
    """Saaty's weights, the largest 1. Every item must be connected with every other.

    >>> eigenvector([PairwiseJudgement(0, 1, 2.0), PairwiseJudgement(1, 2, 3.0)], 3).round(6).tolist()
    [1.0, 0.5, 0.166667]
    """
    values, vectors = np.linalg.eig(harker(pairs, items))
    leading = np.abs(vectors[:, np.argmax(values.real)].real)
    weights: Floats = leading / leading.max()
    return weights


def consistency(pairs: Sequence[PairwiseJudgement], items: int) -> Consistency:
    """Consistency ratio: (λ − n)/(n − 1) over the mean of random answers."""
    asked = frozenset(frozenset((pair.first, pair.second)) for pair in pairs)
    if len(asked) <= items - len(set(parts(pairs, items))):
        return Consistency(None, None)
    leading = float(np.linalg.eigvals(harker(pairs, items)).real.max())
    index = max(0.0, leading - items) / (items - 1)
    places = np.array(sorted(sorted(pair) for pair in asked))
    weights = log_least_squares(pairs, items)
    worst = max(pairs, key=lambda pair: abs(weights[pair.first] - weights[pair.second] - np.log(pair.ratio)))
    return Consistency(index / random_index(items, tuple(map(tuple, places.tolist()))), worst)


@lru_cache(maxsize=256)
def random_index(items: int, asked: tuple[tuple[int, int], ...] | None = None) -> float:
    """Mean consistency index of random answers to these pairs, or to all.

    >>> 0.5 < random_index(3) < 0.6
    True
    """
    places = np.array([(i, j) for i in range(items) for j in range(i)] if asked is None else asked)
    draws = max(FEWEST_DRAWS, DRAWN // items)
    answers = np.random.default_rng(items).choice(np.array(SCALE), size=(draws, len(places)))
    matrices = np.zeros((draws, items, items))
    matrices[:, places[:, 0], places[:, 1]] = answers
    matrices[:, places[:, 1], places[:, 0]] = 1 / answers
    diagonal = np.arange(items)
    matrices[:, diagonal, diagonal] = items - (matrices[0] > 0).sum(axis=1)
    leading = np.linalg.eigvals(matrices).real.max(axis=1)
    return float(np.mean(leading - items) / (items - 1))


# Least squares without negative numbers, solved exactly by the active-set method of Lawson & Hanson (1974, ch. 23).
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
    while len(solution):
        gradient = matrix.T @ (wanted - matrix @ solution)
        gradient[passive] = -np.inf
        gradient[list(refused)] = -np.inf
        if gradient.max() <= small:
            break
        entering = int(np.argmax(gradient))
        passive[entering] = True
        moved = np.zeros_like(solution)
        while passive.any():
            # Least squares on the passive set, shrunk to what stays positive.
            moved = np.zeros_like(solution)
            moved[passive] = np.linalg.lstsq(matrix[:, passive], wanted, rcond=None)[0]
            below = passive & (moved <= 0)
            if not below.any():
                break
            steps = np.full(len(solution), np.inf)
            steps[below] = solution[below] / (solution[below] - moved[below] + np.finfo(float).tiny)
            solution = solution + steps.min() * (moved - solution)
            # Only what blocks goes, and at least one does: a variable that has just come in is at 0, too.
            passive &= steps > steps.min()
            solution[~passive] = 0.0
            moved = np.zeros_like(solution)
        # A variable that cannot grow is linearly dependent on those inside: it would come in for ever.
        refused = set() if moved[entering] > 0 else refused | {entering}
        solution = moved
    return solution
