"""Search of a name over the lattice of levels: exact, bounded in time, or OLA; and a sweep over all nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

from discreet.anonymity.lattice import problem as lattice_problem
from discreet.anonymity.lattice.best_first import BoundedSearch, best_minimal
from discreet.anonymity.lattice.candidates import LiveNodes
from discreet.anonymity.lattice.evaluate import ByClasses, BySize, Evaluate, compiled
from discreet.anonymity.lattice.exact import Search, SearchProgress, SearchResult, Watch
from discreet.anonymity.lattice.native_engine import CompiledNodes
from discreet.anonymity.lattice.problem import LatticeProblem, Node, NodeOutcome
from discreet.anonymity.limits import Requirements, Size
from discreet.anonymity.losses import Loss, make_loss
from discreet.errors import UsageError
from discreet.kernel import Classes


def search_levels(
    problem: LatticeProblem, limits: Requirements, *, loss: str, search: str, engine: str, watch: Watch
) -> SearchResult:
    """Run the search of a name over the lattice of levels."""
    huge = problem.nodes > lattice_problem.MOST_NODES
    if huge:
        watch(SearchProgress(0, problem.nodes, 0.0, math.inf))  # before the first step, which may take long
    measure = _measure(problem, limits, loss)
    sieve, judge = _evaluators(problem, limits, engine)
    if search != "ola":
        kind = BoundedSearch if huge else Search
        nodes = CompiledNodes if compiled(problem, engine) else LiveNodes
        options: dict[str, Any] = {"sieve": sieve, "judge": judge, "watch": watch, "nodes": nodes}
        return kind(problem, loss=measure, limit=limits.suppressible, **options).run().at_levels(problem)
    if huge:
        raise UsageError(
            f'{problem.nodes:,} combinations of levels are too many for search="ola".', remedy='Use search="best".'
        )
    if judge is not None:
        raise UsageError("OLA is published for requirements that merging never breaks.", remedy='Use search="optimal".')
    found = best_minimal(problem, loss=measure, limit=limits.suppressible, sieve=sieve, watch=watch)
    return found.at_levels(problem)


def _measure(problem: LatticeProblem, limits: Requirements, loss: str) -> Loss:
    """The loss of a name; a class of few people may have many rows, so that its size says nothing about their number."""
    by_size = limits.plain and problem.classes.members is None
    return make_loss(loss, problem, smallest=limits.k, by_size=by_size)


def measure_node(
    problem: LatticeProblem, limits: Requirements, node: Node, *, loss: str, engine: str = "auto"
) -> tuple[NodeOutcome, float]:
    """One node without a search: what it comes to, and its loss."""
    sieve, judge = _evaluators(problem, limits, engine)
    outcome = (judge or sieve)(node)
    return outcome, _measure(problem, limits, loss).value(outcome)


def _evaluators(problem: LatticeProblem, limits: Requirements, engine: str) -> tuple[Evaluate, Evaluate | None]:
    """A sieve that never suppresses more upwards, and, where some requirement may, one with the last word."""
    monotone = [limit for limit in limits.requirements if limit.monotone]
    if problem.packs and all(isinstance(limit, Size) for limit in monotone):
        sieve: Evaluate = BySize(problem, k=limits.k, engine=engine)
    else:
        sieve = ByClasses(problem, violating=lambda classes: limits.violated(classes, monotone=True))
    if len(monotone) == len(limits.requirements):
        return sieve, None
    return sieve, ByClasses(problem, violating=limits.violated)


# Every node of a lattice: for pictures of it, and as the proof where no shorter one is wanted.
MOST = 50_000
"""Nodes that a picture can hold."""


@dataclass(frozen=True)
class MeasuredNode:
    """One node."""

    node: Node
    suppressed: int
    allowed: bool
    loss: float


def sweep(
    classes: Classes, limits: Requirements, *, loss: str = "loss", engine: str = "auto"
) -> tuple[MeasuredNode, ...]:
    """Look at every node, from fine to coarse."""
    problem = LatticeProblem.of(classes)
    if problem.nodes > MOST:
        raise UsageError(
            f"{problem.nodes:,} combinations of levels are too many to show.", remedy="Choose fewer columns."
        )
    measure = _measure(problem, limits, loss)
    sieve, judge = _evaluators(problem, limits, engine)
    seen = []
    for node in sorted(product(*map(range, problem.shape)), key=lambda node: (sum(node), node)):
        outcome = sieve(node) if judge is None else judge(node)
        allowed = outcome.suppressed <= limits.suppressible
        levels = problem.levels(node)
        seen.append(MeasuredNode(levels, outcome.suppressed, allowed, measure.value(outcome) if allowed else math.nan))
    return tuple(seen)
