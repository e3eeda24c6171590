"""Nearest classes by a mixed-type distance, exact, without comparing all.

Classes that agree in some of their categories stand together, in the order of a number. Whatever differs in one more
category is farther away by what that costs at least; so the shelf on which all categories agree is looked at first, and
another one only where it could hold something nearer. What is found is what measuring all distances would find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from itertools import combinations

import numpy as np

from discreet.kernel import Classes, Column
from discreet.kernel.arrays import Floats, Ints, Label
from discreet.kernel.hierarchy import text

Points = tuple[Floats, Ints]
"""Numbers, and codes of everything else; -1 agrees with nothing."""
MOST_CATEGORIES = 10
"""There is a shelf for every choice of categories; with more of them, one where all agree and one where none need to."""
DIGITS = 9
"""Distances that differ later than this are the same."""
_SLACK = 2 * 10.0**-DIGITS
_FIRST = 32
"""Classes on each side that are looked at to begin with."""


@dataclass(frozen=True, eq=False)
class ClassIndex:
    """All classes, those that agree in certain categories together, and where each asked point belongs among them."""

    order: Ints
    """The classes as they stand."""
    groups: Ints
    """The group of each class, as they stand."""
    numbers: Floats
    """The number of each class, as they stand."""
    asked: Ints
    """The group of each asked point, or -1."""

    @classmethod
    def of(cls, own: Points, asked: Points, agree: Sequence[int]) -> ClassIndex:
        """Put up the classes, and look where the asked points belong."""
        chosen = list(agree)
        groups, wanted = np.zeros(len(own[1]), dtype=np.int64), np.zeros(len(asked[1]), dtype=np.int64)
        for codes, others in zip(own[1][:, chosen].T, asked[1][:, chosen].T, strict=True):
            width = int(codes.max()) + 1
            known = (wanted >= 0) & (others >= 0) & (others < width)
            distinct, groups = np.unique(groups * width + codes, return_inverse=True)
            keys = np.where(known, wanted * width + others, -1)
            place = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
            groups, wanted = groups.reshape(-1), np.where(distinct[place] == keys, place, -1)
        numbers = _first(own)
        order = np.lexsort([numbers, groups])
        return cls(order, groups[order], numbers[order], wanted)

    @cached_property
    def bounds(self) -> tuple[list[int], list[int]]:
        """Per asked point, from where to where its group stands."""
        starts, stops = (np.searchsorted(self.groups, self.asked, side=side) for side in ("left", "right"))
        return starts.tolist(), np.where(self.asked < 0, starts, stops).tolist()

    def window(self, point: int, number: float, reach: float) -> Ints:
        """The classes of a point's group whose number is no farther away."""
        start, stop = self.bounds[0][point], self.bounds[1][point]
        held = self.numbers[start:stop]
        first, last = np.searchsorted(held, number - reach), np.searchsorted(held, number + reach, side="right")
        return self.order[start + int(first) : start + int(last)]

    def beside(self, point: int, number: float) -> Ints:
        """Some classes of a point's group on both sides of its number."""
        start, stop = self.bounds[0][point], self.bounds[1][point]
        middle = start + int(np.searchsorted(self.numbers[start:stop], number))
        return self.order[max(start, middle - _FIRST) : min(stop, middle + _FIRST)]

    def gaps(self, numbers: Floats, itself: Ints | None) -> Floats:
        """How far the nearest number of each asked point's group is, that of the class itself left out where given."""
        if itself is None:
            steps, ranks = np.unique(self.numbers, return_inverse=True)
            width = len(steps) + 1
            right = np.searchsorted(
                self.groups * width + ranks.reshape(-1), self.asked * width + np.searchsorted(steps, numbers)
            )
            left = right - 1
        else:
            stands = np.empty(len(self.order), dtype=np.int64)
            stands[self.order] = np.arange(len(self.order))
            left, right = stands[itself] - 1, stands[itself] + 1
        return np.minimum(self._gap(left, numbers), self._gap(right, numbers))

    def _gap(self, stands: Ints, numbers: Floats) -> Floats:
        there = (stands >= 0) & (stands < len(self.order))
        place = np.where(there, stands, 0)
        there &= self.groups[place] == self.asked
        return np.where(there, np.abs(numbers - self.numbers[place]), np.inf)


