"""With which secret probability a mark is present in a copy: the law that the probabilities are drawn from."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints

MOST_COLLUDING = 32


@dataclass(frozen=True)
class Law:
    """A few probabilities with the share of marks that take each."""

    name: str
    values: tuple[float, ...]
    shares: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Law:
        """A law from its name: `0.2/0.5` (both equally often), `0.5` (constant) or `nuida:3` (for three who collude).

        >>> Law.parse("0.2/0.5").values
        (0.2, 0.5)
        >>> [round(value, 5) for value in Law.parse("nuida:3").values]
        [0.21132, 0.78868]
        """
        wanted = re.fullmatch(r"nuida:(\d{1,3})", text)
        if wanted:
            return cls.nuida(int(wanted[1]))
        try:
            values = tuple(float(part) for part in text.split("/"))
        except ValueError:
            values = ()
        if not values or not all(0 < value < 1 for value in values) or len(set(values)) != len(values):
            raise UsageError(
                "A law of presence is one or more different probabilities between 0 and 1, or nuida with a number of recipients who collude.",
                remedy="For example 0.2/0.5 (the default), 0.5, or nuida:3.",
            )
        return cls(text, values, (1 / len(values),) * len(values))

    @classmethod
    def nuida(cls, colluding: int) -> Law:
        """The law of Nuida and others: the best finite one against so many who put their copies together.

        Its probabilities are the zeros of a Legendre polynomial, moved to [0, 1].

        >>> [round(share, 4) for share in Law.nuida(5).shares]
        [0.332, 0.336, 0.332]
        """
        if not 1 <= colluding <= MOST_COLLUDING:
            raise UsageError(
                f"Between 1 and {MOST_COLLUDING} recipients may collude; {colluding} were given.",
                remedy="Choose the largest coalition you fear, often 3.",
            )
        degree = math.ceil(colluding / 2)
        coefficients = [0.0] * degree + [1.0]
        zeros = np.sort(legendre.legroots(coefficients)).real
        values = (1 + zeros) / 2
        slopes = legendre.legval(zeros, legendre.legder(coefficients))
        weights = (values * (1 - values)) ** -1.5 / slopes**2
        return cls(f"nuida:{colluding}", tuple(values.tolist()), tuple((weights / weights.sum()).tolist()))

    @cached_property
    def mean(self) -> float:
        """The share of marks that a copy holds in the long run."""
        return float(np.dot(self.values, self.shares))

    def probabilities(self, uniforms: Floats) -> Floats:
        """The probability of each mark, given one number in [0, 1) per mark."""
        chosen: Floats = np.asarray(self.values)[self.kinds(uniforms)]
        return chosen

    def kinds(self, uniforms: Floats) -> Ints:
        """Which of the values each mark has."""
        return np.asarray(np.searchsorted(np.cumsum(self.shares)[:-1], uniforms, side="right"))


DEFAULT = Law.parse("0.2/0.5")
