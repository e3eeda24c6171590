"""LiveNodes of a search: the nodes that may still be best, each with its bound, and what happened to all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.lattice.problem import Node
from discreet.anonymity.lattice.tuples import added_up
from discreet.anonymity.losses import everywhere
from discreet.kernel.arrays import Floats, Ints

LIVE, DEAD, COSTLY, DONE = 0, 1, 2, 3
"""May still be best; suppresses too much; costs too much; evaluated."""


@dataclass(frozen=True)
class NodeFinding:
    """What one look says about other nodes, in the scale of bounds."""

    place: int
    dead: bool = False
    """Whether all finer nodes suppress too much."""
    below: list[Floats] | None = None
    """Per column and level, parts of a bound for finer nodes."""
    extra: float = 0.0
    """What finer nodes cost on top of the other bound."""
    above: float = 0.0
    """What coarser nodes cost at least."""


class LiveNodes:
    """Nodes in the order of their places, packed: a subtraction tells which of them are finer than a node.

    Each level has a guard bit beside it, and a borrow takes it away where a level is larger.
    """

    def __init__(self, shape: Node, bounds: Floats, *, times: bool, moves: bool) -> None:
        self.shape, self.times, self.moves = shape, times, moves
        self.strides = [math.prod(shape[column + 1 :]) for column in range(len(shape))]
        # The two halves of the columns: what is added up over columns is looked up twice, not once for each of them.
        self.half = min(range(len(shape) + 1), key=lambda at: max(math.prod(shape[:at]), math.prod(shape[at:])))
        self.inner = math.prod(shape[self.half :])
        self.steps = list(zip(self.strides, shape, strict=True))
        self.starts = [sum(shape[:column]) for column in range(len(shape))]
        self.bounds = bounds.reshape(-1)
        self.status = np.zeros(len(self.bounds), dtype=np.uint8)
        self.guards, used = 0, 0
        self.shifts = []
        for height in shape:
            self.shifts.append(used)
            used += (height - 1).bit_length()
            if height > 1:
                self.guards |= 1 << used
                used += 1
        self.place: Ints = np.zeros(0, dtype=np.int64)
        self.row, self.least = -1, -math.inf
        """The row of the next candidate, and its bound."""
        self.most = np.full(len(self.bounds), math.inf)
        """Per node, no more people than that are suppressed there."""
        self.guard_parts = self._parts(self.guards)
        outer = [np.arange(height) << shift for height, shift in zip(shape, self.shifts, strict=True)]
        self.levels = tuple(half.astype(np.int64) for half in self.halves(outer, np.add))

    def pack(self, place: int) -> int:
        """The levels of a node in one number."""
        outer, inner = self.levels
        return int(outer[place // self.inner]) + int(inner[place % self.inner])

    def at(self, node: Node) -> int:
        """The place of a node."""
        return sum(map(mul, node, self.strides))

    def node(self, place: int) -> Node:
        """The node at a place."""
        return tuple([place // stride % height for stride, height in self.steps])

    def box(self, node: Node) -> NDArray[np.uint8]:
        """What happened to the nodes that are nowhere coarser than one."""
        return self.status.reshape(self.shape)[tuple(slice(level + 1) for level in node)]

    def kill(self, node: Node) -> None:
        """A node suppresses too much, so do all finer ones; before candidates are listed."""
        box = self.box(node)
        box[box == LIVE] = DEAD

    def start_from(self, lowest: Node) -> None:
        """All nodes below these levels on any column suppress too much."""
        live = np.full(self.shape, DEAD, dtype=np.uint8)
        live[tuple(slice(level, None) for level in lowest)] = LIVE
        self.status = live.reshape(-1)

    def rule_out(self, sizes: NDArray[np.integer[Any]], k: int) -> int:
        """Nodes at which somebody's class is below k suppress too much; how many of them were not known."""
        dead = sizes < k
        fresh = np.flatnonzero(dead & (self.status == LIVE))
        self.status[fresh] = DEAD
        if len(self.place) and len(fresh):
            self.bound[dead[self.place]] = math.inf
            self._shorten()
        return len(fresh)

    def list_up(self, ceiling: float) -> None:
        """Start with the nodes that may cost at most so much."""
        costly = self.bounds > ceiling
        costly &= self.status == LIVE
        self.status[costly] = COSTLY
        self.place = np.flatnonzero(self.status == LIVE)
        self.bound = self.bounds[self.place]
        self.outer, self.rest = self.place // self.inner, self.place % self.inner
        levels = [np.arange(height) << shift for height, shift in zip(self.shape, self.shifts, strict=True)]
        self.packed = self.gathered(levels, np.add).astype(np.int64)
        if self.moves:
            self.above, self.below = self.bound.copy(), np.zeros(len(self.place))

    def gathered(self, parts: Sequence[NDArray[Any]], combine: np.ufunc) -> Floats:
        """Per candidate, what its parts per column come to."""
        first, second = self.halves(parts, combine)
        return np.asarray(combine(first.take(self.outer), second.take(self.rest)))

    def halves(self, parts: Sequence[NDArray[Any]], combine: np.ufunc) -> tuple[Floats, Floats]:
        """Parts put together over each half of the columns."""
        first, second = (everywhere(combine, part) for part in (parts[: self.half], parts[self.half :]))
        return first.reshape(-1), second.reshape(-1)

    def next(self) -> int:
        """The candidate of least bound, the first of equal ones; -1 if none is left."""
        self.row = int(self.bound.argmin()) if len(self.place) else -1
        self.least = float(self.bound[self.row]) if self.row >= 0 else math.inf
        return int(self.place[self.row]) if self.least < math.inf else -1

    def beyond(self) -> float:
        """What is known of the cost of the next candidate beyond what finer nodes tell."""
        return float(self.below[self.row])

    def done(self, place: int) -> None:
        """A node was evaluated."""
        self.status[place] = DONE
        row = int(self.place.searchsorted(place))
        if row < len(self.place) and self.place[row] == place:
            self.bound[row] = math.inf

    def learn(self, found: NodeFinding, ceiling: float) -> None:
        """Take in what a look says, and leave out what is ruled out."""
        packed = self.pack(found.place)
        if found.dead or found.below is not None or found.extra:
            finer = np.flatnonzero(((packed | self.guards) - self.packed) & self.guards == self.guards)
            if found.dead:
                self._dead(finer)
            elif found.below is not None:
                combine = np.multiply if self.times else np.add
                first, second = self.halves(found.below, combine)
                bound = combine(first.take(self.outer[finer]), second.take(self.rest[finer]))
                self.bound[finer] = np.maximum(self.bound[finer], bound)
            else:
                self.below[finer] = np.maximum(self.below[finer], found.extra)
                self._add(finer)
        if found.above:
            coarser = np.flatnonzero(((self.packed | self.guards) - packed) & self.guards == self.guards)
            self.above[coarser] = np.maximum(self.above[coarser], found.above)
            self._add(coarser)
        out = np.flatnonzero(self.bound > ceiling)
        places = self.place[out]
        self.status[places[self.status[places] == LIVE]] = COSTLY
        self.bound[out] = math.inf
        if 8 * len(out) > len(self.place):
            self._shorten()

    def fits(self, place: int, suppressed: int) -> None:
        """A node suppresses so few; all coarser ones suppress no more."""
        packed = self.pack(place)
        first, second = (
            np.flatnonzero(((levels | guards) - part) & guards == guards)
            for levels, part, guards in zip(self.levels, self._parts(packed), self.guard_parts, strict=True)
        )
        places = (first * self.inner)[:, None] + second
        self.most[places] = np.minimum(self.most[places], suppressed)

    def _parts(self, packed: int) -> tuple[int, int]:
        cut = self.shifts[self.half] if self.half < len(self.shifts) else 62
        return packed & ((1 << cut) - 1), packed >> cut << cut

    def _dead(self, rows: Ints) -> None:
        places = self.place[rows]
        self.status[places[self.status[places] == LIVE]] = DEAD
        self.bound[rows] = math.inf

    def _add(self, rows: Ints) -> None:
        """The two parts of a bound add up; what is settled stays so."""
        self.bound[rows] = np.maximum(self.bound[rows], self.above[rows] + self.below[rows])

    def _shorten(self) -> None:
        left = np.flatnonzero(self.bound < math.inf)
        names = ["place", "bound", "outer", "rest", "packed", *(["above", "below"] if self.moves else [])]
        for name in names:
            setattr(self, name, getattr(self, name)[left])

    def crowds(self, *, coarser: bool) -> Ints:
        """Per node, how many candidates are nowhere coarser than it, or nowhere finer."""
        live = self.place[self.bound < math.inf]
        crowd = np.bincount(live, minlength=len(self.status))
        return added_up(crowd, self.shape, down=coarser)

    def prediction(self, bits: Sequence[Floats]) -> Prediction:
        """A prediction that knows nothing yet."""
        return Prediction(bits)

    def counts(self) -> tuple[int, int]:
        """Nodes that were ruled out without a look: because they suppress too much, and because they cost too much."""
        return int((self.status == DEAD).sum()), int((self.status == COSTLY).sum())

    def climb(
        self, place: int, crowd: Ints, tables: Floats, need: float, reach: float, *, up: bool, enough: float = 0.0
    ) -> tuple[float, int]:
        """The way from a node over neighbours as long as more candidates are likely to be ruled out by a look.

        Where a look at a node is expected to come to what the tables add up to, it rules its candidates out if that is
        more than needed; not where fewer people than enough are suppressed for sure. Half of reach beyond what is needed,
        that is taken for certain.
        """
        parts, starts, strides, shape = tables.tolist(), self.starts, self.strides, self.shape
        step, node, expected = 1 if up else -1, list(self.node(place)), 0.0
        for start, level in zip(starts, node, strict=True):
            expected += parts[start + level]
        # A look at the node itself settles it, whatever it finds.
        best = 1 + _score(expected, need, reach, int(crowd[place]) - 1)
        while True:
            chosen, change = -1, 0.0
            for column, level in enumerate(node):
                beyond = level + step
                if not 0 <= beyond < shape[column]:
                    continue
                there = place + step * strides[column]
                if self.status[there] == DONE or (up and self.most[there] < enough):
                    continue
                moved = parts[starts[column] + beyond] - parts[starts[column] + level]
                score = _score(expected + moved, need, reach, int(crowd[there]))
                if score > best:
                    best, chosen, change = score, column, moved
            if chosen < 0:
                return best, place
            expected += change
            node[chosen] += step
            place += step * strides[chosen]


