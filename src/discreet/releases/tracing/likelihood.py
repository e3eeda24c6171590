"""Likelihood of a leaked file given one recipient's copy, or several combined.

For each way in which a file can be made from one, two or three copies, cells have Poisson counts; the bits of the
other copies are unknown and averaged over by the secret probabilities. The score of a codeword is the logarithm of its
likelihood, averaged over these ways. It depends on the file and on the codeword alone, so that a p-value against
codewords that nobody has is valid whatever really happened; a bad model of the leak costs power, never validity.

Where the rows of a cell can come from one mark only, the likelihood is exact. In other cells the other copies count
with their mean, and what they vary by widens the law, as sampling without replacement narrows it (an extended
quasi-likelihood, Nelder and Pregibon 1987).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.tracing.evidence import log_mean
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


# The ways in which a leaked file can be made from one, two or three copies.
How = Literal["mix", "turns", "union", "intersection"]


@dataclass(frozen=True)
class Scenario:
    """So many copies, put together: rows of all, classes in turns, classes that any has, or classes that all have."""

    copies: int
    how: How

    def reached(self, held: int) -> tuple[tuple[float, float], ...]:
        """If so many of the copies hold a class: which parts of its rows can be in the file, with which probabilities.

        >>> Scenario(2, "mix").reached(1), Scenario(2, "turns").reached(1), Scenario(2, "intersection").reached(1)
        (((0.5, 1.0),), ((1.0, 0.5), (0.0, 0.5)), ((0.0, 1.0),))
        """
        share = held / self.copies
        if self.how == "turns":
            return ((1.0, share), (0.0, 1 - share))
        if self.how == "mix":
            return ((share, 1.0),)
        return ((float(held > 0 if self.how == "union" else held == self.copies), 1.0),)

    def parts(self, probabilities: Floats, own: int) -> list[tuple[float, Floats]]:
        """The parts of a mark's rows that can be in the file, with their probabilities over the bits of the others."""
        rest = self.copies - 1
        return [
            (part, chance * math.comb(rest, held) * probabilities**held * (1 - probabilities) ** (rest - held))
            for held in range(rest + 1)
            for part, chance in self.reached(held + own)
            if chance
        ]

    def moments(self, probabilities: Floats, own: int) -> tuple[Floats, Floats]:
        """Mean and variance of that part."""
        parts = self.parts(probabilities, own)
        mean = np.sum([part * chance for part, chance in parts], axis=0)
        square = np.sum([part**2 * chance for part, chance in parts], axis=0)
        return mean, square - mean**2


WAYS: tuple[How, ...] = ("mix", "turns", "union", "intersection")
SCENARIOS = (Scenario(1, "mix"), *(Scenario(copies, how) for copies in (2, 3) for how in WAYS))
NARROWEST = 0.1
"""Least variance over mean of a cell: a leaker may have added or dropped a row here and there."""


@dataclass(frozen=True, eq=False)
class SharedCells:
    """Cells that several marks share, under one scenario; `ground` and `counts` cover those with rows."""

    steps: Floats
    """What holding a mark adds to the rate of its cell."""
    slopes: Floats
    """What it adds to the score by the rate alone."""
    ground: Floats
    """Per cell with rows, their rate if the recipient holds none of its marks."""
    counts: Floats
    """Per cell with rows, their number divided by the variance over the mean of its law."""
    rest: float
    """The score of all shared cells for a codeword without marks."""

    @classmethod
    def of(
        cls, scenario: Scenario, found: Sightings, probabilities: Floats, rates: Rates, floor: float, busy: Ints
    ) -> SharedCells:
        """Under a scenario; `busy` are the shared cells with rows."""
        cells, number = found.cells[found.visible], len(found.counts)
        size = rates.overall * found.sizes[found.visible]
        (without, narrow), (with_it, _) = (scenario.moments(probabilities, own) for own in (0, 1))
        ground = rates.overall * found.base + floor + _per_cell(cells, size * without, number)
        steps = size * (with_it - without)
        average = ground + _per_cell(cells, steps * probabilities, number)
        # Variance over mean: of a sample, of the bits of others, and of cells that were left out.
        others = _per_cell(cells, (rates.share * found.sizes[found.visible]) ** 2 * narrow, number)
        spread = others + rates.unreached * average**2 / max(1 - rates.unreached, LEAST)
        wide: Floats = np.maximum(NARROWEST, max(0.0, 1 - rates.share) + spread / average)
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


FLOORS = (1e-4, 1e-3, 1e-2, 1e-1)
"""Rows from elsewhere per cell that are tried; the likeliest is taken."""


