"""Search of a name over the lattice of levels: exact, bounded in time, or OLA; and a sweep over all nodes."""

from __future__ import annotations

import ctypes
import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from discreet.anonymity.lattice import native_engine
from discreet.anonymity.lattice import problem as lattice_problem
from discreet.anonymity.lattice.candidates import DONE, LiveNodes, NodeFinding, Prediction
from discreet.anonymity.lattice.evaluate import ByClasses, BySize, Evaluate, compiled
from discreet.anonymity.lattice.exact import Search, SearchProgress, SearchResult, Watch
from discreet.anonymity.lattice.native_engine import Double, Int, Pointer, address_of
from discreet.anonymity.lattice.problem import LatticeProblem, Node, NodeOutcome, coarser
from discreet.anonymity.limits import Requirements, Size
from discreet.anonymity.losses import Loss, make_loss
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Floats, Ints


def search_levels(
    problem: LatticeProblem, limits: Requirements, *, loss: str, search: str, engine: str, watch: Watch
) -> SearchResult:
    """Run the search of a name over the lattice of levels."""
    huge = problem.nodes > lattice_problem.MOST_NODES
    if huge:
        watch(SearchProgress(0, problem.nodes, 0.0, math.inf))  # before the first step, which may take long
    measure = measure_of(problem, limits, loss)
    sieve, judge = evaluators_of(problem, limits, engine)
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


def measure_of(problem: LatticeProblem, limits: Requirements, loss: str) -> Loss:
    """The loss of a name; a class of few people may have many rows, so that its size says nothing about their number."""
    by_size = limits.plain and problem.classes.members is None
    return make_loss(loss, problem, smallest=limits.k, by_size=by_size)


def measure_node(
    problem: LatticeProblem, limits: Requirements, node: Node, *, loss: str, engine: str = "auto"
) -> tuple[NodeOutcome, float]:
    """One node without a search: what it comes to, and its loss."""
    sieve, judge = evaluators_of(problem, limits, engine)
    outcome = (judge or sieve)(node)
    return outcome, measure_of(problem, limits, loss).value(outcome)


def evaluators_of(problem: LatticeProblem, limits: Requirements, engine: str) -> tuple[Evaluate, Evaluate | None]:
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
    measure = measure_of(problem, limits, loss)
    sieve, judge = evaluators_of(problem, limits, engine)
    seen = []
    for node in sorted(product(*map(range, problem.shape)), key=lambda node: (sum(node), node)):
        outcome = sieve(node) if judge is None else judge(node)
        allowed = outcome.suppressed <= limits.suppressible
        levels = problem.levels(node)
        seen.append(MeasuredNode(levels, outcome.suppressed, allowed, measure.value(outcome) if allowed else math.nan))
    return tuple(seen)


# Searches that are not exact on the whole lattice: for lattices too large to write down, and OLA as it was published.
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


# The candidates and predictions of a search in C: the same steps as in candidates.py, called through ctypes.
class _LiveStruct(ctypes.Structure):
    _fields_ = (
        ("count", Int), ("place", Pointer), ("bound", Pointer), ("outer", Pointer), ("rest", Pointer), ("packed", Pointer),
        ("above", Pointer), ("below", Pointer), ("status", Pointer), ("guards", Int), ("node_packed", Int),
        ("first", Pointer), ("second", Pointer), ("dead", Int), ("times", Int), ("extra", Double), ("more", Double),
        ("ceiling", Double), ("last_ceiling", Double), ("settled", Int), ("next", Int), ("least", Double),
    )  # fmt: skip


class _Climb(ctypes.Structure):
    _fields_ = (
        ("columns", Int), ("shape", Pointer), ("strides", Pointer), ("status", Pointer), ("most", Pointer),
        ("crowd", Pointer), ("tables", Pointer), ("starts", Pointer), ("need", Double), ("reach", Double),
        ("enough", Double), ("up", Int), ("score", Double),
    )  # fmt: skip


class _Model(ctypes.Structure):
    _fields_ = (
        ("columns", Int), ("features", Int), ("starts", Pointer), ("bits", Pointer), ("inverse", Pointer),
        ("weights", Pointer), ("moved", Pointer), ("gain", Pointer), ("tables", Pointer), ("spread", Double), ("seen", Int),
    )  # fmt: skip


