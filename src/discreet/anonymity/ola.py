"""The search as El Emam et al. published it (OLA, 2009): the best of the minimal nodes.

A node is minimal if it suppresses little enough and no finer one does. With a loss that charges for suppression the
best minimal node need not be the best node; `search` finds that one.
"""

from __future__ import annotations

import numpy as np

from discreet.anonymity.lattice.evaluate import Evaluate
from discreet.anonymity.lattice.lattice import DEAD, UNKNOWN, Lattice
from discreet.anonymity.lattice.problem import Node, Problem
from discreet.anonymity.lattice.search import Found, Progress, Watch
from discreet.anonymity.losses import Loss


def best_minimal(problem: Problem, *, loss: Loss, limit: int, sieve: Evaluate, watch: Watch = lambda _: True) -> Found:
    """Tag the whole lattice by chains and halves, then compare the minimal nodes."""
    found = Found(problem.nodes)
    heights = np.indices(problem.shape).sum(axis=0).astype(np.float64)
    lattice = Lattice(heights)
    for place in np.argsort(heights.reshape(-1), kind="stable").tolist():
        node = lattice.node(place)
        if lattice.state[node] == UNKNOWN:
            _halve(lattice.chain(node), lattice, limit, sieve, found)
            if not watch(Progress(found.evaluated, found.nodes, 0.0, found.loss)):
                return found
    for node in _minimal(lattice):
        outcome = sieve(node)
        found.offer(outcome, loss.value(outcome))
    found.bound, found.complete = found.loss, True
    found.too_much_suppressed = int((lattice.state == DEAD).sum())
    return found


def _halve(chain: list[Node], lattice: Lattice, limit: int, sieve: Evaluate, found: Found) -> None:
    low, high = 0, len(chain)
    while low < high:
        middle = (low + high) // 2
        found.evaluated += 1
        if sieve(chain[middle]).suppressed <= limit:
            lattice.fit_above(chain[middle])
            high = middle
        else:
            lattice.kill_below(chain[middle])
            low = middle + 1


def _minimal(lattice: Lattice) -> list[Node]:
    """Nodes that are fit while all their finer neighbours are not."""
    fit = lattice.state != DEAD
    for axis in range(fit.ndim):
        below = np.roll(lattice.state != DEAD, 1, axis=axis)
        first = [slice(None)] * fit.ndim
        first[axis] = slice(0, 1)
        below[tuple(first)] = False
        fit = fit & ~below
    return [tuple(int(level) for level in node) for node in np.argwhere(fit)]
