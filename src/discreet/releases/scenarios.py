"""The ways in which a leaked file can be made from one, two or three copies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.kernel.arrays import Floats

How = Literal["mix", "turns", "union", "intersection"]


@dataclass(frozen=True)
class Scenario:
    """So many copies, put together: rows of all, classes in turns, classes that any has, or classes that all have."""

    copies: int
    how: How

    def reached(self, held: int) -> tuple[tuple[float, float], ...]:
        """If so many of the copies hold a class: which parts of its rows can be in the file, with which probabilities.

        >>> Scenario(2, "mix").reached(1), Scenario(2, "turns").reached(1), Scenario(2, "intersection").reached(1)
        (((0.5, 1.0),), ((1.0, 0.5), (0.0, 0.5)), ((0.0, 1.0),))
        """
        share = held / self.copies
        if self.how == "turns":
            return ((1.0, share), (0.0, 1 - share))
        if self.how == "mix":
            return ((share, 1.0),)
        return ((float(held > 0 if self.how == "union" else held == self.copies), 1.0),)

    def parts(self, probabilities: Floats, own: int) -> list[tuple[float, Floats]]:
        """The parts of a mark's rows that can be in the file, with their probabilities over the bits of the others."""
        rest = self.copies - 1
        return [
            (part, chance * math.comb(rest, held) * probabilities**held * (1 - probabilities) ** (rest - held))
            for held in range(rest + 1)
            for part, chance in self.reached(held + own)
            if chance
        ]

    def moments(self, probabilities: Floats, own: int) -> tuple[Floats, Floats]:
        """Mean and variance of that part."""
        parts = self.parts(probabilities, own)
        mean = np.sum([part * chance for part, chance in parts], axis=0)
        square = np.sum([part**2 * chance for part, chance in parts], axis=0)
        return mean, square - mean**2


WAYS: tuple[How, ...] = ("mix", "turns", "union", "intersection")
SCENARIOS = (Scenario(1, "mix"), *(Scenario(copies, how) for copies in (2, 3) for how in WAYS))