@dataclass(frozen=True, eq=False)
class Shelves:
    """Shelves for every choice of categories that agree, put up when they are needed."""

    own: Points
    asked: Points
    costs: Floats
    """What a difference in each category adds to a distance."""
    distances: Callable[[Points, Ints], Floats]
    """From one point to some classes."""
    indexes: dict[tuple[int, ...], ClassIndex] = field(default_factory=dict)
    """The shelves that were needed so far, by the categories that agree."""

    @cached_property
    def choices(self) -> list[tuple[float, tuple[int, ...]]]:
        """The least distance of what agrees in certain categories only, and these categories; the least first."""
        every = range(len(self.costs))
        if len(every) > MOST_CATEGORIES:
            return [(0.0, tuple(every)), (float(self.costs.min()), ())]
        found = [agree for number in every for agree in combinations(every, number)] + [tuple(every)]
        return sorted((float(self._added(np.zeros(1), agree)[0]), agree) for agree in found)

    def _added(self, far: Floats, agree: Sequence[int]) -> Floats:
        """Distances with what the other categories cost, added one by one as distances are."""
        for place, cost in enumerate(self.costs):
            if place not in agree:
                far = far + cost
        return far

    def _shelf(self, agree: tuple[int, ...]) -> ClassIndex:
        if agree not in self.indexes:
            self.indexes[agree] = ClassIndex.of(self.own, self.asked, agree)
        return self.indexes[agree]

    def nearest(self, itself: Ints | None) -> Floats:
        """The distance of each asked point to the nearest class, or to the nearest but itself."""
        best = np.full(len(self.asked[0]), np.inf)
        if self.own[0].shape[1] > 1 or len(self.costs) > MOST_CATEGORIES:
            ones = np.ones(len(self.own[0]), dtype=np.int64)
            for point in range(len(best)):
                places, far = self.near(point, ones, 1 if itself is None else 2)
                best[point] = np.min(far if itself is None else far[places != itself[point]], initial=np.inf)
            return best
        # Where at most one number counts, its nearest value on every shelf is all it takes.
        numbers = _first(self.asked)
        for cost, agree in self.choices:
            still = np.flatnonzero(best > cost)
            if not len(still):
                break
            shelf = ClassIndex.of(self.own, (self.asked[0][still], self.asked[1][still]), agree)
            gaps = shelf.gaps(numbers[still], None if itself is None else itself[still])
            best[still] = np.minimum(best[still], self._added(gaps, agree))
        return best

    def near(self, point: int, held: Ints, enough: int) -> tuple[Ints, Floats]:
        """Classes up to at least the distance within which enough rows are held, or all, with their distances."""
        asked = (self.asked[0][point : point + 1], self.asked[1][point : point + 1])
        number = float(_first(asked)[0])
        places, radius = np.zeros(0, dtype=np.int64), np.inf
        for cost, agree in self.choices:
            if cost > radius:
                break
            places = np.union1d(places, self._shelf(agree).beside(point, number))
            # How far one must go for enough rows.
            far = self.distances(asked, places)
            order = np.argsort(far)
            reached = int(np.searchsorted(np.cumsum(held[places][order]), enough))
            radius = float(far[order[reached]]) if reached < len(order) else np.inf
        reach = radius + _SLACK
        windows = [
            self._shelf(agree).window(point, number, reach - cost) for cost, agree in self.choices if cost <= reach
        ]
        places = np.unique(np.concatenate(windows))
        return places, self.distances(asked, places)


def _first(points: Points) -> Floats:
    """The first number of each point, or 0 where there is none."""
    numbers = points[0]
    return numbers[:, 0] if numbers.shape[1] else np.zeros(len(numbers))


