"""Search for the node of least loss: exact, bounded in time, or OLA.

Nodes are taken in the order of their lower bounds. From one that was not looked at, a chain is built upwards and
searched by halves for the lowest node that suppresses little enough: what lies below a node that suppresses too much
does so too, what lies above one that does not is fit. Fit nodes are evaluated. When the next bound exceeds the best
loss found, nothing better is left.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from discreet.anonymity.lattice.evaluate import Evaluate
from discreet.anonymity.lattice.problem import DEAD, DONE, UNKNOWN, Lattice, LatticeProblem, Node, NodeOutcome
from discreet.anonymity.losses import Loss

SAME = 1e-12
"""Relative difference up to which two losses are one; the tie goes to the smaller level vector."""


@dataclass(frozen=True)
class SearchProgress:
    """Where a search stands."""

    evaluated: int
    nodes: int
    bound: float
    """No node costs less than this."""
    best: float
    """The least loss found so far, or infinity."""


Watch = Callable[[SearchProgress], bool]
"""Told where the search stands; says whether to go on."""


@dataclass
class SearchResult:
    """The best node so far, and what was learnt on the way."""

    nodes: int
    outcome: NodeOutcome | None = None
    loss: float = math.inf
    evaluated: int = 0
    too_much_suppressed: int = 0
    """Nodes ruled out without a look, because a coarser one suppresses too much."""
    too_costly: int = 0
    """Nodes ruled out without a look, because they cost more than the best one."""
    bound: float = math.inf
    """No node costs less."""
    complete: bool = False
    """Whether the search ran to its end, so that the best node is the best there is."""
    rules: list[str] = field(default_factory=list)

    def offer(self, outcome: NodeOutcome, loss: float) -> None:
        """Take a node if it is better, or as good and earlier."""
        if self.outcome is None or loss < self.loss - SAME * abs(self.loss):
            self.outcome, self.loss = outcome, loss
        elif loss <= self.loss + SAME * abs(self.loss) and outcome.node < self.outcome.node:
            self.outcome, self.loss = outcome, min(loss, self.loss)

    def beyond(self, bound: float) -> bool:
        """Whether a bound is too high to matter."""
        return bound > self.loss + SAME * abs(self.loss)


class Search:
    """One run over a lattice."""

    def __init__(
        self,
        problem: LatticeProblem,
        *,
        loss: Loss,
        limit: int,
        sieve: Evaluate,
        judge: Evaluate | None = None,
        watch: Watch = lambda _: True,
    ) -> None:
        """`sieve` is monotone: what it suppresses never grows upwards. `judge`, where given, has the last word."""
        self.problem, self.loss, self.limit = problem, loss, limit
        self.sieve, self.judge, self.watch = sieve, judge, watch
        self.lattice = Lattice(loss.bounds(), moving=loss.moves)
        self.found = SearchResult(problem.nodes)

    def run(self) -> SearchResult:
        """Search until nothing better is left, or until told to stop; the best so far is never lost."""
        try:
            in_order = self._by_current_bounds() if self.loss.moves else self._by_fixed_bounds()
            for place in in_order:
                self._settle(self.lattice.node(place))
                progress = SearchProgress(
                    self.found.evaluated, self.found.nodes, min(self.found.bound, self.found.loss), self.found.loss
                )
                if not self.watch(progress):
                    return self._summed(complete=False)
        except KeyboardInterrupt:
            return self._summed(complete=False)
        self.found.bound = self.found.loss
        return self._summed(complete=True)

    def _by_fixed_bounds(self) -> Iterator[int]:
        bounds, state = self.lattice.bounds.reshape(-1), self.lattice.state.reshape(-1)
        for place in np.argsort(bounds, kind="stable").tolist():
            self.found.bound = float(bounds[place])
            if self.found.beyond(self.found.bound):
                return
            if state[place] not in (DEAD, DONE):
                yield place

    def _by_current_bounds(self) -> Iterator[int]:
        bounds = self.lattice.bounds.reshape(-1)
        while True:
            place = int(np.argmin(bounds))
            self.found.bound = float(bounds[place])
            if math.isinf(self.found.bound) or self.found.beyond(self.found.bound):
                return
            yield place

    def _settle(self, node: Node) -> None:
        if self.lattice.state[node] != UNKNOWN:
            self._evaluate(node)
            return
        chain = self.lattice.chain(node)
        low, high = 0, len(chain)
        while low < high:
            middle = (low + high) // 2
            if self._evaluate(chain[middle]):
                high = middle
            else:
                low = middle + 1

    def _evaluate(self, node: Node) -> bool:
        """Offer a node; false if it suppresses so much that no finer one can be better."""
        outcome = self.sieve(node)
        self.found.evaluated += 1
        if self.loss.moves:
            self.lattice.raise_above(node, self.loss.bound_above(outcome))
            if extra := self.loss.bound_below(outcome):
                self.lattice.raise_below(node, extra)
        if outcome.suppressed > self.limit:
            self.lattice.kill_below(node)
            return False
        self._judge(outcome)
        if outcome.suppressed > self.loss.most_suppressed(self.found.loss) * (1 + SAME):
            self.lattice.kill_below(node)
            return False
        self.lattice.fit_above(node)
        self.lattice.done(node)
        return True

    def _judge(self, outcome: NodeOutcome) -> None:
        if self.judge is not None:
            outcome = self.judge(outcome.node)
        if outcome.suppressed <= self.limit:
            self.found.offer(outcome, self.loss.value(outcome))

    def _summed(self, *, complete: bool) -> SearchResult:
        found, state = self.found, self.lattice.state
        found.complete = complete
        if not complete:
            found.bound = min(found.bound, found.loss)
        looked_dead = found.evaluated - int((state == DONE).sum())
        found.too_much_suppressed = int((state == DEAD).sum()) - looked_dead
        found.too_costly = found.nodes - found.evaluated - found.too_much_suppressed if complete else 0
        return found


# The search as El Emam et al. published it (OLA, 2009): the best of the minimal nodes.
#
# A node is minimal if it suppresses little enough and no finer one does. With a loss that charges for suppression the
# best minimal node need not be the best node; `search` finds that one.
def best_minimal(
    problem: LatticeProblem, *, loss: Loss, limit: int, sieve: Evaluate, watch: Watch = lambda _: True
) -> SearchResult:
    """Tag the whole lattice by chains and halves, then compare the minimal nodes."""
    found = SearchResult(problem.nodes)
    heights = np.indices(problem.shape).sum(axis=0).astype(np.float64)
    lattice = Lattice(heights)
    for place in np.argsort(heights.reshape(-1), kind="stable").tolist():
        node = lattice.node(place)
        if lattice.state[node] == UNKNOWN:
            _halve(lattice.chain(node), lattice, limit, sieve, found)
            if not watch(SearchProgress(found.evaluated, found.nodes, 0.0, found.loss)):
                return found
    for node in _minimal(lattice):
        outcome = sieve(node)
        found.offer(outcome, loss.value(outcome))
    found.bound, found.complete = found.loss, True
    found.too_much_suppressed = int((lattice.state == DEAD).sum())
    return found


def _halve(chain: list[Node], lattice: Lattice, limit: int, sieve: Evaluate, found: SearchResult) -> None:
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


# A search for lattices too large to write down, or for little time: the best so far, with a proven bound.
#
# Nodes are generated in the order of their bounds, from the finest upwards, so that the bound of the next one is a bound
# for all that are left. To find good nodes early, each promising one is first followed upwards to a fit node.
class BoundedSearch:
    """One run, without an array over the lattice."""

    def __init__(
        self, problem: LatticeProblem, *, loss: Loss, limit: int, sieve: Evaluate, judge: Evaluate | None, watch: Watch
    ) -> None:
        self.problem, self.loss, self.limit = problem, loss, limit
        self.sieve, self.judge, self.watch = sieve, judge, watch
        self.found = SearchResult(problem.nodes)
        self.known: dict[Node, bool] = {}
        self.dead: list[Node] = []
        """Nodes that suppress too much, none finer than another."""

    def run(self) -> SearchResult:
        """Until nothing better is left, or until told to stop."""
        found = self.found
        try:
            for bound, node in self._by_bound():
                found.bound = bound
                if found.beyond(bound):
                    break
                is_dead = any(all(low <= high for low, high in zip(node, dead, strict=True)) for dead in self.dead)
                if not is_dead:
                    self._follow(node)
                if not self.watch(SearchProgress(found.evaluated, found.nodes, min(bound, found.loss), found.loss)):
                    return self._stopped()
        except KeyboardInterrupt:
            return self._stopped()
        found.bound, found.complete = found.loss, True
        found.too_costly = found.nodes - found.evaluated
        return found

    def _stopped(self) -> SearchResult:
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

    def _evaluate(self, outcome: NodeOutcome) -> bool:
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