class CompiledNodes(LiveNodes):
    """LiveNodes whose bounds are raised in C."""

    def __init__(self, shape: Node, bounds: Floats, *, times: bool, moves: bool) -> None:
        super().__init__(shape, bounds, times=times, moves=moves)
        self.library = native_engine.library()
        self.shape_array = np.array(shape, dtype=np.int64)
        self.stride_array = np.array(self.strides, dtype=np.int64)
        self.table_starts = np.array(self.starts, dtype=np.int64)
        self.struct = _LiveStruct(guards=self.guards, times=int(times))
        self.at_struct = ctypes.addressof(self.struct)
        self.most_at = address_of(self.most)
        self.way = _Climb(
            columns=len(shape), shape=address_of(self.shape_array), strides=address_of(self.stride_array),
            most=self.most_at, starts=address_of(self.table_starts),
        )  # fmt: skip
        self.at_way = ctypes.addressof(self.way)
        self.half_levels = [(len(levels), address_of(levels)) for levels in self.levels]
        self.held: dict[str, Any] = {}

    def list_up(self, ceiling: float) -> None:
        """Start with the nodes that may cost at most so much."""
        super().list_up(ceiling)
        self.status = np.ascontiguousarray(self.status)
        self._point()

    def _shorten(self) -> None:
        super()._shorten()
        self._point()

    def _point(self) -> None:
        """Tell the library where everything is."""
        names = ["place", "bound", "outer", "rest", "packed", *(["above", "below"] if self.moves else [])]
        self.held = {name: getattr(self, name) for name in names}
        for name, array in self.held.items():
            setattr(self.struct, name, address_of(array))
        self.struct.status = self.way.status = address_of(self.status)
        self.struct.count, self.struct.settled, self.struct.last_ceiling = len(self.place), 0, math.inf

    def _cut(self) -> None:
        """What the library left at the start of each array is all that there is."""
        count = self.struct.count
        for name, array in self.held.items():
            setattr(self, name, array[:count])

    def done(self, place: int) -> None:
        """A node was evaluated; a candidate leaves with what its look says."""
        self.status[place] = DONE
        row = int(self.place.searchsorted(place))
        if row < len(self.place) and self.place[row] == place:
            self.bound[row] = math.inf
            self.struct.settled += 1

    def next(self) -> int:
        """The candidate of least bound, the first of equal ones; -1 if none is left."""
        self.row = int(self.library.discreet_next(self.at_struct))
        self.least = self.struct.least
        return int(self.struct.next)

    def learn(self, found: NodeFinding, ceiling: float) -> None:
        """Take in what a look says, and leave out what is ruled out."""
        struct = self.struct
        struct.node_packed = self.pack(found.place)
        struct.dead, struct.extra, struct.more, struct.ceiling = found.dead, found.extra, found.above, ceiling
        if found.below is not None:
            halves = self.halves(found.below, np.multiply if self.times else np.add)
            struct.first, struct.second = map(address_of, halves)
        else:
            struct.first = None
        before = struct.count
        self.library.discreet_learn(self.at_struct)
        if struct.count != before:
            self._cut()

    def fits(self, place: int, suppressed: int) -> None:
        """A node suppresses so few; all coarser ones suppress no more."""
        parts, guards = self._parts(self.pack(place)), self.guard_parts
        (outers, outer), (rests, rest) = self.half_levels
        self.library.discreet_fits(
            self.most_at, suppressed, outers, outer, guards[0], parts[0], rests, rest, guards[1], parts[1]
        )

    def rule_out(self, sizes: Any, k: int) -> int:
        """Nodes at which somebody's class is below k suppress too much; how many of them were not known."""
        struct, before = self.struct, self.struct.count
        struct.status = address_of(self.status)
        fresh = int(self.library.discreet_rule_out(self.at_struct, address_of(sizes), len(sizes), k))
        if struct.count != before:
            self._cut()
        return fresh

    def crowds(self, *, coarser: bool) -> Any:
        """Per node, how many candidates are nowhere coarser than it, or nowhere finer."""
        crowd = np.zeros(len(self.status), dtype=np.int32)
        crowd[self.place[self.bound < math.inf]] = 1
        self.library.discreet_add_up(
            address_of(crowd), len(crowd), len(self.shape), address_of(self.shape_array), int(coarser)
        )
        return crowd

    def prediction(self, bits: Sequence[Floats]) -> Prediction:
        """A prediction that knows nothing yet."""
        return CompiledPrediction(bits)

    def climb(
        self, place: int, crowd: Ints, tables: Floats, need: float, reach: float, *, up: bool, enough: float = 0.0
    ) -> tuple[float, int]:
        """The way from a node over neighbours as long as more candidates are likely to be ruled out by a look."""
        way = self.way
        way.crowd, way.tables, way.need, way.reach = address_of(crowd), address_of(tables), need, reach
        way.up, way.enough = up, enough
        there = int(self.library.discreet_climb(self.at_way, place))
        return float(way.score), there


class CompiledPrediction(Prediction):
    """Prediction that is improved in C."""

    def __init__(self, bits: Sequence[Floats]) -> None:
        super().__init__(bits)
        self.library, features = native_engine.library(), len(self.weights)
        self.room, self.start_array = np.empty(2 * features), np.array(self.starts, dtype=np.int64)
        moved = address_of(self.room)
        self.struct = _Model(
            self.columns, features, *map(address_of, (self.start_array, self.bits, self.inverse, self.weights)), moved,
            moved + 8 * features, address_of(self.tables), self.spread, 0,
        )  # fmt: skip
        self.at_struct, self.levels = ctypes.addressof(self.struct), (Int * max(1, self.columns))()
        self.levels_at = ctypes.addressof(self.levels)

    def observe(self, node: Node, value: float) -> None:
        """What a node came to."""
        if node:
            self.levels[:] = list(node)
            self.library.discreet_observe(self.at_struct, self.levels_at, value)
            self.spread = self.struct.spread
