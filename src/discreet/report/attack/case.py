"""One table under attack, with what would deter the adversary: the facts that words and pictures share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from discreet.attacker import Attack, Attacked
from discreet.attacker.population import Targets

UNHEARD = 1e15
"""No amount from here on deters anybody: it cannot be paid."""


@dataclass(frozen=True)
class Deterrents:
    """The least amounts that deter the adversary from everybody; None where none does."""

    attack: Attack
    smallest: int
    """The smallest group, which is the most attractive."""

    @cached_property
    def penalty(self) -> float | None:
        """The fine."""
        return _finite(self.attack.deterring_penalty(self.smallest))

    @cached_property
    def price(self) -> float | None:
        """What the list must cost."""
        return _finite(self.attack.deterring_price(self.smallest))

    @cached_property
    def size(self) -> int | None:
        """The fewest people who must look alike."""
        return self.attack.least_size()


def _finite(amount: float) -> float | None:
    return amount if amount < UNHEARD else None


@dataclass(frozen=True, eq=False)
class Case:
    """The table under attack."""

    struck: Attacked
    threshold: float

    @property
    def attack(self) -> Attack:
        """The adversary."""
        return self.struck.attack

    @cached_property
    def records(self) -> int:
        """People in the data."""
        return int(self.struck.people.sum())

    @cached_property
    def targets(self) -> Targets:
        """The people by what he sees of them."""
        return Targets.of(self.struck)

    @cached_property
    def deterrents(self) -> Deterrents | None:
        """What deters him; None where nobody of the data is in the list."""
        smallest = self.targets.smallest
        return None if smallest is None else Deterrents(self.attack, smallest)

    @property
    def guessed(self) -> float:
        """People re-identified by one random guess each, where that pays."""
        return float(self.struck.people @ self.struck.baseline.risk)

    @property
    def guessed_at(self) -> int:
        """People for whom one random guess pays."""
        return int(self.struck.people[self.struck.baseline.attacks].sum())

    @property
    def unlisted(self) -> int:
        """People of the data whom nobody in the list looks like."""
        return int(self.struck.people[self.struck.groups == 0].sum())

    @property
    def above(self) -> int:
        """People whom he re-identifies with a probability above the threshold."""
        return round(self.struck.known.at_risk(self.threshold) * self.records)

    @property
    def has_losses(self) -> bool:
        """Whether the publisher said what a re-identification costs."""
        losses = self.struck.known.losses
        return losses.column is not None or bool((losses.highest != 1).any())
