"""Every node of a lattice: for pictures of it, and as the proof where no shorter one is wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

from discreet.anonymity.lattice.levels import evaluators
from discreet.anonymity.lattice.problem import Node, Problem
from discreet.anonymity.limits import Limits
from discreet.anonymity.losses import make_loss
from discreet.errors import UsageError
from discreet.kernel import Classes

MOST = 50_000
"""Nodes that a picture can hold."""


@dataclass(frozen=True)
class Seen:
    """One node."""

    node: Node
    suppressed: int
    allowed: bool
    loss: float


def sweep(classes: Classes, limits: Limits, *, loss: str = "loss", engine: str = "auto") -> tuple[Seen, ...]:
    """Look at every node, from fine to coarse."""
    problem = Problem.of(classes)
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
        seen.append(Seen(node, outcome.suppressed, allowed, measure.value(outcome) if allowed else math.nan))
    return tuple(seen)
