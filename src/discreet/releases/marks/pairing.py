"""Pairs of real and unreleased classes for marks, within budget and attack limit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Classes, Coded
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.releases.decoys.matching import shrunken
from discreet.releases.marks.codebook import Law, Marks, secret_probabilities
from discreet.releases.population_link import Linked

FEWEST_MARKS = 30
"""Below so many a leak can hardly be traced."""
SCARCE = 0.05
"""Decoys keep away from values whose classes are released as seldom as those of this share of real ones."""


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

    Which of several classes with the same link count is taken is drawn: by their order decoys would have the first values.
    The closest are paired first, which leaves nothing to be seen in the link counts; where that gives fewer pairs than
    the budget allows, as many as possible.
    """
    if not len(band.real) or not len(band.free):
        return MarkPairs(band.real[:0], band.free[:0])
    real_odds, free_odds = surplus(linked, band)
    free = generator.permutation(band.free[free_odds >= np.quantile(real_odds, SCARCE) - 1e-9])
    real = generator.permutation(band.real)
    left, right = np.log(linked.links[real]), np.log(linked.population.sizes[free])
    pairs = closest(left, right)
    if linked.released.sizes[real[pairs[:, 0]]].sum() < budget.rows * linked.released.records:
        pairs = most(left, right)
    real, free = real[pairs[:, 0]], free[pairs[:, 1]]
    order = np.argsort(linked.links[real] + linked.population.sizes[free], kind="stable")
    return MarkPairs(real[order], free[order])


def surplus(linked: Linked, band: AmbiguityBand) -> tuple[Floats, Floats]:
    """How much oftener than their link counts say classes with like values are released, for real and free classes.

    Data are seldom an even sample: where one value is hardly collected, a decoy with it would stand out.
    """
    shown = [labels_of(linked.released, band.real), labels_of(linked.population, band.free)]
    links = np.concatenate([linked.links[band.real], linked.population.sizes[band.free]])
    there = np.arange(len(links)) < len(band.real)
    rest = there - chances(links, sampling=linked.sampling, k=linked.k)
    found = np.zeros(len(links))
    for place in range(len(linked.released.names)):
        values = Coded.of([label[place] for labels in shown for label in labels])
        # What the other classes of the same value say: a class must not vouch for itself.
        left, groups, number = rest - found, values.codes, len(values.values)
        held, sums = np.bincount(groups, minlength=number), np.bincount(groups, weights=left, minlength=number)
        drawn = shrunken(left, groups, number) * held / np.where(sums == 0, 1.0, sums)
        found += (drawn * np.where(held > 1, 1, 0))[groups] * (sums[groups] - left) / np.maximum(held[groups] - 1, 1)
    return found[there], found[~there]


def affordable(
    linked: Linked, pairs: MarkPairs, law: Law, *, budget: MarkBudget, release: str, key: bytes
) -> MarkPairs:
    """The riskiest pairs within the budget of rows and of column shift that leave enough doubt."""
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
    # Of these, as many as can be marks before link counts tell decoys.
    pairs, chance = pairs.only(slice(count)), chance[:, :count]
    links, decoy_links = linked.links[pairs.real], linked.population.sizes[pairs.free]
    fewest = FEWEST_MARKS // 2
    return pairs.only(slice(undecided(links, decoy_links, chance.ravel(), linked.links, fewest=fewest)))


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
    return list(some(classes, places).tuples())


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
    return _two_pointers(left, right, [tolerance * step / STEPS for step in range(STEPS + 1)])


def most(left: Floats, right: Floats, *, tolerance: float = TOLERANCE) -> Ints:
    """As many pairs within the tolerance as there can be; by exchange, some largest pairing begins with the smallest."""
    return _two_pointers(left, right, [tolerance])


