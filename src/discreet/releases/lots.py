"""Drawing lots among a few things: for so few, numpy's own ways take most of their time to begin.

What is drawn is what `Generator.choice` of numpy 2 draws from the same generator.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np


def drawn(odds: Sequence[float], generator: np.random.Generator) -> int:
    """One place, by its odds.

    >>> drawn([0.0, 2.0, 0.0], np.random.default_rng(1))
    1
    """
    total = sum(odds)
    return bisect_right(_steps([one / total for one in odds]), generator.random())


def in_order(odds: Sequence[float], generator: np.random.Generator) -> list[int]:
    """All places in an order that is drawn, those of larger odds rather first.

    >>> in_order([1e-12, 1.0], np.random.default_rng(1))
    [1, 0]
    """
    left, found = list(odds), dict[int, None]()
    while len(found) < len(left):
        for place in found:
            left[place] = 0.0
        steps = _steps(left)
        found |= dict.fromkeys(bisect_right(steps, luck) for luck in generator.random(len(left) - len(found)).tolist())
    return list(found)


def _steps(odds: Sequence[float]) -> list[float]:
    """The odds one after the other, up to 1."""
    sums = list(accumulate(odds))
    return [one / sums[-1] for one in sums]