@dataclass(frozen=True, eq=False)
class Scoring:
    """The score of any codeword for one leaked file."""

    sightings: Sightings
    probabilities: Floats
    """Of the visible marks."""
    rates: Rates

    def scores(self, present: Flags) -> Floats:
        """The score of each row of bits of the visible marks."""
        bits = present.astype(np.float64)
        scores = bits @ self._weights + self._rest
        if len(self._order):
            shared = bits[:, self._order]
            for place, cells in enumerate(self._shared):
                scores[:, place] += cells.curved(shared, self._order, self._starts)
        return log_mean(scores)

    def ideal(self) -> Flags:
        """Codewords that fit the file well: per scenario all lone marks that speak for it, and as many others as fit."""
        # Marks that fill each cell up to what the file has of it.
        order = np.argsort(self._cells, kind="stable")
        cells, rows = self._cells[order], self._rows[order]
        filled = np.cumsum(rows) - rows
        first = np.searchsorted(cells, cells, side="left")
        wanted = self.sightings.counts[cells] / self.rates.overall - self.sightings.base[cells]
        fits = np.zeros(len(cells), dtype=bool)
        fits[order] = filled - filled[first] + rows / 2 <= wanted
        fitting, shared = self._weights > 0, ~self.sightings.lone
        fitting[shared] = fits[shared, None]
        return np.asarray(fitting.T)

    @cached_property
    def _cells(self) -> Ints:
        return self.sightings.cells[self.sightings.visible]

    @cached_property
    def _rows(self) -> Floats:
        return self.sightings.sizes[self.sightings.visible].astype(np.float64)

    @cached_property
    def _order(self) -> Ints:
        """The visible marks that share a cell in which there are rows, cell by cell."""
        places = np.flatnonzero(~self.sightings.lone & (self.sightings.counts[self._cells] > 0))
        return np.asarray(places[np.argsort(self._cells[places], kind="stable")])

    @cached_property
    def _starts(self) -> Ints:
        cells = self._cells[self._order]
        return np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]])) if len(cells) else cells

    @cached_property
    def _shared(self) -> list[SharedCells]:
        busy = self._cells[self._order][self._starts]
        return [
            SharedCells.of(scenario, self.sightings, self.probabilities, self.rates, self._floors[scenario], busy)
            for scenario in SCENARIOS
        ]

    @cached_property
    def _weights(self) -> Floats:
        """Per visible mark and scenario what holding it adds to the score, as far as that is linear."""
        weights = np.zeros((len(self._cells), len(SCENARIOS)))
        lone = self.sightings.lone
        for place, scenario in enumerate(SCENARIOS):
            held, missed = self._logs(scenario, self._floors[scenario])
            weights[lone, place] = held - missed
            weights[~lone, place] = self._shared[place].slopes[~lone]
        return weights

    @cached_property
    def _rest(self) -> Floats:
        """Per scenario the score of a codeword without marks."""
        lone = [float(self._logs(scenario, self._floors[scenario])[1].sum()) for scenario in SCENARIOS]
        whole = np.array(lone) + [cells.rest for cells in self._shared]
        return np.asarray(whole - whole.max())

    @cached_property
    def _floors(self) -> dict[Scenario, float]:
        """Per scenario the floor under which the file is likeliest, over all recipients."""
        floors, chances = {}, self.probabilities[self.sightings.lone]
        for scenario in SCENARIOS:
            fits = []
            for floor in FLOORS:
                held, missed = self._logs(scenario, floor)
                fits.append(float(np.logaddexp(np.log(chances) + held, np.log1p(-chances) + missed).sum()))
            floors[scenario] = FLOORS[int(np.argmax(fits))]
        return floors

    def _logs(self, scenario: Scenario, floor: float) -> tuple[Floats, Floats]:
        """The log-likelihood of the rows in the cell of each lone mark, if the recipient holds it and if not."""
        lone, rates = self.sightings.lone, self.rates
        counts, rows = self.sightings.counts[self._cells[lone]].astype(np.float64), self._rows[lone]
        unreached = math.log(rates.unreached) + _log_poisson(counts, np.full(len(rows), floor))
        likelihoods = []
        for own in (1, 0):
            logs = []
            for part, chance in scenario.parts(self.probabilities[lone], own):
                reached = _log_poisson(counts, rates.share * (rows * part) + floor)
                logs.append(np.log(chance) + np.logaddexp(math.log1p(-rates.unreached) + reached, unreached))
            likelihoods.append(np.logaddexp.reduce(logs, axis=0))
        return likelihoods[0], likelihoods[1]


def _log_poisson(counts: Floats, rates: Floats) -> Floats:
    """Up to a constant that all copies share."""
    return counts * np.log(rates) - rates
