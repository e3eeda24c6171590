"""Likelihood of a leaked file: what its rows say of each mark, shown or not.

A mark is lone where rows of its cell can come from it alone. Other marks share their cell with each other or with rows
that every copy has, and only the number of rows in the cell speaks. A bad model of the leak costs power, never validity:
see `joint_evidence`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.tracing.observed_marks import Sightings

# How many rows of a copy reached a leaked file: a share of the cells at all, and of these a share of their rows.
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

    `expected` are the rows that each visible mark has in an average copy. Where too few cells are free of marks, cells are
    taken as an average copy would have them.
    """
    rows, chosen = _plain_cells(sightings, expected)
    counts, rows = sightings.counts[chosen].astype(np.float64), rows[chosen]
    # A zero-inflated Poisson law by expectation and maximisation.
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


FEWEST_CELLS = 20
"""Cells without marks from which rates are learnt; with fewer, all cells are taken."""


def _plain_cells(sightings: Sightings, expected: Floats) -> tuple[Floats, Flags]:
    """Rows of each cell in every copy, or in an average one, and which cells rates are learnt from."""
    marked = np.zeros(len(sightings.counts), dtype=bool)
    marked[sightings.cells[sightings.visible]] = True
    rows = sightings.base.astype(np.float64)
    chosen = ~marked & (rows > 0)
    if chosen.sum() < FEWEST_CELLS or not sightings.counts[chosen].sum():
        cells = sightings.cells[sightings.visible]
        rows = rows + np.bincount(cells, weights=expected, minlength=len(rows))
        # A cell of a single mark would be there or not, which says nothing of shares.
        chosen = sightings.base > 0
        if not sightings.counts[chosen].sum():
            chosen = rows > 0
    return rows, chosen


def dispersion(sightings: Sightings, rates: Rates, expected: Floats) -> float:
    """Variance over mean of the rows in a cell: 0 for whole classes."""
    rows, chosen = _plain_cells(sightings, expected)
    counts, mean = sightings.counts[chosen], rates.share * rows[chosen]
    reached = (counts > 0) | (mean < 1)
    if reached.sum() < FEWEST_CELLS:
        return max(0.1, 1 - rates.share)
    squares = (counts - mean)[reached] ** 2 / np.maximum(mean[reached], LEAST)
    return float(min(max(0.0, np.quantile(squares, 0.9) / 2.7), 10.0))


FLOORS = (1e-4, 1e-3, 1e-2, 1e-1)
"""Rows from elsewhere per cell that are tried; the likeliest is taken."""
PARTS = ((1.0, 0.8), (0.5, 0.1), (0.25, 0.1))
"""Which part of the rows of a mark may be in the file, with its chance: copies may have been mixed row by row."""


def lone_marks(sightings: Sightings, probabilities: Floats, rates: Rates) -> tuple[Floats, Floats]:
    """Log-likelihoods of the rows of each lone mark, if it is shown and if not."""
    lone = sightings.lone
    counts = sightings.counts[sightings.cells[sightings.visible][lone]].astype(np.float64)
    rows, chances = sightings.sizes[sightings.visible][lone].astype(np.float64), probabilities[lone]
    tried = []
    for floor in FLOORS:
        hidden = _log_poisson(counts, np.full(len(rows), floor))
        parts = [math.log(chance) + _log_poisson(counts, rates.share * rows * part + floor) for part, chance in PARTS]
        reached = math.log1p(-rates.unreached) + np.logaddexp.reduce(parts, axis=0)
        tried.append((np.logaddexp(reached, math.log(rates.unreached) + hidden), hidden))
    fits = [np.logaddexp(np.log(chances) + shown, np.log1p(-chances) + hidden).sum() for shown, hidden in tried]
    return tried[int(np.argmax(fits))]


def _log_poisson(counts: Floats, rates: Floats) -> Floats:
    """Up to a constant that all copies share."""
    return counts * np.log(rates) - rates


SMALLEST_VARIANCE = 0.06
"""Of the rows in a cell: a leaker may add or drop a row here and there."""


