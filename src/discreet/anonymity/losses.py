"""Information loss of a node or a recoding, with lower bounds for the search.

N people (rows, where a person may have several), ns of them suppressed, column j at level l of 0 to L-1. Definitions agree with the field's reference
implementation, so that numbers can be compared. Every bound below holds for the node itself (`bounds`), for all nodes
below an evaluated one (`below`, `bound_below`) or for all above it (`bound_above`); a search that trusts them misses
nothing. Those for nodes below rest on one fact: classes only split on the way down, so that people who are suppressed
at a node are suppressed at every finer one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.lattice.problem import Ladder, LatticeProblem, Node, NodeOutcome
from discreet.errors import UsageError
from discreet.kernel.arrays import Floats, Ints

SAME = 1e-12
"""Relative difference up to which two losses are one; the tie goes to the smaller level vector."""


class Loss(Protocol):
    """What a node costs; smaller is better.

    Bounds are in a scale of their own, in which those of columns are added up or multiplied; `price` turns them into losses.
    """

    moves: bool
    """Whether evaluating a node can raise the bounds of nodes above it."""
    times: bool
    """Whether the parts of columns are multiplied rather than added up."""

    def bounds(self) -> Floats:
        """A lower bound for every node, in the shape of the lattice, from the columns alone."""

    def bound(self, node: Node) -> float:
        """The same for one node as a loss, for lattices too large to write down."""

    def value(self, outcome: NodeOutcome) -> float:
        """What the node costs."""

    def price(self, bound: float) -> float:
        """A bound as a loss."""

    def ceiling(self, best: float) -> float:
        """The largest bound of a node that may cost as little as `best`."""

    def below(self, outcome: NodeOutcome) -> list[Floats]:
        """Per column and level, the parts of a bound for every node below an evaluated one."""

    def bound_above(self, outcome: NodeOutcome) -> float:
        """What every node above an evaluated one costs at least."""

    def bound_below(self, outcome: NodeOutcome) -> float:
        """What every node below an evaluated one costs at least beyond its other bound."""

    @property
    def steps(self) -> list[Floats]:
        """Per column and level, about what it costs to be there: for finding a way, not for bounds."""

    @property
    def slopes(self) -> list[Floats]:
        """Per column and level, about what one more suppressed person costs there, added up over columns."""


def everywhere(combine: np.ufunc, parts: Sequence[Sequence[float] | NDArray[Any]]) -> Floats:
    """One number per node of the lattice, from one per level of each column."""
    return reduce(combine.outer, map(np.asarray, parts), np.array(float(combine.identity)))


class _ByColumn:
    """A loss whose bound is put together from the columns."""

    moves = False
    times = False

    def __init__(self, problem: LatticeProblem) -> None:
        self.problem = problem
        self.parts = [self._parts(ladder) for ladder in problem.ladders]

    def _parts(self, ladder: Ladder) -> list[float]:
        raise NotImplementedError

    def bound(self, node: Node) -> float:
        """From the parts of its levels."""
        return math.fsum(parts[level] for parts, level in zip(self.parts, node, strict=True))

    def bounds(self) -> Floats:
        """All nodes at once."""
        return everywhere(np.multiply if self.times else np.add, self.parts)

    def price(self, bound: float) -> float:
        """Bounds are losses."""
        return bound

    def ceiling(self, best: float) -> float:
        """Ties are looked at."""
        return best * (1 + SAME)

    def bound_above(self, outcome: NodeOutcome) -> float:
        """Nothing beyond what the columns say."""
        return 0.0

    def bound_below(self, outcome: NodeOutcome) -> float:
        """Nothing beyond the parts of columns."""
        return 0.0

    @property
    def steps(self) -> list[Floats]:
        """The parts themselves."""
        return [np.asarray(parts) for parts in self.parts]


class ShareLoss(_ByColumn):
    """`loss`: how much of its hierarchy each published value covers, a suppressed one all of it.

    v_j = max(0, (sum over kept of leaves/n + ns - N/n) / (N - N/n)); total prod(1 + w_j v_j)^(1/m) - 1, with w_j the
    weight of the column. Bounds are products, before the root is taken.
    """

    times = True

    def _parts(self, ladder: Ladder) -> list[float]:
        return [1 + self._column(ladder, covered, 0) for covered in ladder.covered]

    def _column(self, ladder: Ladder, covered: int, suppressed: int) -> float:
        people, n = self.problem.people, ladder.whole
        if n <= 1:
            return 0.0
        return ladder.weight * max(0.0, (covered + (suppressed * n - people)) / (people * n - people))

    def price(self, bound: float) -> float:
        """The root that makes a mean of the product."""
        return float(bound ** (1 / len(self.parts))) - 1

    def ceiling(self, best: float) -> float:
        """The root divides relative differences by the number of columns."""
        return float((1 + best) ** len(self.parts)) * (1 + 4 * SAME * len(self.parts))

    def bound(self, node: Node) -> float:
        """From the parts of its levels."""
        return self.price(math.prod(parts[level] for parts, level in zip(self.parts, node, strict=True)))

    def below(self, outcome: NodeOutcome) -> list[Floats]:
        """People suppressed here lose at a finer level what surely is not under their value there."""
        people, tables = self.problem.people, []
        for ladder, level, hidden in zip(self.problem.ladders, outcome.node, outcome.hidden, strict=True):
            table = np.ones(ladder.height)
            if ladder.whole > 1:
                lost = np.array(ladder.covered[: level + 1]) + ladder.least_lost[level] @ hidden - people
                table[: level + 1] += ladder.weight * np.maximum(0.0, lost / (people * ladder.whole - people))
            tables.append(table)
        return tables

    def value(self, outcome: NodeOutcome) -> float:
        """With suppressed people counted as wholly lost."""
        if not outcome.suppressed:
            return self.bound(outcome.node)
        factors = [
            1 + self._column(ladder, ladder.covered[level] - int(hidden @ ladder.leaves[level]), outcome.suppressed)
            for ladder, level, hidden in zip(self.problem.ladders, outcome.node, outcome.hidden, strict=True)
        ]
        return self.price(math.prod(factors))

    @property
    def steps(self) -> list[Floats]:
        """Logarithms of the parts."""
        return [np.log(parts) for parts in self.parts]

    @cached_property
    def slopes(self) -> list[Floats]:
        """Of the logarithm: a suppressed person loses the share of the column that they had."""
        people, slopes = max(self.problem.people, 1), []
        for ladder, parts in zip(self.problem.ladders, self.parts, strict=True):
            had = 1 - np.array(ladder.covered) / (people * ladder.whole)
            slopes.append(ladder.weight * had / (people * max(1 - 1 / ladder.whole, 0.1)) / np.array(parts))
        return slopes


class PrecisionLoss(_ByColumn):
    """`precision`: mean over columns of the height gone up, by their weights, a suppressed person all the way."""

    def _parts(self, ladder: Ladder) -> list[float]:
        steps, columns = max(ladder.last, 1), len(self.problem.ladders)
        return [ladder.weight * (ladder.first + level) / steps / columns for level in range(ladder.height)]

    @cached_property
    def whole(self) -> list[float]:
        """What a suppressed person costs on each column."""
        return [ladder.weight / len(self.problem.ladders) for ladder in self.problem.ladders]

    def value(self, outcome: NodeOutcome) -> float:
        """((N - ns) * l/(L-1) + ns) / N, averaged."""
        share = outcome.suppressed / self.problem.people
        return (1 - share) * self.bound(outcome.node) + share * math.fsum(self.whole)

    def below(self, outcome: NodeOutcome) -> list[Floats]:
        """At least as many people are lost all the way."""
        share = outcome.suppressed / self.problem.people
        return [(1 - share) * np.array(parts) + share * top for parts, top in zip(self.parts, self.whole, strict=True)]

    @cached_property
    def slopes(self) -> list[Floats]:
        """From where they are, all the way."""
        people = max(self.problem.people, 1)
        return [(top - np.array(parts)) / people for parts, top in zip(self.parts, self.whole, strict=True)]


class CertaintyPenaltyLoss(_ByColumn):
    """`gcp`: global certainty penalty, the mean share of its column that a published value covers (Ghinita et al. 2007).

    A value as it is costs 0, a generalised one leaves/n, a suppressed one 1; averaged over people and columns, by weights.
    """

    def _parts(self, ladder: Ladder) -> list[float]:
        return [self._column(ladder, int((ladder.people * penalty).sum()), 0) for penalty in self.penalties(ladder)]

    @staticmethod
    def penalties(ladder: Ladder) -> list[Ints]:
        """Per level, the leaves under what each code becomes, none where that is one value."""
        return [np.where(leaves > 1, leaves, 0) for leaves in ladder.leaves]

    def _column(self, ladder: Ladder, covered: int, suppressed: int) -> float:
        whole = self.problem.people * ladder.whole * len(self.problem.ladders)
        return ladder.weight * (covered + suppressed * ladder.whole) / whole if ladder.whole > 1 and whole else 0.0

    def value(self, outcome: NodeOutcome) -> float:
        """With suppressed people counted as wholly lost."""
        ladders = zip(self.problem.ladders, outcome.node, outcome.hidden, strict=True)
        covered = [
            (ladder, int((ladder.people - hidden) @ self.penalties(ladder)[level])) for ladder, level, hidden in ladders
        ]
        return math.fsum(self._column(ladder, leaves, outcome.suppressed) for ladder, leaves in covered)

    def below(self, outcome: NodeOutcome) -> list[Floats]:
        """People suppressed here lose at a finer level what surely is not under their value there."""
        tables = []
        for ladder, parts, level, hidden in zip(
            self.problem.ladders, self.parts, outcome.node, outcome.hidden, strict=True
        ):
            table, scale = np.array(parts), self.problem.people * ladder.whole * len(self.parts)
            if ladder.whole > 1:
                table[: level + 1] += ladder.weight * (ladder.least_lost[level] @ hidden) / scale
            tables.append(table)
        return tables

    @cached_property
    def slopes(self) -> list[Floats]:
        """From what they cover, to the whole column."""
        people = max(self.problem.people, 1)
        return [
            (ladder.weight / len(self.parts) - np.array(parts)) / people
            for ladder, parts in zip(self.problem.ladders, self.parts, strict=True)
        ]


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

    def _guessing(self, outcome: NodeOutcome) -> list[float]:
        """Per column, the bits to guess the generalised values of suppressed people among them."""
        bits = []
        for ladder, counts in zip(self.problem.ladders, outcome.hidden, strict=True):
            met = counts[counts > 0]
            bits.append(ladder.weight * math.fsum((met * np.log2(outcome.suppressed / met)).tolist()))
        return bits

    def value(self, outcome: NodeOutcome) -> float:
        """For suppressed people also the bits to guess the generalised value among them."""
        if not outcome.suppressed:
            return self.bound(outcome.node)
        return math.fsum([self.bound(outcome.node), *self._guessing(outcome)])

    def below(self, outcome: NodeOutcome) -> list[Floats]:
        """Of more people and finer values, there is more to guess: the derivative by a count o of S people is log S/o."""
        if not outcome.suppressed:
            return [np.array(parts) for parts in self.parts]
        return [np.array(parts) + bits for parts, bits in zip(self.parts, self._guessing(outcome), strict=True)]

    @cached_property
    def slopes(self) -> list[Floats]:
        """As much as a value tells about anybody."""
        return [ladder.weight * ladder.bits for ladder in self.problem.ladders]


class _ByClass:
    """A loss that only the classes of a node can tell; evaluated nodes tell something about those above them."""

    moves = True
    times = False

    smallest = 1
    """The least size of a class that may be published."""
    by_size = False
    """Whether only classes smaller than that are suppressed."""

    def __init__(self, problem: LatticeProblem) -> None:
        self.problem = problem

    def price(self, bound: float) -> float:
        """Bounds are losses."""
        return bound

    def ceiling(self, best: float) -> float:
        """Ties are looked at."""
        return best * (1 + SAME)

    def below(self, outcome: NodeOutcome) -> list[Floats]:
        """Columns say nothing."""
        raise NotImplementedError

    def bound_below(self, outcome: NodeOutcome) -> float:
        """Suppression below is not charged for."""
        return 0.0

    def most_classes(self, node: Node) -> float:
        """No more classes than combinations of the values that occur, and no more than at the finest node."""
        values = math.prod(ladder.distinct[level] for ladder, level in zip(self.problem.ladders, node, strict=True))
        return float(min(values, len(self.problem.classes)))

    @cached_property
    def _most_classes_everywhere(self) -> Floats:
        most = everywhere(np.multiply, [ladder.distinct for ladder in self.problem.ladders])
        return np.minimum(most, len(self.problem.classes))

    @property
    def steps(self) -> list[Floats]:
        """What is no longer known."""
        return [-ladder.bits for ladder in self.problem.ladders]

    @property
    def slopes(self) -> list[Floats]:
        """Nothing."""
        return [np.zeros(ladder.height) for ladder in self.problem.ladders]


class ClassSizeLoss(_ByClass):
    """`aecs`: the average size of a class, all suppressed people being one: N / (kept + 1 if any is suppressed)."""

    def bound(self, node: Node) -> float:
        """With as many classes as there can be."""
        return self.problem.people / (min(self.most_classes(node), self.problem.people // self.smallest) + 1)

    def bounds(self) -> Floats:
        """With as many classes as there can be."""
        most = np.minimum(self._most_classes_everywhere, self.problem.people // self.smallest)
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
        return np.asarray(self.problem.people**2 / self._most_classes_everywhere)

    def value(self, outcome: NodeOutcome) -> float:
        """Sum of squared kept sizes, and N for each suppressed person."""
        return float(outcome.kept_squares + self.problem.people * outcome.suppressed)

    def bound_below(self, outcome: NodeOutcome) -> float:
        """Finer nodes suppress as many, and each of them costs N instead of less than k in the sum of squares.

        That is so only where every suppressed class has fewer than k rows: not where a person may have several.
        """
        return float((self.problem.people - self.smallest + 1) * outcome.suppressed) if self.by_size else 0.0

    def bound_above(self, outcome: NodeOutcome) -> float:
        """Merging classes never lessens the sum of squares, and suppressing one costs more than its square."""
        return float(outcome.squares)

    @property
    def slopes(self) -> list[Floats]:
        """What a suppressed person costs, told with the first column."""
        slopes = [np.zeros(ladder.height) for ladder in self.problem.ladders]
        if slopes and self.by_size:
            slopes[0] += self.problem.people - self.smallest + 1
        return slopes


class SquaresLoss(DiscernibilityLoss):
    """`dm_star`: sum of squared sizes of all classes, the suppressed ones included, without penalty."""

    def value(self, outcome: NodeOutcome) -> float:
        """The sum."""
        return float(outcome.squares)

    def bound_below(self, outcome: NodeOutcome) -> float:
        """Suppression is not charged for."""
        return 0.0

    @property
    def slopes(self) -> list[Floats]:
        """Nothing."""
        return [np.zeros(ladder.height) for ladder in self.problem.ladders]


LOSSES: dict[str, Callable[[LatticeProblem], Loss]] = {
    "loss": ShareLoss,
    "aecs": ClassSizeLoss,
    "discernibility": DiscernibilityLoss,
    "dm_star": SquaresLoss,
    "precision": PrecisionLoss,
    "entropy": EntropyLoss,
    "gcp": CertaintyPenaltyLoss,
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
