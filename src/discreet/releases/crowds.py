"""Cells of a leaked file that several marks share, or that every copy has people in.

The other copies count with their mean. What they vary by widens the law of a cell's rows, as sampling without
replacement narrows it: an extended quasi-likelihood (Nelder and Pregibon 1987).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.kernel.arrays import Floats, Ints
from discreet.releases.rates import LEAST, Rates
from discreet.releases.scenarios import Scenario
from discreet.releases.tracing.observed_marks import Sightings

NARROWEST = 0.1
"""Least variance over mean of a cell: a leaker may have added or dropped a row here and there."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """Shared cells under one scenario; in which there are rows, `ground` and `counts` say more."""

    steps: Floats
    """What holding a mark adds to the rate of its cell."""
    slopes: Floats
    """What it adds to the score by the rate alone."""
    ground: Floats
    """Per cell with rows, the rate without marks of the recipient."""
    counts: Floats
    """Per cell with rows, how many, over how wide the law is."""
    rest: float

    @classmethod
    def of(
        cls, scenario: Scenario, found: Sightings, probabilities: Floats, rates: Rates, floor: float, busy: Ints
    ) -> Crowd:
        """Under a scenario; `busy` are the shared cells with rows."""
        cells, number = found.cells[found.visible], len(found.counts)
        size = rates.overall * found.sizes[found.visible]
        (without, narrow), (with_it, _) = (scenario.moments(probabilities, own) for own in (0, 1))
        ground = rates.overall * found.base + floor + _per_cell(cells, size * without, number)
        steps = size * (with_it - without)
        average = ground + _per_cell(cells, steps * probabilities, number)
        wide = _width(
            rates, average, _per_cell(cells, (rates.share * found.sizes[found.visible]) ** 2 * narrow, number)
        )
        counts = found.counts.astype(np.float64)
        saturated = counts - counts * np.log(np.maximum(counts, 1))
        rest = (saturated - ground) / wide - np.log(wide) / 2
        shared = np.unique(cells[~found.lone])
        return cls(steps, -steps / wide[cells], ground[busy], (counts / wide)[busy], float(rest[shared].sum()))

    def curved(self, bits: Floats, order: Ints, starts: Ints) -> Floats:
        """What the logarithms of the rates add to the score."""
        rates = self.ground + np.add.reduceat(bits * self.steps[order], starts, axis=1)
        added: Floats = np.log(rates) @ self.counts
        return added


def _per_cell(cells: Ints, weights: Floats, number: int) -> Floats:
    return np.bincount(cells, weights=weights, minlength=number).astype(np.float64)


def _width(rates: Rates, average: Floats, others: Floats) -> Floats:
    """Variance over mean: of a sample, of the bits of others, and of cells that were left out."""
    spread = others + rates.unreached * average**2 / max(1 - rates.unreached, LEAST)
    wide: Floats = np.maximum(NARROWEST, max(0.0, 1 - rates.share) + spread / average)
    return wide
