"""Tuples of a table, grouped for counting: what a node comes to, without rewriting a single tuple.

Columns are put into a few groups, and each tuple holds one number per group: which of the combinations that occur it
has. At a node, a small table per group says which combinations have become alike; the sum of what these tables say is
the key of the tuple. A class is represented by any of its tuples. Where nodes are often asked for that agree in their
first columns, the tuples are merged once as far as those columns allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.lattice.problem import LatticeProblem, Node, derived
from discreet.kernel.arrays import Floats, Ints, by_digits, group, pack

COMBINATIONS = 2**12
"""A group holds columns of at most so many combinations, unless it is a single column."""
PREFIXES = (2, 4)
"""Tuples are merged on so many of the first columns."""
WORTH_KEEPING = 0.8
"""Merged tuples are kept if they are at most this share of those they came from."""
MOST_TUPLES = 20_000_000
"""Merged tuples held altogether."""
WIDEST = 2**62
"""Keys stay below this."""
Numbers = NDArray[Any]
"""Whole numbers, in as few bits as the engine counts with."""


@dataclass(frozen=True, eq=False)
class Merged:
    """Tuples after merging as far as the first columns allow: one of each that became alike, and the rows behind it."""

    rows: Ints
    counts: Numbers
    ids: tuple[Numbers, ...]
    """Per group, the number of the combination."""

    @cached_property
    def weights(self) -> Floats:
        """The counts as numpy adds them up quickest."""
        return self.counts.astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Group:
    """Some columns together."""

    places: tuple[int, ...]
    codes: tuple[Ints, ...]
    """Per column, its code in each combination."""
    ids: Ints
    """The combination of each tuple."""


class Tuples:
    """The tuples of a problem; several searches may use them at once. `kinds` are the types of ids and of counts."""

    def __init__(self, problem: LatticeProblem, kinds: tuple[Any, Any] = (np.int64, np.int64)) -> None:
        self.problem = problem
        # Columns of many values first: to merge them saves most.
        self.order = sorted(range(len(problem.shape)), key=lambda place: -problem.ladders[place].size)
        self.prefixes = [
            (itemgetter(*self.order[:many]), self.order[:many]) for many in PREFIXES if many < len(problem.shape)
        ]
        self.groups = self._grouped()
        counts = problem.classes.rows.astype(kinds[1], copy=False)
        ids = tuple(group.ids.astype(kinds[0], copy=False) for group in self.groups)
        self.finest = Merged(np.arange(len(counts)), counts, ids)
        self.ranks: dict[tuple[int, Node], tuple[Ints, int]] = {}
        self.merged: dict[Node, Merged] = {}
        self.asked: set[Node] = set()
        self.held = 0

    def _grouped(self) -> list[_Group]:
        """Neighbours in the order, as long as they have few combinations."""
        groups: list[_Group] = []
        codes, sizes = self.problem.codes, [ladder.size for ladder in self.problem.ladders]
        most = min(COMBINATIONS, max(64, len(self.problem.classes) // 8))
        for place in reversed(self.order):
            if groups:
                last = groups[-1]
                first, ids, number = group(last.ids * sizes[place] + codes[place], len(last.codes[0]) * sizes[place])
                if number <= most:
                    columns = (*(column[last.ids[first]] for column in last.codes), codes[place][first])
                    groups[-1] = _Group((*last.places, place), columns, ids)
                    continue
            first, ids, _ = group(codes[place], sizes[place])
            groups.append(_Group((place,), (codes[place][first],), ids))
        return groups

    def ranked(self, number: int, node: Node) -> tuple[Ints, int]:
        """For each combination of a group its number among those that are left at a node, and how many are left."""
        group_ = self.groups[number]
        levels = tuple(node[place] for place in group_.places)
        known = self.ranks.get((number, levels))
        if known is None:
            ladders = [self.problem.ladders[place] for place in group_.places]
            columns = [
                ladder.standing[level][codes]
                for ladder, level, codes in zip(ladders, levels, group_.codes, strict=True)
            ]
            keys, bound = pack(columns, [ladder.size for ladder in ladders], len(columns[0]))
            _, ranks, left = group(keys, bound)
            known = self.ranks[number, levels] = ranks, left
        return known

    def source(self, node: Node, merge: Merger) -> Merged:
        """The fewest tuples at hand from which a node can be counted; merged further where that is asked for again."""
        start = self.finest
        for levels_of, columns in self.prefixes:
            levels = levels_of(node)
            held = self.merged.get(levels)
            if held is None:
                if levels not in self.asked:
                    self.asked.add(levels)
                    continue
                floor = tuple(level if place in columns else 0 for place, level in enumerate(node))
                held = self.merged[levels] = self._further(start, floor, merge) if any(floor) else start
            start = held
        return start

    def _further(self, start: Merged, floor: Node, merge: Merger) -> Merged:
        if self.held > MOST_TUPLES:
            return start
        first, counts = merge(start, floor)
        if len(first) > WORTH_KEEPING * len(start.rows):
            return start
        self.held += len(first)
        ids = tuple(numbers[first] for numbers in start.ids)
        return Merged(start.rows[first], counts, ids)

    @cached_property
    def rarity(self) -> Floats:
        """Per tuple, how common its values are at all levels: the rarest person has the least."""
        common = np.zeros(len(self.finest.rows))
        for ladder, codes in zip(self.problem.ladders, self.problem.codes, strict=True):
            tallies = zip(ladder.tallies, ladder.standing, strict=True)
            common += np.sum([np.log(tally[standing]) for tally, standing in tallies], axis=0).take(codes)
        return common

    @cached_property
    def agreement(self) -> list[Ints]:
        """Per column and level, the code that each code becomes, as one table."""
        return [np.array(ladder.standing) for ladder in self.problem.ladders]

    def places_around(self, row: int) -> list[Ints]:
        """Per group and id, where in the lattice it first agrees with a tuple; past the end where it never does."""
        places, nodes = [], self.problem.nodes
        stride = nodes
        for ladder, codes, table in zip(self.problem.ladders, self.problem.codes, self.agreement, strict=True):
            stride //= ladder.height
            code = int(codes[row])
            first = (table != table[:, code, None]).sum(axis=0)
            places.append(np.where(first < ladder.height, first * stride, nodes))
        return [
            np.sum([places[at].take(codes) for at, codes in zip(own.places, own.codes, strict=True)], axis=0)
            for own in self.groups
        ]

    def around(self, row: int) -> Ints:
        """At every node of the lattice, the rows that look like a tuple.

        Each tuple is counted at the lowest level of every column at which it agrees with that one; what is below a node
        is then added up.
        """
        keys, nodes = np.zeros(len(self.finest.rows), dtype=np.int64), self.problem.nodes
        for places, ids in zip(self.places_around(row), self.finest.ids, strict=True):
            keys += places.take(ids)
        sizes = np.bincount(np.minimum(keys, nodes), weights=self.finest.weights, minlength=nodes + 1)[:nodes]
        return added_up(sizes.astype(np.int64), self.problem.shape)


def added_up(numbers: Ints, shape: Node, *, down: bool = False) -> Ints:
    """Per node of the lattice, the sum over all nodes that are nowhere coarser, or nowhere finer; in place."""
    stride = 1
    for height in reversed(shape):
        levels = numbers.reshape(-1, height, stride)
        for level in range(height - 2, -1, -1) if down else range(1, height):
            levels[:, level] += levels[:, level + (1 if down else -1)]
        stride *= height
    return numbers


class Merger(Protocol):
    """Merges tuples that are alike at a node."""

    def __call__(self, tuples: Merged, node: Node) -> tuple[Numbers, Numbers]:
        """A tuple of each class, and the rows of each class."""


class NumpyCounter:
    """Counts the classes of a node in numpy."""

    def __init__(self, problem: LatticeProblem) -> None:
        tuples = derived(problem.classes).get(NumpyCounter)
        if not isinstance(tuples, Tuples):
            tuples = derived(problem.classes)[NumpyCounter] = Tuples(problem)
        self.tuples: Tuples = tuples

    def sizes(self, node: Node) -> Ints:
        """The rows of every class."""
        return self.merge(self.tuples.source(node, self.merge), node)[1]

    def look(self, node: Node, k: int) -> tuple[int, int, int, int, SmallClasses]:
        """Rows in classes below k, larger classes, the sum of squares of all and of the larger, and the small ones."""
        tuples = self.tuples.source(node, self.merge)
        keys, bound = self._keys(tuples, node)
        if bound <= 12 * len(keys) + 2048:
            sizes: Floats | Ints = np.bincount(keys, weights=tuples.weights, minlength=bound)
            large = sizes[np.flatnonzero(sizes >= k)]
            small = _Small(self.tuples, node, tuples, keys, sizes, k, keys)
        else:
            first, sizes = _alike(keys, bound, tuples.counts)
            large = sizes[sizes >= k]
            small = _Small(self.tuples, node, tuples, None, sizes, k, first)
        total = self.tuples.problem.people
        if total * total >= 2**53:
            sizes, large = sizes.astype(np.int64), large.astype(np.int64)
        return total - int(large.sum()), len(large), _squares(sizes), _squares(large), small

    def _keys(self, tuples: Merged, node: Node) -> tuple[Ints, int]:
        """A key per tuple, equal where tuples are alike at the node, and a bound of the keys."""
        keys, bound = None, 1
        for number, ids in enumerate(tuples.ids):
            ranks, left = self.tuples.ranked(number, node)
            if bound * left >= WIDEST and keys is not None:
                met, keys = np.unique(keys, return_inverse=True)
                bound = len(met)
            if keys is None:
                keys = ranks.take(ids)
            elif left > 1:
                keys += (ranks * bound).take(ids)
            bound *= left
        return (np.zeros(len(tuples.rows), dtype=np.int64) if keys is None else keys), bound

    def merge(self, tuples: Merged, node: Node) -> tuple[Numbers, Numbers]:
        """The first tuple of each class, in their order, and the rows of each class."""
        first, counts = _alike(*self._keys(tuples, node), tuples.counts)
        order = np.argsort(first)
        return first[order], counts[order]


class SmallClasses(Protocol):
    """The classes of a node that are too small."""

    def by_value(self) -> tuple[Ints, ...]:
        """Per column, their rows by the code that stands for their value."""

    def around(self) -> NDArray[np.integer[Any]]:
        """At every node of the lattice, the rows that look like the rarest of them."""


@dataclass(frozen=True, eq=False)
class _Small:
    """The small classes of a node; counted by value when somebody asks."""

    whole: Tuples
    node: Node
    tuples: Merged
    keys: Ints | None
    """The class of each tuple, where that is known."""
    sizes: Floats | Ints
    k: int
    first: Ints
    """Else a tuple of each class."""

    def _rows(self) -> tuple[Ints, Ints]:
        """Tuples in small classes, and their rows."""
        if self.keys is None:
            chosen = np.flatnonzero(self.sizes < self.k)
            return self.tuples.rows[self.first[chosen]], self.sizes[chosen].astype(np.int64)
        chosen = np.flatnonzero((self.sizes < self.k).take(self.keys))
        return self.tuples.rows[chosen], self.tuples.counts[chosen]

    def by_value(self) -> tuple[Ints, ...]:
        """Per column, their rows by the code that stands for their value."""
        rows, counts = self._rows()
        problem, weights = self.whole.problem, counts.astype(np.float64)
        return tuple(
            np.bincount(ladder.standing[level][codes[rows]], weights=weights, minlength=ladder.size).astype(np.int64)
            for ladder, level, codes in zip(problem.ladders, self.node, problem.codes, strict=True)
        )

    def around(self) -> Ints:
        """At every node of the lattice, the rows that look like the rarest of them."""
        rows = self._rows()[0]
        if self.keys is not None:
            # The first tuple of each class.
            chosen = np.flatnonzero((self.sizes < self.k).take(self.keys))
            rows = self.tuples.rows[chosen[np.unique(self.keys[chosen], return_index=True)[1]]]
        rows = np.sort(rows)
        return self.whole.around(int(rows[self.whole.rarity[rows].argmin()]))


def _squares(sizes: Floats | Ints) -> int:
    """Their sum; not by BLAS, which would wake other processors for it."""
    return int(np.einsum("i,i->", sizes, sizes))


def _alike(keys: Ints, bound: int, counts: Ints) -> tuple[Ints, Ints]:
    """One place of each key, and the sum of its counts."""
    order = by_digits(keys, bound)
    ordered = keys[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return order[first], np.add.reduceat(counts[order], first)