def _score(expected: float, need: float, reach: float, crowd: int) -> float:
    """Candidates times the probability: a smooth step, of operations that are rounded alike everywhere."""
    far = 0.5 + (expected - need) / reach
    if far <= 0:
        return 0.0
    return crowd * (far * far * (3 - 2 * far)) if far < 1 else float(crowd)


# Prediction of what a node will come to, from those looked at so far: steers a search, and decides nothing.
PENALTY = 1.0
"""How reluctantly a level gets an offset of its own; its constant and its bits are all but free."""
UNTAUGHT = 8
"""The first predictions say nothing of how good later ones are."""


class Prediction:
    """Least squares on the bits of a node, with offsets per column and level: a table per column, improved look by look.

    The inverse of the moments is kept (recursive least squares), so that a look costs a few operations; their order is that
    of engine.c, so that both round alike.
    """

    def __init__(self, bits: Sequence[Floats]) -> None:
        self.columns = len(bits)
        self.bits = np.concatenate([np.zeros(0), *bits])
        self.starts = [sum(map(len, bits[:column])) for column in range(len(bits))]
        features = 2 + len(self.bits)
        self.inverse = np.diag(np.concatenate([[1e6, 1e3], np.full(len(self.bits), 1 / PENALTY)]))
        self.weights = np.zeros(features)
        self.seen = 0
        self.spread = 1.0
        """How far predictions were off."""
        self.tables = np.zeros(len(self.bits))
        """Per column and level, one after another, the parts of what is expected."""

    def observe(self, node: Node, value: float) -> None:
        """What a node came to."""
        if not node:
            return
        places = [2 + start + level for start, level in zip(self.starts, node, strict=True)]
        inverse, weights, bits = self.inverse, self.weights, 0.0
        for place in places:
            bits += self.bits.item(place - 2)
        moved = inverse[0] + bits * inverse[1]
        expected = weights.item(0) + bits * weights.item(1)
        for place in places:
            moved += inverse[place]
            expected += weights.item(place)
        scale = 1 + moved.item(0) + bits * moved.item(1)
        for place in places:
            scale += moved.item(place)
        gain, off = moved / scale, value - expected
        inverse -= np.multiply.outer(gain, moved)
        weights += gain * off
        self.tables[:] = weights[0] / self.columns + weights[1] * self.bits + weights[2:]
        self.seen += 1
        if self.seen > UNTAUGHT:
            self.spread = max(0.05, math.sqrt(self.spread * self.spread * 0.9375 + off * off * 0.0625))

    def by_column(self) -> list[Floats]:
        """The same by column."""
        return np.split(self.tables, self.starts[1:])
