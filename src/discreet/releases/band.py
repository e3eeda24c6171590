"""The ambiguity band: classes of which nobody can say from their link count whether they would be released.

A class with G people of the population is released if at least k of them are in the data, of which each is with
probability f. Where that chance is neither small nor large, a class that is there and a class that is made up look
the same to whoever knows the whole population.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.population_link import Linked

LEAST_CHANCE = 0.02
MOST_CHANCE = 0.85


def chances(links: Ints, *, sampling: float, k: int) -> Floats:
    """P(Binomial(G, f) >= k) for each link count G: how likely a class of so many people is released.

    >>> chances(np.array([4, 5, 500]), sampling=0.5, k=5).round(5).tolist()
    [0.0, 0.03125, 1.0]
    """
    distinct, places = np.unique(links, return_inverse=True)
    if sampling >= 1:
        return (distinct >= k).astype(np.float64)[places.reshape(-1)]
    return _tail(distinct.astype(np.float64), sampling, k)[places.reshape(-1)]


def _tail(people: Floats, sampling: float, k: int) -> Floats:
    """One minus the chance of fewer than k, summed in logarithms since (1 - f)**G may be below the least float."""
    term = people * np.log1p(-sampling)
    below = term.copy()
    odds = np.log(sampling) - np.log1p(-sampling)
    for drawn in range(1, k):
        with np.errstate(divide="ignore"):
            term = term + np.log(np.maximum(people - drawn + 1, 0)) - np.log(drawn) + odds
        below = np.logaddexp(below, term)
    tail: Floats = np.where(people < k, 0.0, np.clip(-np.expm1(np.minimum(below, 0.0)), 0.0, 1.0))
    return tail


def ambiguous(links: Ints, *, sampling: float, k: int) -> Flags:
    """Which link counts lie in the band."""
    chance = chances(links, sampling=sampling, k=k)
    return np.asarray((chance >= LEAST_CHANCE) & (chance <= MOST_CHANCE))


@dataclass(frozen=True, eq=False)
class Band:
    """The classes in the band, by their places: those that can be real marks, and those that can be decoys.

    Whether people of the data were suppressed in a class plays no part: if decoys avoided them, an uncovered decoy would
    tell of everybody in its class that they are not in the data.
    """

    real: Ints
    """Among the released classes."""
    free: Ints
    """Among the classes of the population: in the band and not released."""

    @classmethod
    def of(cls, linked: Linked) -> Band:
        """The band of an anonymised table beside its population."""
        real = ambiguous(linked.links, sampling=linked.sampling, k=linked.k)
        free = np.flatnonzero(ambiguous(linked.population.sizes, sampling=linked.sampling, k=linked.k))
        chosen = np.zeros(len(linked.population), dtype=bool)
        chosen[free] = True
        unreleased = linked.population.keep(chosen).link(linked.released) == 0
        return cls(np.flatnonzero(real), free[unreleased])
