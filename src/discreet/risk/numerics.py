"""Numerics: differences of the gamma family without cancellation, and root finding (Ridders).

Models of a population need log Γ(x + k) − log Γ(x) and ψ(x + k) − ψ(x) where x can be a million times k. Both
are lifted by recurrence to arguments of ten and more, where Stirling's series (Abramowitz & Stegun 1964, 6.1.41
and 6.3.18) are subtracted term by term.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["find_root", "log_rising", "reciprocals"]

Real = TypeVar("Real", float, NDArray[np.float64])

_LIFT = 10
# A&S 6.1.41: B_2m / (2m (2m − 1)); 6.3.18: B_2m / 2m. From ten upwards the first terms left out are below 1e-15.
_LOG_GAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)


def log_rising(x: Real, k: Real) -> Real:
    """The logarithm of x (x + 1) ... (x + k − 1): log Γ(x + k) − log Γ(x), for any x > 0 and k >= 0.

    >>> bool(np.isclose(log_rising(3.0, 4.0), np.log(3 * 4 * 5 * 6)))
    True
    """
    head = sum((np.log((x + i) / (x + k + i)) for i in range(_LIFT)), start=0 * k)
    a, b = x + _LIFT, x + k + _LIFT
    trunk = (a - 0.5) * np.log1p(k / a) + k * (np.log(b) - 1)
    value: Real = head + trunk + _series(_LOG_GAMMA, b) / b - _series(_LOG_GAMMA, a) / a
    return value


def reciprocals(x: Real, k: Real) -> Real:
    """The sum 1 / x + 1 / (x + 1) + ... + 1 / (x + k − 1): ψ(x + k) − ψ(x), for any x > 0 and k >= 0.

    >>> bool(np.isclose(reciprocals(2.0, 3.0), 1 / 2 + 1 / 3 + 1 / 4))
    True
    """
    head = sum((k / ((x + i) * (x + k + i)) for i in range(_LIFT)), start=0 * k)
    a, b = x + _LIFT, x + k + _LIFT
    trunk = np.log1p(k / a) + k / (2 * a * b)
    value: Real = head + trunk + _series(_DIGAMMA, a) / a / a - _series(_DIGAMMA, b) / b / b
    return value


def _series(terms: tuple[float, ...], x: Real) -> Real:
    square, value = 1 / x / x, 0 * x
    for term in reversed(terms):
        value = term + square * value
    return value


# Where a function of one variable crosses zero (Ridders 1979).
Point = tuple[float, float]

_DIGITS = 1e-13  # of a root
_MOST_STEPS = 200  # Ridders' method halves its bracket at each of them, so that a handful is the rule


def find_root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where a function crosses zero between low and high (Ridders 1979); the nearer end where it does not.

    >>> round(find_root(lambda x: x * x - 2, 0, 2), 12)
    1.414213562373
    """
    start, end, x = (low, f(low)), (high, f(high)), math.inf
    if not _crosses(start, end):
        return min(start, end, key=lambda point: abs(point[1]))[0]
    for _ in range(_MOST_STEPS):
        middle = _evaluate(f, (start[0] + end[0]) / 2)
        before, x = x, _ridders(start, middle, end)
        if abs(x - before) <= _DIGITS * (1 + abs(x)):
            break
        start, end = _narrowest([start, middle, _evaluate(f, x), end])
    return x


def _evaluate(f: Callable[[float], float], x: float) -> Point:
    return x, f(x)


def _ridders(start: Point, middle: Point, end: Point) -> float:
    if middle[1] == 0:
        return middle[0]
    step = (middle[0] - start[0]) * middle[1] / math.sqrt(middle[1] ** 2 - start[1] * end[1])
    return middle[0] + (step if start[1] > end[1] else -step)


def _narrowest(points: list[Point]) -> tuple[Point, Point]:
    return next(pair for pair in pairwise(sorted(points)) if _crosses(*pair))


def _crosses(start: Point, end: Point) -> bool:
    return (start[1] > 0) != (end[1] > 0)
