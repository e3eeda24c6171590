"""Levels that lose least: choice of search, judgement of nodes, and full sweeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from discreet.anonymity.criteria import Size
from discreet.anonymity.lattice import problem as lattice_problem
from discreet.anonymity.lattice.evaluate import ByClasses, BySize, Evaluate, roller_for
from discreet.anonymity.lattice.problem import LatticeProblem, Node
from discreet.anonymity.lattice.search import BoundedSearch, Search, SearchProgress, SearchResult, Watch, best_minimal
from discreet.anonymity.limits import Requirements
from discreet.anonymity.losses import make_loss
from discreet.anonymity.result import Anonymised, Certificate
from discreet.errors import UsageError
from discreet.kernel import Classes, Recoding


def choose_levels(
    table: Any, classes: Classes, limits: Requirements, loss: str, search: str, engine: str, watch: Watch, crowd: Any
) -> Anonymised:
    """Search the lattice of levels, and publish what its best node allows."""
    problem = LatticeProblem.of(classes)
    found = _run(problem, limits, loss, search, engine, watch)
    if found.outcome is None:
        raise _impossible(limits, found)
    levels = dict(zip(classes.names, found.outcome.node, strict=True))
    # Which classes of the data are published: decided anew on the classes of the node, not taken from the search.
    coarse = classes.at(found.outcome.node)
    bad = limits.violated(coarse)
    kept = coarse.keep(~bad).holds(classes)
    recoding = Recoding.of_levels(classes, levels, kept=kept)
    return Anonymised(
        levels=levels,
        loss=found.loss,
        loss_name=loss,
        suppressed=found.outcome.suppressed,
        classes=found.outcome.kept,
        evaluated=found.evaluated,
        requirements=tuple(one.words() for one in limits.requirements),
        certificate=Certificate.of(found, search),
        search=search,
        recoding=recoding,
        table=table,
        population=crowd,
        limits=limits,
    )


def _run(
    problem: LatticeProblem, limits: Requirements, loss: str, search: str, engine: str, watch: Watch
) -> SearchResult:
    measure = make_loss(loss, problem, smallest=limits.k, by_size=limits.plain)
    sieve, judge = evaluators(problem, limits, engine)
    if search == "ola":
        _refuse_huge(problem, "ola")
        if judge is not None:
            raise UsageError(
                "OLA is published for requirements that merging never breaks.", remedy='Use search="optimal".'
            )
        return best_minimal(problem, loss=measure, limit=limits.suppressible, sieve=sieve, watch=watch)
    if problem.nodes > lattice_problem.MOST_NODES:
        return BoundedSearch(
            problem, loss=measure, limit=limits.suppressible, sieve=sieve, judge=judge, watch=watch
        ).run()
    return Search(problem, loss=measure, limit=limits.suppressible, sieve=sieve, judge=judge, watch=watch).run()


def evaluators(problem: LatticeProblem, limits: Requirements, engine: str) -> tuple[Evaluate, Evaluate | None]:
    """A sieve that never suppresses more upwards, and, where some requirement may, one with the last word."""
    monotone = [one for one in limits.requirements if one.monotone]
    if problem.packs and all(isinstance(one, Size) for one in monotone):
        sieve: Evaluate = BySize(problem, k=limits.k, roller=roller_for(problem, engine))
    else:
        sieve = ByClasses(problem, violating=lambda classes: limits.violated(classes, monotone=True))
    if len(monotone) == len(limits.requirements):
        return sieve, None
    return sieve, ByClasses(problem, violating=limits.violated)


def _refuse_huge(problem: LatticeProblem, search: str) -> None:
    if problem.nodes > lattice_problem.MOST_NODES:
        raise UsageError(
            f'{problem.nodes:,} combinations of levels are too many for search="{search}".', remedy='Use search="best".'
        )


def stopwatch(limit: float | None, clock: Callable[[], float] | None, watch: Watch | None) -> Watch:
    """A watch that also ends the search when its time is up."""
    onlooker = watch or (lambda _: True)
    if limit is None:
        return onlooker
    if clock is None:
        raise UsageError("A time limit needs a clock.", remedy="Give clock=time.monotonic.")
    started = clock()

    def in_time(progress: SearchProgress) -> bool:
        return onlooker(progress) and clock() - started < limit

    return in_time


def _impossible(limits: Requirements, found: SearchResult) -> UsageError:
    if not found.complete:
        return UsageError("The search was stopped before it found an allowed node.", remedy="Give it more time.")
    wanted = "; ".join(one.words() for one in limits.requirements)
    return UsageError(
        f"No combination of levels satisfies the limits ({wanted}) with at most {limits.suppressible:,} people suppressed.",
        remedy="Allow more suppression, lower the limits, or give columns a level with one value for all.",
    )


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
    measure = make_loss(loss, problem, smallest=limits.k, by_size=limits.plain)
    sieve, judge = evaluators(problem, limits, engine)
    seen = []
    for node in sorted(product(*map(range, problem.shape)), key=lambda node: (sum(node), node)):
        outcome = sieve(node) if judge is None else judge(node)
        allowed = outcome.suppressed <= limits.suppressible
        seen.append(MeasuredNode(node, outcome.suppressed, allowed, measure.value(outcome) if allowed else math.nan))
    return tuple(seen)
