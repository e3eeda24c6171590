"""Evaluation of nodes: by the sizes of their classes alone, or under any condition on classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.lattice import native_engine
from discreet.anonymity.lattice.native_engine import CompiledCounter
from discreet.anonymity.lattice.problem import LatticeProblem, Node, NodeOutcome
from discreet.anonymity.lattice.tuples import NumpyCounter, SmallClasses
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Ints

ENGINES = ("auto", "numpy", "compiled")
WORTH_KEEPING = 0.8
"""A node becomes a starting point if it has at most this share of the tuples it came from."""
MOST_TUPLES = 20_000_000
"""Tuples held in starting points altogether: 16 bytes each."""


class Evaluate(Protocol):
    """Tells what a node comes to."""

    def __call__(self, node: Node) -> NodeOutcome:
        """Look at one node."""


class Counter(Protocol):
    """Counts the classes of a node."""

    def sizes(self, node: Node) -> Ints:
        """The rows of every class."""

    def look(self, node: Node, k: int) -> tuple[int, int, int, int, SmallClasses]:
        """Rows in classes below k, larger classes, the sum of squares of all and of the larger, and the small ones."""


def compiled(problem: LatticeProblem, engine: str = "auto") -> bool:
    """Whether the library in C does the work: where it is there, unless numpy is asked for."""
    if engine not in ENGINES:
        raise UsageError(f"There is no engine named '{engine}'.", remedy=f"Choose one of: {', '.join(ENGINES)}.")
    if engine == "compiled" and native_engine.library() is None:
        raise UsageError(
            "The compiled engine is not here: there was no C compiler when Discreet was installed.",
            remedy='Use engine="auto", which finds the same in numpy, or install Discreet again where there is a compiler.',
        )
    return engine != "numpy" and native_engine.library() is not None and native_engine.fits(problem)


class BySize:
    """Evaluates where a class may be published if it has at least k people."""

    def __init__(self, problem: LatticeProblem, *, k: int, engine: str = "auto") -> None:
        self.problem, self.k = problem, k
        self.counter: Counter = CompiledCounter(problem) if compiled(problem, engine) else NumpyCounter(problem)

    def __call__(self, node: Node) -> NodeOutcome:
        """Look at one node."""
        suppressed, kept, squares, kept_squares, small = self.counter.look(node, self.k)
        return NodeOutcome(node, suppressed, kept, squares, kept_squares, small.by_value, small.around)

    def lowest(self, limit: int) -> Node | None:
        """The lowest level of each column at which it alone does not suppress more; None if a column has no such level.

        Whatever the other columns are, their values only split the classes further.
        """
        lowest = []
        for ladder in self.problem.ladders:
            few = [int(tally[tally < self.k].sum()) for tally in ladder.tallies]
            enough = [level for level, people in enumerate(few) if people <= limit]
            if not enough:
                return None
            lowest.append(enough[0])
        return tuple(lowest)


Violating = Callable[[Classes], NDArray[np.bool_]]
"""Which classes at a node may not be published."""


class ByClasses:
    """Evaluates under any condition on classes, by roll-up from the smallest finer node evaluated before."""

    def __init__(self, problem: LatticeProblem, *, violating: Violating) -> None:
        self.problem, self.violating = problem, violating
        self.classes = problem.classes
        """Classes at the node looked at last."""
        self.finer: list[tuple[int, Node, Classes]] = [
            (_held(problem.classes), (0,) * len(problem.shape), problem.classes)
        ]
        self.levels = np.array([self.finer[0][1]], dtype=np.int64)
        self.total = 0

    def __call__(self, node: Node) -> NodeOutcome:
        """Look at one node."""
        classes = self._at(node)
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

    def _at(self, node: Node) -> Classes:
        """The classes of a node, from the smallest node at hand that is nowhere coarser."""
        near = np.flatnonzero((self.levels <= np.array(node, dtype=np.int64)).all(axis=1)).tolist()
        source, start, classes = min((self.finer[place] for place in near), key=lambda point: point[0])
        if start == node:
            return classes
        classes = classes.at(self.problem.levels(node))
        size = _held(classes)
        if size <= WORTH_KEEPING * source and self.total + size <= MOST_TUPLES:
            self.finer.append((size, node, classes))
            self.levels = np.concatenate([self.levels, [node]])
            self.total += size
        return classes

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
