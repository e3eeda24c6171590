"""Local recoding: every class of people is generalised by itself, each column no further than k likes demand.

Nodes of the lattice are visited from cheap to dear. A tuple shared by k people who are not yet served is published for
all of them; the others wait for dearer nodes. Each group then shows the lowest common ancestors of its members, and
the dearest groups are mended by moving members to where they cost less. Nobody is suppressed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel.classes import Classes
from discreet.kernel.hierarchy import Hierarchy, Ints, Label
from discreet.kernel.keys import group, pack, total
from discreet.kernel.recoding import Recoding

Allowed = Callable[[Ints, int], NDArray[np.bool_]]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rung = dict[int, int]
"""Levels of columns that rise together."""

SCALE = 2**24
"""Costs are whole numbers of this part of a column, so that sums are exact and ties break alike everywhere."""
MOST_NODES = 2**21
"""Larger lattices are thinned."""
EFFORT = 3 * 10**8
"""Groups may be looked at so many times, all in all, to mend them: about a second."""
NEVER = 2**63 - 1
GONE = -(2**61)
"""What an empty group has paid, so that nobody thinks of joining it."""


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
    groups = _Groups(forest, k, _served(forest, k))
    groups.fill()
    groups.mend(effort)
    if allowed is not None:
        groups.merge(allowed)
    return forest.published(compact(groups.member))


# What a recoding loses.


def loss_of(recoding: Recoding) -> float:
    """The share of detail that is lost, over all columns: `prod(1 + v)**(1/m) - 1`.

    Where intervals are published, the hierarchy does not say what lies in them: there the share of a value is that of
    the values in the data which its interval holds.

    >>> people = Classes.of(["sex"], [("F",), ("M",)], [5, 1])
    >>> loss_of(Recoding.of_levels(people, {"sex": 0}, kept=np.array([True, True])))
    0.0
    """
    factors = [1.0 + _column_loss(recoding, place) for place in range(len(recoding.names))]
    return float(np.prod(factors) ** (1 / max(len(factors), 1))) - 1.0


def _column_loss(recoding: Recoding, place: int) -> float:
    """v = max(0, (sum of shares + suppressed - N/n) / (N - N/n)), with N people and n leaves."""
    share, leaves = _shares(recoding, place)
    people, kept = recoding.classes.records, recoding.kept
    shares = float((share[recoding.codes[place]] * recoding.classes.sizes)[kept].sum())
    least = people / leaves
    return max(0.0, (shares + recoding.suppressed - least) / (people - least)) if leaves > 1 and people else 0.0


def _shares(recoding: Recoding, place: int) -> tuple[Floats, int]:
    """The share of the column that each published value stands for, and the number of leaves."""
    column, labels = recoding.classes.columns[place], recoding.labels[place]
    values, codes = _pairs(recoding.classes.codes[place], recoding.codes[place], len(labels))
    index, share = {label: code for code, label in enumerate(labels)}, np.full(len(values), -1.0)
    hierarchy = column.hierarchy
    for level in range(hierarchy.height - 1, column.level - 1, -1):
        above = hierarchy.map(column.level, level)[values]
        shown = np.array([index.get(label, -1) for label in hierarchy.labels[level]], dtype=np.int64)[above]
        share = np.where(shown == codes, hierarchy.leaves[level][above] / hierarchy.size, share)
    if (share < 0).any():
        return _interval_shares(column.labels, values, codes, len(labels)), len(column.labels)
    return _most(codes, share, len(labels)), hierarchy.size


def _interval_shares(labels: Sequence[Label], values: Ints, codes: Ints, shown: int) -> Floats:
    """The share of the values that lie between the least and the greatest with each published value."""
    numbers = as_numbers(labels)
    rank = np.arange(len(labels)) if numbers is None else np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
    low, high = -_most(codes, -rank[values], shown), _most(codes, rank[values], shown)
    return (high - low + 1) / len(labels)


def _pairs(values: Ints, codes: Ints, shown: int) -> tuple[Ints, Ints]:
    """The distinct pairs of a value and what it is published as."""
    pairs = np.unique(values * shown + codes)
    return pairs // shown, pairs % shown


def _most(codes: Ints, numbers: NDArray[np.generic], shown: int) -> Floats:
    """The greatest number with each code."""
    most = np.full(shown, -np.inf)
    np.maximum.at(most, codes, numbers)
    return most


def as_numbers(labels: Sequence[Label]) -> Floats | None:
    """The labels as numbers, if all of them are.

    >>> as_numbers(["1", "2.5"]), as_numbers(["1", "x"]), as_numbers(["1", None])
    (array([1. , 2.5]), None, None)
    """
    try:
        numbers = np.array([float(label) for label in labels if label is not None])
    except ValueError:
        return None
    return numbers if len(numbers) == len(labels) and np.isfinite(numbers).all() else None


# The hierarchies of all columns as one.


@dataclass(frozen=True, eq=False)
class Forest:
    """The hierarchies of all columns as one numbered set of nodes, those of a column in a row.

    Leaves lie in the order of their ancestors: what many have in common is what the first and the last have in common.
    """

    classes: Classes
    leaves: Ints
    """Per column, the leaf of each class."""
    above: Ints
    """Per level, the ancestor of each node; below its own level a node stands for itself, and tops repeat."""
    cost: Ints
    """Per node, how much of the column is lost; the entry at -1 is more than any real tuple can cost."""
    starts: tuple[int, ...]
    """Where the nodes of each column start, and where the last ones end."""
    labels: tuple[Label, ...]
    """Per node, its value."""

    @classmethod
    def of(cls, classes: Classes) -> Forest:
        """From the hierarchies of classes at their finest level."""
        if not classes.columns or any(column.level for column in classes.columns):
            raise UsageError("Recoding starts from columns at their finest level.", remedy="Count the table again.")
        trees = [_Tree(column.hierarchy) for column in classes.columns]
        starts = np.cumsum([0, *(len(tree.labels) for tree in trees)])
        leaves = [tree.place[codes] + start for tree, codes, start in zip(trees, classes.codes, starts, strict=False)]
        above = [tree.above(max(classes.heights)) + start for tree, start in zip(trees, starts, strict=False)]
        never = 2**61 // (max(classes.records, 1) * (len(trees) + 1))
        cost = np.concatenate([*(tree.cost for tree in trees), [never]])
        labels = tuple(label for tree in trees for label in tree.labels)
        return cls(classes, np.array(leaves), np.concatenate(above, axis=1), cost, tuple(starts.tolist()), labels)

    @property
    def sizes(self) -> Ints:
        """People per class."""
        return self.classes.sizes

    @cached_property
    def tops(self) -> Ints:
        """Per column, the top of each class."""
        return np.asarray(self.above[-1][self.leaves])

    @cached_property
    def summits(self) -> tuple[int, ...]:
        """Per column, the level from which on all people share one value; the height of the forest if there is none."""
        ends = zip(self.leaves.min(axis=1), self.leaves.max(axis=1), strict=True)
        return tuple(int((self.above[:, low] != self.above[:, high]).sum()) for low, high in ends)

    @cached_property
    def looks(self) -> Ints:
        """Per node, the first node of its column with the same label: who sees the label cannot tell them apart."""
        first: dict[tuple[int, Label], int] = {}
        columns = np.repeat(np.arange(len(self.leaves)), np.diff(self.starts)).tolist()
        pairs = enumerate(zip(columns, self.labels, strict=True))
        return np.array([first.setdefault(pair, node) for node, pair in pairs], dtype=np.int64)

    def join(self, first: Ints, second: Ints) -> Ints:
        """The lowest common ancestors, -1 where there is none."""
        node = np.full(np.broadcast_shapes(first.shape, second.shape), -1, dtype=np.int64)
        for level in self.above[::-1]:
            mine = level[first]
            node = np.where(mine == level[second], mine, node)
        return node

    def over(self, rows: Sequence[int]) -> Ints:
        """Per column, the lowest common ancestor of some classes."""
        leaves = self.leaves[:, rows]
        return self.join(leaves.min(axis=1), leaves.max(axis=1))

    def shown(self, member: Ints) -> Ints:
        """Per column, the lowest common ancestor of the classes of each group."""
        return self.join(*ends(self.leaves, member))

    def published(self, member: Ints) -> Recoding:
        """What is published when everybody shows what their group has in common."""
        columns = [numbered([self.labels[node] for node in column.tolist()]) for column in self.shown(member)]
        codes = tuple(codes[member] for _, codes in columns)
        return Recoding(self.classes, tuple(labels for labels, _ in columns), codes, np.ones(len(member), dtype=bool))


@dataclass(frozen=True, eq=False)
class _Tree:
    """One hierarchy with its leaves in the order of their ancestors, and its nodes numbered from them upwards."""

    hierarchy: Hierarchy

    @cached_property
    def order(self) -> Ints:
        """The value at each place among the leaves."""
        return np.lexsort([self.hierarchy.map(0, level) for level in range(self.hierarchy.height)])

    @cached_property
    def place(self) -> Ints:
        """The place of each value."""
        return np.argsort(self.order, kind="stable")

    @cached_property
    def labels(self) -> list[Label]:
        first, *others = self.hierarchy.labels
        return [*(first[code] for code in self.order.tolist()), *(label for level in others for label in level)]

    @property
    def cost(self) -> Ints:
        """(share - 1/n) / (1 - 1/n) of each node, with n leaves in the whole hierarchy."""
        leaves = np.concatenate([self.hierarchy.leaves[0][self.order], *self.hierarchy.leaves[1:]])
        return np.rint(SCALE * (leaves - 1) / max(self.hierarchy.size - 1, 1)).astype(np.int64)

    def above(self, height: int) -> Ints:
        """Per level, the ancestor of each node."""
        levels = [np.arange(len(self.labels))]
        starts = np.cumsum([0, *map(len, self.hierarchy.labels)]).tolist()
        for (start, stop), parents in zip(pairwise(starts), self.hierarchy.parents, strict=False):
            parent = np.arange(len(self.labels))
            parent[start:stop] = stop + (parents if start else parents[self.order])
            levels.append(parent[levels[-1]])
        return np.array([*levels, *[levels[-1]] * (height - len(levels))])


def check_parts(forest: Forest, k: int, places: Sequence[int] | None = None) -> Ints:
    """The sets of classes that share no value with others on some columns; raise if one holds fewer than k people."""
    people = int(forest.sizes.sum())
    if not 1 <= k <= people:
        raise UsageError(f"k is {k}, and there are {people} people.", remedy="Give a k from 1 up to that number.")
    places = range(len(forest.leaves)) if places is None else places
    part = alike(forest.tops[places])
    small = int((total(part, forest.sizes, int(part.max()) + 1) < k).sum())
    if small:
        loose = [forest.classes.names[place] for place in places if np.ptp(forest.tops[place])]
        raise UsageError(
            f"{small} sets of fewer than {k} people have no value in common with others on {', '.join(loose)}.",
            remedy="Give these columns hierarchies that end in one value for all.",
        )
    return part


def ends(points: Ints, member: Ints) -> tuple[Ints, Ints]:
    """Per row of points, the least and the greatest of each group."""
    order = np.argsort(member, kind="stable")
    starts = np.flatnonzero(np.diff(member[order], prepend=-1))
    mine = points[:, order]
    return np.minimum.reduceat(mine, starts, axis=1), np.maximum.reduceat(mine, starts, axis=1)


def alike(nodes: Ints) -> Ints:
    """A number per column of a matrix, equal where columns are.

    >>> alike(np.array([[7, 7, 9], [3, 3, 3]])).tolist()
    [0, 0, 1]
    """
    places = nodes - nodes.min(axis=1, keepdims=True)
    return group(*pack(list(places), (places.max(axis=1) + 1).tolist(), nodes.shape[1]))[1]


def compact(member: Ints) -> Ints:
    """The same groups numbered without gaps."""
    return np.unique(member, return_inverse=True)[1].reshape(-1)


def numbered(labels: Sequence[Label]) -> tuple[tuple[Label, ...], Ints]:
    """The distinct labels, and the place of each among them.

    >>> numbered(["a", None, "a"])
    (('a', None), array([0, 1, 0]))
    """
    index: dict[Label, int] = {}
    codes = [index.setdefault(label, len(index)) for label in labels]
    return tuple(index), np.array(codes, dtype=np.int64)


# From cheap to dear: who shares a tuple with k.


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


# Mending: members move to where they cost less.


class _Groups:
    """Groups of classes, what each shows and what that costs, while they are being mended."""

    def __init__(self, forest: Forest, k: int, member: Ints) -> None:
        self.forest, self.sizes, self.k, self.work = forest, forest.sizes, k, 0
        self.member, self.members = member, _members(member)
        self.people = total(member, forest.sizes, len(self.members))
        self.nodes, self.bundles = forest.shown(member), _Bundles(forest)
        self.cost = forest.cost[self.nodes].sum(axis=0)
        self.paid = self.cost * self.people
        self.codes, self.leaves = self.bundles.code(self.nodes), self.bundles.code(forest.leaves)

    def fill(self) -> None:
        """No group of fewer than k people remains."""
        for small in np.flatnonzero(self.people < self.k).tolist():
            if self.people[small] < self.k:
                for row in list(self.members[small]):
                    self.move([row], self._nearest(row)[1])

    def mend(self, effort: int) -> None:
        """The dearest groups first, until nothing helps or the effort is spent."""
        better = True
        while better and self.work < effort:
            better = False
            for number in np.argsort(-self.cost, kind="stable").tolist():
                while self.cost[number] and self.work < effort and self._relieve(number):
                    better = True

    def merge(self, allowed: Allowed) -> None:
        """Groups that are not allowed join their nearest until all are, seen as they look when published."""
        while True:
            looks = alike(self.forest.looks[self.nodes])
            looks = compact(looks[self.member])
            bad = ~allowed(looks, int(looks.max()) + 1)[looks]
            if not bad.any():
                return
            for number in np.unique(self.member[bad]).tolist():
                if self.people[number]:
                    self.move(list(self.members[number]), self._neighbour(number))

    def move(self, rows: Sequence[int], home: int) -> None:
        """Some classes of one group join another."""
        source = int(self.member[rows[0]])
        self.members[source] = [row for row in self.members[source] if row not in rows]
        self.members[home].extend(rows)
        self.member[rows] = home
        self._settle(source)
        self._settle(home)

    def _settle(self, number: int) -> None:
        rows = self.members[number]
        self.people[number] = self.sizes[rows].sum()
        if not rows:
            self.cost[number], self.paid[number] = 0, GONE
            return
        self.nodes[:, number] = nodes = self.forest.over(rows)
        self.codes[:, number] = self.bundles.code(nodes)
        self.cost[number] = self.forest.cost[nodes].sum()
        self.paid[number] = self.cost[number] * self.people[number]

    def _nearest(self, row: int) -> tuple[int, int]:
        """What it costs at least if a class joins another group, and which."""
        self.work += self.codes.size
        joint = self.bundles.joint(self.forest.leaves[:, row], self.codes)
        return _least(joint * (self.people + self.sizes[row]) - self.paid, self.member[row])

    def _neighbour(self, number: int) -> int:
        """The group with which another is merged at least cost."""
        joint = self.bundles.joint(self.nodes[:, number], self.codes)
        _, home = _least(joint * (self.people + self.people[number]) - self.paid, number)
        if len(self.people) == 1 or not self.people[home] or joint[home] >= self.forest.cost[-1]:
            raise UsageError(
                "Even all people who can be published alike are no group that is allowed.",
                remedy="Ask for less, or give columns hierarchies that end in one value for all.",
            )
        return home

    def _relieve(self, number: int) -> bool:
        """Dissolve a group, or let the member go whose leaving saves most, if either pays."""
        rows = self.members[number]
        added, homes = zip(*map(self._nearest, rows), strict=True)
        if sum(added) < self.paid[number] and self._dissolve(number, homes):
            return True
        left = self.people[number] - self.sizes[rows]
        gain = self.paid[number] - self._without(rows) * left - np.array(added)
        best = int(gain.argmax())
        if gain[best] <= 0:
            return False
        if left[best] < self.k:
            return self._swap(number, rows[best], homes[best], int(gain[best]))
        self.move([rows[best]], homes[best])
        return True

    def _without(self, rows: list[int]) -> Ints:
        """What a group would cost a head without each of its members."""
        mine = self.forest.leaves[:, rows]
        order = np.sort(mine, axis=1)
        low = np.where(mine == order[:, :1], order[:, 1:2], order[:, :1])
        high = np.where(mine == order[:, -1:], order[:, -2:-1], order[:, -1:])
        return np.asarray(self.forest.cost[self.forest.join(low, high)].sum(axis=0))

    def _dissolve(self, number: int, homes: Sequence[int]) -> bool:
        """All members move, unless together they then cost more than they do here."""
        rows, touched = self.members[number], list(dict.fromkeys(homes))
        before = self.paid[number] + self.paid[touched].sum()
        for row, home in zip(rows, homes, strict=True):
            self.move([row], home)
        if self.paid[touched].sum() < before:
            return True
        for row in rows:
            self.move([row], number)
        return False

    def _swap(self, number: int, row: int, home: int, gain: int) -> bool:
        """One member goes and a class comes that its own group can spare, if that pays."""
        comer, added = self._comer(number, [one for one in self.members[number] if one != row])
        if added >= gain:
            return False
        self.move([row], home)
        self.move([comer], number)
        return True

    def _comer(self, number: int, rest: list[int]) -> tuple[int, int]:
        """The class that joins what is left of a group at least cost, and that cost."""
        self.work += self.leaves.size
        nodes, people = self.forest.over(rest), self.sizes[rest].sum()
        joint = self.bundles.joint(nodes, self.leaves) * (people + self.sizes)
        added = joint - self.forest.cost[nodes].sum() * people - self.cost[self.member] * self.sizes
        spare = (self.people[self.member] - self.sizes >= self.k) & (people + self.sizes >= self.k)
        added[~spare | (self.member == number)] = NEVER
        comer = int(added.argmin())
        return comer, int(added[comer])


def _members(member: Ints) -> list[list[int]]:
    """The classes of each group."""
    stops = np.cumsum(np.bincount(member))[:-1]
    return [rows.tolist() for rows in np.split(np.argsort(member, kind="stable"), stops)]


def _least(added: Ints, but: int) -> tuple[int, int]:
    """The least of some costs, but for one place, and where it is."""
    added[but] = NEVER
    place = int(added.argmin())
    return int(added[place]), place


class _Bundles:
    """Columns with few nodes side by side in one code, so that one look-up answers for several of them."""

    def __init__(self, forest: Forest, *, most: int = 8192) -> None:
        self.forest, self.widths = forest, np.diff(forest.starts).tolist()
        self.bundles = _bundled(self.widths, most)
        self.row = lru_cache(maxsize=1024)(self._row)

    def code(self, nodes: Ints) -> Ints:
        """Per bundle, one code for the nodes of its columns."""
        return np.array([self._code(bundle, nodes) for bundle in self.bundles])

    def joint(self, nodes: Ints, codes: Ints) -> Ints:
        """What one tuple of nodes costs together with each of many tuples, given by their codes."""
        numbers = nodes.tolist()
        cost = np.zeros(codes.shape[1], dtype=np.int64)
        for bundle, code in zip(self.bundles, codes, strict=True):
            cost += self.row(bundle, tuple([numbers[column] for column in bundle])).take(code)
        return cost

    def _code(self, bundle: tuple[int, ...], nodes: Ints) -> Ints:
        code = np.zeros(nodes.shape[1:], dtype=np.int64)
        for column in bundle:
            code = code * self.widths[column] + nodes[column] - self.forest.starts[column]
        return code

    def _row(self, bundle: tuple[int, ...], nodes: tuple[int, ...]) -> Ints:
        """What some nodes cost together with those behind each code of their bundle."""
        cost = np.zeros(1, dtype=np.int64)
        for column, node in zip(bundle, nodes, strict=True):
            others = np.arange(self.forest.starts[column], self.forest.starts[column + 1])
            cost = np.add.outer(cost, self.forest.cost[self.forest.join(np.array(node), others)]).reshape(-1)
        return cost


def _bundled(widths: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Columns in bundles of at most so many codes, but for columns that alone have more.

    >>> _bundled([3, 50, 2], 10)
    [(2, 0), (1,)]
    """
    bundles: list[tuple[int, ...]] = []
    codes = most
    for column in sorted(range(len(widths)), key=widths.__getitem__):
        if codes * widths[column] > most or not bundles:
            bundles, codes = [*bundles, ()], 1
        bundles[-1] += (column,)
        codes *= widths[column]
    return bundles