def _two_pointers(left: Floats, right: Floats, tolerances: Sequence[float]) -> Ints:
    """Both sides in order; what one tolerance leaves over is paired within the next."""
    lefts, rights = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for tolerance in tolerances:
        within_reach, first, second = [], 0, 0
        mine, theirs, reach = left[lefts].tolist(), right[rights].tolist(), tolerance + _ROUNDING
        while first < len(mine) and second < len(theirs):
            apart = mine[first] - theirs[second]
            if apart > reach:
                second += 1
            elif apart < -reach:
                first += 1
            else:
                within_reach.append((first, second))
                first, second = first + 1, second + 1
        places = np.array(within_reach, dtype=np.int64).reshape(-1, 2)
        pairs.append(np.stack([lefts[places[:, 0]], rights[places[:, 1]]], axis=1))
        lefts, rights = np.delete(lefts, places[:, 0]), np.delete(rights, places[:, 1])
    every = np.concatenate(pairs)
    return every[np.argsort(every[:, 0], kind="stable")]


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
    # The chance that a decoy has fewer people in the population than a real class, each drawn by its weight.
    decoy = np.arange(len(links)) < count
    distinct, places = np.unique(-links, return_inverse=True)
    wanted, others = (
        np.bincount(places.reshape(-1), weights=weights * kind, minlength=len(distinct)) for kind in (decoy, ~decoy)
    )
    below = np.cumsum(others) - others
    by_links = float(np.dot(wanted, below + others / 2) / (wanted.sum() * others.sum())) if others.sum() else 0.5
    alone = float(np.dot(there, 1 - there) / there.sum())
    alone_real = float(np.dot(here, 1 - here) / max(here.sum() + unmarked, 1e-12))
    same = alone * alone_real + (1 - alone) * (1 - alone_real)
    return by_links, alone * (1 - alone_real) + same * by_links


# The ambiguity band: nobody can say from the link count of a class whether it would be released. A class with G people of the population is released if at least k of them are in the data, of which each is with
# probability f. Where that chance is neither small nor large, a class that is there and a class that is made up look
# the same to an adversary who knows the whole population.
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
    # One minus the chance of fewer than k, summed in logarithms since (1 - f)**G may be below the least float.
    people = distinct.astype(np.float64)
    term = people * np.log1p(-sampling)
    below = term.copy()
    odds = np.log(sampling) - np.log1p(-sampling)
    for drawn in range(1, k):
        with np.errstate(divide="ignore"):
            term = term + np.log(np.maximum(people - drawn + 1, 0)) - np.log(drawn) + odds
        below = np.logaddexp(below, term)
    tail: Floats = np.where(people < k, 0.0, np.clip(-np.expm1(np.minimum(below, 0.0)), 0.0, 1.0))
    return tail[places.reshape(-1)]


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
        free = ambiguous(linked.population.sizes, sampling=linked.sampling, k=linked.k)
        unreleased = linked.population.keep(free).link(linked.released) == 0
        return cls(np.flatnonzero(real), np.flatnonzero(free)[unreleased])


# How many pairs a release can afford: real rows that a copy loses, and how far any column may shift by it.
ENOUGH_FOR_CLAIMS = 120
"""Class marks with which claims name a leaker; up to so many may cost more rows on average."""
UNLUCKY = 1e-6
"""The share of copies that may lose more than the budget says."""


