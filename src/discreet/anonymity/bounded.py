"""A search for lattices too large to write down, or for little time: the best so far, with a proven bound.

Nodes are generated in the order of their bounds, from the finest upwards, so that the bound of the next one is a bound
for all that are left. To find good nodes early, each promising one is first followed upwards to a fit node.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from discreet.anonymity.lattice.evaluate import Evaluate
from discreet.anonymity.lattice.problem import Node, Problem
from discreet.anonymity.lattice.search import SAME, Found, Progress, Watch
from discreet.anonymity.losses import Loss
from discreet.anonymity.outcome import Outcome


class BoundedSearch:
    """One run, without an array over the lattice."""

    def __init__(
        self, problem: Problem, *, loss: Loss, limit: int, sieve: Evaluate, judge: Evaluate | None, watch: Watch
    ) -> None:
        self.problem, self.loss, self.limit = problem, loss, limit
        self.sieve, self.judge, self.watch = sieve, judge, watch
        self.found = Found(problem.nodes)
        self.known: dict[Node, bool] = {}
        self.dead: list[Node] = []
        """Nodes that suppress too much, none finer than another."""

    def run(self) -> Found:
        """Until nothing better is left, or until told to stop."""
        found = self.found
        try:
            for bound, node in self._by_bound():
                found.bound = bound
                if found.beyond(bound):
                    break
                if not self._is_dead(node):
                    self._follow(node)
                if not self.watch(Progress(found.evaluated, found.nodes, min(bound, found.loss), found.loss)):
                    return self._stopped()
        except KeyboardInterrupt:
            return self._stopped()
        found.bound, found.complete = found.loss, True
        found.too_costly = found.nodes - found.evaluated
        return found

    def _stopped(self) -> Found:
        self.found.bound = min(self.found.bound, self.found.loss)
        return self.found

    def _by_bound(self) -> Iterator[tuple[float, Node]]:
        """Every node once, by bound: each is reached from the neighbour that lowers its last raised level."""
        start = (0,) * len(self.problem.shape)
        heap = [(self.loss.bound(start), start)]
        while heap:
            bound, node = heapq.heappop(heap)
            yield bound, node
            last = max((place for place, level in enumerate(node) if level), default=0)
            for place in range(last, len(node)):
                if node[place] + 1 < self.problem.shape[place]:
                    up = (*node[:place], node[place] + 1, *node[place + 1 :])
                    heapq.heappush(heap, (self.loss.bound(up), up))

    def _is_dead(self, node: Node) -> bool:
        return any(all(low <= high for low, high in zip(node, dead, strict=True)) for dead in self.dead)

    def _follow(self, node: Node) -> None:
        """Search a chain upwards by halves for its lowest fit node."""
        chain = self._chain(node)
        low, high = 0, len(chain)
        while low < high:
            middle = (low + high) // 2
            if self._fits(chain[middle]):
                high = middle
            else:
                low = middle + 1

    def _chain(self, node: Node) -> list[Node]:
        chain = [node]
        while self.known.get(node) is None or not self.known[node]:
            above = [
                (*node[:place], node[place] + 1, *node[place + 1 :])
                for place in range(len(node))
                if node[place] + 1 < self.problem.shape[place]
            ]
            if not above:
                break
            node = min(above, key=self.loss.bound)
            chain.append(node)
        return chain

    def _fits(self, node: Node) -> bool:
        if node not in self.known:
            self.known[node] = self._evaluate(self.sieve(node))
        return self.known[node]

    def _evaluate(self, outcome: Outcome) -> bool:
        self.found.evaluated += 1
        if outcome.suppressed <= self.limit:
            judged = outcome if self.judge is None else self.judge(outcome.node)
            if judged.suppressed <= self.limit:
                self.found.offer(judged, self.loss.value(judged))
        if outcome.suppressed > min(self.limit, self.loss.most_suppressed(self.found.loss) * (1 + SAME)):
            node = outcome.node
            self.dead = [dead for dead in self.dead if not all(map(int.__le__, dead, node))]
            self.dead.append(node)
            return False
        return True
