"""Feasibility for many limits at once: every node of the lattice is counted at most once for all of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from discreet.anonymity import LOSSES, anonymise
from discreet.anonymity.lattice import problem as lattice_problem
from discreet.anonymity.lattice.evaluate import BySize, Evaluate, roller_for
from discreet.anonymity.lattice.problem import Node, Outcome, Problem
from discreet.anonymity.lattice.search import BoundedSearch, Found, Search
from discreet.anonymity.losses import make_loss
from discreet.errors import PopulationError, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.arrays import Ints
from discreet.releases.feasible import Feasibility, crowd_of
from discreet.releases.population_link import Linked, population_at

KS = (2, 5, 10, 20, 50)
SUPPRESSIONS = (0.0, 0.02, 0.05, 0.1, 0.15)
"""The limits of the paper's Tables 4 and 5."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One pair of limits: what is feasible, or why nothing is."""

    k: int
    suppression: float
    found: Feasibility | None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the keys are stable. Factors are summed up by their quartiles."""
        if self.found is None:
            return {"k": self.k, "suppression": self.suppression, "reason": self.reason}
        figures = self.found.to_dict()
        del figures["factors"]
        return {**figures, "reason": None}


@dataclass(frozen=True, eq=False)
class FeasibilityGrid:
    """Feasibility for every pair of a least class size and a share of suppression."""

    records: int
    population: int
    loss_name: str
    cells: tuple[Cell, ...]
    """By k, then by suppression."""
    counted: int | None
    """Nodes of the lattice that were counted, each once; None where every cell was searched for itself."""
    nodes: int

    @property
    def ks(self) -> tuple[int, ...]:
        """The least class sizes."""
        return tuple(dict.fromkeys(cell.k for cell in self.cells))

    @property
    def suppressions(self) -> tuple[float, ...]:
        """The shares of suppression."""
        return tuple(dict.fromkeys(cell.suppression for cell in self.cells))

    @property
    def feasible(self) -> tuple[Feasibility, ...]:
        """What was found, without the cells where nothing is."""
        return tuple(cell.found for cell in self.cells if cell.found is not None)

    def at(self, k: int, suppression: float) -> Cell:
        """One cell."""
        for cell in self.cells:
            if (cell.k, cell.suppression) == (k, suppression):
                return cell
        raise UsageError(f"The grid has no cell at k = {k} and suppression {suppression:g}.")

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the keys are stable."""
        return {
            "records": self.records,
            "population": self.population,
            "loss_name": self.loss_name,
            "counted": self.counted,
            "nodes": self.nodes,
            "cells": [cell.to_dict() for cell in self.cells],
        }

    def __repr__(self) -> str:
        return f"FeasibilityGrid({len(self.ks)} x {len(self.suppressions)} limits, {self.nodes} nodes)"


def feasibility_grid(
    data: Countable | Classes,
    population: Countable | Classes,
    ks: Sequence[int] = KS,
    suppressions: Sequence[float] = SUPPRESSIONS,
    loss: str = "dm_star",
) -> FeasibilityGrid:
    """`feasibility` for every pair of limits, the same as cell by cell, from one histogram and shared roll-ups.

    >>> people = Classes.of(["zip"], [("1",), ("2",), ("3",)], [6, 5, 1])
    >>> everybody = Classes.of(["zip"], [("1",), ("2",), ("3",), ("4",)], [60, 40, 9, 3])
    >>> grid = feasibility_grid(people, everybody, ks=[2, 5], suppressions=[0.0, 0.1])
    >>> [cell.found.candidate_classes if cell.found else None for cell in grid.cells]
    [None, 2, None, 1]
    """
    if loss not in LOSSES:
        raise UsageError(f"There is no loss named '{loss}'.", remedy=f"Choose one of: {', '.join(LOSSES)}.")
    if not ks or not suppressions:
        raise UsageError("The grid is empty.", remedy="Give at least one k and one share of suppression.")
    for k, share in product(ks, suppressions):
        _refuse_nonsense(k, share)
    crowd = crowd_of(data, population)
    # Looks at the table as `feasibility` does, and refuses what it refuses.
    classes = anonymise(data, k=1, loss="precision").recoding.classes
    sheet = _Sheet(classes, crowd, loss, ks)
    cells = tuple(sheet.cell(k, float(share)) for k, share in product(ks, suppressions))
    counted = len(sheet.sizes.outcomes) if sheet.sizes else None
    return FeasibilityGrid(classes.records, crowd.records, loss, cells, counted, sheet.problem.nodes)


