"""How many pairs a release can afford: real rows that a copy loses, and how far any column may shift by it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints

UNLUCKY = 1e-6
"""The share of copies that may lose more than the budget says."""


@dataclass(frozen=True)
class Budget:
    """What marks may cost."""

    rows: float = 0.05
    """The share of released rows that a copy may lose."""
    shift: float = 0.005
    """The most by which the share of any value of any column may change."""

    def __post_init__(self) -> None:
        for name, value in (("rows", self.rows), ("shift", self.shift)):
            if not 0 < value < 1:
                raise UsageError(f"The budget of {name} is a share between 0 and 1.", remedy="Leave it out.")

    def pairs(self, sizes: Ints, probabilities: Floats, *, released: int) -> int:
        """How many of the pairs, in their order, can be marks before a copy may lose too much."""
        lost = worst_lost(sizes, probabilities)
        return int(np.searchsorted(lost, self.rows * released, side="right"))


def expected_lost(sizes: Ints, probabilities: Floats) -> float:
    """Real rows that a copy loses on average, given the size and the probability of presence of each real mark."""
    return float(np.dot(sizes, 1 - probabilities))


def worst_lost(sizes: Ints, probabilities: Floats) -> Floats:
    """For the first marks, the first two, ...: rows that fewer than one copy in a million loses, or all of them.

    By Bernstein's inequality, since marks are present independently of each other. So the bound holds for every
    recipient, however many there are and whenever they come.
    """
    mean = np.cumsum(sizes * (1 - probabilities))
    variance = np.cumsum(sizes.astype(np.float64) ** 2 * probabilities * (1 - probabilities))
    largest = np.maximum.accumulate(sizes) if len(sizes) else sizes
    depth = -math.log(UNLUCKY)
    third = largest * depth / 3
    bound: Floats = np.minimum(mean + third + np.sqrt(third**2 + 2 * variance * depth), np.cumsum(sizes))
    return bound
