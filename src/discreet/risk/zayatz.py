"""Population uniques by Zayatz 1991: the population's class sizes are spread like the sample's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.risk.numerics import log_rising
from discreet.risk.sample import Sample

__all__ = ["zayatz_uniques"]


def zayatz_uniques(sample: Sample) -> float:
    """The number of population uniques if the population's class sizes are spread like the sample's."""
    if sample.is_census or sample.ones == 0:
        return sample.ones
    # Zayatz 1991: P(F = 1 | f = 1) by Bayes' rule, with n_j / u for the population's spread; u cancels
    among_singles = sample.ones * sample.fraction / sample.total(_single(sample))
    return sample.ones * among_singles / sample.fraction


def _single(sample: Sample) -> NDArray[np.float64]:
    """The probability that a population class of each size leaves exactly one person in the sample."""
    rest = float(sample.population - sample.people)
    possible = np.minimum(sample.sizes, rest + 1)
    others = possible - 1
    # Hyp(1; N, j, n) = j (n / N) times, for each of the j - 1 others, the chance of being left out as well
    log_left_out = log_rising(rest - others + 1, others) - log_rising(sample.population - others, others)
    chances = sample.sizes * sample.fraction * np.exp(log_left_out)
    return np.where(possible < sample.sizes, 0.0, chances)
