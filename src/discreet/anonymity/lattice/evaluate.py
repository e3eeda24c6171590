"""Evaluation of nodes by roll-up from the smallest finer node evaluated before."""

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
"""A node becomes a starting point if it has at most this share of the tuples it came from."""
MOST_TUPLES = 20_000_000
"""Tuples held in starting points altogether: 16 bytes each."""


class Evaluate(Protocol):
    """Tells what a node comes to."""

    def __call__(self, node: Node) -> NodeOutcome:
        """Look at one node."""


class Rolling(Protocol):
    """Merges packed tuples that become equal."""

    def up(self, keys: Ints, counts: Ints, moves: list[tuple[int, int, Ints]]) -> tuple[Ints, Ints]:
        """Distinct keys after the moves, with their counts."""

    def hidden(self, keys: Ints, counts: Ints, shifts: Ints, masks: Ints) -> tuple[Ints, ...]:
        """Per column, people by the code of their value."""


T = TypeVar("T")


class _StartingPoints(Generic[T]):
    """Evaluated nodes from which coarser ones can be computed.

    A node is packed into words in which each level has a guard bit: a borrow shows that a level was coarser, so that one
    subtraction compares a node with all of these.
    """

    def __init__(self, shape: Node, size: int, tuples: T) -> None:
        words, used = [0], 0
        self.places: list[tuple[int, int]] = []
        for width in [height.bit_length() + 1 for height in shape]:
            if used + width > 62:
                words.append(0)
                used = 0
            self.places.append((len(words) - 1, used))
            words[-1] |= 1 << (used + width - 1)
            used += width
        self.guards = np.array(words, dtype=np.int64)
        self.nodes: list[Node] = [(0,) * len(shape)]
        self.tuples: list[T] = [tuples]
        self.total = size
        self.packed = self._pack(self.nodes[0])[np.newaxis]
        self.sizes = np.array([size], dtype=np.int64)

    def _pack(self, node: Node) -> Ints:
        words = [0] * len(self.guards)
        for (word, shift), level in zip(self.places, node, strict=True):
            words[word] |= level << shift
        return np.array(words, dtype=np.int64)

    def nearest(self, node: Node) -> tuple[Node, T]:
        """The smallest of them that is nowhere coarser than a node."""
        free = ((self._pack(node) | self.guards) - self.packed[: len(self.tuples)]) & self.guards == self.guards
        finer = np.flatnonzero(free[:, 0] if free.shape[1] == 1 else free.all(axis=1))
        best = int(finer[np.argmin(self.sizes[finer])])
        return self.nodes[best], self.tuples[best]

    def offer(self, node: Node, size: int, tuples: T, *, source: int) -> None:
        """Add a node if it shrank enough and there is room."""
        if size > WORTH_KEEPING * source or self.total + size > MOST_TUPLES:
            return
        if len(self.tuples) == len(self.packed):
            self.packed = np.concatenate([self.packed, np.zeros_like(self.packed)])
            self.sizes = np.concatenate([self.sizes, np.zeros_like(self.sizes)])
        self.packed[len(self.tuples)], self.sizes[len(self.tuples)] = self._pack(node), size
        self.nodes.append(node)
        self.tuples.append(tuples)
        self.total += size


class BySize:
    """Evaluates where a class may be published if it has at least k people: packed tuples, no more."""

    def __init__(self, problem: LatticeProblem, *, k: int, roller: Rolling) -> None:
        self.problem, self.k, self.roller = problem, k, roller
        self.counts = problem.classes.sizes
        """People per tuple at the node looked at last."""
        self.finer = _StartingPoints(problem.shape, len(problem.keys), (problem.keys, self.counts))

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
        start, (keys, counts) = self.finer.nearest(node)
        if start != node:
            moves = [
                (int(self.problem.shifts[j]), int(self.problem.masks[j]), self.problem.moves[j][level])
                for j, (level, old) in enumerate(zip(node, start, strict=True))
                if level != old
            ]
            source, (keys, counts) = len(keys), self.roller.up(keys, counts, moves)
            self.finer.offer(node, len(keys), (keys, counts), source=source)
        self.counts = counts
        return keys, counts

    def _hidden(self, keys: Ints, counts: Ints) -> tuple[Ints, ...]:
        whole = self.roller.hidden(keys, counts, self.problem.shifts, self.problem.masks)
        return tuple(part[: ladder.size] for part, ladder in zip(whole, self.problem.ladders, strict=True))


Violating = Callable[[Classes], NDArray[np.bool_]]
"""Which classes at a node may not be published."""


class ByClasses:
    """Evaluates under any condition on classes, and where tuples do not fit into one integer."""

    def __init__(self, problem: LatticeProblem, *, violating: Violating) -> None:
        self.problem, self.violating = problem, violating
        self.classes = problem.classes
        """Classes at the node looked at last."""
        self.finer = _StartingPoints(problem.shape, _held(problem.classes), problem.classes)

    def __call__(self, node: Node) -> NodeOutcome:
        """Look at one node."""
        start, classes = self.finer.nearest(node)
        if start != node:
            source, classes = _held(classes), classes.at(self.problem.levels(node))
            self.finer.offer(node, _held(classes), classes, source=source)
        self.classes, bad, rows = classes, self.violating(classes), classes.rows
        kept = rows[~bad]
        squares, kept_squares = int(rows @ rows), int(kept @ kept)
        return NodeOutcome(
            node,
            int(rows[bad].sum()),
            len(kept),
            squares,
            kept_squares,
            lambda: self._hidden(classes, bad, node),
        )

    def _hidden(self, classes: Classes, bad: NDArray[np.bool_], node: Node) -> tuple[Ints, ...]:
        """By the smallest code in the data that is generalised to the value."""
        hidden, rows = [], classes.rows
        for column, codes, ladder, level in zip(
            classes.columns, classes.codes, self.problem.ladders, node, strict=True
        ):
            standing = ladder.codes_of(column, level)
            people = np.bincount(standing[codes[bad]], weights=rows[bad], minlength=ladder.size)
            hidden.append(people.astype(np.int64))
        return tuple(hidden)


def _held(classes: Classes) -> int:
    """Tuples that classes hold in memory: their own, and those of their people where a person may have several rows."""
    return len(classes) if classes.members is None else len(classes) + len(classes.members.owners)


# Moving packed tuples up the lattice, in numpy. `rollup_compiled` does the same with numba.
class NumpyRoller:
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
    loaded = "discreet.anonymity.lattice.rollup_compiled" in sys.modules
    large = len(problem.keys) * problem.nodes > LARGE
    compiles = engine == "auto" and (loaded or (large and importlib.util.find_spec("numba") is not None))
    if engine != "numba" and not compiles:
        return NumpyRoller(len(problem.keys))
    try:
        from discreet.anonymity.lattice.rollup_compiled import NumbaRoller
    except ImportError:
        raise MissingExtra("fast", needed_for="The compiled search") from None
    roller: Rolling = NumbaRoller(len(problem.keys))
    return roller
