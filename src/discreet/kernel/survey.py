"""Survey design of a sample: the weights of its people and the households they live in, class by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.kernel.arrays import Flags, Floats, Ints, group, pack, total
from discreet.kernel.hierarchy import Coded, Histogram, read_only
from discreet.kernel.members import people_of

MOST = 1e300
"""Sums of weights stay below, so that they are numbers."""


@dataclass(frozen=True, eq=False)
class Survey:
    """Lines of a class, a household and a person, with their rows and the sum of their weights.

    Households and persons are numbered from 0 on; a household below 0 is not known. What the policy does not declare
    is None.
    """

    owners: Ints
    """The class of each line."""
    counts: Ints
    """Rows, or people where a row stands for several."""
    weights: Floats | None = None
    homes: Ints | None = None
    persons: Ints | None = None

    def __post_init__(self) -> None:
        for name in ("owners", "counts", "weights", "homes", "persons"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def of(cls, histogram: Histogram, owners: Ints, *, household: str | None, people: Ints | None = None) -> Survey:
        """From what an engine counted by quasi-identifiers, household and person; `owners` are the classes."""
        columns = histogram.columns
        return cls(
            owners,
            histogram.counts,
            histogram.weights,
            None if household is None else numbered(columns[household]),
            people,
        )

    def over(self, member: Ints) -> Survey:
        """The same people in coarser classes; `member` is the new class of each old one."""
        keys = [array for array in (member[self.owners], self.homes, self.persons) if array is not None]
        # Unknown households are below 0.
        packed, bound = pack([key + 1 for key in keys], [int(key.max(initial=0)) + 2 for key in keys], len(keys[0]))
        first, groups, number = group(packed, bound)
        return Survey(
            keys[0][first],
            total(groups, self.counts, number),
            None if self.weights is None else sums(groups, self.weights, number),
            None if self.homes is None else self.homes[first],
            None if self.persons is None else self.persons[first],
        )

    def only(self, kept: Flags) -> Survey:
        """The people of the kept classes, renumbered."""
        number, stays = np.cumsum(kept) - 1, kept[self.owners]
        return Survey(
            number[self.owners[stays]],
            self.counts[stays],
            None if self.weights is None else self.weights[stays],
            None if self.homes is None else self.homes[stays],
            None if self.persons is None else self.persons[stays],
        )

    def people(self, classes: int) -> Floats | None:
        """People of the population that each class stands for: the sum of its weights.

        A person on several rows of a class counts once, with the mean of the weights there.
        """
        if self.weights is None:
            return None
        if self.persons is None:
            return sums(self.owners, self.weights, classes)
        most = int(self.persons.max(initial=0)) + 1
        first, groups, number = group(*pack([self.owners, self.persons], [classes, most], len(self.owners)))
        each = sums(groups, self.weights, number) / total(groups, self.counts, number)
        return sums(self.owners[first], each, classes)

    def __repr__(self) -> str:
        return f"Survey({len(self.owners)} lines)"


def sums(member: Ints, weights: Floats, groups: int) -> Floats:
    """Sums of weights per group, which stay numbers."""
    return np.minimum(np.bincount(member, weights=weights, minlength=groups).astype(np.float64), MOST)


def numbered(coded: Coded) -> Ints:
    """Numbers from 0 on for the values of a column, one for all spellings of a value; -1 where there is none.

    >>> numbered(Coded(("7", "07", "H1", None), np.array([0, 1, 2, 3]))).tolist()
    [0, 0, 1, -1]
    """
    places: dict[str, int] = {}
    spelt = people_of(coded.values)
    numbers = [-1 if number is None else places.setdefault(number, len(places)) for number in spelt]
    return np.array(numbers, dtype=np.int64)[coded.codes]


def people_of_rows(columns: Mapping[str, Coded], count: Sequence[str]) -> Ints:
    """How many people each row stands for: one, unless a column says so."""
    for name in count:
        numbers = [int(float(value or 0)) for value in columns[name].values]
        return np.array(numbers, dtype=np.int64)[columns[name].codes]
    return np.ones(len(next(iter(columns.values())).codes), dtype=np.int64)
