"""Pairs of real and unreleased classes for marks, within budget and attack limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.releases.decoys.nearest_classes import Space
from discreet.releases.marks.codebook import Law, Marks, secret_probabilities
from discreet.releases.marks.distribution_shift import Balance, balanced
from discreet.releases.population_link import Linked

FEWEST_MARKS = 30
"""Below so many a leak can hardly be traced."""
NEAR = 0.95
"""The share of real classes whose distance to the nearest other one a decoy must not exceed."""


@dataclass(frozen=True, eq=False)
class MarkPairs:
    """Real classes and the unreleased ones they were paired with, the riskiest first."""

    real: Ints
    """Places among the released classes."""
    free: Ints
    """Places among the classes of the population."""

    def __len__(self) -> int:
        return len(self.real)

    def only(self, kept: Ints | Flags | slice) -> MarkPairs:
        """Some of them."""
        return MarkPairs(self.real[kept], self.free[kept])


def paired(linked: Linked, band: AmbiguityBand, generator: np.random.Generator, *, budget: MarkBudget) -> MarkPairs:
    """Pairs of a real class and a near unreleased one with about the same link count, the riskiest first.

    Which of several classes with the same link count is taken is drawn: their order is that of their values, and decoys
    would all have the first ones.

    The closest are paired first, which leaves nothing to be seen in the link counts; where that gives fewer pairs than
    the budget allows, as many as possible.
    """
    if not len(band.real) or not len(band.free):
        return MarkPairs(band.real[:0], band.free[:0])
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
    return MarkPairs(real[order], free[order])


def affordable(
    linked: Linked, pairs: MarkPairs, law: Law, *, budget: MarkBudget, release: str, key: bytes
) -> MarkPairs:
    """The riskiest pairs that the budget allows, in rows lost and in the shift of every quasi-identifier.

    Pairs that would leave too little doubt are left out as well.
    """
    if not len(pairs):
        return pairs
    chance = secret_probabilities(as_marks(linked, pairs), law, release=release, key=key).reshape(2, -1)
    # The pairs that leave every quasi-identifier within the budget.
    sizes = linked.released.sizes[pairs.real]
    real, decoys = labels_of(linked.released, pairs.real), labels_of(linked.population, pairs.free)
    columns = [
        Balance.of(
            people_by(linked.released, name), [label[place] for label in real], [label[place] for label in decoys]
        )
        for place, name in enumerate(linked.released.names)
    ]
    changes = np.stack([-sizes * (1 - chance[0]), sizes * chance[1]], axis=1)
    kept = balanced(columns, changes, budget.shift)
    pairs, chance = pairs.only(kept), chance[:, kept]
    sizes = linked.released.sizes[pairs.real]
    count = budget.pairs(sizes, chance[0], released=linked.released.records)
    return pairs.only(slice(_doubtful(linked, pairs.only(slice(count)), chance[:, :count])))


def _doubtful(linked: Linked, pairs: MarkPairs, chance: Floats) -> int:
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


def as_marks(linked: Linked, pairs: MarkPairs) -> Marks:
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


# Pairing each real class with an unreleased one of about the same link count, so that the count tells nobody which is which.
TOLERANCE = 0.1
"""How far the logarithms of two link counts may lie apart."""
STEPS = 10
_ROUNDING = 1e-12


def closest(left: Floats, right: Floats, *, tolerance: float = TOLERANCE) -> Ints:
    """Pairs within the tolerance, the closest first: rows of a place on the left and one on the right.

    Nothing that could still be paired is left, so there are at least half as many pairs as there could be.

    >>> closest(np.array([1.0, 1.2]), np.array([1.05, 1.2, 3.0])).tolist()
    [[0, 0], [1, 1]]
    """
    lefts, rights = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    found = []
    for step in range(STEPS + 1):
        pairs = _two_pointers(left[lefts], right[rights], tolerance * step / STEPS)
        found.append(np.stack([lefts[pairs[:, 0]], rights[pairs[:, 1]]], axis=1))
        lefts, rights = np.delete(lefts, pairs[:, 0]), np.delete(rights, pairs[:, 1])
    return _sorted(np.concatenate(found))


def most(left: Floats, right: Floats, *, tolerance: float = TOLERANCE) -> Ints:
    """As many pairs within the tolerance as there can be: rows of a place on the left and one on the right.

    Both sides in order, the smallest that fit are paired: by exchange, some largest pairing begins with them.
    """
    lefts, rights = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    pairs = _two_pointers(left[lefts], right[rights], tolerance)
    return _sorted(np.stack([lefts[pairs[:, 0]], rights[pairs[:, 1]]], axis=1))


def _two_pointers(left: Floats, right: Floats, tolerance: float) -> Ints:
    pairs, one, other = [], 0, 0
    mine, theirs, reach = left.tolist(), right.tolist(), tolerance + _ROUNDING
    while one < len(mine) and other < len(theirs):
        apart = mine[one] - theirs[other]
        if apart > reach:
            other += 1
        elif apart < -reach:
            one += 1
        else:
            pairs.append((one, other))
            one, other = one + 1, other + 1
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _sorted(pairs: Ints) -> Ints:
    return pairs[np.argsort(pairs[:, 0], kind="stable")]


# How far marks can reach before link counts tell decoys: beyond, nearly every class of the same risk is real.
#
# Where a class is likely to be released there are few unreleased ones to make decoys of, and most real ones stay without a
# partner. An adversary then does well to suspect classes of small link counts, and those that an accomplice lacks. So only
# as many pairs, the riskiest first, become marks as keep both attacks near guessing, reckoned against every real class that
# is as risky as a decoy.
LIMIT = 0.58
"""What the attacks may reach on average; 0.60 is the target, and one copy is not the average."""
GRID = 64
"""Numbers of pairs that are tried."""


def undecided(real: Ints, decoys: Ints, chance: Floats, released: Ints, *, fewest: int, limit: float = LIMIT) -> int:
    """The largest number of pairs, the riskiest first, at which neither attack beats the limit.

    `real` and `decoys` are the link counts of the pairs, `chance` the probabilities of presence of all real marks and
    then of all decoys, `released` the link counts of all released classes. At least `fewest` pairs are kept.
    """
    half = len(real)
    tried = np.unique(np.linspace(min(fewest, half), half, GRID).round().astype(np.int64))[::-1]
    for count in tried.tolist():
        if count and max(expected_aucs(real, decoys, chance, released, count)) <= limit:
            return int(count)
    return min(fewest, half)


def expected_aucs(real: Ints, decoys: Ints, chance: Floats, released: Ints, count: int) -> tuple[float, float]:
    """What the attacks by link count and by intersection of two copies are expected to reach with the first pairs."""
    half = len(real)
    marks, made, here, there = real[:count], decoys[:count], chance[:count], chance[half : half + count]
    low, high = int(made.min()), int(made.max())
    inside = (marks >= low) & (marks <= high)
    marks, here = marks[inside], here[inside]
    around = np.sort(released[(released >= low) & (released <= high)])
    unmarked = max(len(around) - len(marks), 0)
    # Sorted values, each taken out as often as it is among those gone.
    distinct, counts = np.unique(around, return_counts=True)
    taken = np.bincount(np.searchsorted(distinct, marks), minlength=len(distinct)) if len(marks) else 0
    without = np.repeat(distinct, np.maximum(counts - taken, 0))
    links = np.concatenate([made, marks, without])
    weights = np.concatenate([there, here, np.ones(unmarked)])
    by_links = _auc(-links.astype(np.float64), weights, np.arange(len(links)) < count)
    alone = float(np.dot(there, 1 - there) / there.sum())
    alone_real = float(np.dot(here, 1 - here) / max(here.sum() + unmarked, 1e-12))
    same = alone * alone_real + (1 - alone) * (1 - alone_real)
    return by_links, alone * (1 - alone_real) + same * by_links


def _auc(scores: Floats, weights: Floats, truth: Flags) -> float:
    """The chance that one marked true scores above one that is not, each drawn by its weight."""
    distinct, places = np.unique(scores, return_inverse=True)
    places = places.reshape(-1)
    wanted = np.bincount(places, weights=weights * truth, minlength=len(distinct))
    others = np.bincount(places, weights=weights * ~truth, minlength=len(distinct))
    if not others.sum():
        return 0.5
    below = np.cumsum(others) - others
    return float(np.dot(wanted, below + others / 2) / (wanted.sum() * others.sum()))


# The ambiguity band: classes of which nobody can say from their link count whether they would be released.
#
# A class with G people of the population is released if at least k of them are in the data, of which each is with
# probability f. Where that chance is neither small nor large, a class that is there and a class that is made up look
# the same to whoever knows the whole population.
LEAST_CHANCE = 0.02
MOST_CHANCE = 0.85


def chances(links: Ints, *, sampling: float, k: int) -> Floats:
    """P(Binomial(G, f) >= k) for each link count G: how likely a class of so many people is released.

    >>> chances(np.array([4, 5, 500]), sampling=0.5, k=5).round(5).tolist()
    [0.0, 0.03125, 1.0]
    """
    distinct, places = np.unique(links, return_inverse=True)
    if sampling >= 1:
        return (distinct >= k).astype(np.float64)[places.reshape(-1)]
    return _tail(distinct.astype(np.float64), sampling, k)[places.reshape(-1)]


def _tail(people: Floats, sampling: float, k: int) -> Floats:
    """One minus the chance of fewer than k, summed in logarithms since (1 - f)**G may be below the least float."""
    term = people * np.log1p(-sampling)
    below = term.copy()
    odds = np.log(sampling) - np.log1p(-sampling)
    for drawn in range(1, k):
        with np.errstate(divide="ignore"):
            term = term + np.log(np.maximum(people - drawn + 1, 0)) - np.log(drawn) + odds
        below = np.logaddexp(below, term)
    tail: Floats = np.where(people < k, 0.0, np.clip(-np.expm1(np.minimum(below, 0.0)), 0.0, 1.0))
    return tail


def ambiguous(links: Ints, *, sampling: float, k: int) -> Flags:
    """Which link counts lie in the band."""
    chance = chances(links, sampling=sampling, k=k)
    return np.asarray((chance >= LEAST_CHANCE) & (chance <= MOST_CHANCE))


@dataclass(frozen=True, eq=False)
class AmbiguityBand:
    """The classes in the band, by their places: those that can be real marks, and those that can be decoys.

    Whether people of the data were suppressed in a class plays no part: if decoys avoided them, an uncovered decoy would
    tell of everybody in its class that they are not in the data.
    """

    real: Ints
    """Among the released classes."""
    free: Ints
    """Among the classes of the population: in the band and not released."""

    @classmethod
    def of(cls, linked: Linked) -> AmbiguityBand:
        """The band of an anonymised table beside its population."""
        real = ambiguous(linked.links, sampling=linked.sampling, k=linked.k)
        free = np.flatnonzero(ambiguous(linked.population.sizes, sampling=linked.sampling, k=linked.k))
        chosen = np.zeros(len(linked.population), dtype=bool)
        chosen[free] = True
        unreleased = linked.population.keep(chosen).link(linked.released) == 0
        return cls(np.flatnonzero(real), free[unreleased])


# How many pairs a release can afford: real rows that a copy loses, and how far any column may shift by it.
UNLUCKY = 1e-6
"""The share of copies that may lose more than the budget says."""


@dataclass(frozen=True)
class MarkBudget:
    """What marks may cost."""

    rows: float = 0.05
    """The share of released rows that a copy may lose."""
    shift: float = 0.005
    """The most by which the share of any value of any column may change."""

    def __post_init__(self) -> None:
        for name, value in (("rows", self.rows), ("shift", self.shift)):
            if not 0 < value < 1:
                raise UsageError(f"The budget of {name} is a share between 0 and 1.", remedy="Leave it out.")

    def pairs(self, sizes: Ints, probabilities: Floats, *, released: int) -> int:
        """How many of the pairs, in their order, can be marks before a copy may lose too much."""
        lost = worst_lost(sizes, probabilities)
        return int(np.searchsorted(lost, self.rows * released, side="right"))


def expected_lost(sizes: Ints, probabilities: Floats) -> float:
    """Real rows that a copy loses on average, given the size and the probability of presence of each real mark."""
    return float(np.dot(sizes, 1 - probabilities))


def worst_lost(sizes: Ints, probabilities: Floats) -> Floats:
    """For the first marks, the first two, ...: rows that fewer than one copy in a million loses, or all of them.

    By Bernstein's inequality, since marks are present independently of each other. So the bound holds for every
    recipient, however many there are and whenever they come.
    """
    mean = np.cumsum(sizes * (1 - probabilities))
    variance = np.cumsum(sizes.astype(np.float64) ** 2 * probabilities * (1 - probabilities))
    largest = np.maximum.accumulate(sizes) if len(sizes) else sizes
    depth = -math.log(UNLUCKY)
    third = largest * depth / 3
    bound: Floats = np.minimum(mean + third + np.sqrt(third**2 + 2 * variance * depth), np.cumsum(sizes))
    return bound
