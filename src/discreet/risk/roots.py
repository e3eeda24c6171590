"""Where a function of one variable crosses zero (Ridders 1979)."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

__all__ = ["find_root"]

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
