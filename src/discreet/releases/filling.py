"""What the rows of decoys hold: whole rows of near classes, spliced, with what follows from the class put right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.releases.blocks import association
from discreet.releases.closeness import Space, numbers_of
from discreet.releases.decoys.decoys import DecoyRows
from discreet.releases.decoys.dependencies import Dependence, dependences
from discreet.releases.decoys.donors import BINS, Donors, neighbours
from discreet.releases.decoys.perturbation import alone, movable, nudged
from discreet.releases.decoys.synthesis import Splicer
from discreet.sources.table import Table

WITNESSES = 20_000
"""Rows that are fetched at most, unless the donors alone are more."""
CANDIDATES_PER_ROW = 6
"""Rows of near classes that are fetched per row of a decoy; the most similar of them become donors."""


@dataclass(frozen=True, eq=False)
class Filler:
    """Everything that was learnt from the donors."""

    released: Classes
    donors: Donors
    splicer: Splicer
    space: Space
    """Distances among the classes whose rows were fetched."""
    places: Ints
    """Their places among the released classes."""
    follows: Sequence[Dependence]

    @classmethod
    def fetch(
        cls,
        table: Table,
        released: Classes,
        population: Classes,
        free: Classes,
        sizes: Ints,
        real: Ints,
        generator: np.random.Generator,
        *,
        drop: Sequence[str],
    ) -> Filler:
        """Fetch rows near each unreleased class, and those of the real marks, and learn from them."""
        near = neighbours(Space(released), free, sizes, generator, per_row=CANDIDATES_PER_ROW)
        wanted = np.zeros(len(released), dtype=bool)
        wanted[np.concatenate([real, *near])] = True
        wanted |= _witnesses(released, wanted, generator)
        donors = Donors.fetch(table, released, wanted, drop=drop)
        space = Space(released.keep(wanted), weights(released, donors))
        return cls(
            released,
            donors,
            Splicer.of(donors),
            space,
            np.flatnonzero(wanted),
            dependences(table, released, population, donors),
        )

    def fit(self, labels: Sequence[tuple[Label, ...]]) -> Ints:
        """The classes for which every column that follows from its quasi-identifiers is known."""
        known = [all(one.knows(label) for one in self.follows) for label in labels]
        return np.flatnonzero(np.array(known, dtype=bool))

    def unknown(self, labels: Sequence[tuple[Label, ...]]) -> str | None:
        """The column that follows from the quasi-identifiers and is unknown for most of these classes."""
        missing = {one.column: sum(not one.knows(label) for label in labels) for one in self.follows}
        worst = max(missing, key=missing.__getitem__, default=None)
        return self.donors.columns[worst].name if worst is not None and missing[worst] else None

    def decoys(
        self, free: Classes, labels: Sequence[tuple[Label, ...]], sizes: Ints, generator: np.random.Generator
    ) -> DecoyRows:
        """The rows of decoys in these classes, which are places 0, 1, ... of the result."""
        owners = np.repeat(np.arange(len(sizes)), sizes)
        fresh = generator.random((len(owners), len(self.donors.columns))) < self._loneliness
        made = np.zeros(fresh.shape, dtype=np.int64)
        near = neighbours(self.space, free, sizes, generator)
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        for number, (classes, label) in enumerate(zip(near, labels, strict=True)):
            mine = slice(starts[number], starts[number + 1])
            pool = np.concatenate([self.donors.rows[place] for place in self.places[classes].tolist()])
            made[mine] = self.splicer.rows(pool, int(sizes[number]), fresh[mine], generator)
            for one in self.follows:
                made[mine, one.column] = one.donors[one.key(label)]
        cells = {
            column.name: nudged(column, made[:, place], fresh[:, place], generator)
            for place, column in enumerate(self.donors.columns)
        }
        return DecoyRows(cells, owners)

    @cached_property
    def _loneliness(self) -> Floats:
        """Per column, how often a cell is moved to a value that nobody holds: as often as real values are alone."""
        tied = {place for group in self.splicer.groups if len(group) > 1 for place in group}
        tied |= {one.column for one in self.follows}
        columns = enumerate(self.donors.columns)
        return np.array([0.0 if place in tied or not movable(column) else alone(column) for place, column in columns])


def _witnesses(released: Classes, wanted: Flags, generator: np.random.Generator) -> Flags:
    """Further classes, drawn until there are enough rows to see how much real rows have in common with others."""
    order = generator.permutation(np.flatnonzero(~wanted))
    rows = int(released.sizes[wanted].sum()) + np.cumsum(released.sizes[order])
    further = np.zeros(len(released), dtype=bool)
    further[order[rows <= WITNESSES]] = True
    return further


def weights(released: Classes, donors: Donors) -> dict[str, float]:
    """How much each quasi-identifier says about the other columns, 1 on average: what a distance should count."""
    if not donors.columns or not len(donors):
        return {}
    found = {}
    for column, codes in zip(released.columns, released.codes, strict=True):
        held = _binned(numbers_of(column), codes)[donors.owners]
        ties = [
            association(np.unique(held, return_inverse=True)[1].reshape(-1), other.binned) for other in donors.columns
        ]
        found[column.name] = float(np.sqrt(np.mean(np.square(ties))))
    mean = float(np.mean(list(found.values())))
    return {name: max(weight / mean, 0.1) for name, weight in found.items()} if mean else {}


def _binned(numbers: Floats, codes: Ints) -> Ints:
    if np.isnan(numbers).any() or len(numbers) <= BINS:
        return codes
    values: Floats = numbers[codes]
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.asarray(np.searchsorted(edges, values, side="right"))
