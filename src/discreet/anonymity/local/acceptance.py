"""Acceptance of groups: which of them the requirements allow, and what a suppressed person costs.

Local recoding and Mondrian put people into groups; what a group is published as follows later. Requirements on its size
and on its sensitive values can be asked before. Two groups that are accepted are accepted together as well: distances
are convex, entropy is concave, and recursive diversity holds for a union (Machanavajjhala et al. 2006).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.anonymity.limits import AverageRisk, Closeness, Diversity, Requirements, smallest_crowd
from discreet.errors import DiscreetError, Unsatisfiable, UsageError
from discreet.kernel.arrays import Flags, Ints, group, pack, total
from discreet.kernel.classes import Classes, Recoding
from discreet.kernel.members import Spread

Allowed = Callable[[Ints, Ints, int], Flags]
"""Which groups may be published, from some classes, the group of each, and the number of groups."""
LARGEST = 20_000
"""Sizes of groups that an attacker is asked about."""


@dataclass(frozen=True, eq=False)
class Acceptance:
    """What the requirements say about groups of the people of some classes."""

    classes: Classes
    limits: Requirements

    @classmethod
    def of(cls, classes: Classes, limits: Requirements, search: str) -> Acceptance:
        """For requirements that look at the data alone."""
        if any(getattr(limit, "population", None) is not None for limit in limits.requirements):
            raise UsageError(
                f'search="{search}" does not compare with a population.',
                remedy='Use search="optimal" with requirements on a population.',
            )
        return cls(classes, limits)

    @cached_property
    def k(self) -> int:
        """The least size of a group: from it on, no requirement objects to the size alone."""
        sizes = np.arange(1, min(self.classes.records, LARGEST) + 1)
        k = self.limits.k
        for limit in self.limits.requirements:
            if isinstance(limit, AverageRisk):
                k = max(k, smallest_crowd(limit.most))
            elif not isinstance(limit, Diversity | Closeness):
                k = max(k, 1 + int(sizes[limit.violated(Classes((), (), sizes))].max(initial=0)))
        if k > self.classes.records:
            raise Unsatisfiable(
                f"Even one group of all {self.classes.records:,} people is too small for the limits.",
                remedy="Lower the limits.",
            )
        return k

    @cached_property
    def inferred(self) -> tuple[Diversity | Closeness, ...]:
        """Requirements on sensitive columns."""
        return tuple(limit for limit in self.limits.requirements if isinstance(limit, Diversity | Closeness))

    @property
    def allowed(self) -> Allowed | None:
        """What is asked about groups of at least k people; None where that is enough."""
        return self._accepts if self.inferred else None

    def _accepts(self, rows: Ints, member: Ints, groups: int) -> Flags:
        """Which groups are accepted. Everybody else is one more group, so that distances are to the whole table."""
        sizes = total(member, self.classes.sizes[rows], groups)
        others = self.classes.records - int(sizes.sum())
        spreads = {limit.column: self._spread(limit.column, rows, member, groups) for limit in self.inferred}
        seen = Classes((), (), np.append(sizes, others) if others else sizes, spreads)
        bad = np.zeros(len(seen), dtype=bool)
        for limit in self.inferred:
            bad |= limit.violated(seen)
        return ~bad[:groups]

    def _spread(self, name: str, rows: Ints, member: Ints, groups: int) -> Spread:
        spread, (order, starts) = self.classes.spreads[name], self._entries[name]
        lengths = starts[rows + 1] - starts[rows]
        ends = np.cumsum(lengths)
        entries = order[np.arange(ends[-1]) + np.repeat(starts[rows] - ends + lengths, lengths)]
        codes, counts, width = spread.codes[entries], spread.counts[entries], len(spread.values)
        owners = np.repeat(member, lengths)
        first, pair, pairs = group(owners * width + codes, groups * width)
        rest = spread.overall - total(codes, counts, width)
        other = np.flatnonzero(rest)
        return Spread(
            name,
            spread.hierarchy,
            np.concatenate([owners[first], np.full(len(other), groups)]),
            np.concatenate([codes[first], other]),
            np.concatenate([total(pair, counts, pairs), rest[other]]),
        )

    @cached_property
    def _entries(self) -> dict[str, tuple[Ints, Ints]]:
        """Per sensitive column, its entries class by class, and where those of each class start."""
        places = np.arange(len(self.classes) + 1)
        orders = {name: np.argsort(spread.owners, kind="stable") for name, spread in self.classes.spreads.items()}
        return {
            name: (order, np.searchsorted(self.classes.spreads[name].owners[order], places))
            for name, order in orders.items()
        }


def verify(recoding: Recoding, limits: Requirements) -> Recoding:
    """The recoding, if all that is published satisfies the limits: counted again, whatever a search says."""
    kept, sizes = recoding.kept, [len(labels) for labels in recoding.labels]
    keys, _ = pack([codes[kept] for codes in recoding.codes], sizes, int(kept.sum()))
    _, looks = np.unique(keys, return_inverse=True)
    groups = int(looks.max(initial=-1)) + 1
    # Suppressed people are a class of their own: distances are to the whole table.
    member = np.full(len(kept), groups)
    member[kept] = looks.reshape(-1)
    spreads = {name: spread.over(member) for name, spread in recoding.classes.spreads.items()}
    people = total(member, recoding.classes.sizes, int(member.max(initial=-1)) + 1)
    published = Classes((), (), people, spreads)
    bad = limits.violated(published, hidden=np.arange(len(people)) == groups)
    if bad[:groups].any() or recoding.suppressed > limits.suppressible:
        raise DiscreetError(
            "The recoding does not satisfy its limits, so nothing is published.",
            remedy='Report this, and use search="optimal" meanwhile.',
        )
    return recoding
