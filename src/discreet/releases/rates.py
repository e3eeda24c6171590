"""How many rows of a copy reached a leaked file: a share of the cells at all, and of these a share of their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.kernel.arrays import Floats
from discreet.releases.tracing.observed_marks import Sightings

STEPS = 60
LEAST = 1e-9


@dataclass(frozen=True)
class Rates:
    """Rows of a cell come with rate `share` times its rows, unless the leaker left out the whole cell."""

    share: float
    unreached: float
    """Share of cells that were left out."""

    @property
    def overall(self) -> float:
        """Rows of the file per row of a copy, on average."""
        return self.share * (1 - self.unreached)


def fitted(sightings: Sightings, expected: Floats) -> Rates:
    """The likeliest rates, from cells that are the same in every copy; so they are the same for every recipient.

    `expected` are the rows that each mark has in an average copy. Where no cell is free of marks, cells are taken as an
    average copy would have them.
    """
    marked = np.zeros(len(sightings.counts), dtype=bool)
    marked[sightings.cells[sightings.visible]] = True
    rows = sightings.base.astype(np.float64)
    chosen = ~marked & (rows > 0)
    if not sightings.counts[chosen].sum():
        rows += np.bincount(sightings.cells[sightings.visible], weights=expected, minlength=len(rows))
        chosen = rows > 0
    return _fit(sightings.counts[chosen].astype(np.float64), rows[chosen])


def _fit(counts: Floats, rows: Floats) -> Rates:
    """A zero-inflated Poisson law by expectation and maximisation."""
    share, unreached = max(LEAST, float(counts.sum() / rows.sum())) if len(rows) else LEAST, 0.1
    empty = counts == 0
    for _ in range(STEPS):
        missed = (1 - unreached) * np.exp(-share * rows)
        left_out = np.where(empty, unreached / (unreached + missed), 0.0)
        unreached = float(left_out.mean()) if len(rows) else 0.0
        if unreached < LEAST:
            break
        share = max(LEAST, float(counts.sum() / max(LEAST, (rows * (1 - left_out)).sum())))
    return Rates(share, min(max(unreached, LEAST), 1 - LEAST))
