"""Every node of a lattice for games on it: what it loses, and among how many people everybody hides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.engines import roller_for
from discreet.anonymity.lattice.evaluate import ByClasses, BySize
from discreet.anonymity.lattice.problem import Node, Problem
from discreet.anonymity.losses import make_loss
from discreet.attacker.parameters import probability
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Floats, Ints

MOST_NODES = 50_000


@dataclass(frozen=True, eq=False)
class Board:
    """All allowed nodes: what each loses, and how many of its published people are in groups of each size."""

    names: tuple[str, ...]
    nodes: list[Node]
    losses: Floats
    suppressed: Ints
    groups: list[tuple[Ints, Ints]]
    """Per node, the sizes of its groups and the people in groups of each size."""
    sizes: Ints
    """All sizes that occur."""

    @classmethod
    def of(cls, classes: Classes, population: Classes | None, loss: str, k: int, suppression: float) -> Board:
        problem = Problem.of(classes)
        if problem.nodes > MOST_NODES:
            raise UsageError(
                f"{problem.nodes:,} combinations of levels are too many to play through.",
                remedy="Choose fewer columns, or hierarchies of fewer levels.",
            )
        share = Fraction(str(probability(suppression, "suppression", remedy="0.05 means: at most 5 % of the people.")))
        limit, measure = math.floor(share * classes.records), make_loss(loss, problem, smallest=k, by_size=True)
        evaluate = _BySize(problem, k) if population is None and problem.packs else _ByCrowd(problem, k, population)
        rows: list[tuple[Node, float, int, tuple[Ints, Ints]]] = []
        for node in product(*map(range, problem.shape)):
            outcome = evaluate(node)
            if outcome.suppressed <= limit:
                rows.append((node, measure.value(outcome), outcome.suppressed, evaluate.groups()))
        if not rows:
            raise UsageError(
                f"No combination of levels has at least {k} people in every class.", remedy="Allow more suppression."
            )
        nodes, losses, suppressed, groups = map(list, zip(*rows, strict=True))
        sizes = np.unique(np.concatenate([sizes for sizes, _ in groups]))
        return cls(classes.names, nodes, np.array(losses), np.array(suppressed), groups, sizes)

    def people(self, sizes: Ints, first: int, last: int) -> Floats:
        """People in groups of each of some sizes, one row per node."""
        rows = np.zeros((last - first, len(sizes)))
        for row, (mine, people) in enumerate(self.groups[first:last]):
            listed = np.isin(mine, sizes, assume_unique=True)
            rows[row, np.searchsorted(sizes, mine[listed])] = people[listed]
        return rows


class _BySize(BySize):
    """Evaluates nodes, and remembers the sizes of the classes of the last one."""

    def __init__(self, problem: Problem, k: int) -> None:
        super().__init__(problem, k=k, roller=roller_for(problem, "auto"))
        self.counts = problem.classes.sizes

    def _tuples(self, node: Node) -> tuple[Ints, Ints]:
        keys, self.counts = super()._tuples(node)
        return keys, self.counts

    def groups(self) -> tuple[Ints, Ints]:
        """Sizes of the groups that are published at the last node, and the people in groups of each size."""
        sizes, many = np.unique(self.counts[self.counts >= self.k], return_counts=True)
        return sizes, sizes * many


class _ByCrowd(ByClasses):
    """The same where people hide among a population, or where tuples do not fit into one integer."""

    def __init__(self, problem: Problem, k: int, population: Classes | None) -> None:
        super().__init__(problem, violating=self._small)
        self.k, self.population, self.last = k, population, problem.classes

    def _small(self, classes: Classes) -> NDArray[np.bool_]:
        self.last = classes
        return np.asarray(classes.sizes < self.k)

    def groups(self) -> tuple[Ints, Ints]:
        """Sizes of the groups that are published at the last node, and the people in groups of each size."""
        kept = self.last.keep(self.last.sizes >= self.k)
        crowd = kept.sizes if self.population is None else np.maximum(kept.link(self.population), kept.sizes)
        sizes, place = np.unique(crowd, return_inverse=True)
        return sizes, np.bincount(place, weights=kept.sizes, minlength=len(sizes)).astype(np.int64)
