"""Evaluation of nodes by roll-up from the smallest finer node kept."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.lattice.problem import LatticeProblem, Move, Node, NodeOutcome
from discreet.errors import MissingExtra, UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Ints

WORTH_KEEPING = 0.8
"""A node is kept as a starting point if it has at most this share of the tuples it came from."""
MOST_TUPLES = 20_000_000
"""Tuples held in starting points altogether: 16 bytes each."""


class Evaluate(Protocol):
    """Tells what a node comes to."""

    def __call__(self, node: Node) -> NodeOutcome:
        """Look at one node."""
        ...


class Rolling(Protocol):
    """Merges packed tuples that become equal."""

    def up(self, keys: Ints, counts: Ints, moves: list[tuple[int, int, Ints]]) -> tuple[Ints, Ints]:
        """Distinct keys after the moves, with their counts."""
        ...

    def hidden(self, keys: Ints, counts: Ints, shifts: Ints, masks: Ints) -> tuple[Ints, ...]:
        """Per column, people by the code of their value."""
        ...


T = TypeVar("T")


class _Shelf(Generic[T]):
    """Evaluated nodes from which coarser ones can be computed."""

    def __init__(self, shape: Node, size: int, held: T) -> None:
        self.order = _Order(shape)
        self.nodes: list[Node] = [(0,) * len(shape)]
        self.held: list[T] = [held]
        self.total = size
        self.packed = self.order.pack(self.nodes[0])[np.newaxis]
        self.sizes = np.array([size], dtype=np.int64)

    def nearest(self, node: Node) -> tuple[Node, T]:
        """The smallest held node that is nowhere coarser."""
        finer = np.flatnonzero(self.order.finer(self.packed[: len(self.held)], self.order.pack(node)))
        best = int(finer[np.argmin(self.sizes[finer])])
        return self.nodes[best], self.held[best]

    def offer(self, node: Node, size: int, held: T, *, source: int) -> None:
        """Keep a node if it shrank enough and there is room."""
        if size > WORTH_KEEPING * source or self.total + size > MOST_TUPLES:
            return
        if len(self.held) == len(self.packed):
            self.packed = np.concatenate([self.packed, np.zeros_like(self.packed)])
            self.sizes = np.concatenate([self.sizes, np.zeros_like(self.sizes)])
        self.packed[len(self.held)], self.sizes[len(self.held)] = self.order.pack(node), size
        self.nodes.append(node)
        self.held.append(held)
        self.total += size


class _Order:
    """Comparing one node with many: each level has a guard bit in a word, and a borrow shows that it was coarser."""

    def __init__(self, shape: Node) -> None:
        widths = [height.bit_length() + 1 for height in shape]
        words, used = [0], 0
        self.places: list[tuple[int, int]] = []
        for width in widths:
            if used + width > 62:
                words.append(0)
                used = 0
            self.places.append((len(words) - 1, used))
            words[-1] |= 1 << (used + width - 1)
            used += width
        self.guards = np.array(words, dtype=np.int64)

    def pack(self, node: Node) -> Ints:
        """A node as words."""
        words = [0] * len(self.guards)
        for (word, shift), level in zip(self.places, node, strict=True):
            words[word] |= level << shift
        return np.array(words, dtype=np.int64)

    def finer(self, many: Ints, node: Ints) -> NDArray[np.bool_]:
        """Which of many nodes are nowhere coarser than one."""
        free = ((node | self.guards) - many) & self.guards == self.guards
        return np.asarray(free[:, 0] if free.shape[1] == 1 else free.all(axis=1))


class BySize:
    """Evaluates where a class may be published if it has at least k people: packed tuples, no more."""

    def __init__(self, problem: LatticeProblem, *, k: int, roller: Rolling) -> None:
        self.problem, self.k, self.roller = problem, k, roller
        start = (problem.keys, problem.classes.sizes)
        self.shelf = _Shelf(problem.shape, len(problem.keys), start)

    def __call__(self, node: Node) -> NodeOutcome:
        """Look at one node."""
        keys, counts = self._tuples(node)
        small = counts < self.k
        few = counts[small]
        squares, hidden_squares = int(counts @ counts), int(few @ few)
        return NodeOutcome(
            node,
            int(few.sum()),
            len(counts) - len(few),
            squares,
            squares - hidden_squares,
            lambda: self._hidden(keys[small], few),
        )

    def _tuples(self, node: Node) -> tuple[Ints, Ints]:
        start, (keys, counts) = self.shelf.nearest(node)
        if start == node:
            return keys, counts
        moves = [
            (int(self.problem.shifts[j]), int(self.problem.masks[j]), self.problem.moves[j][level])
            for j, (level, old) in enumerate(zip(node, start, strict=True))
            if level != old
        ]
        moved = self.roller.up(keys, counts, moves)
        self.shelf.offer(node, len(moved[0]), moved, source=len(keys))
        return moved

    def _hidden(self, keys: Ints, counts: Ints) -> tuple[Ints, ...]:
        whole = self.roller.hidden(keys, counts, self.problem.shifts, self.problem.masks)
        return tuple(part[: ladder.size] for part, ladder in zip(whole, self.problem.ladders, strict=True))


Violating = Callable[[Classes], NDArray[np.bool_]]
"""Which classes at a node may not be published."""


class ByClasses:
    """Evaluates under any condition on classes, and where tuples do not fit into one integer."""

    def __init__(self, problem: LatticeProblem, *, violating: Violating) -> None:
        self.problem, self.violating = problem, violating
        self.shelf = _Shelf(problem.shape, len(problem.classes), problem.classes)

    def __call__(self, node: Node) -> NodeOutcome:
        """Look at one node."""
        start, classes = self.shelf.nearest(node)
        if start != node:
            source, classes = len(classes), classes.at(node)
            self.shelf.offer(node, len(classes), classes, source=source)
        bad = self.violating(classes)
        kept = classes.sizes[~bad]
        squares, kept_squares = int(classes.sizes @ classes.sizes), int(kept @ kept)
        return NodeOutcome(
            node,
            int(classes.sizes[bad].sum()),
            len(kept),
            squares,
            kept_squares,
            lambda: self._hidden(classes, bad, node),
        )

    def _hidden(self, classes: Classes, bad: NDArray[np.bool_], node: Node) -> tuple[Ints, ...]:
        """By the smallest code in the data that is generalised to the value."""
        hidden = []
        for column, codes, ladder, level in zip(
            classes.columns, classes.codes, self.problem.ladders, node, strict=True
        ):
            upper = column.hierarchy.map(0, level)
            standing = np.empty(len(column.labels), dtype=np.int64)
            standing[upper] = ladder.standing[level]
            people = np.bincount(standing[codes[bad]], weights=classes.sizes[bad], minlength=ladder.size)
            hidden.append(people.astype(np.int64))
        return tuple(hidden)


# Moving packed tuples up the lattice, in numpy. `rollup_compiled` does the same with numba.
class Roller:
    """Merges tuples that become equal."""

    def __init__(self, most: int) -> None:
        """`most` is the largest number of tuples that will ever be moved at once."""

    def up(self, keys: Ints, counts: Ints, moves: Sequence[Move]) -> tuple[Ints, Ints]:
        """Distinct keys after the moves, with their counts."""
        moved = keys.copy()
        for shift, mask, add in moves:
            moved += add[(keys >> shift) & mask]
        order = np.argsort(moved)
        moved = moved[order]
        first = np.flatnonzero(np.concatenate([[True], moved[1:] != moved[:-1]]))
        return moved[first], np.add.reduceat(counts[order], first)

    def hidden(self, keys: Ints, counts: Ints, shifts: Ints, masks: Ints) -> tuple[Ints, ...]:
        """Per column, people by the code of their value."""
        return tuple(
            np.bincount((keys >> shift) & mask, weights=counts, minlength=mask + 1).astype(np.int64)
            for shift, mask in zip(shifts.tolist(), masks.tolist(), strict=True)
        )


# Which implementation moves the tuples: plain numpy, or compiled where that pays.
ENGINES = ("auto", "numpy", "numba")
LARGE = 2_000_000_000
"""Tuples times nodes from which loading the compiler pays even in a command that runs once."""


def roller_for(problem: LatticeProblem, engine: str) -> Rolling:
    """The implementation of a name; `auto` takes numba where it is loaded already or the problem is large."""
    if engine not in ENGINES:
        raise UsageError(f"There is no engine named '{engine}'.", remedy=f"Choose one of: {', '.join(ENGINES)}.")
    if engine == "numba" or (engine == "auto" and _worth_compiling(problem)):
        return _compiled(problem)
    return Roller(len(problem.keys))


def _worth_compiling(problem: LatticeProblem) -> bool:
    if "discreet.anonymity.lattice.rollup_compiled" in sys.modules:
        return True
    return len(problem.keys) * problem.nodes > LARGE and importlib.util.find_spec("numba") is not None


def _compiled(problem: LatticeProblem) -> Rolling:
    try:
        from discreet.anonymity.lattice import rollup_compiled
    except ImportError:
        raise MissingExtra("fast", needed_for="The compiled search") from None
    roller: Rolling = rollup_compiled.Roller(len(problem.keys))
    return roller