def _refuse_nonsense(k: Any, suppression: float) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError("k is a whole number from 1 up.", remedy="k = 5 means: at least five people look alike.")
    if not 0 <= suppression <= 1:
        raise UsageError("suppression is a share from 0 to 1.", remedy="0.05 means: at most 5 % of the people.")


class _SeveralSizes(BySize):
    """Evaluates a node for several k at once, and remembers it; its tuples are not kept."""

    def __init__(self, problem: Problem, ks: Sequence[int]) -> None:
        super().__init__(problem, k=max(ks), roller=roller_for(problem, "auto"))
        self.ks = sorted(set(ks))
        self.outcomes: dict[Node, dict[int, Outcome]] = {}

    def sieve(self, k: int) -> Evaluate:
        """The evaluation for one k."""

        def evaluate(node: Node) -> Outcome:
            if node not in self.outcomes:
                self.outcomes[node] = dict(zip(self.ks, self._each(node), strict=True))
            return self.outcomes[node][k]

        return evaluate

    def _each(self, node: Node) -> Iterator[Outcome]:
        """The outcome for each k, from the small classes in order of their sizes."""
        _, counts = self._tuples(node)
        squares, few = int(counts @ counts), np.sort(counts[counts < self.k])
        people, hidden = (np.concatenate([[0], np.cumsum(each)]) for each in (few, few * few))
        for k, small in zip(self.ks, np.searchsorted(few, self.ks).tolist(), strict=True):
            kept = squares - int(hidden[small])
            yield Outcome(
                node, int(people[small]), len(counts) - small, squares, kept, partial(self._hidden_at, node, k)
            )

    def _hidden_at(self, node: Node, k: int) -> tuple[Ints, ...]:
        keys, counts = self._tuples(node)
        small = counts < k
        return self._hidden(keys[small], counts[small])


class _Sheet:
    """Everything the cells of a grid share."""

    def __init__(self, classes: Classes, crowd: Classes, loss: str, ks: Sequence[int]) -> None:
        self.classes, self.crowd, self.loss = classes, crowd, loss
        self.problem = Problem.of(classes)
        self.sizes = _SeveralSizes(self.problem, ks) if self.problem.packs else None
        self.populations: dict[Node, Classes] = {}

    def cell(self, k: int, suppression: float) -> Cell:
        """What `feasibility` finds for one pair of limits."""
        try:
            return Cell(k, suppression, self._feasible(k, suppression))
        except (UsageError, PopulationError) as error:
            return Cell(k, suppression, None, error.problem)

    def _feasible(self, k: int, suppression: float) -> Feasibility:
        node, loss = self._optimum(k, suppression)
        data = self.classes.at(node)
        linked = Linked(data, np.asarray(data.sizes >= k), self._population(data, node), k).checked()
        return Feasibility.of(linked, suppression=suppression, loss=loss, loss_name=self.loss)

    def _optimum(self, k: int, suppression: float) -> tuple[Node, float]:
        if self.sizes is None:
            best = anonymise(self.classes, k=k, suppression=suppression, loss=self.loss)
            return tuple(best.levels.values()), best.loss
        found = self._search(self.sizes.sieve(k), k, math.floor(Fraction(str(suppression)) * self.problem.people))
        if found.outcome is None or k > self.problem.people:
            raise UsageError(f"No combination of levels has {k:,} people in every class within that suppression.")
        return found.outcome.node, found.loss

    def _search(self, sieve: Evaluate, k: int, limit: int) -> Found:
        measure = make_loss(self.loss, self.problem, smallest=k, by_size=True)
        search = BoundedSearch if self.problem.nodes > lattice_problem.MOST_NODES else Search
        return search(self.problem, loss=measure, limit=limit, sieve=sieve, judge=None, watch=lambda _: True).run()

    def _population(self, data: Classes, node: Node) -> Classes:
        """From the smallest node that was looked at and is nowhere coarser."""
        if node not in self.populations:
            finer = [held for other, held in self.populations.items() if all(map(operator.le, other, node))]
            self.populations[node] = population_at(min(finer, key=len, default=self.crowd), data)
        return self.populations[node]
