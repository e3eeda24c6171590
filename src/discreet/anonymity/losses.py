"""Information loss of a node or a recoding, with lower bounds for the search.

N people (rows, where a person may have several), ns of them suppressed, column j at level l of 0 to L-1. Definitions agree with the field's reference
implementation, so that numbers can be compared. Every bound below holds for the node itself (`bounds`) or for all
nodes above an evaluated one (`bound_above`); a search that trusts them misses nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.lattice.problem import Ladder, LatticeProblem, Node, NodeOutcome
from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.classes import Recoding
from discreet.kernel.hierarchy import as_numbers


class Loss(Protocol):
    """What a node costs; smaller is better."""

    moves: bool
    """Whether evaluating a node can raise the bounds of nodes above it."""

    def bounds(self) -> Floats:
        """A lower bound for every node, in the shape of the lattice, from the columns alone."""

    def bound(self, node: Node) -> float:
        """The same for one node, for lattices too large to write down."""

    def value(self, outcome: NodeOutcome) -> float:
        """What the node costs."""

    def bound_above(self, outcome: NodeOutcome) -> float:
        """What every node above an evaluated one costs at least."""

    def bound_below(self, outcome: NodeOutcome) -> float:
        """What every node below an evaluated one costs at least beyond its other bound."""

    def most_suppressed(self, best: float) -> float:
        """How many people a node can suppress at most and still cost no more than `best`."""


def _everywhere(combine: np.ufunc, parts: Sequence[Sequence[float]]) -> Floats:
    """One number per node of the lattice, from one per level of each column."""
    return reduce(combine.outer, map(np.asarray, parts), np.array(float(combine.identity)))


class _ByColumn:
    """A loss whose bound is put together from the columns."""

    moves = False

    def __init__(self, problem: LatticeProblem) -> None:
        self.problem = problem
        self.parts = [self._parts(ladder) for ladder in problem.ladders]

    def _parts(self, ladder: Ladder) -> list[float]:
        raise NotImplementedError

    def _together(self, parts: Sequence[float]) -> float:
        return math.fsum(parts)

    def bound(self, node: Node) -> float:
        """From the parts of its levels."""
        return self._together([parts[level] for parts, level in zip(self.parts, node, strict=True)])

    def bounds(self) -> Floats:
        """All nodes at once."""
        return _everywhere(np.add, self.parts)

    def bound_above(self, outcome: NodeOutcome) -> float:
        """Nothing beyond what the columns say."""
        return 0.0

    def bound_below(self, outcome: NodeOutcome) -> float:
        """Nothing beyond what the columns say."""
        return 0.0

    def most_suppressed(self, best: float) -> float:
        """A suppressed person is lost on every column, so that ns/N is a bound too."""
        return best * self.problem.people


class ShareLoss(_ByColumn):
    """`loss`: how much of its hierarchy each published value covers, a suppressed one all of it.

    v_j = max(0, (sum over kept of leaves/n + ns - N/n) / (N - N/n)); total prod(1 + w_j v_j)^(1/m) - 1, with w_j the
    weight of the column.
    """

    def _parts(self, ladder: Ladder) -> list[float]:
        return [1 + self._column(ladder, covered, 0) for covered in ladder.covered]

    def _column(self, ladder: Ladder, covered: int, suppressed: int) -> float:
        people, n = self.problem.people, ladder.whole
        if n <= 1:
            return 0.0
        return ladder.weight * max(0.0, (covered + (suppressed * n - people)) / (people * n - people))

    def most_suppressed(self, best: float) -> float:
        """Suppressed people alone make every v_j at least ns/N, but for columns of a single leaf."""
        weights = [ladder.weight for ladder in self.problem.ladders if ladder.whole > 1]
        if not weights:
            return math.inf
        return float((1 + best) ** (len(self.parts) / len(weights)) - 1) / min(weights) * self.problem.people

    def _together(self, parts: Sequence[float]) -> float:
        return float(math.prod(parts) ** (1 / len(parts))) - 1

    def bounds(self) -> Floats:
        """All nodes at once."""
        return np.asarray(_everywhere(np.multiply, self.parts) ** (1 / len(self.parts)) - 1)

    def value(self, outcome: NodeOutcome) -> float:
        """With suppressed people counted as wholly lost."""
        if not outcome.suppressed:
            return self.bound(outcome.node)
        factors = [
            1 + self._column(ladder, ladder.covered[level] - int(hidden @ ladder.leaves[level]), outcome.suppressed)
            for ladder, level, hidden in zip(self.problem.ladders, outcome.node, outcome.hidden, strict=True)
        ]
        return self._together(factors)


class PrecisionLoss(_ByColumn):
    """`precision`: mean over columns of the height gone up, by their weights, a suppressed person all the way."""

    def _parts(self, ladder: Ladder) -> list[float]:
        steps, columns = max(ladder.last, 1), len(self.problem.ladders)
        return [ladder.weight * (ladder.first + level) / steps / columns for level in range(ladder.height)]

    @property
    def _all(self) -> float:
        """What a suppressed person costs."""
        return math.fsum(ladder.weight for ladder in self.problem.ladders) / len(self.problem.ladders)

    def value(self, outcome: NodeOutcome) -> float:
        """((N - ns) * l/(L-1) + ns) / N, averaged."""
        share = outcome.suppressed / self.problem.people
        return (1 - share) * self.bound(outcome.node) + share * self._all

    def most_suppressed(self, best: float) -> float:
        """A suppressed person is lost on every column."""
        return best / self._all * self.problem.people


class EntropyLoss(_ByColumn):
    """`entropy`: the bits it takes to guess the values back (non-uniform entropy)."""

    def _parts(self, ladder: Ladder) -> list[float]:
        """Per level, -sum over all people of log2(count(value) / count(generalised value))."""
        met, parts = ladder.people > 0, []
        for level in range(ladder.height):
            upper = ladder.people_at(level)[ladder.standing[level]]
            bits = ladder.people[met] * np.log2(upper[met] / ladder.people[met])
            parts.append(ladder.weight * math.fsum(bits.tolist()))
        return parts

    def value(self, outcome: NodeOutcome) -> float:
        """For suppressed people also the bits to guess the generalised value among them."""
        bits = [self.bound(outcome.node)]
        for ladder, counts in zip(self.problem.ladders, outcome.hidden, strict=True):
            met = counts[counts > 0]
            bits.append(ladder.weight * math.fsum((met * np.log2(outcome.suppressed / met)).tolist()))
        return math.fsum(bits)

    def most_suppressed(self, best: float) -> float:
        """Suppressed people who are all alike cost nothing."""
        return math.inf


class _ByClass:
    """A loss that only the classes of a node can tell; evaluated nodes tell something about those above them."""

    moves = True

    smallest = 1
    """The least size of a class that may be published."""
    by_size = False
    """Whether only classes smaller than that are suppressed."""

    def __init__(self, problem: LatticeProblem) -> None:
        self.problem = problem

    def bound_below(self, outcome: NodeOutcome) -> float:
        """Suppression below is not charged for."""
        return 0.0

    def most_classes(self, node: Node) -> float:
        """No more classes than combinations of the values that occur, and no more than at the finest node."""
        values = math.prod(ladder.distinct[level] for ladder, level in zip(self.problem.ladders, node, strict=True))
        return float(min(values, len(self.problem.classes)))

    def most_suppressed(self, best: float) -> float:
        """Suppression alone rules nothing out."""
        return math.inf

    def _most_classes_everywhere(self) -> Floats:
        most = _everywhere(np.multiply, [ladder.distinct for ladder in self.problem.ladders])
        return np.minimum(most, len(self.problem.classes))


class ClassSizeLoss(_ByClass):
    """`aecs`: the average size of a class, all suppressed people being one: N / (kept + 1 if any is suppressed)."""

    def bound(self, node: Node) -> float:
        """With as many classes as there can be."""
        return self.problem.people / (min(self.most_classes(node), self.problem.people // self.smallest) + 1)

    def bounds(self) -> Floats:
        """With as many classes as there can be."""
        most = np.minimum(self._most_classes_everywhere(), self.problem.people // self.smallest)
        return np.asarray(self.problem.people / (most + 1))

    def value(self, outcome: NodeOutcome) -> float:
        """The average."""
        return self.problem.people / max(outcome.kept + (outcome.suppressed > 0), 1)

    def bound_above(self, outcome: NodeOutcome) -> float:
        """A class kept above holds a class kept here, or is made of enough people who are suppressed here."""
        return self.problem.people / (outcome.kept + outcome.suppressed // self.smallest + 1)


class DiscernibilityLoss(_ByClass):
    """`discernibility`: each person costs the size of their class, a suppressed one that of the table."""

    def bound(self, node: Node) -> float:
        """Squares add up to least when all classes are of one size."""
        return self.problem.people**2 / self.most_classes(node)

    def bounds(self) -> Floats:
        """Squares add up to least when all classes are of one size."""
        return np.asarray(self.problem.people**2 / self._most_classes_everywhere())

    def value(self, outcome: NodeOutcome) -> float:
        """Sum of squared kept sizes, and N for each suppressed person."""
        return float(outcome.kept_squares + self.problem.people * outcome.suppressed)

    def most_suppressed(self, best: float) -> float:
        """Each suppressed person costs N."""
        return best / self.problem.people

    def bound_below(self, outcome: NodeOutcome) -> float:
        """Finer nodes suppress as many, and each of them costs N instead of less than k in the sum of squares."""
        return float((self.problem.people - self.smallest + 1) * outcome.suppressed) if self.by_size else 0.0

    def bound_above(self, outcome: NodeOutcome) -> float:
        """Merging classes never lessens the sum of squares, and suppressing one costs more than its square."""
        return float(outcome.squares)


class SquaresLoss(DiscernibilityLoss):
    """`dm_star`: sum of squared sizes of all classes, the suppressed ones included, without penalty."""

    def value(self, outcome: NodeOutcome) -> float:
        """The sum."""
        return float(outcome.squares)

    def most_suppressed(self, best: float) -> float:
        """Suppression is not charged for."""
        return math.inf

    def bound_below(self, outcome: NodeOutcome) -> float:
        """Suppression is not charged for."""
        return 0.0


LOSSES: dict[str, Callable[[LatticeProblem], Loss]] = {
    "loss": ShareLoss,
    "aecs": ClassSizeLoss,
    "discernibility": DiscernibilityLoss,
    "dm_star": SquaresLoss,
    "precision": PrecisionLoss,
    "entropy": EntropyLoss,
}


BY_CLASS = ("aecs", "discernibility", "dm_star")
"""Losses that look at the sizes of classes only: weights of columns change nothing there."""


def make_loss(name: str, problem: LatticeProblem, *, smallest: int = 1, by_size: bool = False) -> Loss:
    """The loss of a name; `smallest` is the least size of a class, `by_size` whether nothing else is required."""
    if name not in LOSSES:
        raise UsageError(f"There is no loss named '{name}'.", remedy=f"Choose one of: {', '.join(LOSSES)}.")
    loss = LOSSES[name](problem)
    if isinstance(loss, _ByClass):
        loss.smallest, loss.by_size = smallest, by_size
    return loss


# What a recoding loses, column by column, whether values were generalised along hierarchies or into intervals.
def loss_of(recoding: Recoding) -> float:
    """The share of detail that is lost, over all columns by their weights: `prod(1 + w v)**(1/m) - 1`.

    Where intervals are published, the hierarchy does not say what is in them: there the share of a value is that of
    the values in the data which its interval holds.

    >>> from discreet.kernel import Classes
    >>> people = Classes.of(["sex"], [("F",), ("M",)], [5, 1])
    >>> loss_of(Recoding.of_levels(people, {"sex": 0}, kept=np.array([True, True])))
    0.0
    """
    factors = [
        1.0 + column.weight * column_loss(recoding, place) for place, column in enumerate(recoding.classes.columns)
    ]
    return float(np.prod(factors) ** (1 / max(len(factors), 1))) - 1.0


def column_loss(recoding: Recoding, place: int) -> float:
    """v = max(0, (sum of shares + suppressed - N/n) / (N - N/n)), with N people and n leaves."""
    column, labels = recoding.classes.columns[place], recoding.labels[place]
    # The distinct pairs of a value and what it is published as, and the share of the column behind the latter.
    pairs = np.unique((recoding.classes.codes[place] * len(labels) + recoding.codes[place])[recoding.kept])
    values, codes = pairs // len(labels), pairs % len(labels)
    index, share = {label: code for code, label in enumerate(labels)}, np.full(len(values), -1.0)
    hierarchy = column.hierarchy
    for level in range(hierarchy.height - 1, column.level - 1, -1):
        above = hierarchy.map(column.level, level)[values]
        shown = np.array([index.get(label, -1) for label in hierarchy.labels[level]], dtype=np.int64)[above]
        share = np.where(shown == codes, hierarchy.leaves[level][above] / hierarchy.size, share)
    leaves, whole = hierarchy.size, _most(codes, share, len(labels))
    if (share < 0).any():
        # Intervals: the share of the values between the least and the greatest with each published value.
        numbers, leaves = as_numbers(column.labels), len(column.labels)
        ranks = np.arange(leaves) if numbers is None else np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
        low, high = -_most(codes, -ranks[values], len(labels)), _most(codes, ranks[values], len(labels))
        whole = (high - low + 1) / leaves
    rows, kept = recoding.classes.rows, recoding.kept
    shares, people = float((whole[recoding.codes[place][kept]] * rows[kept]).sum()), int(rows.sum())
    least = people / leaves
    return max(0.0, (shares + recoding.suppressed_rows - least) / (people - least)) if leaves > 1 and people else 0.0


def _most(codes: Ints, numbers: NDArray[np.generic], shown: int) -> Floats:
    """The greatest number with each code."""
    most = np.full(shown, -np.inf)
    np.maximum.at(most, codes, numbers)
    return most
