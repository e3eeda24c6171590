"""Search problem: the columns with their levels, the lattice, what nodes amount to.

A generalised value is written as the smallest code among the values it stands for, so that codes mean the same at every
node of the lattice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel import Classes, Column
from discreet.kernel.arrays import Floats, Ints

Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Ladder:
    """One column of the problem: its values at every level, by the code of the value in the data."""

    size: int
    """Number of values in the data."""
    whole: int
    """Number of leaves of the whole hierarchy."""
    standing: tuple[Ints, ...]
    """Per level, the code that each code becomes."""
    leaves: tuple[Ints, ...]
    """Per level, the leaves of the hierarchy under what each code becomes."""
    people: Ints
    """Rows per code: as many as people, unless a person may have several."""
    first: int = 0
    """The level of the hierarchy with which this starts, and from which levels are counted here."""
    last: int = 0
    """The last level of the hierarchy."""
    weight: float = 1.0
    """How much the detail of the column is worth."""

    @classmethod
    def of(cls, column: Column, codes: Ints, sizes: Ints) -> Ladder:
        """From a column of classes at its finest level: the levels at which it may be published."""
        tree, levels = column.hierarchy, range(column.at_least, column.highest + 1)
        maps = [tree.map(0, level) for level in levels]
        people = np.bincount(codes, weights=sizes, minlength=len(tree.labels[0])).astype(np.int64)
        leaves = tuple(tree.leaves[level][upper] for level, upper in zip(levels, maps, strict=True))
        standing = []
        for upper in maps:
            # For each code the smallest code that is generalised to the same value.
            first = np.full(int(upper.max(initial=-1)) + 1, len(upper), dtype=np.int64)
            np.minimum.at(first, upper, np.arange(len(upper)))
            standing.append(first[upper])
        own = column.at_least, tree.height - 1, column.weight
        return cls(len(tree.labels[0]), tree.size, tuple(standing), leaves, people, *own)

    @property
    def height(self) -> int:
        """Number of levels."""
        return len(self.standing)

    @cached_property
    def covered(self) -> tuple[int, ...]:
        """Per level, the leaves under every person's value, added up."""
        return tuple(int((self.people * leaves).sum()) for leaves in self.leaves)

    @cached_property
    def distinct(self) -> tuple[int, ...]:
        """Per level, the number of values that occur."""
        return tuple(len(np.unique(standing)) for standing in self.standing)

    @cached_property
    def tallies(self) -> tuple[Ints, ...]:
        """Per level, the people of each value."""
        return tuple(self.people_at(level) for level in range(self.height))

    @cached_property
    def bits(self) -> Floats:
        """Per level, what its values tell about a person on average, in bits."""
        shares = [self.people_at(level) / max(int(self.people.sum()), 1) for level in range(self.height)]
        return np.array([-float((met * np.log2(met)).sum()) for share in shares for met in [share[share > 0]]])

    @cached_property
    def least_lost(self) -> tuple[Ints, ...]:
        """Per level, for each value there and each level up to it: the leaves that a person surely loses.

        Of a person of whom only a coarse value is known, at least so many leaves of the hierarchy are not under the
        finer one.
        """
        found = []
        for level, standing in enumerate(self.standing):
            most = np.zeros((level + 1, self.size), dtype=np.int64)
            for finer in range(level + 1):
                np.maximum.at(most[finer], standing, self.leaves[finer])
            found.append(self.whole - most)
        return tuple(found)

    def codes_of(self, column: Column, level: int) -> Ints:
        """The code that stands for each value of the column, which is at this level."""
        codes = np.empty(len(column.labels), dtype=np.int64)
        codes[column.hierarchy.map(0, column.level)] = self.standing[level]
        return codes

    def people_at(self, level: int) -> Ints:
        """People per generalised value, at the code that stands for it."""
        return np.bincount(self.standing[level], weights=self.people, minlength=self.size).astype(np.int64)


def derived(classes: Classes) -> dict[object, object]:
    """What was made of classes, which never change, and is wanted again."""
    return vars(classes).setdefault("_derived", {})  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class LatticeProblem:
    """Everything about a table that a search over its lattice needs."""

    classes: Classes
    """At the lowest levels that may be published: the finest node."""
    ladders: tuple[Ladder, ...]

    @classmethod
    def of(cls, classes: Classes) -> LatticeProblem:
        """From classes at their finest level; made once for the same classes."""
        made = derived(classes).get(cls)
        if not isinstance(made, LatticeProblem):
            columns = zip(classes.columns, classes.codes, strict=True)
            rows = classes.rows
            ladders = tuple(Ladder.of(column, codes, rows) for column, codes in columns)
            made = derived(classes)[cls] = cls(classes.at([ladder.first for ladder in ladders]), ladders)
        return made

    def levels(self, node: Node) -> Node:
        """The levels of the hierarchies at a node."""
        return tuple(ladder.first + level for ladder, level in zip(self.ladders, node, strict=True))

    @cached_property
    def people(self) -> int:
        """How much there is to lose: rows, which are people unless a person may have several."""
        return int(self.classes.rows.sum())

    @cached_property
    def shape(self) -> Node:
        """Levels per column: the shape of the lattice."""
        return tuple(ladder.height for ladder in self.ladders)

    @cached_property
    def nodes(self) -> int:
        """Size of the lattice."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def packs(self) -> bool:
        """Whether a class needs no more than its number of people."""
        return self.classes.members is None

    @cached_property
    def codes(self) -> tuple[Ints, ...]:
        """Per column, the code of each class."""
        columns = zip(self.ladders, self.classes.columns, self.classes.codes, strict=True)
        return tuple(ladder.codes_of(column, 0)[codes] for ladder, column, codes in columns)


# What a node of the lattice comes to.
@dataclass(frozen=True, eq=False)
class NodeOutcome:
    """The classes at one node, summed up exactly: all that any loss needs."""

    node: Node
    suppressed: int
    """Rows in classes that may not be published."""
    kept: int
    """Classes that may."""
    squares: int
    """Sum of squared sizes of all classes."""
    kept_squares: int
    """Sum of squared sizes of the classes that may be published."""
    count_hidden: Callable[[], tuple[Ints, ...]]
    around: Callable[[], NDArray[np.integer[Any]]] | None = None
    """How many people look like one of those suppressed here, at every node of the lattice."""

    @cached_property
    def hidden(self) -> tuple[Ints, ...]:
        """Per column, the suppressed rows by the code that stands for their value; counted when first asked for."""
        return self.count_hidden()


MOST_NODES = 2**23
"""Larger lattices are not written down."""


def coarser(node: Node, shape: Node, *, since: int = 0) -> list[Node]:
    """The nodes one level up on one column, from the column at place `since` on.

    >>> coarser((0, 1), (2, 3))
    [(1, 1), (0, 2)]
    """
    return [
        (*node[:place], node[place] + 1, *node[place + 1 :])
        for place in range(since, len(node))
        if node[place] + 1 < shape[place]
    ]
