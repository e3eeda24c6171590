"""Which classes become marks: the riskiest pairs of a real and an unreleased class that the budget allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.releases.band import Band
from discreet.releases.budget import Budget
from discreet.releases.closeness import Space
from discreet.releases.doubt import undecided
from discreet.releases.laws import Law
from discreet.releases.marks.codebook import Marks, secret_probabilities
from discreet.releases.marks.distribution_shift import Balance, balanced
from discreet.releases.pairing import closest, most
from discreet.releases.population_link import Linked

FEWEST_MARKS = 30
"""Below so many a leak can hardly be traced."""
NEAR = 0.95
"""The share of real classes whose distance to the nearest other one a decoy must not exceed."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Real classes and the unreleased ones they were paired with, the riskiest first."""

    real: Ints
    """Places among the released classes."""
    free: Ints
    """Places among the classes of the population."""

    def __len__(self) -> int:
        return len(self.real)

    def only(self, kept: Ints | Flags | slice) -> Pairs:
        """Some of them."""
        return Pairs(self.real[kept], self.free[kept])


def paired(linked: Linked, band: Band, generator: np.random.Generator, *, budget: Budget) -> Pairs:
    """Pairs of a real class and a near unreleased one with about the same link count, the riskiest first.

    Which of several classes with the same link count is taken is drawn: their order is that of their values, and decoys
    would all have the first ones.

    The closest are paired first, which leaves nothing to be seen in the link counts; where that gives fewer pairs than
    the budget allows, as many as possible.
    """
    if not len(band.real) or not len(band.free):
        return Pairs(band.real[:0], band.free[:0])
    space = Space(linked.released)
    limit = np.quantile(space.nearest(some(linked.released, band.real), itself=band.real), NEAR)
    free = generator.permutation(band.free[space.nearest(some(linked.population, band.free)) <= limit + 1e-9])
    real = generator.permutation(band.real)
    left, right = np.log(linked.links[real]), np.log(linked.population.sizes[free])
    pairs = closest(left, right)
    if linked.released.sizes[real[pairs[:, 0]]].sum() < budget.rows * linked.released.records:
        pairs = most(left, right)
    real, free = real[pairs[:, 0]], free[pairs[:, 1]]
    order = np.argsort(linked.links[real] + linked.population.sizes[free], kind="stable")
    return Pairs(real[order], free[order])


def affordable(linked: Linked, pairs: Pairs, law: Law, *, budget: Budget, release: str, key: bytes) -> Pairs:
    """The riskiest pairs that the budget allows, in rows lost and in the shift of every quasi-identifier.

    Pairs that would leave too little doubt are left out as well.
    """
    if not len(pairs):
        return pairs
    chance = secret_probabilities(as_marks(linked, pairs), law, release=release, key=key).reshape(2, -1)
    kept = _balanced(linked, pairs, chance, budget)
    pairs, chance = pairs.only(kept), chance[:, kept]
    sizes = linked.released.sizes[pairs.real]
    count = budget.pairs(sizes, chance[0], released=linked.released.records)
    return pairs.only(slice(_doubtful(linked, pairs.only(slice(count)), chance[:, :count])))


def _balanced(linked: Linked, pairs: Pairs, chance: Floats, budget: Budget) -> Ints:
    """The pairs that leave every quasi-identifier within the budget."""
    sizes = linked.released.sizes[pairs.real]
    real, decoys = labels_of(linked.released, pairs.real), labels_of(linked.population, pairs.free)
    columns = [
        Balance.of(
            people_by(linked.released, name), [label[place] for label in real], [label[place] for label in decoys]
        )
        for place, name in enumerate(linked.released.names)
    ]
    changes = np.stack([-sizes * (1 - chance[0]), sizes * chance[1]], axis=1)
    return balanced(columns, changes, budget.shift)


def _doubtful(linked: Linked, pairs: Pairs, chance: Floats) -> int:
    """How many of the pairs can be marks before link counts tell decoys."""
    real, decoys = linked.links[pairs.real], linked.population.sizes[pairs.free]
    return undecided(real, decoys, chance.ravel(), linked.links, fewest=FEWEST_MARKS // 2)


def within(shifts: Sequence[Floats], limit: float) -> int:
    """The most pairs, the riskiest first, with which no column has shifted by more than the limit.

    Shifts go up and down as pairs are added, so more pairs may do where fewer would not.

    >>> within([np.array([0.1, 0.4, 0.2]), np.array([0.0, 0.1, 0.2])], 0.3)
    3
    """
    fine = np.flatnonzero(np.max(shifts, axis=0) <= limit) if len(shifts) else np.arange(0)
    return int(fine[-1]) + 1 if len(fine) else 0


def as_marks(linked: Linked, pairs: Pairs) -> Marks:
    """The pairs as marks: all real ones, then all decoys in the same order. A decoy takes its partner's size."""
    half = len(pairs)
    sizes = linked.released.sizes[pairs.real]
    places = np.arange(half)
    return Marks(
        columns=linked.released.names,
        labels=(*labels_of(linked.released, pairs.real), *labels_of(linked.population, pairs.free)),
        decoy=np.repeat([False, True], half),
        sizes=np.concatenate([sizes, sizes]),
        links=np.concatenate([linked.links[pairs.real], linked.population.sizes[pairs.free]]),
        partners=np.concatenate([places + half, places]),
    )


def people_by(classes: Classes, name: str) -> dict[Any, float]:
    """People per value of one column."""
    place = classes.names.index(name)
    labels = classes.columns[place].labels
    people = np.bincount(classes.codes[place], weights=classes.sizes, minlength=len(labels))
    return dict(zip(labels, people.tolist(), strict=True))


def labels_of(classes: Classes, places: Ints) -> list[tuple[Label, ...]]:
    """The values of some classes."""
    cells = [
        [column.labels[code] for code in codes[places].tolist()]
        for column, codes in zip(classes.columns, classes.codes, strict=True)
    ]
    return list(zip(*cells, strict=True))


def some(classes: Classes, places: Ints) -> Classes:
    """Some classes, in the given order."""
    return Classes(classes.columns, tuple(codes[places] for codes in classes.codes), classes.sizes[places])
