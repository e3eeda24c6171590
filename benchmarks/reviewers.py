"""Simulated reviewers, to see what people add to the machine.

`Reviewer` is the seam: everything that answers pairs is one, also a reviewer who opens cells on demand and says how many
characters they saw. `Careless` answers right with a fixed probability, whatever the pair; accuracies of the CHI 2018
study of 104 people are in `STUDY`. Real people are worse on twins than on typos, so this is a bound, not a forecast.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np

from discreet.kernel.arrays import Flags
from discreet.linkage.matching.pairs import Pairs

STUDY = MappingProxyType({"full": 0.842, "moderate": 0.845, "low": 0.781, "masked": 0.745})
"""Share of right answers by what was shown (Kum et al., CHI 2018): all, 30 %, 7.6 % and 0 % of the characters."""


@dataclass(frozen=True, eq=False)
class Review:
    """What a reviewer answered, and what they saw for it."""

    same: Flags
    characters: float | None = None
    """Share of the characters that were disclosed, where the reviewer knows."""
    risk: float | None = None
    """The privacy risk that was spent, where the reviewer knows."""


class Reviewer(Protocol):
    """Answers pairs. `truth` is for reviewers who are simulated."""

    def review(self, pairs: Pairs, truth: Flags) -> Review:
        """An answer for every pair."""
        ...


@dataclass(frozen=True)
class Careless:
    """Right with a fixed probability, each answer on its own."""

    accuracy: float
    seed: int = 1

    def review(self, pairs: Pairs, truth: Flags) -> Review:
        """An answer for every pair."""
        right = np.random.default_rng(self.seed).random(len(pairs)) < self.accuracy
        return Review(np.where(right, truth, ~truth))


@dataclass(frozen=True)
class Adjudicated:
    """Two reviewers answer every pair; where they differ, a third decides."""

    first: Reviewer
    second: Reviewer
    third: Reviewer

    def review(self, pairs: Pairs, truth: Flags) -> Review:
        """An answer for every pair."""
        one, other = self.first.review(pairs, truth).same, self.second.review(pairs, truth).same
        differ = one != other
        final = one.copy()
        final[differ] = self.third.review(pairs.where(differ), truth[differ]).same
        return Review(final)


@dataclass(frozen=True)
class Quality:
    """How well decisions meet the truth."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def quality(said: Flags, truth: Flags, *, true_pairs: int) -> Quality:
    """Quality of decisions about candidate pairs, where there are so many true pairs in all.

    >>> import numpy as np
    >>> round(quality(np.array([True, True, False]), np.array([True, False, True]), true_pairs=4).f1, 4)
    0.3333
    """
    right = int((said & truth).sum())
    called = int(said.sum())
    return Quality(right / called if called else 1.0, right / true_pairs if true_pairs else 1.0)