@dataclass(frozen=True, eq=False)
class SharedCells:
    """Cells of several marks, or of a mark and other rows: only the number of rows speaks."""

    marks: Ints
    """Places of the marks among the visible ones, cell by cell."""
    cells: Ints
    """The cell of each of these, counted from 0."""
    sizes: Ints
    """The rows of each."""
    probabilities: Floats
    counts: Floats
    """Per cell, the rows of the file."""
    base: Floats
    """Per cell, the rows of other sources in an average copy."""
    rates: Rates
    spread: float
    """Variance over mean."""

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def of(cls, sightings: Sightings, probabilities: Floats, rates: Rates, wanted: Flags, spread: float) -> SharedCells:
        """The wanted ones of the visible marks that are not lone; the others count with their mean."""
        cells, sizes = sightings.cells[sightings.visible], sightings.sizes[sightings.visible]
        chosen = np.flatnonzero(wanted & ~sightings.lone)
        chosen = chosen[np.argsort(cells[chosen], kind="stable")]
        held, number = np.unique(cells[chosen], return_inverse=True)
        rest = np.ones(len(cells), dtype=bool)
        rest[chosen] = False
        mean = np.bincount(cells[rest], weights=(sizes * probabilities)[rest], minlength=len(sightings.counts))
        return cls(
            chosen,
            number.reshape(-1),
            sizes[chosen],
            probabilities[chosen],
            sightings.counts[held].astype(np.float64),
            (sightings.base + mean)[held].astype(np.float64),
            rates,
            spread,
        )

    @cached_property
    def chances(self) -> Floats:
        """Per cell and number of rows, the probability that a recipient's marks there have so many rows in all."""
        most = int(np.bincount(self.cells, weights=self.sizes, minlength=1).max()) if len(self.cells) else 0
        found = np.zeros((len(self), most + 1))
        found[:, 0] = 1.0
        for cell, size, chance in zip(
            self.cells.tolist(), self.sizes.tolist(), self.probabilities.tolist(), strict=True
        ):
            row = found[cell] * (1 - chance)
            row[size:] += found[cell, : len(row) - size] * chance
            found[cell] = row
        return found

    def rows(self, bits: Floats | Flags) -> Floats:
        """Rows per cell of the marks with these bits, or of an average of bits."""
        held = self.sizes * bits[self.marks]
        return np.bincount(self.cells, weights=held, minlength=len(self)).astype(np.float64)

    def log_likelihoods(self, rows: Floats, others: Floats, colluding: int) -> Floats:
        """Of the file's rows, given those of the recipient's marks and of others."""
        mean = self.rates.overall * (self.base[:, None] + (rows + others[:, None]) / colluding)
        variance = self.spread * mean + SMALLEST_VARIANCE
        logs = -((self.counts[:, None] - mean) ** 2) / (2 * variance) - np.log(variance) / 2
        return np.asarray(np.logaddexp(logs, math.log(1e-6)))

    def factor(self, bits: Flags, others: Ints, colluding: int) -> float:
        """The logarithm of the factor of one recipient; its expectation is 1 by summing over all it could hold."""
        if not len(self):
            return 0.0
        own, rest = self.rows(bits), self.rows(others.astype(np.float64))
        held = self.log_likelihoods(own[:, None], rest, colluding)[:, 0]
        return float((held - self._average(rest, colluding)).sum())

    def best(self) -> float:
        """The largest factor that any recipient alone could have."""
        if not len(self):
            return 0.0
        nobody = np.zeros(len(self))
        grid = np.arange(self.chances.shape[1])[None, :].astype(np.float64)
        logs = np.where(self.chances > 0, self.log_likelihoods(grid, nobody, 1), -np.inf)
        return float((logs.max(axis=1) - self._average(nobody, 1)).sum())

    def _average(self, rest: Floats, colluding: int) -> Floats:
        grid = np.arange(self.chances.shape[1])[None, :].astype(np.float64)
        logs = self.log_likelihoods(grid, rest, colluding)
        top = logs.max(axis=1)
        return np.asarray(top + np.log((self.chances * np.exp(logs - top[:, None])).sum(axis=1)))