@dataclass(frozen=True)
class MarkBudget:
    """What marks may cost."""

    rows: float = 0.05
    """The share of released rows that a copy may lose by class marks."""
    average: float = 0.01
    """The share that it may lose on average: power rests on row marks, which are spread over all values."""
    shift: float = 0.005
    """The most by which the share of any value of any column may change."""

    def __post_init__(self) -> None:
        for name, value in (("rows", self.rows), ("average", self.average), ("shift", self.shift)):
            if not 0 < value < 1:
                raise UsageError(f"The budget of {name} is a share between 0 and 1.", remedy="Leave it out.")

    def pairs(self, sizes: Ints, probabilities: Floats, *, released: int) -> int:
        """How many of the pairs, in their order, can be marks before a copy may lose too much."""
        lost, mean = worst_lost(sizes, probabilities), np.cumsum(sizes * (1 - probabilities))
        most = int(np.searchsorted(lost, self.rows * released, side="right"))
        enough = max(ENOUGH_FOR_CLAIMS // 2, int(np.searchsorted(mean, self.average * released, side="right")))
        return min(most, enough)


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


# Distribution shift: how far the share of any value changes when rows come and go.


def shifts_so_far(
    base: Mapping[Hashable, float], values: Sequence[Hashable], changes: Floats, *, at: Sequence[int] | None = None
) -> Floats:
    """The largest change of the share of any value after the first value, the first two, and so on.

    `changes` are the rows that each value gains or loses. With `at`, only after the values at these places, which ascend.

    >>> shifts_so_far({"a": 10.0, "b": 10.0}, ["a", "b"], np.array([1.0, -1.0])).round(6).tolist()
    [0.02381, 0.05]
    """
    index = {value: place for place, value in enumerate(dict.fromkeys([*base, *values]))}
    before = np.zeros(len(index))
    before[: len(base)] = list(base.values())
    after, shares, found, start = before.copy(), before / before.sum(), [], 0
    places = np.array([index[value] for value in values], dtype=np.int64)
    for last in range(len(values)) if at is None else at:
        np.add.at(after, places[start : last + 1], changes[start : last + 1])
        start = last + 1
        found.append(float(np.abs(after / after.sum() - shares).max()))
    return np.array(found)


@dataclass(eq=False)
class Balance:
    """The values of one column as pairs are added, and a bound on how far any of them has shifted.

    With another number of people every share changes, by no more than the number did. Only when such changes add up to
    more than the limit are all values looked at again.
    """

    counts: Floats
    shares: Floats
    values: list[list[int]]
    """Per pair, the places of the values of both classes."""
    people: float
    bound: float = 0.0

    @classmethod
    def of(cls, base: Mapping[Hashable, float], first: Sequence[Hashable], second: Sequence[Hashable]) -> Balance:
        """From people per value, and the value of each pair's classes."""
        index = {value: place for place, value in enumerate(dict.fromkeys([*base, *first, *second]))}
        counts = np.zeros(len(index))
        counts[: len(base)] = list(base.values())
        people = float(counts.sum())
        values = [[index[value] for value in pair] for pair in zip(first, second, strict=True)]
        return cls(counts, counts / people, values, people)

    def tried(self, pair: int, first: float, second: float, limit: float) -> Trial:
        """With a pair whose classes change their values by so many rows."""
        real, decoy = self.values[pair]
        counts = {real: float(self.counts[real]) + first}
        counts[decoy] = counts.get(decoy, float(self.counts[decoy])) + second
        people = self.people + first + second
        moved = [abs(count / people - float(self.shares[place])) for place, count in counts.items()]
        shift = max(self.bound + abs(first + second) / people, *moved)
        if shift <= limit - 1e-9:
            return Trial(counts, people, shift)
        # The bound does not say enough: all values are looked at.
        every = self.counts.copy()
        every[list(counts)] = list(counts.values())
        people = float(every.sum())
        return Trial(counts, people, float(np.abs(every / people - self.shares).max()))

    def take(self, trial: Trial) -> None:
        """Add what was tried."""
        self.counts[list(trial.counts)] = list(trial.counts.values())
        self.people, self.bound = trial.people, trial.shift


@dataclass(frozen=True)
class Trial:
    """What a column would be with one more pair."""

    counts: dict[int, float]
    """The values that change."""
    people: float
    shift: float
    """How far any value has shifted at most."""


def balanced(columns: Sequence[Balance], changes: Floats, limit: float) -> Ints:
    """Pairs taken in order, passing over each that would shift a column beyond the limit."""
    taken = []
    for pair, (first, second) in enumerate(changes.tolist()):
        trials = []
        for column in columns:
            trials.append(column.tried(pair, first, second, limit))
            if trials[-1].shift > limit:
                break
        else:
            for column, trial in zip(columns, trials, strict=True):
                column.take(trial)
            taken.append(pair)
    return np.array(taken, dtype=np.int64)
