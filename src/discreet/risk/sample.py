"""The class sizes of a sample, as the models of a population take them.

Throughout, u classes were sampled, n_j of them of size j; n people out of N; π = n / N.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

__all__ = ["Sample", "Sizes", "observe"]

Sizes = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Sample:
    """The distinct class sizes j of a sample, the number of classes n_j of each, and N."""

    sizes: NDArray[np.float64]
    counts: NDArray[np.float64]
    people: int
    population: int

    @property
    def fraction(self) -> float:
        """π, the share of the population that was sampled."""
        return self.people / self.population

    @property
    def is_census(self) -> bool:
        """Whether everybody was sampled."""
        return self.people == self.population

    @property
    def classes(self) -> float:
        """u, the number of classes."""
        return float(self.counts.sum())

    @property
    def ones(self) -> float:
        """n_1, the number of people who are unique in the sample."""
        return self.classes_of(1)

    def classes_of(self, size: int) -> float:
        """n_j, the number of classes of one size."""
        return float(self.counts[self.sizes == size].sum())

    def total(self, weights: NDArray[np.float64]) -> float:
        """Sum a weight per size over all classes."""
        return float(self.counts @ weights)


def observe(sizes: Sizes, population: int) -> Sample:
    """Count how many classes of each size there are.

    >>> observe(np.array([1, 1, 2]), 100).ones
    2.0
    """
    values, counts = np.unique(np.asarray(sizes), return_counts=True)
    _require_sizes(values)
    people = sum(int(size) * int(count) for size, count in zip(values, counts, strict=True))
    if population < people:
        raise UsageError(
            f"A population of {population:,} people cannot have a sample of {people:,}.",
            remedy="Give the size of the population that the sample was drawn from.",
        )
    return Sample(values.astype(np.float64), counts.astype(np.float64), people, population)


def _require_sizes(values: NDArray[Any]) -> None:
    if values.size and values.dtype.kind in "iu" and values[0] > 0:
        return
    raise UsageError(
        "Class sizes have to be whole numbers of people, one or more in each class, and at least one class.",
        remedy="Leave empty classes out.",
    )
