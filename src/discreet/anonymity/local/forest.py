"""Forest of hierarchies: all columns as one numbered set of nodes, and recodings made of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.anonymity.local.acceptance import Allowed
from discreet.errors import Unsatisfiable, UsageError
from discreet.kernel.arrays import Flags, Ints, Label, group, pack, total
from discreet.kernel.classes import Classes, Recoding
from discreet.kernel.hierarchy import Hierarchy

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
        heaviest = max(column.weight for column in classes.columns)
        trees = [_Tree(column.hierarchy, column.weight / heaviest) for column in classes.columns]
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
    def roots(self) -> Ints:
        """Per column, the node that costs most: what a suppressed person loses."""
        spans = pairwise(self.starts)
        return np.array([start + int(self.cost[start:stop].argmax()) for start, stop in spans], dtype=np.int64)

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
        node = np.array(-1)
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

    def published(self, member: Ints, kept: Flags) -> Recoding:
        """What is published when everybody who is kept shows what their group has in common."""
        nodes = self.join(*ends(self.leaves[:, kept], compact(member[kept])))
        columns = [numbered([self.labels[node] for node in column.tolist()]) for column in nodes]
        return spread_out(self.classes, columns, compact(member[kept]), kept)


@dataclass(frozen=True, eq=False)
class _Tree:
    """One hierarchy with its leaves in the order of their ancestors, and its nodes numbered from them upwards."""

    hierarchy: Hierarchy
    weight: float
    """What its detail is worth beside that of the heaviest column."""

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
        return np.rint(SCALE * self.weight * (leaves - 1) / max(self.hierarchy.size - 1, 1)).astype(np.int64)

    def above(self, height: int) -> Ints:
        """Per level, the ancestor of each node."""
        levels = [np.arange(len(self.labels))]
        starts = np.cumsum([0, *map(len, self.hierarchy.labels)]).tolist()
        for (start, stop), parents in zip(pairwise(starts), self.hierarchy.parents, strict=False):
            parent = np.arange(len(self.labels))
            parent[start:stop] = stop + (parents if start else parents[self.order])
            levels.append(parent[levels[-1]])
        return np.array([*levels, *[levels[-1]] * (height - len(levels))])


def spread_out(
    classes: Classes, columns: Sequence[tuple[tuple[Label, ...], Ints]], member: Ints, kept: Flags
) -> Recoding:
    """The recoding that publishes, per column, a label for each group of the classes that are kept."""
    codes = []
    for _, of_group in columns:
        column = np.zeros(len(kept), dtype=np.int64)
        column[kept] = of_group[member]
        codes.append(column)
    return Recoding(classes, tuple(labels for labels, _ in columns), tuple(codes), kept)


def without(
    classes: Classes,
    kept: Flags,
    recode: Callable[..., Recoding],
    *,
    suppressible: int,
    asked: dict[str, Allowed | None],
    **options: Any,
) -> Recoding:
    """The recoding of some of the classes as one of all, with the others suppressed.

    What is `asked` about groups, by name, is asked about classes among all.
    """
    rows = np.flatnonzero(kept)
    if not len(rows):
        return Recoding(classes, tuple(column.labels for column in classes.columns), classes.codes, kept)

    def among(ask: Allowed) -> Allowed:
        return lambda chosen, member, groups: ask(rows[chosen], member, groups)

    suppressible -= int(classes.sizes[~kept].sum())
    options |= {name: None if ask is None else among(ask) for name, ask in asked.items()}
    inner = recode(classes.keep(kept), suppressible=suppressible, **options)
    published = kept.copy()
    published[rows] = inner.kept
    columns = [(labels, codes) for labels, codes in zip(inner.labels, inner.codes, strict=True)]
    return spread_out(classes, columns, np.flatnonzero(inner.kept), published)


def parts(
    forest: Forest,
    k: int,
    places: Sequence[int] | None = None,
    *,
    allowed: Allowed | None = None,
    suppressible: int = 0,
) -> tuple[Ints, Flags]:
    """The sets of classes that share no value with others on some columns, and which classes can be published.

    Raises where more people than may be suppressed are in sets that are too small or not allowed.
    """
    people = int(forest.sizes.sum())
    if not 1 <= k <= people:
        raise UsageError(f"k is {k}, and there are {people} people.", remedy="Give a k from 1 up to that number.")
    places = range(len(forest.leaves)) if places is None else places
    part = alike(forest.tops[places])
    number = int(part.max()) + 1
    small = total(part, forest.sizes, number) < k
    refused = small if allowed is None else small | ~allowed(np.arange(len(part)), part, number)
    if int(forest.sizes[refused[part]].sum()) > suppressible:
        loose = [forest.classes.names[place] for place in places if np.ptp(forest.tops[place])]
        if not loose:
            raise Unsatisfiable(
                "Even all people together are no group that is allowed.",
                remedy="Ask for less, or allow more suppression.",
            )
        what = f"of fewer than {k} people" if small.any() else "of people that are not allowed"
        raise Unsatisfiable(
            f"{int(refused.sum())} sets {what} have no value in common with others on {', '.join(loose)}.",
            remedy="Give these columns hierarchies that end in one value for all, or allow more suppression.",
        )
    return part, ~refused[part]


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
