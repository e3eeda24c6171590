"""Exact search for the node of least loss.

Every node has a lower bound of its loss, and each look at a node raises the bounds of others or rules them out. A
first chain and a few looks where predictions point give a good node; then candidates are taken in the order of their
bounds, and each time the node is looked at that will probably rule out most of them. Predictions choose where to look,
never what is ruled out. When no candidate is left, nothing better is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from discreet.anonymity.lattice.candidates import LiveNodes, NodeFinding
from discreet.anonymity.lattice.evaluate import BySize, Evaluate
from discreet.anonymity.lattice.problem import LatticeProblem, Node, NodeOutcome
from discreet.anonymity.losses import SAME, Loss
from discreet.kernel.arrays import Floats

GUESSES = 8
"""Looks at the nodes that are predicted to be best, before anything is proven."""
WIDTH, CLASS_WIDTH, DOWN_WIDTH = 4.0, 3.0, 2.0
"""So many times the usual error of a prediction lie between never and always: as found by trying, for losses of columns,
for losses of classes, and for those on the way down."""
WORTH_A_LOOK = 8
"""Singling a person out costs about as much as two looks; it should rule out more."""
REFRESH = 16
"""Looks after which candidates are counted again; more in large lattices."""


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
        nodes: type[LiveNodes] = LiveNodes,
    ) -> None:
        """`sieve` is monotone: what it suppresses never grows upwards. `judge`, where given, has the last word."""
        self.problem, self.loss, self.limit = problem, loss, limit
        self.sieve, self.judge, self.watch = sieve, judge, watch
        self.nodes, self.found = nodes, SearchResult(problem.nodes)

    def run(self) -> SearchResult:
        """Search until nothing better is left, or until stopped; the best so far is never lost."""
        found, complete = self.found, False
        with suppress(KeyboardInterrupt):
            complete = self._explore()
        found.complete, found.bound = complete, found.loss if complete else min(found.bound, found.loss)
        return found

    def _explore(self) -> bool:
        """Whether the search came to its end."""
        way = _Way(self)
        complete = way.follow()
        self.found.too_much_suppressed, self.found.too_costly = way.candidates.counts()
        return complete

    def _going_on(self, bound: float) -> bool:
        """Whether to look further, with a new bound for all nodes."""
        found = self.found
        found.bound = bound
        return self.watch(SearchProgress(found.evaluated, found.nodes, min(bound, found.loss), found.loss))

    def _look(self, node: Node) -> NodeOutcome:
        """Look at a node, and take it where it is the best so far."""
        outcome = self.sieve(node)
        self.found.evaluated += 1
        if outcome.suppressed <= self.limit:
            judged = outcome if self.judge is None else self.judge(node)
            if judged.suppressed <= self.limit:
                self.found.offer(judged, self.loss.value(judged))
        return outcome


class _Way:
    """The way of a search through a lattice that is written down."""

    def __init__(self, search: Search) -> None:
        self.search, self.problem, self.loss, self.limit = search, search.problem, search.loss, search.limit
        bounds, loss = self.loss.bounds(), self.loss
        self.candidates = search.nodes(self.problem.shape, bounds, times=loss.times, moves=loss.moves)
        self.people = self.problem.people
        bits = [ladder.bits for ladder in self.problem.ladders]
        self.suppression = self.candidates.prediction(bits)
        self.detail = self.candidates.prediction(bits)
        """For losses that look at classes: the logarithm of what coarser nodes cost at least."""
        self.lowest: Node = (0,) * len(self.problem.shape)
        self.slopes: list[list[float]] = [table.tolist() for table in self.loss.slopes]
        self.skip = self.skipped = 0
        """Looks after which nobody is singled out, because that helped little."""
        self.last = -1
        """The candidate for which a look was taken last."""

    def follow(self) -> bool:
        """A first chain, a few guesses, then proofs; false if stopped."""
        search, candidates = self.search, self.candidates
        if isinstance(search.sieve, BySize):
            lowest = search.sieve.lowest(self.limit)
            self.lowest = self.problem.shape if lowest is None else lowest
            candidates.start_from(self.lowest)
            if lowest is None:
                return True
        least = self.loss.price(float(candidates.bounds.min()))
        first: list[tuple[int, NodeOutcome]] = []
        chain = self._chain()
        low, high = 0, len(chain)
        while low < high:
            middle = (low + high) // 2
            place = candidates.at(chain[middle])
            outcome = self._look(place)
            first.append((place, outcome))
            if outcome.suppressed <= self.limit:
                high = middle
            else:
                low = middle + 1
                candidates.kill(outcome.node)
                self._single_out(outcome)
            if not search._going_on(least):
                return False
        candidates.list_up(self._ceiling)
        for place, outcome in first:
            if self.loss.moves or outcome.suppressed <= self.limit:
                self._learn(place, outcome)
        return self._guess() and self._prove()

    def _guess(self) -> bool:
        """Look where the best node is expected."""
        for _ in range(GUESSES):
            place = self._expected_best()
            if place < 0:
                return True
            self._learn(place, self._look(place))
            self.candidates.next()
            if not self._going_on():
                return False
        return True

    def _prove(self) -> bool:
        """Rule out every candidate, in the order of their bounds."""
        most, wait = self.problem.nodes // 1500, 0
        while (place := self.candidates.next()) >= 0:
            if not self._going_on():
                return False
            if wait == 0:
                wait = max(REFRESH, min(most, self.search.found.evaluated))
                self.finer = self.candidates.crowds(coarser=False)
                if self.loss.moves:
                    self.coarser = self.candidates.crowds(coarser=True)
            wait -= 1
            there = self._aim(place)
            self._learn(there, self._look(there))
        return True

    def _look(self, place: int) -> NodeOutcome:
        node = self.candidates.node(place)
        outcome = self.search._look(node)
        self.candidates.done(place)
        self.suppression.observe(node, self._odds(outcome.suppressed))
        if self.loss.moves:
            self.detail.observe(node, math.log(self.loss.bound_above(outcome)))
        return outcome

    def _learn(self, place: int, outcome: NodeOutcome) -> None:
        """What a look says about other nodes."""
        dead, loss = outcome.suppressed > self.limit, self.loss
        if loss.moves:
            finding = NodeFinding(place, dead, None, loss.bound_below(outcome), loss.bound_above(outcome))
        else:
            raised = loss.below(outcome) if outcome.suppressed and not dead else None
            finding = NodeFinding(place, dead, raised)
        self.candidates.learn(finding, self._ceiling)
        if not dead:
            self.candidates.fits(place, outcome.suppressed)
        else:
            self._single_out(outcome)

    def _single_out(self, outcome: NodeOutcome) -> None:
        """Where nobody may be suppressed, one person who would be rules out all nodes at which they are in a small class."""
        if self.limit > 0 or outcome.around is None or not isinstance(self.search.sieve, BySize):
            return
        if self.skipped < self.skip:
            self.skipped += 1
        elif self.candidates.rule_out(outcome.around(), self.search.sieve.k) < WORTH_A_LOOK:
            self.skip, self.skipped = 2 * self.skip + 1, 0

    def _going_on(self) -> bool:
        """Whether to look further; asked when the next candidate is known."""
        least = self.candidates.least
        return self.search._going_on(math.inf if math.isinf(least) else self.loss.price(least))

    @property
    def _ceiling(self) -> float:
        """The largest bound that is worth a look."""
        best = self.search.found.loss
        return math.inf if math.isinf(best) else self.loss.ceiling(best)

    def _odds(self, suppressed: float) -> float:
        """How predictions see a number of suppressed people."""
        return math.log((suppressed + 0.5) / max(self.people - suppressed + 0.5, 0.25))

    def _chain(self) -> list[Node]:
        """A way from the finest node to the coarsest, each time where it costs least."""
        shape, steps = self.problem.shape, [table.tolist() for table in self.loss.steps]
        node = list(self.lowest)
        chain = [tuple(node)]
        while open_ := [column for column, level in enumerate(node) if level + 1 < shape[column]]:
            costs = [(steps[column][node[column] + 1] - steps[column][node[column]], column) for column in open_]
            node[min(costs)[1]] += 1
            chain.append(tuple(node))
        return chain

    def _expected_best(self) -> int:
        """The candidate that probably fits and costs least; -1 if none is expected to be better than the best."""
        candidates, best = self.candidates, self.search.found.loss
        if not len(candidates.place):
            return -1
        odds = candidates.gathered(self.suppression.by_column(), np.add)
        if self.loss.moves:
            costs = candidates.gathered(self.detail.by_column(), np.add)
            least = -math.inf if math.isinf(best) else math.log(max(best, 1e-300))
        else:
            suppressed = self.people / (1 + np.exp(-odds))
            costs = self._scaled(candidates.bound) + candidates.gathered(self.loss.slopes, np.add) * suppressed
            least = float(self._scaled(np.array([self._ceiling]))[0])
        costs[(odds > self._odds(self.limit + 0.5)) | np.isinf(candidates.bound)] = math.inf
        row = int(costs.argmin())
        worth = costs[row] < (math.inf if math.isinf(best) else least)
        return int(candidates.place[row]) if worth else -1

    def _scaled(self, bounds: Floats) -> Floats:
        """Bounds so that what columns add to them adds up."""
        return np.log(bounds) if self.loss.times else bounds

    def _aim(self, place: int) -> int:
        """The node whose look will probably rule out most candidates, on the way from the next of them."""
        if place == self.last:
            return place
        self.last = place
        candidates, ceiling = self.candidates, self._ceiling
        enough = min(self._needed(place, ceiling), self.limit + 1)
        need = self._odds(max(enough - 0.5, 0.0))
        tables, spread = self.suppression.tables, self.suppression.spread
        reach = spread * (CLASS_WIDTH if self.loss.moves else WIDTH)
        score, there = candidates.climb(place, self.finer, tables, need, reach, up=True, enough=enough)
        if self.loss.moves and not math.isinf(ceiling):
            least = math.log(max(ceiling - candidates.beyond(), 1e-300))
            tables, spread = self.detail.tables, self.detail.spread
            other, down = candidates.climb(place, self.coarser, tables, least, spread * DOWN_WIDTH, up=False)
            if other > score:
                there = down
        return there

    def _needed(self, place: int, ceiling: float) -> float:
        """How many suppressed people it takes to rule out the next candidate."""
        node = self.candidates.node(place)
        slope = math.fsum([table[level] for table, level in zip(self.slopes, node, strict=True)])
        if math.isinf(ceiling) or slope <= 0:
            return math.inf
        least = self.candidates.least
        return (math.log(ceiling / least) if self.loss.times else ceiling - least) / slope
