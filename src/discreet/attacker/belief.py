"""Belief of the adversary about the size of a group before seeing the external table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints

NARROW = 128
"""Up to so many sizes that matter, all densities are summed at once."""
FAR = 450.0
"""With this many people expected, fewer than NARROW have a probability below 1e-60."""
SPREADS, PEOPLE = 12.0, 40.0
"""So many standard deviations and people from the mean a binomial has no mass left that a float would notice."""


@dataclass(frozen=True, eq=False)
class Binomial:
    """G ~ Binomial(n, q): n people in the external table, each looking like the target with probability q."""

    densities: Floats
    """Each distinct one once, rising."""
    place: Ints
    """Which of them each target has."""
    people: int

    @classmethod
    def of(cls, density: Any, external_size: int | None, targets: int) -> Binomial:
        """From one density for all targets, or one for each."""
        if isinstance(external_size, bool) or not isinstance(external_size, int | np.integer) or external_size < 1:
            raise UsageError("external_size is the number of people in the external table.", remedy="Give 1 or more.")
        shares = _numbers(density)
        shares = np.full(targets, shares) if shares.ndim == 0 else shares
        if shares.shape != (targets,) or not ((shares >= 0) & (shares <= 1)).all():
            raise UsageError(
                "density is one probability per target.",
                remedy="Give the share of the population that looks like the target.",
            )
        densities, place = np.unique(shares, return_inverse=True)
        return cls(densities, place, int(external_size))

    def sizes(self, most: int | None) -> Ints:
        """Group sizes with any probability below `most`, rising: all of them if few, else those around the means."""
        if most is not None and most <= NARROW:
            return np.arange(min(most, self.people + 1))
        end = self.people + 1 if most is None else most
        parts: list[Ints] = []
        reached = 0
        for low, high in sorted(self._range(density) for density in self.densities.tolist()):
            if low < end and min(high, end) > reached:
                parts.append(np.arange(max(low, reached), min(high, end)))
                reached = min(high, end)
        return np.concatenate([*parts, np.zeros(0, dtype=np.int64)]).astype(np.int64)

    def most(self) -> int:
        """The smallest size that is larger than all with any probability."""
        return self._range(float(self.densities[-1]))[1] if len(self.densities) else 0

    def expectation(self, sizes: Ints, worth: Floats) -> Floats:
        """The expected worth per target, where `worth` belongs to `sizes`, and others are worth nothing."""
        if not len(sizes):
            return np.zeros(len(self.place))
        expected = np.zeros(len(self.densities))
        at_once = (self.densities <= 0.5) & (sizes[-1] == len(sizes) - 1 < NARROW)
        # sum_g C(n, g) q^g (1-q)^(n-g) worth_g as a polynomial in the odds, by Horner's rule; `parts` stay far from the
        # largest float.
        near = at_once & (self.densities * self.people < FAR)
        odds = self.densities[near] / (1 - self.densities[near])
        most = float(worth.max()) or 1.0
        parts = worth / most
        total = np.full(len(odds), parts[-1])
        for size in range(len(worth) - 1 if near.any() else 0, 0, -1):
            total *= odds * ((self.people - size + 1) / size)
            total += parts[size - 1]
        expected[near] = most * (total * np.exp(self.people * np.log1p(-self.densities[near])))
        for place in np.flatnonzero(~at_once).tolist():
            density = float(self.densities[place])
            low, high = self._range(density)
            if low > sizes[-1]:
                continue
            # Around the mean, the mass scaled by its own sum so that nothing under- or overflows.
            people, mass = np.arange(low, high), np.ones(1)
            if len(people) > 1:
                steps = np.log((self.people - people[1:] + 1) / people[1:]) + math.log(density) - math.log1p(-density)
                logs = np.concatenate([[0.0], np.cumsum(steps)])
                mass = np.exp(logs - logs.max())
            begin, end = np.searchsorted(sizes, (low, high))
            expected[place] = float(mass[sizes[begin:end] - low] @ worth[begin:end] / mass.sum())
        return np.asarray(expected[self.place])

    def _range(self, density: float) -> tuple[int, int]:
        mean = self.people * density
        reach = SPREADS * math.sqrt(mean * (1 - density)) + PEOPLE
        if density in (0.0, 1.0):
            reach = 0.0
        return max(0, math.floor(mean - reach)), min(self.people, math.ceil(mean + reach)) + 1


@dataclass(frozen=True, eq=False)
class Explicit:
    """Distributions written out, as probabilities that are not 0."""

    owners: Ints
    people: Ints
    chances: Floats
    targets: int

    @classmethod
    def of(cls, belief: Any, targets: int) -> Explicit:
        """From one distribution per target: a list by group size from 0 on, or a mapping from sizes; or one for all."""
        if not isinstance(belief, Mapping | Sequence):
            belief = _numbers([*belief] if isinstance(belief, Iterator) else belief)
            belief = belief if belief.ndim else [belief]
        for_all = isinstance(belief, Mapping) or not isinstance(next(iter(belief), []), Mapping | Sequence | np.ndarray)
        people: list[Ints] = []
        chances: list[Floats] = []
        for row in [belief] * targets if for_all else belief:
            if isinstance(row, Mapping):
                sizes, shares = np.array([*row]), _numbers([*row.values()])
            else:
                shares = _numbers(row)
                sizes = np.arange(len(shares)) if shares.ndim == 1 else np.zeros(0)
            whole = sizes.dtype.kind in "iu" and (sizes >= 0).all()
            if not whole or not (shares >= 0).all() or not abs(shares.sum() - 1) <= 1e-9:
                raise UsageError(
                    "belief is one distribution per target, each adding up to 1.",
                    remedy="Give the probability of 0, 1, 2 ... people, or a mapping from numbers of people.",
                )
            people.append(sizes[shares > 0].astype(np.int64))
            chances.append(shares[shares > 0])
        if len(people) != targets:
            raise UsageError(
                f"belief has {len(people):,} distributions for {targets:,} targets.",
                remedy="Give one distribution per target, or one for all.",
            )
        owners = np.repeat(np.arange(targets), [len(part) for part in people])
        return cls(
            owners, np.concatenate([*people, []]).astype(np.int64), np.concatenate([*chances, np.zeros(0)]), targets
        )

    def sizes(self, most: int | None) -> Ints:
        """The sizes with any probability for any target."""
        distinct = np.unique(self.people)
        return distinct if most is None else distinct[distinct < most]

    def expectation(self, sizes: Ints, worth: Floats) -> Floats:
        """Sums over what is believed."""
        if not len(sizes):
            return np.zeros(self.targets)
        place = np.minimum(np.searchsorted(sizes, self.people), len(sizes) - 1)
        each = np.where(sizes[place] == self.people, worth[place], 0.0) * self.chances
        return np.bincount(self.owners, weights=each, minlength=self.targets).astype(np.float64)


def _numbers(values: Any) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError("Probabilities are numbers.", remedy="Check density= or belief=.") from None
