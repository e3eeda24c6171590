"""Differences of the gamma family, without the cancellation of subtracting one large value from another.

Models of a population need log Γ(x + k) − log Γ(x) and ψ(x + k) − ψ(x) where x can be a million times k. Both
are lifted by recurrence to arguments of ten and more, where Stirling's series (Abramowitz & Stegun 1964, 6.1.41
and 6.3.18) are subtracted term by term.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_rising", "reciprocals"]

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
