"""The hierarchies of all columns as one numbered forest, so that common ancestors are look-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Ints, Label, group, pack, total
from discreet.kernel.classes import Classes, Recoding
from discreet.kernel.hierarchy import Hierarchy

SCALE = 2**24
"""Costs are whole numbers of this part of a column, so that sums are exact and ties break alike everywhere."""


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
