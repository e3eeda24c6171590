"""Clusters: records that decisions join to one person, contradictions, and one-to-one assignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats
from discreet.linkage.folder import Records

Edges = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Per record the smallest record of its cluster, and the pairs that contradict a cluster."""

    of: Records
    contradictions: Edges
    """Pairs that were decided different, but whose records are one person by other decisions; one row each."""
    crowded: Records
    """Clusters with two records of one table where each table has every person once at most."""

    def __len__(self) -> int:
        return len(np.unique(self.of))

    @property
    def sound(self) -> bool:
        """Whether nothing contradicts."""
        return not len(self.contradictions) and not len(self.crowded)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Records per cluster, in the order of their smallest record."""
        return np.unique(self.of, return_counts=True)[1]

    def __repr__(self) -> str:
        wrong = len(self.contradictions) + len(self.crowded)
        return f"Clusters({len(self):,} of {len(self.of):,} records, {wrong:,} contradictions)"


def cluster(
    records: int, same: Edges, different: Edges | None = None, *, once_per_table: int | Sequence[int] | None = None
) -> Clusters:
    """Connected components of the pairs decided same, checked against the pairs decided different.

    `same` and `different` have one row of two record numbers per pair. Where each table has every person once at most,
    `once_per_table` is the number of records of the first table, or of each.

    >>> import numpy as np
    >>> found = cluster(4, np.array([[0, 1], [1, 2]]), np.array([[0, 2]]))
    >>> found.of.tolist(), found.contradictions.tolist()
    ([0, 0, 0, 3], [[0, 2]])
    """
    edges, apart = _edges(same, records), _edges(different, records)
    of = components(records, edges)
    against = apart[of[apart[:, 0]] == of[apart[:, 1]]]
    crowded = np.zeros(0, dtype=np.int64)
    if once_per_table is not None:
        tables = np.split(of, np.cumsum(once_per_table))
        counted = [np.unique(part, return_counts=True) for part in tables]
        crowded = np.unique(np.concatenate([labels[counts > 1] for labels, counts in counted]))
    return Clusters(of, against, crowded)


def components(records: int, edges: Edges) -> Records:
    """Per record the smallest record it is connected with, by labels that fall along edges.

    Every round at least halves the distance to the smallest number, so a chain of a million takes about twenty.
    """
    label = np.arange(records, dtype=np.int64)
    while True:
        before = label.copy()
        least = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        for side in (0, 1):
            np.minimum.at(label, label[edges[:, side]], least)
            np.minimum.at(label, edges[:, side], least)
        label = label[label]
        if np.array_equal(label, before):
            return label


def one_to_one(first: Records, second: Records, weight: Floats) -> tuple[Flags, Flags]:
    """Which pairs win, and which are tied, where no record may have two partners.

    Pairs are taken by falling weight while both records are free. Pairs of one weight that compete for a record are
    tied: none of them wins, and no lighter pair of those records does.

    >>> import numpy as np
    >>> won, tied = one_to_one(np.array([0, 0, 1]), np.array([5, 6, 6]), np.array([3.0, 2.0, 1.0]))
    >>> won.tolist(), tied.tolist()
    ([True, False, True], [False, False, False])
    """
    won, tied = np.zeros(len(weight), dtype=np.bool_), np.zeros(len(weight), dtype=np.bool_)
    order = np.argsort(-weight, kind="stable")
    sides = list(zip(first[order].tolist(), second[order].tolist(), strict=True))
    ends = np.append(np.flatnonzero(np.diff(weight[order])) + 1, len(order)).tolist() if len(order) else []
    taken: tuple[set[int], set[int]] = set(), set()
    for begin, end in zip([0, *ends], ends, strict=False):
        free = [
            place for place in range(begin, end) if sides[place][0] not in taken[0] and sides[place][1] not in taken[1]
        ]
        if len(free) == 1:  # most weights are a pair's own
            won[order[free[0]]] = True
        elif free:
            wanted = [Counter(sides[place][side] for place in free) for side in (0, 1)]
            for place in free:
                alone = wanted[0][sides[place][0]] == wanted[1][sides[place][1]] == 1
                won[order[place]], tied[order[place]] = alone, not alone
        for place in free:
            taken[0].add(sides[place][0])
            taken[1].add(sides[place][1])
    return won, tied


def _edges(pairs: Edges | None, records: int) -> Edges:
    edges = np.zeros((0, 2), dtype=np.int64) if pairs is None else np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if len(edges) and (edges.min() < 0 or edges.max() >= records):
        raise UsageError(
            f"A pair names a record outside of the {records:,} there are.", remedy="Give numbers from 0 up."
        )
    return edges
