"""Searches that are not exact on the whole lattice: for lattices too large to write down, and OLA as it was published."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from discreet.anonymity.lattice.evaluate import Evaluate
from discreet.anonymity.lattice.exact import Search, SearchProgress, SearchResult, Watch
from discreet.anonymity.lattice.problem import LatticeProblem, Node, NodeOutcome, coarser
from discreet.anonymity.losses import Loss


class BoundedSearch(Search):
    """A run over a lattice too large to write down, or for little time: the best so far, with a proven bound.

    Nodes are generated in the order of their bounds, from the finest upwards, so that the bound of the next one is a
    bound for all that are left. To find good nodes early, each promising one is first followed upwards to a fit node.
    """

    @cached_property
    def known(self) -> dict[Node, bool]:
        """Whether each evaluated node fits."""
        return {}

    @cached_property
    def dead(self) -> list[Node]:
        """Nodes below which nothing better is, none finer than another."""
        return []

    def _explore(self) -> bool:
        for node in self._promising():
            halve(self._chain(node), self._fits)
            if not self._going_on(self.found.bound):
                return False
        self.found.too_costly = self.found.nodes - self.found.evaluated
        return True

    def _promising(self) -> Iterator[Node]:
        """Every node once, by bound: each is reached from the neighbour that lowers its last raised level."""
        start = (0,) * len(self.problem.shape)
        heap = [(self.loss.bound(start), start)]
        while heap:
            self.found.bound, node = heapq.heappop(heap)
            if self.found.beyond(self.found.bound):
                return
            yield node
            last = max((place for place, level in enumerate(node) if level), default=0)
            for up in coarser(node, self.problem.shape, since=last):
                heapq.heappush(heap, (self.loss.bound(up), up))

    def _chain(self, node: Node) -> list[Node]:
        """A way up to a node known to fit; none from a node below a dead one."""
        if any(all(low <= high for low, high in zip(node, dead, strict=True)) for dead in self.dead):
            return []
        chain = [node]
        while not self.known.get(chain[-1]) and (above := coarser(chain[-1], self.problem.shape)):
            chain.append(min(above, key=self.loss.bound))
        return chain

    def _fits(self, node: Node) -> bool:
        if node not in self.known:
            outcome = self._look(node)
            self.known[node] = outcome.suppressed <= self.limit and not self._closed(outcome)
            if not self.known[node]:
                self.dead[:] = [*(dead for dead in self.dead if not all(map(int.__le__, dead, node))), node]
        return self.known[node]

    def _closed(self, outcome: NodeOutcome) -> bool:
        """Whether every finer node costs more than the best, for what is suppressed here."""
        if math.isinf(self.found.loss):
            return False
        if self.loss.moves:
            least = self.loss.bound_below(outcome)
        else:
            tables = zip(self.loss.below(outcome), outcome.node, strict=True)
            parts = [float(table[: level + 1].min()) for table, level in tables]
            least = math.prod(parts) if self.loss.times else math.fsum(parts)
        return least > self.loss.ceiling(self.found.loss)


def halve(chain: list[Node], fits: Callable[[Node], bool]) -> None:
    """Look for the lowest fit node of a chain by halves."""
    low, high = 0, len(chain)
    while low < high:
        middle = (low + high) // 2
        if fits(chain[middle]):
            high = middle
        else:
            low = middle + 1


# The search as El Emam et al. published it (OLA, 2009): the best of the minimal nodes.
#
# A node is minimal if it suppresses little enough and no finer one does. With a loss that charges for suppression the
# best minimal node need not be the best node; `Search` finds that one.
def best_minimal(
    problem: LatticeProblem, *, loss: Loss, limit: int, sieve: Evaluate, watch: Watch = lambda _: True
) -> SearchResult:
    """Tag the whole lattice by chains and halves, then compare the minimal nodes."""
    found = SearchResult(problem.nodes)
    unknown, dead, fit = 0, 1, 2
    heights = np.indices(problem.shape).sum(axis=0).reshape(-1)
    state = np.zeros(problem.shape, dtype=np.uint8)

    def fits(node: Node) -> bool:
        found.evaluated += 1
        allowed = sieve(node).suppressed <= limit
        if allowed:
            state[tuple(slice(level, None) for level in node)] = fit
        else:
            state[tuple(slice(level + 1) for level in node)] = dead
        return allowed

    for place in np.argsort(heights, kind="stable").tolist():
        node = tuple(int(level) for level in np.unravel_index(place, problem.shape))
        if state[node] != unknown:
            continue
        chain = [node]
        while above := [up for up in coarser(chain[-1], problem.shape) if state[up] == unknown]:
            chain.append(above[0])
        halve(chain, fits)
        if not watch(SearchProgress(found.evaluated, found.nodes, 0.0, found.loss)):
            return found
    # Minimal nodes are fit while all their finer neighbours are not.
    minimal = state != dead
    for axis in range(minimal.ndim):
        below = np.roll(state != dead, 1, axis=axis)
        below[(slice(None),) * axis + (0,)] = False
        minimal = minimal & ~below
    for levels in np.argwhere(minimal).tolist():
        outcome = sieve(tuple(levels))
        found.offer(outcome, loss.value(outcome))
    found.bound, found.complete = found.loss, True
    found.too_much_suppressed = int((state == dead).sum())
    return found
