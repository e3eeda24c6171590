"""How far apart two classes are: years and other numbers in standard deviations, everything else the same or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

import numpy as np

from discreet.kernel import Classes, Column
from discreet.kernel.arrays import Floats, Ints, Label
from discreet.kernel.hierarchy import text
from discreet.releases.decoys.nearest_classes import Points, Shelves

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
                codes.append(_translated(mine, theirs)[held][:, None])
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


def _translated(mine: Column, theirs: Column) -> Ints:
    """The code here of each value over there, or -1."""
    index = mine.hierarchy.index[mine.level]
    return np.array([index.get(text(value), -1) for value in theirs.labels], dtype=np.int64)


def numbers_of(column: Column) -> Floats:
    """What each value at its level is worth: the mean of the values under it, or nan where one of them is no number."""
    if _is_code(column.hierarchy.labels):
        return np.full(len(column.labels), np.nan)
    fine = np.array([number_of(label) for label in column.hierarchy.labels[0]])
    above = column.hierarchy.map(0, column.level)
    sums = np.bincount(above, weights=fine, minlength=len(column.labels))
    return np.asarray(sums / np.maximum(np.bincount(above, minlength=len(column.labels)), 1))


def _is_code(levels: Sequence[Sequence[Label]]) -> bool:
    """Whether values are masked from the right, as postcodes are: their digits are no quantity."""
    return any(label is not None and label.endswith("*") and label.strip("*") for labels in levels for label in labels)


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
