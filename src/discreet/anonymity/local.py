"""Local recoding: every class of people is generalised by itself, each column no further than k likes demand.

Nodes of the lattice are visited from cheap to dear. A tuple shared by k people who are not yet served is published for
all of them; the others wait for dearer nodes. Each group then shows the lowest common ancestors of its members, and
the dearest groups are mended by moving members to where they cost less. Nobody is suppressed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.forest import Forest, check_parts, compact
from discreet.anonymity.mending import Allowed, Groups
from discreet.kernel.classes import Classes
from discreet.kernel.hierarchy import Ints
from discreet.kernel.recoding import Recoding

Floats = NDArray[np.float64]
Rung = dict[int, int]
"""Levels of columns that rise together."""

MOST_NODES = 2**21
"""Larger lattices are thinned."""
EFFORT = 3 * 10**8
"""Groups may be looked at so many times, all in all, to mend them: about a second."""


def recode_locally(classes: Classes, *, k: int, allowed: Allowed | None = None, effort: int = EFFORT) -> Recoding:
    """Publish everybody in groups of at least k who look alike, at as little loss as can be found.

    `allowed` says which groups may be published besides, given the group of each class and the number of groups; those
    that may not are merged with their nearest.

    >>> from discreet.kernel import AnyValue, Widths
    >>> people = Classes.of(["sex", "age"], [("F", "30"), ("F", "31"), ("M", "30"), ("M", "58")],
    ...                     rules={"sex": AnyValue(), "age": Widths((10,))})
    >>> list(recode_locally(people, k=2).published.tuples())
    [('F', '[30, 40)'), ('M', '*')]
    """
    forest = Forest.of(classes)
    check_parts(forest, k)
    groups = Groups(forest, k, _served(forest, k))
    groups.fill()
    groups.mend(effort)
    if allowed is not None:
        groups.merge(allowed)
    return forest.published(compact(groups.member))


def _served(forest: Forest, k: int) -> Ints:
    """The group of each class; those left at the end, too few to share anything, are groups by themselves."""
    member, number = np.arange(len(forest.sizes)), len(forest.sizes)
    crowd, agenda = _Crowd.of(forest, k), _Agenda(forest)
    while len(crowd.rows) and (turn := agenda.next()) is not None:
        limit, node = turn
        found = crowd.shared(agenda.levels(node))
        if found is None:
            agenda.close(node, crowd.hopeless)
            continue
        now = found.cost <= limit
        if not now.all():
            agenda.reopen(node, int(found.cost[~now].min()))
        if now.any():
            served = now[found.member]
            member[crowd.rows[found.rows[served]]] = number + found.member[served]
            number, crowd = number + len(now), crowd.without(found.rows[served])
    return compact(member)


@dataclass(frozen=True, eq=False)
class _Shared:
    """Tuples that at least k people share."""

    rows: Ints
    """Who shares one."""
    member: Ints
    """Which one they share."""
    cost: Ints
    """What each costs."""


@dataclass(frozen=True, eq=False)
class _Crowd:
    """People who are not yet served."""

    forest: Forest
    k: int
    marks: Ints
    """Per level and node, what stands for its ancestor in keys."""
    rows: Ints
    leaves: Ints
    people: Floats

    @classmethod
    def of(cls, forest: Forest, k: int) -> _Crowd:
        rows = np.arange(len(forest.sizes))
        return cls(forest, k, _mixed(forest.above), rows, forest.leaves, forest.sizes.astype(np.float64))

    def without(self, rows: Ints) -> _Crowd:
        """Those who are still not served."""
        stays = np.ones(len(self.rows), dtype=bool)
        stays[rows] = False
        places = np.flatnonzero(stays)
        leaves = self.leaves.take(places, axis=1)
        return _Crowd(self.forest, self.k, self.marks, self.rows[places], leaves, self.people[places])

    def shared(self, levels: Sequence[int]) -> _Shared | None:
        """The tuples at these levels that k people share, or None."""
        keys = self._keys(levels)
        rows = self._likely(keys)
        if not len(rows):
            return None
        _, first, member = np.unique(keys[rows], return_index=True, return_inverse=True)
        full = np.bincount(member, self.people[rows]) >= self.k
        if not full.any():
            return None
        stays = full[member]
        return _Shared(rows[stays], (np.cumsum(full) - 1)[member[stays]], self._cost(levels, rows[first[full]]))

    def hopeless(self, levels: Sequence[int]) -> bool:
        """Whether surely no tuple at these levels is shared by k people."""
        return not len(self._likely(self._keys(levels)))

    def _keys(self, levels: Sequence[int]) -> Ints:
        """A number per class, equal where tuples are, and different where they are not but by a chance of 2**-64.

        Such a chance would cost detail, never anonymity: groups show what their members have in common.
        """
        keys = np.zeros(len(self.rows), dtype=np.int64)
        for level, summit, leaves in zip(levels, self.forest.summits, self.leaves, strict=True):
            if level < summit:
                keys += self.marks[level].take(leaves)
        return keys

    def _likely(self, keys: Ints) -> Ints:
        """Who may share a key with k people: all who do, and a few whose keys only begin alike."""
        bits = (4 * len(keys)).bit_length()
        slots = (keys.view(np.uint64) >> np.uint64(64 - bits)).view(np.int64)
        return np.flatnonzero(np.bincount(slots, self.people).take(slots) >= self.k)

    def _cost(self, levels: Sequence[int], rows: Ints) -> Ints:
        cost = np.zeros(len(rows), dtype=np.int64)
        for level, leaves in zip(levels, self.leaves, strict=True):
            cost += self.forest.cost[self.forest.above[level].take(leaves[rows])]
        return cost


def _mixed(numbers: Ints) -> Ints:
    """64 well mixed bits for each number: the finaliser of SplitMix (Steele, Lea, Flood 2014)."""
    bits = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).view(np.int64)


class _Agenda:
    """The nodes of the lattice from cheap to dear, but for those where nobody can share anything any more."""

    def __init__(self, forest: Forest) -> None:
        self.ladders, self.columns = _ladders(forest.classes.heights), len(forest.leaves)
        self.shape = tuple(map(len, self.ladders))
        costs = np.zeros((), dtype=np.int64)
        for ladder in self.ladders:
            costs = np.add.outer(costs, [_expected(forest, rung) for rung in ladder])
        self.costs, self.closed = costs.reshape(-1), np.zeros(self.shape, dtype=bool)
        self.order = np.argsort(self.costs, kind="stable")
        self.waiting: list[tuple[int, int]] = []
        self.position = self.failures = 0

    def next(self) -> tuple[int, int] | None:
        """The cost up to which people are served now, and the node where that may be."""
        closed = self.closed.reshape(-1)
        while self.position < len(self.order) and closed[self.order[self.position]]:
            self.position += 1
        fresh = int(self.order[self.position]) if self.position < len(self.order) else -1
        if self.waiting and (fresh < 0 or self.waiting[0][0] < self.costs[fresh]):
            return heapq.heappop(self.waiting)
        self.position += 1
        return None if fresh < 0 else (int(self.costs[fresh]), fresh)

    def reopen(self, node: int, cost: int) -> None:
        """Come back to a node when tuples of this cost have their turn."""
        heapq.heappush(self.waiting, (cost, node))

    def close(self, node: int, hopeless: Callable[[list[int]], bool]) -> None:
        """Nobody shares anything at a node, nor at any finer one.

        Looking how far up that holds costs a visit per column: done once in as many times, it costs no more than it saves.
        """
        rungs = self._rungs(node)
        self.failures += 1
        if self.failures % len(rungs) == 0:
            for place, rung in enumerate(rungs):
                rungs[place] = self.shape[place] - 1
                if rung < rungs[place] and not hopeless(self._levels(rungs)):
                    rungs[place] = rung
        self.closed[tuple(slice(rung + 1) for rung in rungs)] = True

    def levels(self, node: int) -> list[int]:
        """The level of each column at a node."""
        return self._levels(self._rungs(node))

    def _rungs(self, node: int) -> list[int]:
        return [int(rung) for rung in np.unravel_index(node, self.shape)]

    def _levels(self, rungs: Sequence[int]) -> list[int]:
        levels = [0] * self.columns
        for ladder, rung in zip(self.ladders, rungs, strict=True):
            for column, level in ladder[rung].items():
                levels[column] = level
        return levels


def _expected(forest: Forest, rung: Rung) -> int:
    """Halfway from the least to the mean cost: soon enough for most cheap tuples, and few visits are in vain."""
    costs = [forest.cost[forest.above[level][forest.leaves[column]]] for column, level in rung.items()]
    people = int(forest.sizes.sum())
    return sum(int(cost.min()) + int((cost * forest.sizes).sum()) // people for cost in costs) // 2


def _ladders(heights: Sequence[int], *, most: int = MOST_NODES) -> list[list[Rung]]:
    """The levels of each column; thinned, if need be, from inside, and then by letting columns rise together.

    >>> _ladders([2, 4], most=6), _ladders([2, 2], most=3)
    ([[{0: 0}, {0: 1}], [{1: 0}, {1: 1}, {1: 3}]], [[{0: 0, 1: 0}, {0: 1, 1: 1}]])
    """
    ladders = [[{place: level} for level in range(height)] for place, height in enumerate(heights)]
    while np.prod([float(len(ladder)) for ladder in ladders]) > most:
        highest = max(ladders, key=len)
        if len(highest) > 2:
            highest.pop(len(highest) // 2)
        else:
            first, second, *others = ladders
            ladders = [*others, [first[0] | second[0], first[-1] | second[-1]]]
    return ladders
