"""Local recoding: every class generalised by itself, no further than k demands.

Nodes of the lattice are visited from cheap to dear. A tuple shared by k people who are not yet served is published for
all of them; the others wait for dearer nodes. Where a lattice is too large for that, tuples are grown from single
people by joining their nearest. Each group then shows the lowest common ancestors of its members, and the dearest
groups are mended by moving members to where they cost less. With requirements on sensitive columns, groups that violate
them join their nearest; people cut along hierarchies from the top are tried as well, and what loses less is published.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from discreet.anonymity.local.acceptance import Allowed
from discreet.anonymity.local.forest import Forest, compact, parts, without
from discreet.anonymity.local.groups import NEVER, Groups
from discreet.anonymity.local.mondrian import boxes, branches
from discreet.anonymity.result import loss_of
from discreet.errors import Unsatisfiable
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.classes import Classes, Recoding

MOST_NODES = 2**22
"""Larger lattices are not visited at all."""
VISITING = 2 * 10**9
"""So many values may be looked at while nodes are visited; most tables need less than half of it."""
BLOCK = 2**12
"""Classes among which tuples are grown."""
EFFORT = 3 * 10**8
"""So many values may be looked at while groups are mended: about a second."""


def recode_locally(
    classes: Classes,
    *,
    k: int,
    allowed: Allowed | None = None,
    enough: Allowed | None = None,
    suppressible: int = 0,
    start: Ints | None = None,
    effort: int = EFFORT,
) -> Recoding:
    """Publish people in groups of at least k who look alike, at as little loss as can be found.

    `allowed` says which groups may be published besides, and `enough` which of them are of k people where classes count
    rows. At most `suppressible` people or rows are left out, where that costs less than to publish them. `start` is the
    group of each class in groups that are known to be allowed, where all people together may not be.

    >>> from discreet.kernel import AnyValue, Widths
    >>> people = Classes.of(["sex", "age"], [("F", "30"), ("F", "31"), ("M", "30"), ("M", "58")],
    ...                     rules={"sex": AnyValue(), "age": Widths((10,))})
    >>> list(recode_locally(people, k=2).published.tuples())
    [('F', '[30, 40)'), ('M', '*')]
    """
    forest = Forest.of(classes)
    part, kept = start, np.ones(len(classes), dtype=bool)
    if part is None:
        part, kept = parts(forest, k, allowed=allowed, suppressible=suppressible)
    if not kept.all():
        asked = {"allowed": allowed, "enough": enough}
        return without(classes, kept, recode_locally, suppressible=suppressible, asked=asked, k=k, effort=effort)
    groups = _grouped(forest, k, suppressible, enough)
    groups.mend(effort)
    if allowed is None:
        return forest.published(groups.member, groups.kept)
    cut = Groups(forest, k, boxes(branches(forest), forest.sizes, part, k, allowed=allowed), suppressible)
    recodings = []
    for found in (groups, cut):
        # Where people are suppressed, the others may be left without a group that is allowed: then the other way is taken.
        with suppress(Unsatisfiable):
            found.merge(allowed)
            found.mend(effort)
            found.merge(allowed)
            recodings.append(forest.published(found.member, found.kept))
    if not recodings:
        everybody = Groups(forest, k, part)
        everybody.merge(allowed)
        recodings.append(forest.published(everybody.member, everybody.kept))
    return min(recodings, key=loss_of)


def _grouped(forest: Forest, k: int, suppressible: int, enough: Allowed | None) -> Groups:
    """Groups of at least k people, from cheap to dear."""
    served = _Served(len(forest.sizes))
    if math.prod(forest.classes.heights) <= MOST_NODES:
        _visit(_Unserved.of(forest, k, enough), _Agenda(forest), served)
    groups = Groups(forest, k, compact(served.member), suppressible, enough=enough)
    rows = served.left
    if forest.sizes[rows].sum() >= k:
        # In blocks of classes that agree where it costs most to differ.
        rise = [_expected(forest, place, min(1, height - 1)) for place, height in enumerate(forest.classes.heights)]
        order = np.lexsort(forest.leaves[np.argsort(rise, kind="stable")][:, rows])
        for start in range(0, len(rows), BLOCK):
            _grow(_Block(groups, rows[order[start : start + BLOCK]]), served)
        groups = Groups(forest, k, compact(served.member), suppressible, enough=enough)
    # Those left at the end, too few to share anything, are groups by themselves until they are filled.
    groups.fill()
    return groups


class _Served:
    """Who is in which group so far; those in none are alone."""

    def __init__(self, classes: int) -> None:
        self.member, self.number = np.arange(classes), classes

    @property
    def left(self) -> Ints:
        """Who is in none."""
        return np.flatnonzero(self.member < len(self.member))

    def add(self, rows: Ints, member: Ints) -> None:
        """More groups, numbered from 0 by themselves."""
        self.member[rows] = self.number + member
        self.number += int(member.max()) + 1


# From cheap to dear: who shares a tuple with k.


def _visit(people: _Unserved, agenda: _Agenda, served: _Served) -> None:
    """Nodes from cheap to dear, until nobody is left who shares anything, or it takes too long."""
    work = 0
    while len(people.rows) and work < VISITING and (turn := agenda.next()) is not None:
        limit, node = turn
        work += people.leaves.size
        shared = people.shared(agenda.levels(node))
        if shared is None:
            agenda.close(node, people.hopeless)
            continue
        rows, member, cost = shared
        now = cost <= limit
        if not now.all():
            agenda.reopen(node, int(cost[~now].min()))
        if now.any():
            served_now = now[member]
            served.add(people.rows[rows[served_now]], member[served_now])
            people = people.without(rows[served_now])


@dataclass(frozen=True, eq=False)
class _Unserved:
    """People who are not yet served."""

    forest: Forest
    k: int
    marks: Ints
    """Per level and node, what stands for its ancestor in keys."""
    rows: Ints
    leaves: Ints
    people: Floats
    enough: Allowed | None

    @classmethod
    def of(cls, forest: Forest, k: int, enough: Allowed | None) -> _Unserved:
        # 64 well mixed bits for each number: the finaliser of SplitMix (Steele, Lea, Flood 2014).
        bits = (forest.above.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        marks = (bits ^ (bits >> np.uint64(31))).view(np.int64)
        rows = np.arange(len(forest.sizes))
        return cls(forest, k, marks, rows, forest.leaves, forest.sizes.astype(np.float64), enough)

    def without(self, rows: Ints) -> _Unserved:
        """Those who are still not served."""
        stays = np.ones(len(self.rows), dtype=bool)
        stays[rows] = False
        places = np.flatnonzero(stays)
        leaves = self.leaves.take(places, axis=1)
        return replace(self, rows=self.rows[places], leaves=leaves, people=self.people[places])

    def shared(self, levels: Sequence[int]) -> tuple[Ints, Ints, Ints] | None:
        """The tuples at these levels that k people share: who shares one, which one, and what each costs."""
        keys = self._keys(levels)
        rows = self._likely(keys)
        _, first, member = np.unique(keys[rows], return_index=True, return_inverse=True)
        full = np.bincount(member, self.people[rows]) >= self.k
        if self.enough is not None and len(rows):
            full &= self.enough(self.rows[rows], member.reshape(-1), len(full))
        if not full.any():
            return None
        stays, cost = full[member], np.zeros(int(full.sum()), dtype=np.int64)
        for level, leaves in zip(levels, self.leaves, strict=True):
            cost += self.forest.cost[self.forest.above[level].take(leaves[rows[first[full]]])]
        return rows[stays], (np.cumsum(full) - 1)[member[stays]], cost

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


class _Agenda:
    """The nodes of the lattice from cheap to dear, but for those where nobody can share anything any more."""

    def __init__(self, forest: Forest) -> None:
        self.shape = forest.classes.heights
        costs = np.zeros((), dtype=np.int64)
        for place, height in enumerate(self.shape):
            costs = np.add.outer(costs, [_expected(forest, place, level) for level in range(height)])
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
        levels = self.levels(node)
        self.failures += 1
        if self.failures % len(levels) == 0:
            for place, level in enumerate(levels):
                levels[place] = self.shape[place] - 1
                if level < levels[place] and not hopeless(levels):
                    levels[place] = level
        self.closed[tuple(slice(level + 1) for level in levels)] = True

    def levels(self, node: int) -> list[int]:
        """The level of each column at a node."""
        return [int(level) for level in np.unravel_index(node, self.shape)]


def _expected(forest: Forest, place: int, level: int) -> int:
    """Halfway from the least to the mean cost: soon enough for most cheap tuples, and few visits are in vain."""
    cost = forest.cost[forest.above[level][forest.leaves[place]]]
    return (int(cost.min()) + int((cost * forest.sizes).sum()) // int(forest.sizes.sum())) // 2


# Where the lattice is too large: tuples that grow from single people.


def _grow(pool: _Block, served: _Served) -> None:
    """Publish the cheapest of the tuples grown from each class; those that lost members by that are grown again."""
    waiting = [(0, row) for row in sorted(pool.rows.tolist())]
    tuples: dict[int, Ints] = {}
    while waiting:
        _, row = heapq.heappop(waiting)
        rows = tuples.pop(row, None)
        if not pool.left[row]:
            continue
        if rows is not None and pool.left[rows].all():
            pool.remove(rows)
            served.add(rows, np.zeros(len(rows), dtype=np.int64))
        elif (grown := pool.grown(row)) is not None:
            cost, tuples[row] = grown
            heapq.heappush(waiting, (cost, row))


class _Block:
    """People of one block who are not yet served."""

    def __init__(self, groups: Groups, rows: Ints) -> None:
        self.forest, self.k, self.groups = groups.forest, groups.k, groups
        self.left = np.zeros(len(groups.sizes), dtype=bool)
        self.left[rows] = True
        self._hold(rows)

    def _hold(self, rows: Ints) -> None:
        self.rows, self.people, self.codes = rows, self.groups.sizes[rows], self.groups.leaves[:, rows]

    def remove(self, rows: Ints) -> None:
        """Some people are served."""
        self.left[rows] = False
        stays = self.left[self.rows]
        if 4 * int(stays.sum()) < 3 * len(stays):
            self._hold(self.rows[stays])

    def grown(self, row: int) -> tuple[int, Ints] | None:
        """A class joined with its nearest until k people share a tuple: what that costs, and who they are."""
        nodes, gone = self.forest.leaves[:, row], ~self.left[self.rows]
        cost = int(self.forest.cost[nodes].sum())
        while True:
            joint = self.groups.bundles.joint(nodes, self.codes)
            joint[gone] = NEVER
            inside = (joint == cost).nonzero()[0]
            if self.people[inside].sum() >= self.k and self.groups.allows([self.rows[inside]]):
                return cost, self.rows[inside]
            joint[inside] = NEVER
            nearest = int(joint.argmin())
            cost = int(joint[nearest])
            if cost >= self.forest.cost[-1]:
                return None
            nodes = self.forest.join(nodes, self.forest.leaves[:, self.rows[nearest]])
