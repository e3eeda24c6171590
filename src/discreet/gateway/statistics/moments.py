"""Statistics from noised moments: averages, variances, correlations, regressions, percentiles.

Sums are centred: of each value the middle of its bounds was taken away, so that `bounds` puts it back. Everything here is
computed from what may be shown, so nothing here discloses more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Bounds = tuple[float, float]


def total(count: float, centred: float, bounds: Bounds) -> float:
    """Sum of values, from their number and their centred sum."""
    return centred + count * _middle(bounds)


def average(count: float, centred: float, bounds: Bounds) -> float | None:
    """Mean within the bounds; None if nobody is left.

    >>> average(4, -20.0, (0, 100))
    45.0
    """
    if count <= 0:
        return None
    return min(max(_middle(bounds) + centred / count, bounds[0]), bounds[1])


def variance(count: float, centred: float, squares: float, *, sample: bool = True) -> float | None:
    """Variance, never negative; None where PostgreSQL gives NULL.

    >>> variance(3, 0.0, 8.0), variance(3, 0.0, 8.0, sample=False), variance(1, 0.0, 0.0)
    (4.0, 2.6666666666666665, None)
    """
    return covariance(count, centred, centred, squares, sample=sample, least=0.0)


def deviation(count: float, centred: float, squares: float, *, sample: bool = True) -> float | None:
    """Standard deviation."""
    found = variance(count, centred, squares, sample=sample)
    return None if found is None else math.sqrt(found)


def covariance(
    count: float, first: float, second: float, products: float, *, sample: bool = False, least: float = -math.inf
) -> float | None:
    """Covariance of two columns, from their centred sums and the sum of their products."""
    divisor = count - 1 if sample else count
    if divisor <= 0:
        return None
    return max((products - first * second / count) / divisor, least)


def correlation(
    count: float, first: float, second: float, first_squares: float, second_squares: float, products: float
) -> float | None:
    """Correlation in [-1, 1]; None if one column shows no spread beyond the noise.

    >>> correlation(4, 0, 0, 4.0, 16.0, 8.0)
    1.0
    """
    one, other = (
        variance(count, first, first_squares, sample=False),
        variance(count, second, second_squares, sample=False),
    )
    both = covariance(count, first, second, products)
    if both is None or not one or not other:
        return None
    return min(max(both / math.sqrt(one * other), -1.0), 1.0)


def slope(count: float, x: float, y: float, x_squares: float, products: float) -> float | None:
    """Slope of the line that predicts y from x."""
    spread, both = variance(count, x, x_squares, sample=False), covariance(count, x, y, products)
    return None if both is None or not spread else both / spread


def intercept(
    count: float, x: float, y: float, x_squares: float, products: float, *, x_bounds: Bounds, y_bounds: Bounds
) -> float | None:
    """Where that line meets x = 0."""
    steepness = slope(count, x, y, x_squares, products)
    if steepness is None:
        return None
    return _middle(y_bounds) + y / count - steepness * (_middle(x_bounds) + x / count)


def percentile(
    fraction: float, bins: Sequence[float], low: float, high: float, total: float | None = None
) -> float | None:
    """Percentile from a noised histogram over the bounds, linear within a bin; None if nobody is left.

    The bins are first made possible: no bin below 0, and together as many as they were (or `total`). That alone takes most
    of the noise off empty bins.

    >>> percentile(0.5, [0, 10, 10, 0], 0, 4)
    2.0
    """
    number = sum(bins) if total is None else total
    if number <= 0 or not 0 <= fraction <= 1:
        return None
    possible = _possible(bins, number)
    wanted, below, width = fraction * number, 0.0, (high - low) / len(bins)
    last = max(place for place, people in enumerate(possible) if people > 0)
    for place, people in enumerate(possible):
        if people > 0 and (below + people >= wanted or place == last):
            return low + width * (place + min(max((wanted - below) / people, 0.0), 1.0))
        below += people
    return None


def _possible(bins: Sequence[float], number: float) -> list[float]:
    """Nearest histogram without negative bins that holds so many (projection on a simplex; Duchi et al. 2008, figure 1)."""
    above, lowest = 0.0, 0.0
    for place, value in enumerate(sorted(bins, reverse=True), start=1):
        above += value
        if value - (above - number) / place > 0:
            lowest = (above - number) / place
    return [max(value - lowest, 0.0) for value in bins]


def _middle(bounds: Bounds) -> float:
    return (bounds[0] + bounds[1]) / 2
