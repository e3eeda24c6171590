"""A hierarchy bound to the values of one column: which value becomes which, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Label = str | None


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """How the values of one column generalise, as integer maps from each level to the next.

    >>> sexes = Hierarchy.of([["F", "Person"], ["M", "Person"]])
    >>> sexes.height, sexes.labels[1], sexes.map(0, 1).tolist()
    (2, ('Person',), [0, 0])
    """

    labels: tuple[tuple[Label, ...], ...]
    """Per level, the value of each code."""
    parents: tuple[Ints, ...]
    """Per level but the last, the code one level up of each code."""
    leaves: tuple[Ints, ...]
    """Per level, how many leaves of the whole hierarchy lie under each code."""
    size: int
    """Number of leaves of the whole hierarchy, also those that do not occur in the data."""

    @classmethod
    def of(
        cls, paths: Sequence[Sequence[Label]], *, every: Sequence[Sequence[Label]] | None = None, height: int = 1
    ) -> Hierarchy:
        """Build from one path (value, level 1, level 2, ...) per value; `every` holds all leaves if there are more.

        `height` is the number of levels where there is no path to tell it.
        """
        every = paths if every is None else every
        columns = list(zip(*paths, strict=True)) or [()] * height
        whole = list(zip(*every, strict=True)) or [()] * height
        numbered = [_number(column) for column in columns]
        parents = [_parent(lower[1], upper[1], len(lower[0])) for lower, upper in pairwise(numbered)]
        leaves = [_leaves(labels, column) for (labels, _), column in zip(numbered, whole, strict=True)]
        labels = tuple(labels for labels, _ in numbered)
        return cls(labels, tuple(map(read_only, parents)), tuple(map(read_only, leaves)), len(every))

    @property
    def height(self) -> int:
        """Number of levels, the values themselves included."""
        return len(self.labels)

    @property
    def rooted(self) -> bool:
        """Whether the whole hierarchy, not only what occurs of it, ends in one value for all."""
        return self.height > 1 and len(self.labels[-1]) == 1 and int(self.leaves[-1][0]) == self.size

    def map(self, start: int, stop: int) -> Ints:
        """The code at level `stop` of every code at level `start`."""
        codes = np.arange(len(self.labels[start]), dtype=np.int64)
        for level in range(start, stop):
            codes = self.parents[level][codes]
        return codes

    @cached_property
    def index(self) -> tuple[dict[Label, int], ...]:
        """Per level, the code of each value."""
        return tuple({label: code for code, label in enumerate(labels)} for labels in self.labels)

    def __repr__(self) -> str:
        return f"Hierarchy({' -> '.join(str(len(labels)) for labels in self.labels)} values, {self.size} leaves)"


def read_only(array: Ints) -> Ints:
    """The same numbers, safe to share."""
    shared = array.view()
    shared.flags.writeable = False
    return shared


def _number(column: Sequence[Label]) -> tuple[tuple[Label, ...], Ints]:
    """Distinct labels in order of first appearance, and the number of each entry."""
    index: dict[Label, int] = {}
    codes = [index.setdefault(label, len(index)) for label in column]
    return tuple(index), np.array(codes, dtype=np.int64)


def _parent(lower: Ints, upper: Ints, size: int) -> Ints:
    parent = np.empty(size, dtype=np.int64)
    parent[lower] = upper
    return parent


def _leaves(labels: tuple[Label, ...], column: Sequence[Label]) -> Ints:
    index = {label: code for code, label in enumerate(labels)}
    codes = np.array([index[label] for label in column if label in index], dtype=np.int64)
    return np.bincount(codes, minlength=len(labels)).astype(np.int64)
