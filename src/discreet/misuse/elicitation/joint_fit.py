"""Comparisons and ratings in one fit: comparisons order the values, ratings give them their size.

Each value has a harm h > 0 and the score f = min(1, h). With θ = log h, minimise

    Σ over comparisons ((θ_i − θ_j − log ratio) / comparing)²
  + Σ over ratings     (error of the clamped sum of exp θ / rating)²        as in `ratings`
  + Σ over values      ((θ − CENTRE) / WIDTH)²

The last sum is a wide prior that settles values of which little was asked. Levenberg-Marquardt steps are taken only if
they lower the sum, which has a minimum because of the prior; the curvature there tells how well each value is known.
The fit is done twice: with the errors that are typical, then with those this expert makes, as her residuals show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.kernel.arrays import Floats
from discreet.misuse.elicitation.comparisons import Pair, log_least_squares
from discreet.misuse.elicitation.ratings import CLAMP, clamped_errors

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
class Evidence:
    """Everything that was answered."""

    pairs: Sequence[Pair]
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

    def judged_by(self, theta: Floats) -> Evidence:
        """The same with the errors this expert makes, as far as they show; typical ones count for some answers."""
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
    evidence: Evidence

    @property
    def harm(self) -> Floats:
        """What may exceed 1."""
        found: Floats = np.exp(self.theta)
        return found

    @property
    def scores(self) -> Floats:
        """f = min(1, harm)."""
        return np.minimum(self.harm, CLAMP)


def _scale(squares: Floats, share: float) -> float:
    """How much larger errors are than assumed; `share` of the answers were not used up by the fit."""
    return float(np.sqrt((TYPICAL + squares.sum()) / (TYPICAL + share * len(squares))))


def fit(evidence: Evidence) -> Fit:
    """The harm of every value, and how much this expert errs."""
    first = _fit(evidence, _start(evidence))
    return _fit(evidence.judged_by(first.theta), first.theta)


def _fit(evidence: Evidence, theta: Floats) -> Fit:
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


def _start(evidence: Evidence) -> Floats:
    """The shape that comparisons give, at the size that fits best."""
    shape = log_least_squares(evidence.pairs, evidence.items)
    sizes: list[float] = np.linspace(-6.0, 2.0, 41).tolist()
    return shape + min(sizes, key=lambda size: evidence.cost(shape + size))
