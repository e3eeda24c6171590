"""What each class of people is published as: the result of every way of anonymising, and all that an engine applies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.classes import Classes, Column, Levels
from discreet.kernel.hierarchy import Hierarchy, Ints, Label, read_only
from discreet.kernel.rules import Flat, bind


@dataclass(frozen=True, eq=False)
class Recoding:
    """The published value of each class on each column, and whether its people are published at all.

    >>> people = Classes.of(["sex"], [("F",), ("M",)], [5, 1])
    >>> Recoding.of_levels(people, {"sex": 0}, kept=np.array([True, False]))
    Recoding(5 of 6 people in 1 classes by sex)
    """

    classes: Classes
    """The people as they are in the data."""
    labels: tuple[tuple[Label, ...], ...]
    """Per column, the published values."""
    codes: tuple[Ints, ...]
    """Per column, the published value of each class, as a place in `labels`."""
    kept: NDArray[np.bool_]
    """Which classes are published."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", tuple(map(read_only, self.codes)))

    @classmethod
    def of_levels(cls, classes: Classes, levels: Levels, *, kept: NDArray[np.bool_]) -> Recoding:
        """Every value generalised to one level per column; `kept` marks classes of `classes`."""
        wanted = classes.at(levels).levels
        columns = [(column, wanted[column.name]) for column in classes.columns]
        maps = [column.hierarchy.map(column.level, level) for column, level in columns]
        codes = tuple(upper[codes] for upper, codes in zip(maps, classes.codes, strict=True))
        return cls(classes, tuple(column.hierarchy.labels[level] for column, level in columns), codes, kept)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are recoded."""
        return self.classes.names

    @property
    def suppressed(self) -> int:
        """People who are left out."""
        return int(self.classes.sizes[~self.kept].sum())

    @cached_property
    def published(self) -> Classes:
        """The people as they look in the published table, with the spreads of sensitive columns."""
        columns = tuple(Column(name, _flat(labels)) for name, labels in zip(self.names, self.labels, strict=True))
        return Classes(columns, self.codes, self.classes.sizes, self.classes.spreads).keep(self.kept).regrouped()

    def __repr__(self) -> str:
        people = f"{self.published.records} of {self.classes.records} people"
        return f"Recoding({people} in {len(self.published)} classes by {', '.join(self.names)})"


def _flat(labels: tuple[Label, ...]) -> Hierarchy:
    hierarchy, _ = bind(Flat(), labels)
    if hierarchy is None:
        raise AssertionError("a flat rule knows every value")
    return hierarchy
