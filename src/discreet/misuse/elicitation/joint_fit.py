"""Joint fit: comparisons order the values, ratings size them; the next question.

Each value has a harm h > 0 and the score f = min(1, h). With θ = log h, minimise

    Σ over comparisons ((θ_i − θ_j − log ratio) / comparing)²
  + Σ over ratings     (error of the clamped sum of exp θ / rating)²        as `clamped_errors` gives it
  + Σ over values      ((θ − CENTRE) / WIDTH)²

The last sum is a wide prior that settles values of which little was asked. Levenberg-Marquardt steps are taken only if
they lower the sum, which has a minimum because of the prior; the curvature there tells how well each value is known.
The fit is done twice: with the errors that are typical, then with those of this expert, as the residuals show them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.kernel.arrays import Floats
from discreet.misuse.elicitation.comparisons import MOST, PairwiseJudgement, laplacian, log_least_squares, nnls, parts

COMPARING = 0.5
"""Typical error of a comparison, in logarithms: a ratio is off by a factor of 1.6."""
RATING = 0.12
"""Typical error of a rating on a scale from 0 to 1."""
CENTRE, WIDTH = -1.5, 2.0
"""Harm before anything was asked: 0.22, within a factor of 7."""
TYPICAL = 10
"""Answers that the typical errors count for."""
STEPS = 200
ENOUGH = 1e-12


@dataclass(frozen=True)
class ElicitedAnswers:
    """Everything that was answered."""

    pairs: Sequence[PairwiseJudgement]
    matrix: Floats
    ratings: Floats
    comparing: float = COMPARING
    rating: float = RATING

    @property
    def items(self) -> int:
        """How many values there are."""
        return int(self.matrix.shape[1])

    def residuals(self, theta: Floats) -> Floats:
        """What is squared and summed."""
        compared = [
            (theta[pair.first] - theta[pair.second] - np.log(pair.ratio)) / self.comparing for pair in self.pairs
        ]
        rated = clamped_errors(self.matrix, self.ratings, np.exp(theta)) / self.rating
        return np.concatenate([np.array(compared, dtype=float), rated, (theta - CENTRE) / WIDTH])

    def slopes(self, theta: Floats) -> Floats:
        """The derivatives of the residuals."""
        compared = np.zeros((len(self.pairs), self.items))
        for row, pair in enumerate(self.pairs):
            compared[row, pair.first], compared[row, pair.second] = 1 / self.comparing, -1 / self.comparing
        harm = np.exp(theta)
        counted = ~((self.ratings >= CLAMP) & (self.matrix @ harm > self.ratings))
        rated = self.matrix * harm * counted[:, None] / self.rating
        return np.vstack([compared, rated, np.eye(self.items) / WIDTH])

    def judged_by(self, theta: Floats) -> ElicitedAnswers:
        """Answers with the errors of this expert; typical errors count for some answers."""
        answers = len(self.pairs) + len(self.ratings)
        share = max(0.0, 1 - self.items / answers) if answers else 0.0
        squares = self.residuals(theta) ** 2
        compared, rated = squares[: len(self.pairs)], squares[len(self.pairs) : answers]
        return replace(
            self,
            comparing=self.comparing * _scale(compared, share),
            rating=self.rating * _scale(rated, share),
        )

    def cost(self, theta: Floats) -> float:
        """The sum of squares."""
        return float(np.sum(self.residuals(theta) ** 2))


@dataclass(frozen=True)
class Fit:
    """Logarithms of harm, their covariance, and the evidence with the errors this expert makes."""

    theta: Floats
    covariance: Floats
    evidence: ElicitedAnswers

    @property
    def harm(self) -> Floats:
        """Harm of each value, not capped at 1 as its score is."""
        found: Floats = np.exp(self.theta)
        return found

    @property
    def scores(self) -> Floats:
        """f = min(1, harm)."""
        return np.minimum(self.harm, CLAMP)


def _scale(squares: Floats, share: float) -> float:
    """Factor by which errors exceed the assumed ones, by the unused `share` of answers."""
    return float(np.sqrt((TYPICAL + squares.sum()) / (TYPICAL + share * len(squares))))


def fit(evidence: ElicitedAnswers) -> Fit:
    """The harm of every value, and how much this expert errs."""
    # The shape that comparisons give, at the size that fits best.
    shape = log_least_squares(evidence.pairs, evidence.items)
    sizes: list[float] = np.linspace(-6.0, 2.0, 41).tolist()
    start = shape + min(sizes, key=lambda size: evidence.cost(shape + size))
    first = _fit(evidence, start)
    return _fit(evidence.judged_by(first.theta), first.theta)


def _fit(evidence: ElicitedAnswers, theta: Floats) -> Fit:
    damping = 1e-2
    for _ in range(STEPS):
        slopes = evidence.slopes(theta)
        cost = evidence.cost(theta)
        curvature = slopes.T @ slopes
        moved = theta - np.linalg.solve(
            curvature + damping * np.diag(np.diag(curvature)), slopes.T @ evidence.residuals(theta)
        )
        after = evidence.cost(moved)
        if after < cost:
            theta, damping = moved, max(damping / 4, 1e-9)
        else:
            damping *= 8
        if abs(after - cost) <= ENOUGH * (1 + cost):
            break
    slopes = evidence.slopes(theta)
    covariance = np.linalg.inv(slopes.T @ slopes).astype(np.float64)
    return Fit(theta, covariance, evidence)


# Calibration: the values' scores that best explain how whole records were rated.
#
# A record weighs min(1, Σ f) over its values. A rating below 1 says what the sum is; a rating of 1 only says that the
# sum is at least 1, so there only an estimate below 1 is wrong:
#
#     minimise  Σ over ratings < 1 of (Σ f − rating)²  +  Σ over ratings at 1 of max(0, 1 − Σ f)²      over f ≥ 0
#
# Since max(0, 1 − s)² is the least of (s − u − 1)² over u ≥ 0, one more non-negative variable per rating at the clamp
# makes this plain non-negative least squares, which is solved exactly. No upper bound is needed: a value scored above
# 1 at the optimum can only occur in records rated 1 (lowering it would improve any other), and lowering it to 1 changes
# no clamped sum.
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


# Which question to ask next: always the one whose answer is least known.
#
# Comparisons first. Until all values are connected, the next one is held against the middle of those connected (a star
# around the middle: short paths and ratios inside Saaty's scale). From then on the pair with the largest variance of its
# difference, which is the D-optimal choice. Then records, made up from values of different columns: the one whose rating
# would tell most, weighed down by the chance that it only hits the clamp.
POOL = 400
"""Made-up records that are looked at for each question."""


@dataclass(frozen=True)
class Compare:
    """Which of two would harm a person more, and how much?"""

    first: int
    second: int


@dataclass(frozen=True)
class Rate:
    """How much would it harm a person if all of this became known?"""

    items: tuple[int, ...]


Question = Compare | Rate


def next_pair(pairs: Sequence[PairwiseJudgement], asked: set[frozenset[int]], order: Sequence[int]) -> Compare | None:
    """The comparison to ask; `order` is the order in which values come up."""
    part = parts(pairs, len(order))
    # Rounded wherever values are compared: the last bits depend on the processor, and so would the questions.
    theta = np.round(log_least_squares(pairs, len(order)), 9)
    if len(set(part)) > 1:
        # The next value outside the largest connected part, against the middle of that part.
        home = max(order, key=lambda item: (part.count(part[item]), -order.index(item)))
        inside = sorted((item for item in order if part[item] == part[home]), key=lambda item: (theta[item], item))
        middle = (len(inside) - 1) / 2
        nearest = sorted(range(len(inside)), key=lambda rank: abs(rank - middle))
        for item in order:
            for rank in nearest if part[item] != part[home] else ():
                if frozenset((item, inside[rank])) not in asked:
                    return Compare(inside[rank], item)
    open_pairs = [pair for pair in itertools.combinations(order, 2) if frozenset(pair) not in asked]
    if not open_pairs:
        return None
    inverse = np.linalg.pinv(laplacian(pairs, len(order))[0], hermitian=True)
    spread = np.add.outer(np.diag(inverse), np.diag(inverse)) - 2 * inverse
    # Ratios beyond the scale are cut off and say little.
    spread = np.where(np.abs(np.subtract.outer(theta, theta)) <= math.log(MOST) + 1e-6, spread, spread - len(order))
    return Compare(*max(open_pairs, key=lambda pair: round(float(spread[pair]), 9)))


def next_record(
    fit: Fit, columns: Sequence[Sequence[int]], asked: set[frozenset[int]], rng: np.random.Generator
) -> Rate | None:
    """The record to rate: at most one value of each column."""
    # All records where they are few, else some of every length.
    records: list[tuple[int, ...]] = []
    if math.prod(len(items) + 1 for items in columns) - 1 <= POOL:
        choices = itertools.product(*([None, *items] for items in columns))
        records = [tuple(item for item in choice if item is not None) for choice in choices]
    else:
        for _ in range(POOL):
            length = int(rng.integers(1, len(columns) + 1))
            chosen = np.sort(rng.permutation(len(columns))[:length])
            records.append(tuple(int(rng.choice(columns[place])) for place in chosen))
        records = sorted(set(records))
    pool = [record for record in records if record and frozenset(record) not in asked]
    if not pool:
        return None
    matrix = incidence(pool, len(fit.theta))
    slopes = matrix * fit.harm
    variance = np.einsum("ri,ij,rj->r", slopes, fit.covariance, slopes)
    noise = fit.evidence.rating**2
    room = (CLAMP - matrix @ fit.harm) / np.sqrt(variance + noise)
    unclamped = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in room])
    return Rate(pool[int(np.argmax(np.round(unclamped * np.log1p(variance / noise), 9)))])
