"""Search for the node of least loss: exact, bounded in time, or OLA; and a sweep over all nodes.

Nodes are taken in the order of their lower bounds. From one that was not looked at, a chain is built upwards and
searched by halves for the lowest node that suppresses little enough: what is below a node that suppresses too much
does so too, what is above one that does not is fit. Fit nodes are evaluated. When the next bound exceeds the best
loss found, nothing better is left.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from discreet.anonymity.lattice import problem as lattice_problem
from discreet.anonymity.lattice.evaluate import ByClasses, BySize, Evaluate, roller_for
from discreet.anonymity.lattice.problem import DEAD, DONE, UNKNOWN, Lattice, LatticeProblem, Node, NodeOutcome, coarser
from discreet.anonymity.limits import Requirements, Size
from discreet.anonymity.losses import Loss, make_loss
from discreet.errors import UsageError
from discreet.kernel import Classes

SAME = 1e-12
"""Relative difference up to which two losses are one; the tie goes to the smaller level vector."""


@dataclass(frozen=True)
class SearchProgress:
    """Progress of a search."""

    evaluated: int
    nodes: int
    bound: float
    """No node costs less than this."""
    best: float
    """The least loss found so far, or infinity."""


Watch = Callable[[SearchProgress], bool]
"""Sees the progress of a search; says whether to go on."""


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

    def offer(self, outcome: NodeOutcome, loss: float) -> None:
        """Take a node if it is better, or as good and earlier."""
        if self.outcome is None or loss < self.loss - SAME * abs(self.loss):
            self.outcome, self.loss = outcome, loss
        elif loss <= self.loss + SAME * abs(self.loss) and outcome.node < self.outcome.node:
            self.outcome, self.loss = outcome, min(loss, self.loss)

    def at_levels(self, problem: LatticeProblem) -> SearchResult:
        """The same with the best node by levels of the hierarchies, which may start above the data."""
        if self.outcome is None:
            return self
        return replace(self, outcome=replace(self.outcome, node=problem.levels(self.outcome.node)))

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
        self.found = SearchResult(problem.nodes)

    @cached_property
    def lattice(self) -> Lattice:
        """What is known about each node."""
        return Lattice(self.loss.bounds(), moving=self.loss.moves)

    def run(self) -> SearchResult:
        """Search until nothing better is left, or until stopped; the best so far is never lost."""
        found, complete = self.found, False
        with suppress(KeyboardInterrupt):
            for node in self._promising():
                _halve(self._chain(node), self._fits)
                bound = min(found.bound, found.loss)
                if not self.watch(SearchProgress(found.evaluated, found.nodes, bound, found.loss)):
                    break
            else:
                complete = True
        found.complete, found.bound = complete, found.loss if complete else min(found.bound, found.loss)
        found.too_much_suppressed = self._dead_unseen()
        found.too_costly = found.nodes - found.evaluated - found.too_much_suppressed if complete else 0
        return found

    def _promising(self) -> Iterator[Node]:
        """Nodes that may be best, by bound; where bounds move, the least is looked for again each time."""
        bounds, state = self.lattice.bounds.reshape(-1), self.lattice.state.reshape(-1)
        by_bound = np.argsort(bounds, kind="stable").tolist() if not self.loss.moves else ()
        for place in iter(lambda: int(np.argmin(bounds)), None) if self.loss.moves else by_bound:
            self.found.bound = float(bounds[place])
            if math.isinf(self.found.bound) or self.found.beyond(self.found.bound):
                return
            if state[place] not in (DEAD, DONE):
                yield self.lattice.node(place)

    def _chain(self, node: Node) -> list[Node]:
        return self.lattice.chain(node) if self.lattice.state[node] == UNKNOWN else [node]

    def _fits(self, node: Node) -> bool:
        """Offer a node; false if it suppresses so much that no finer one can be better."""
        outcome = self.sieve(node)
        self.found.evaluated += 1
        if self.loss.moves:
            self.lattice.raise_above(node, self.loss.bound_above(outcome))
            if extra := self.loss.bound_below(outcome):
                self.lattice.raise_below(node, extra)
        if not self._offer(outcome):
            self.lattice.kill_below(node)
            return False
        self.lattice.fit_above(node)
        self.lattice.done(node)
        return True

    def _dead_unseen(self) -> int:
        """Nodes ruled out without a look, because a coarser one suppresses too much."""
        state = self.lattice.state
        return int((state == DEAD).sum()) - (self.found.evaluated - int((state == DONE).sum()))

    def _offer(self, outcome: NodeOutcome) -> bool:
        """Judge a node that suppresses little enough; whether a finer one could still be better."""
        if outcome.suppressed > self.limit:
            return False
        judged = outcome if self.judge is None else self.judge(outcome.node)
        if judged.suppressed <= self.limit:
            self.found.offer(judged, self.loss.value(judged))
        return outcome.suppressed <= self.loss.most_suppressed(self.found.loss) * (1 + SAME)


def _halve(chain: list[Node], fits: Callable[[Node], bool]) -> None:
    """Look for the lowest fit node of a chain by halves."""
    low, high = 0, len(chain)
    while low < high:
        middle = (low + high) // 2
        if fits(chain[middle]):
            high = middle
        else:
            low = middle + 1


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
        """Nodes that suppress too much, none finer than another."""
        return []

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
            outcome = self.sieve(node)
            self.found.evaluated += 1
            self.known[node] = self._offer(outcome)
            if not self.known[node]:
                self.dead[:] = [*(dead for dead in self.dead if not all(map(int.__le__, dead, node))), node]
        return self.known[node]

    def _dead_unseen(self) -> int:
        return 0


# The search as El Emam et al. published it (OLA, 2009): the best of the minimal nodes.
#
# A node is minimal if it suppresses little enough and no finer one does. With a loss that charges for suppression the
# best minimal node need not be the best node; `Search` finds that one.
def best_minimal(
    problem: LatticeProblem, *, loss: Loss, limit: int, sieve: Evaluate, watch: Watch = lambda _: True
) -> SearchResult:
    """Tag the whole lattice by chains and halves, then compare the minimal nodes."""
    found = SearchResult(problem.nodes)
    heights = np.indices(problem.shape).sum(axis=0).astype(np.float64)
    lattice = Lattice(heights)

    def fits(node: Node) -> bool:
        found.evaluated += 1
        fit = sieve(node).suppressed <= limit
        (lattice.fit_above if fit else lattice.kill_below)(node)
        return fit

    for place in np.argsort(heights.reshape(-1), kind="stable").tolist():
        node = lattice.node(place)
        if lattice.state[node] == UNKNOWN:
            _halve(lattice.chain(node), fits)
            if not watch(SearchProgress(found.evaluated, found.nodes, 0.0, found.loss)):
                return found
    # Minimal nodes are fit while all their finer neighbours are not.
    minimal = lattice.state != DEAD
    for axis in range(minimal.ndim):
        below = np.roll(lattice.state != DEAD, 1, axis=axis)
        below[(slice(None),) * axis + (0,)] = False
        minimal = minimal & ~below
    for levels in np.argwhere(minimal).tolist():
        outcome = sieve(tuple(levels))
        found.offer(outcome, loss.value(outcome))
    found.bound, found.complete = found.loss, True
    found.too_much_suppressed = int((lattice.state == DEAD).sum())
    return found


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
        run = kind(problem, loss=measure, limit=limits.suppressible, sieve=sieve, judge=judge, watch=watch)
        return run.run().at_levels(problem)
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
        sieve: Evaluate = BySize(problem, k=limits.k, roller=roller_for(problem, engine))
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
