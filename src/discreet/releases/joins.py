"""What recipients learn who join copies of different generalisation on the other columns, row by row.

A row that is in both copies shows the finer value of each column: the meet of the two nodes. A row that is in one copy
only shows that it was left out of the other. Each such group must have at least k people, or the join has undone what
both copies promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Ints, group, total

Node = tuple[int, ...]


@dataclass(frozen=True)
class Breach:
    """Two nodes whose copies must not be joined."""

    first: Node
    second: Node
    people: int
    """People who are among fewer than k look-alikes once both copies are joined."""
    joined: int
    """People who are in at least one of the two copies."""

    def words(self, names: Sequence[str]) -> str:
        """The breach for people."""
        one, other = (", ".join(map("{} {}".format, names, node)) for node in (self.first, self.second))
        return (
            f"a recipient who joins the copy at levels ({one}) with the one at levels ({other}) sees {self.people:,} of "
            f"{self.joined:,} people among fewer look-alikes than promised"
        )


def meet(nodes: Sequence[Node]) -> Node:
    """The finest level of each column: what copies at these nodes show together.

    >>> meet([(0, 2), (1, 1)])
    (0, 1)
    """
    return tuple(map(min, zip(*nodes, strict=True)))


def breaches(classes: Classes, nodes: Sequence[Node], k: int) -> list[Breach]:
    """Every pair of nodes whose joined copies show people among fewer than k, each copy leaving out its own.

    >>> from discreet.kernel import AnyValue
    >>> people = Classes.of(["sex", "age"], [("F", "30"), ("F", "40"), ("M", "30"), ("M", "40")],
    ...                     rules={"sex": AnyValue(), "age": AnyValue()})
    >>> [breach.people for breach in breaches(people, [(0, 1), (1, 0)], 2)]
    [4]
    """
    shown = [(node, _places(classes, node, k)) for node in nodes]
    pairs = []
    for (first, places), (second, other_places) in combinations(shown, 2):
        small, joined = _below(classes, places, other_places, k)
        if small:
            pairs.append(Breach(first, second, small, joined))
    return pairs


def exposed(classes: Classes, nodes: Sequence[Node], k: int) -> int:
    """People among fewer than k look-alikes once the copies at all of these nodes are joined."""
    shown = [_places(classes, node, k) for node in nodes]
    together = shown[0]
    for places in shown[1:]:
        pairs = together * (int(places.max(initial=0)) + 1) + places
        # People in no copy stay 0: they are in none of the groups.
        _, renamed = np.unique(np.concatenate([[0], pairs]), return_inverse=True)
        together = renamed[1:]
    return _below(classes, together, np.zeros_like(together), k)[0]


def _places(classes: Classes, node: Node, k: int) -> Ints:
    """The class of each tuple at a node, or 0 where it is left out."""
    keys = np.zeros(len(classes), dtype=np.int64)
    for column, codes, level in zip(classes.columns, classes.codes, node, strict=True):
        upper = column.hierarchy.map(column.level, level)[codes]
        _, keys = np.unique(keys * len(column.hierarchy.labels[level]) + upper, return_inverse=True)
    sizes = total(keys, classes.sizes, int(keys.max(initial=-1)) + 1)
    return np.where(sizes[keys] >= k, keys + 1, 0)


def _below(classes: Classes, one: Ints, other: Ints, k: int) -> tuple[int, int]:
    """People in groups of fewer than k, and people in either copy."""
    seen = (one > 0) | (other > 0)
    bound = int(other.max(initial=0)) + 1
    _, member, groups = group((one * bound + other)[seen], (int(one.max(initial=0)) + 1) * bound)
    sizes = total(member, classes.sizes[seen], groups)
    return int(sizes[sizes < k].sum()), int(sizes.sum())