# How far apart two classes are: years and other numbers in standard deviations, everything else the same or not.
MISMATCH = 0.5
"""What two different categories cost, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Space:
    """The released classes as points between which distances are measured."""

    classes: Classes
    weights: Mapping[str, float] = field(default_factory=dict)
    """What each column counts, 1 unless given."""

    def points(self, classes: Classes) -> Points:
        """Numbers in standard deviations, and codes of everything else, of classes by the same columns and levels."""
        numbers, codes = [np.zeros((len(classes), 0))], [np.zeros((len(classes), 0), dtype=np.int64)]
        for mine, theirs, held in zip(self.classes.columns, classes.columns, classes.codes, strict=True):
            if mine.name in self._scales:
                centre, scale = self._scales[mine.name]
                column = numbers_of(theirs)
                numbers.append(((column - centre) / scale)[held][:, None] * self.weights.get(mine.name, 1.0))
            else:
                # The code here of each value over there, or -1.
                index = mine.hierarchy.index[mine.level]
                translated = np.array([index.get(text(value), -1) for value in theirs.labels], dtype=np.int64)
                codes.append(translated[held][:, None])
        return np.hstack(numbers), np.hstack(codes)

    @cached_property
    def _scales(self) -> dict[str, tuple[float, float]]:
        scales = {}
        for column, codes in zip(self.classes.columns, self.classes.codes, strict=True):
            values = numbers_of(column)
            if not np.isnan(values).any():
                held = values[codes]
                scales[column.name] = (float(held.mean()), float(held.std()) or 1.0)
        return scales

    @cached_property
    def _own(self) -> Points:
        return self.points(self.classes)

    @cached_property
    def _costs(self) -> Floats:
        names = [column.name for column in self.classes.columns if column.name not in self._scales]
        return np.array([MISMATCH * self.weights.get(name, 1.0) for name in names])

    def distances(self, points: Points, places: Ints | slice = slice(None)) -> Floats:
        """From each point (rows) to each released class (columns), or to some of these."""
        numbers, codes = points
        mine_numbers, mine_codes = self._own[0][places], self._own[1][places]
        far = np.zeros((len(numbers), len(mine_numbers)))
        for place in range(numbers.shape[1]):
            far += np.abs(numbers[:, place, None] - mine_numbers[None, :, place])
        for place, cost in enumerate(self._costs):
            far += cost * (codes[:, place, None] != mine_codes[None, :, place])
        return far

    def shelves(self, classes: Classes) -> Shelves:
        """The released classes, put up so that those near each given class are found quickly."""
        return Shelves(self._own, self.points(classes), self._costs, lambda one, places: self.distances(one, places)[0])

    def nearest(self, classes: Classes, *, itself: Ints | None = None) -> Floats:
        """The distance of each class to the nearest released one, or the nearest other one where places are given."""
        return self.shelves(classes).nearest(itself)


def numbers_of(column: Column) -> Floats:
    """What each value at its level is worth: the mean of the values under it, or nan where one of them is no number."""
    # Whether values are masked from the right, as postcodes are: their digits are no quantity.
    if any(
        label is not None and label.endswith("*") and label.strip("*")
        for labels in column.hierarchy.labels
        for label in labels
    ):
        return np.full(len(column.labels), np.nan)
    fine = np.array([number_of(label) for label in column.hierarchy.labels[0]])
    above = column.hierarchy.map(0, column.level)
    sums = np.bincount(above, weights=fine, minlength=len(column.labels))
    return np.asarray(sums / np.maximum(np.bincount(above, minlength=len(column.labels)), 1))


def number_of(label: Label) -> float:
    """A value on a scale, dates in days; not a number where it is neither."""
    if label is None:
        return float("nan")
    try:
        return float(label)
    except ValueError:
        pass
    try:
        return float(date.fromisoformat(label[:10]).toordinal())
    except ValueError:
        return float("nan")
