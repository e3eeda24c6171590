"""Search problem: distinct tuples packed as keys, the lattice, what nodes amount to.

A generalised value is written as the smallest code among the values it stands for, so that a key at any node of the
lattice has the same layout as a key of the data, and going up is one look-up and one addition per column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.kernel import Classes, Column
from discreet.kernel.arrays import Ints

Node = tuple[int, ...]
Move = tuple[int, int, Ints]
"""Shift and mask of a column, and what to add to a key by the code it has there."""
KEY_BITS = 62


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

    def codes_of(self, column: Column, level: int) -> Ints:
        """The code that stands for each value of the column, which is at this level."""
        codes = np.empty(len(column.labels), dtype=np.int64)
        codes[column.hierarchy.map(0, column.level)] = self.standing[level]
        return codes

    def people_at(self, level: int) -> Ints:
        """People per generalised value, at the code that stands for it."""
        return np.bincount(self.standing[level], weights=self.people, minlength=self.size).astype(np.int64)


@dataclass(frozen=True, eq=False)
class LatticeProblem:
    """Everything about a table that a search over its lattice needs."""

    classes: Classes
    """At the lowest levels that may be published: the finest node."""
    ladders: tuple[Ladder, ...]

    @classmethod
    def of(cls, classes: Classes) -> LatticeProblem:
        """From classes at their finest level."""
        columns = zip(classes.columns, classes.codes, strict=True)
        ladders = tuple(Ladder.of(column, codes, classes.rows) for column, codes in columns)
        return cls(classes.at([ladder.first for ladder in ladders]), ladders)

    def levels(self, node: Node) -> Node:
        """The levels of the hierarchies at a node."""
        return tuple(ladder.first + level for ladder, level in zip(self.ladders, node, strict=True))

    @property
    def people(self) -> int:
        """How much there is to lose: rows, which are people unless a person may have several."""
        return int(self.classes.rows.sum())

    @property
    def shape(self) -> Node:
        """Levels per column: the shape of the lattice."""
        return tuple(ladder.height for ladder in self.ladders)

    @property
    def nodes(self) -> int:
        """Size of the lattice."""
        return int(np.prod(self.shape, dtype=object))

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """Bits per column of a key."""
        return tuple(max(1, (ladder.size - 1).bit_length()) for ladder in self.ladders)

    @property
    def packs(self) -> bool:
        """Whether a tuple fits into one integer, and a class needs no more than its number of people."""
        return sum(self.bits) <= KEY_BITS and self.classes.members is None

    @cached_property
    def shifts(self) -> Ints:
        """Where each column starts in a key."""
        return np.concatenate([[0], np.cumsum(self.bits)[:-1]]).astype(np.int64)

    @cached_property
    def masks(self) -> Ints:
        """Which bits a column has, shifted down."""
        return np.array([(1 << bits) - 1 for bits in self.bits], dtype=np.int64)

    @cached_property
    def keys(self) -> Ints:
        """One key per class."""
        keys = np.zeros(len(self.classes), dtype=np.int64)
        columns = zip(self.ladders, self.classes.columns, self.classes.codes, self.shifts, strict=True)
        for ladder, column, codes, shift in columns:
            keys |= ladder.codes_of(column, 0)[codes] << shift
        return keys

    @cached_property
    def moves(self) -> tuple[tuple[Ints, ...], ...]:
        """Per column and level, what to add to a key whose column has a certain code."""
        return tuple(
            tuple(
                np.pad((standing - np.arange(ladder.size)) << shift, (0, (1 << bits) - ladder.size))
                for standing in ladder.standing
            )
            for ladder, shift, bits in zip(self.ladders, self.shifts, self.bits, strict=True)
        )


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

    @cached_property
    def hidden(self) -> tuple[Ints, ...]:
        """Per column, the suppressed rows by the code that stands for their value; counted when first asked for."""
        return self.count_hidden()


# The nodes of a lattice that is small enough to write down, and what is known about each.
UNKNOWN, DEAD, FIT, DONE = 0, 1, 2, 3
"""Not looked at; suppresses too much; known to suppress little enough; evaluated."""
MOST_NODES = 2**23
"""Larger lattices are not written down."""


class Lattice:
    """A state per node, and its bound."""

    def __init__(self, bounds: NDArray[np.float64], *, moving: bool = False) -> None:
        """Where bounds move, settled nodes get an infinite one, so that the least bound is the next node."""
        self.bounds = bounds
        self.moving = moving
        self.shape: Node = bounds.shape
        self.above = bounds.copy() if moving else bounds
        self.below = np.zeros(self.shape) if moving else bounds
        self.state = np.zeros(self.shape, dtype=np.uint8)

    def node(self, place: int) -> Node:
        """The node at a flat place."""
        return tuple(int(level) for level in np.unravel_index(place, self.shape))

    def kill_below(self, node: Node) -> None:
        """A node suppresses too much, so do all finer ones."""
        below = tuple(slice(level + 1) for level in node)
        self.state[below] = DEAD
        if self.moving:
            self.bounds[below] = np.inf

    def done(self, node: Node) -> None:
        """A node has been evaluated."""
        self.state[node] = DONE
        if self.moving:
            self.bounds[node] = np.inf

    def fit_above(self, node: Node) -> None:
        """A node suppresses little enough, so do all coarser ones."""
        above = self.state[tuple(slice(level, None) for level in node)]
        np.maximum(above, FIT, out=above, where=above != DEAD)

    def raise_above(self, node: Node, bound: float) -> None:
        """What all coarser nodes cost at least."""
        self._raise(self.above, bound, tuple(slice(level, None) for level in node))

    def raise_below(self, node: Node, bound: float) -> None:
        """What all finer nodes cost at least on top of that."""
        self._raise(self.below, bound, tuple(slice(level + 1) for level in node))

    def _raise(self, part: NDArray[np.float64], bound: float, where: tuple[slice, ...]) -> None:
        """The two parts of a bound add up; a settled node stays infinite."""
        np.maximum(part[where], bound, out=part[where])
        np.maximum(self.bounds[where], self.above[where] + self.below[where], out=self.bounds[where])

    def chain(self, node: Node) -> list[Node]:
        """A way up through nodes not looked at, each time over the neighbour of least bound."""
        chain = [node]
        while above := [up for up in coarser(chain[-1], self.shape) if self.state[up] == UNKNOWN]:
            chain.append(min(above, key=self.bounds.__getitem__))
        return chain


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
