"""The nodes of a lattice that is small enough to write down, and what is known about each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.lattice.problem import Node

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
        """The two parts of a bound add up; a settled node keeps its infinite one."""
        np.maximum(part[where], bound, out=part[where])
        np.maximum(self.bounds[where], self.above[where] + self.below[where], out=self.bounds[where])

    def chain(self, node: Node) -> list[Node]:
        """A way up through nodes not looked at, each time over the neighbour of least bound."""
        chain, current = [node], node
        while True:
            above = [up for up in self._above(current) if self.state[up] == UNKNOWN]
            if not above:
                return chain
            current = min(above, key=self.bounds.__getitem__)
            chain.append(current)

    def _above(self, node: Node) -> list[Node]:
        return [
            (*node[:place], level + 1, *node[place + 1 :])
            for place, level in enumerate(node)
            if level + 1 < self.shape[place]
        ]
