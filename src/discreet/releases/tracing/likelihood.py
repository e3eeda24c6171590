"""How well the copy of a recipient explains a leaked file, alone or put together with copies of others.

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

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints
from discreet.releases.crowds import Crowd
from discreet.releases.evidence import log_mean
from discreet.releases.rates import Rates
from discreet.releases.scenarios import SCENARIOS, Scenario
from discreet.releases.tracing.observed_marks import Sightings

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
        found = bits @ self._weights + self._rest
        if len(self._order):
            shared = bits[:, self._order]
            for place, crowded in enumerate(self._crowds):
                found[:, place] += crowded.curved(shared, self._order, self._starts)
        return log_mean(found)

    def ideal(self) -> Flags:
        """Codewords that fit the file well: per scenario all lone marks that speak for it, and as many others as fit."""
        fitting = self._weights > 0
        fitting[~self.sightings.lone] = self._filling()[~self.sightings.lone, None]
        return np.asarray(fitting.T)

    def _filling(self) -> Flags:
        """Marks that fill each cell up to what the file has of it."""
        order = np.argsort(self._cells, kind="stable")
        cells, rows = self._cells[order], self._rows[order]
        filled = np.cumsum(rows) - rows
        first = np.searchsorted(cells, cells, side="left")
        wanted = self.sightings.counts[cells] / self.rates.overall - self.sightings.base[cells]
        fits = np.zeros(len(cells), dtype=bool)
        fits[order] = filled - filled[first] + rows / 2 <= wanted
        return fits

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
    def _crowds(self) -> list[Crowd]:
        busy = self._cells[self._order][self._starts]
        return [
            Crowd.of(scenario, self.sightings, self.probabilities, self.rates, self._floors[scenario], busy)
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
            weights[~lone, place] = self._crowds[place].slopes[~lone]
        return weights

    @cached_property
    def _rest(self) -> Floats:
        """Per scenario the score of a codeword without marks."""
        lone = [float(self._logs(scenario, self._floors[scenario])[1].sum()) for scenario in SCENARIOS]
        whole = np.array(lone) + [crowd.rest for crowd in self._crowds]
        return np.asarray(whole - whole.max())

    @cached_property
    def _floors(self) -> dict[Scenario, float]:
        """Per scenario the floor under which the file is likeliest, whoever made it."""
        return {scenario: max(FLOORS, key=lambda floor: self._fit(scenario, floor)) for scenario in SCENARIOS}

    def _fit(self, scenario: Scenario, floor: float) -> float:
        held, missed = self._logs(scenario, floor)
        chances = self.probabilities[self.sightings.lone]
        return float(np.logaddexp(np.log(chances) + held, np.log1p(-chances) + missed).sum())

    def _logs(self, scenario: Scenario, floor: float) -> tuple[Floats, Floats]:
        """The log-likelihood of the rows in the cell of each lone mark, if the recipient holds it and if not."""
        lone = self.sightings.lone
        counts, rows = self.sightings.counts[self._cells[lone]].astype(np.float64), self._rows[lone]
        found = []
        for own in (1, 0):
            parts = scenario.parts(self.probabilities[lone], own)
            logs = [np.log(chance) + self._seen(counts, rows * part, floor) for part, chance in parts]
            found.append(np.logaddexp.reduce(logs, axis=0))
        return found[0], found[1]

    def _seen(self, counts: Floats, rows: Floats, floor: float) -> Floats:
        reached = _log_poisson(counts, self.rates.share * rows + floor)
        unreached = _log_poisson(counts, np.full(len(rows), floor))
        seen: Floats = np.logaddexp(
            math.log1p(-self.rates.unreached) + reached, math.log(self.rates.unreached) + unreached
        )
        return seen


def _log_poisson(counts: Floats, rates: Floats) -> Floats:
    """Up to a constant that all copies share."""
    return counts * np.log(rates) - rates
