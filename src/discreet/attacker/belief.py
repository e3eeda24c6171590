"""What the adversary believes about the size of a group before he has seen the external table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attacker.parameters import Floats
from discreet.errors import UsageError

BLOCK = 2**20
"""Probabilities computed at a time."""


@dataclass(frozen=True, eq=False)
class Belief:
    """One distribution over group sizes per target, each distinct one held once."""

    rows: Any
    """Densities of a binomial belief, or explicit distributions."""
    place: Any
    """Which row each target has."""
    external_size: int | None

    @classmethod
    def of(cls, density: Any, external_size: int | None, belief: Any, *, targets: int) -> Belief:
        """From the arguments of `Attack.unknown`."""
        if (density is None) == (belief is None):
            raise UsageError(
                "Give density= with external_size=, or belief=.", remedy="A belief is one distribution per target."
            )
        return cls._binomial(density, external_size, targets) if belief is None else cls._explicit(belief, targets)

    @classmethod
    def _binomial(cls, density: Any, external_size: int | None, targets: int) -> Belief:
        shares = np.asarray(density, dtype=np.float64)
        if external_size is None or external_size < 1:
            raise UsageError("external_size is the number of people in the external table.", remedy="Give 1 or more.")
        if shares.shape != (targets,) or not ((shares >= 0) & (shares <= 1)).all():
            raise UsageError(
                "density is one probability per target.", remedy="Give the share of the population that looks like him."
            )
        rows, place = np.unique(shares, return_inverse=True)
        return cls(rows, place, int(external_size))

    @classmethod
    def _explicit(cls, belief: Sequence[Sequence[float]], targets: int) -> Belief:
        rows = np.asarray(belief, dtype=np.float64)
        sums = rows.ndim == 2 and np.allclose(rows.sum(axis=1), 1, atol=1e-9) and bool((rows >= 0).all())
        if not sums or len(rows) != targets:
            raise UsageError(
                "belief is one distribution per target, each adding up to 1.",
                remedy="Column g is the probability of g people.",
            )
        return cls(rows, np.arange(targets), None)

    def expectation(self, values: Floats) -> Floats:
        """The expected value per target, `values` by group size and 0 beyond."""
        if self.external_size is None:
            width = min(self.rows.shape[1], len(values))
            expected: Floats = self.rows[:, :width] @ values[:width]
            return expected
        block = max(1, BLOCK // len(values))
        parts = [
            self._binomial_mass(self.rows[start : start + block], len(values)) @ values
            for start in range(0, len(self.rows), block)
        ]
        whole: Floats = np.concatenate([*parts, np.zeros(0)])[self.place]
        return whole

    def _binomial_mass(self, density: Floats, width: int) -> Floats:
        """P(G = g) for g below `width`; far below the mean it underflows to 0, which is the answer."""
        n = self.external_size or 0
        sizes = np.arange(min(width, n + 1))
        ways = np.array([math.lgamma(n + 1) - math.lgamma(g + 1) - math.lgamma(n - g + 1) for g in sizes.tolist()])
        with np.errstate(divide="ignore", invalid="ignore"):
            some = np.where(sizes > 0, sizes * np.log(density)[:, None], 0.0)
            rest = np.where(n - sizes > 0, (n - sizes) * np.log1p(-density)[:, None], 0.0)
        mass = np.exp(ways + some + rest)
        return np.asarray(np.pad(mass, ((0, 0), (0, width - len(sizes)))))
