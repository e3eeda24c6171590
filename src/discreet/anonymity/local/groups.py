"""Groups of local recoding, improved by moving members, on a forest of hierarchies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel.arrays import Ints, Label, group, pack, total
from discreet.kernel.classes import Classes, Recoding
from discreet.kernel.hierarchy import Hierarchy

Allowed = Callable[[Ints, int], NDArray[np.bool_]]
NEVER = 2**63 - 1
GONE = -(2**61)
"""What an empty group has paid, so that no class joins it."""


class Groups:
    """Groups of classes, what each shows and what that costs, while they are being mended."""

    def __init__(self, forest: Forest, k: int, member: Ints) -> None:
        self.forest, self.sizes, self.k, self.work = forest, forest.sizes, k, 0
        # The classes of each group.
        stops = np.cumsum(np.bincount(member))[:-1]
        members = [rows.tolist() for rows in np.split(np.argsort(member, kind="stable"), stops)]
        self.member, self.members = member, members
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
                    # The group with which another is merged at least cost.
                    joint = self.bundles.joint(self.nodes[:, number], self.codes)
                    _, home = _least(joint * (self.people + self.people[number]) - self.paid, number)
                    if len(self.people) == 1 or not self.people[home] or joint[home] >= self.forest.cost[-1]:
                        raise UsageError(
                            "Even all people who can be published alike are no group that is allowed.",
                            remedy="Ask for less, or give columns hierarchies that end in one value for all.",
                        )
                    self.move(list(self.members[number]), home)

    def move(self, rows: Sequence[int], home: int) -> None:
        """Some classes of one group join another."""
        source, leaving = int(self.member[rows[0]]), set(rows)
        self.members[source] = [row for row in self.members[source] if row not in leaving]
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

    def _relieve(self, number: int) -> bool:
        """Dissolve a group, or let the member go whose leaving saves most, if either pays."""
        rows = self.members[number]
        added, homes = zip(*map(self._nearest, rows), strict=True)
        if sum(added) < self.paid[number]:
            # All members move, unless together they then cost more than they do here.
            touched = list(dict.fromkeys(homes))
            before = self.paid[number] + self.paid[touched].sum()
            for row, home in zip(rows, homes, strict=True):
                self.move([row], home)
            if self.paid[touched].sum() < before:
                return True
            for row in rows:
                self.move([row], number)
        left = self.people[number] - self.sizes[rows]
        # What a group would cost a head without each of its members.
        leaves = self.forest.leaves[:, rows]
        order = np.sort(leaves, axis=1)
        low = np.where(leaves == order[:, :1], order[:, 1:2], order[:, :1])
        high = np.where(leaves == order[:, -1:], order[:, -2:-1], order[:, -1:])
        without = np.asarray(self.forest.cost[self.forest.join(low, high)].sum(axis=0))
        gain = self.paid[number] - without * left - np.array(added)
        best = int(gain.argmax())
        if gain[best] <= 0:
            return False
        if left[best] < self.k:
            return self._swap(number, rows[best], homes[best], int(gain[best]))
        self.move([rows[best]], homes[best])
        return True

    def _swap(self, number: int, row: int, home: int, gain: int) -> bool:
        """One member goes and the class comes that joins the rest at least cost, if its own group can spare it."""
        self.work += self.leaves.size
        rest = [other for other in self.members[number] if other != row]
        nodes, people = self.forest.over(rest), self.sizes[rest].sum()
        joint = self.bundles.joint(nodes, self.leaves) * (people + self.sizes)
        added = joint - self.forest.cost[nodes].sum() * people - self.cost[self.member] * self.sizes
        spare = (self.people[self.member] - self.sizes >= self.k) & (people + self.sizes >= self.k)
        added[~spare | (self.member == number)] = NEVER
        comer = int(added.argmin())
        if added[comer] >= gain:
            return False
        self.move([row], home)
        self.move([comer], number)
        return True


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
        codes = np.zeros((len(self.bundles), *nodes.shape[1:]), dtype=np.int64)
        for bundle, columns in enumerate(self.bundles):
            for column in columns:
                codes[bundle] = codes[bundle] * self.widths[column] + nodes[column] - self.forest.starts[column]
        return codes

    def joint(self, nodes: Ints, codes: Ints) -> Ints:
        """What one tuple of nodes costs together with each of many tuples, given by their codes."""
        numbers = nodes.tolist()
        cost = np.zeros(codes.shape[1], dtype=np.int64)
        for bundle, code in zip(self.bundles, codes, strict=True):
            cost += self.row(bundle, tuple([numbers[column] for column in bundle])).take(code)
        return cost

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


# The hierarchies of all columns as one numbered forest, so that common ancestors are look-ups.
SCALE = 2**24
"""Costs are whole numbers of this part of a column, so that sums are exact and ties break alike everywhere."""


@dataclass(frozen=True, eq=False)
class Forest:
    """The hierarchies of all columns as one numbered set of nodes, those of a column in a row.

    Leaves are in the order of their ancestors: what many have in common is what the first and the last have in common.
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
            above = level[first]
            node = np.where(above == level[second], above, node)
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
    ordered = points[:, order]
    return np.minimum.reduceat(ordered, starts, axis=1), np.maximum.reduceat(ordered, starts, axis=1)


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
