"""Person identifiers: ten digits that look random and never repeat."""

from __future__ import annotations

import numpy as np

from discreet.people.draws import Array

__all__ = ["scatter"]

LEFT, RIGHT = 90_000, 100_000  # LEFT * RIGHT is the number of ten-digit numbers
ROUNDS = 3


def scatter(people: int, rng: np.random.Generator) -> Array:
    """One identifier per row: the row number sent through a Feistel network, hence no two alike.

    Each round adds to one half something that depends on the other half only, which can be taken back.

    >>> len(set(scatter(5_000, np.random.default_rng(1)).tolist()))
    5000
    """
    left, right = np.divmod(np.arange(people, dtype=np.int64), RIGHT)
    for _ in range(ROUNDS):
        left = (left + rng.integers(LEFT, size=RIGHT)[right]) % LEFT
        right = (right + rng.integers(RIGHT, size=LEFT)[left]) % RIGHT
    return np.asarray((left + LEFT // 9) * RIGHT + right)
