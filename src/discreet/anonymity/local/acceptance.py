"""Acceptance of groups: which of them the requirements allow, and what a suppressed person costs.

Local recoding and Mondrian put people into groups; what a group is published as follows later. Requirements on its size
and on its sensitive values can be asked before. Two groups that are accepted are accepted together as well: distances
are convex, entropy is concave, and recursive diversity holds for a union (Machanavajjhala et al. 2006). Where a person
may have several rows that is so for k only, because those who are in both groups count once: everybody together may have
every value. What looks alike in the end is asked about again.
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
from discreet.kernel.members import Members, Spread

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

    @cached_property
    def rows(self) -> Classes:
        """The classes as a search sees them: rows are what is lost or suppressed, people are not."""
        several = self.classes.members is not None
        return Classes(self.classes.columns, self.classes.codes, self.classes.rows) if several else self.classes

    @property
    def allowed(self) -> Allowed | None:
        """What is asked about groups of at least k rows; None where that is enough."""
        return self._accepts if self.inferred else self.enough

    @property
    def nested(self) -> bool:
        """Whether groups may be accepted whose union is not: values that people hold, where they have several rows."""
        return self.classes.members is not None and bool(self.inferred)

    def accepts(self, rows: Ints, member: Ints, groups: int) -> bool:
        """Whether groups of at least k rows are accepted, all of them."""
        return self.allowed is None or bool(self.allowed(rows, member, groups).all())

    @property
    def enough(self) -> Allowed | None:
        """Which groups of at least k rows are of k people; None where each row is a person."""
        return None if self.classes.members is None else self._enough

    def _enough(self, rows: Ints, member: Ints, groups: int) -> Flags:
        people = self._people
        if people is None:
            return np.ones(groups, dtype=bool)
        entries, lengths = people.of_classes(rows)
        return np.asarray(people.distinct(np.repeat(member, lengths), entries, groups) >= self.k)

    def _accepts(self, rows: Ints, member: Ints, groups: int) -> Flags:
        """Which groups are accepted; distances are to the whole table."""
        spreads = {limit.column: self._spread(limit.column, rows, member, groups) for limit in self.inferred}
        seen = Classes((), (), np.ones(groups, dtype=np.int64), spreads)
        bad = ~self._enough(rows, member, groups)
        for limit in self.inferred:
            bad |= limit.violated(seen)
        return ~bad

    def _spread(self, name: str, rows: Ints, member: Ints, groups: int) -> Spread:
        spread, held = self.classes.spreads[name], self._held[name]
        entries, lengths = held.of_classes(rows)
        codes, width = held.codes[entries], len(spread.values)
        owners = np.repeat(member, lengths)
        first, pair, pairs = group(owners * width + codes, groups * width)
        counts, holders = held.distinct(pair, entries, pairs), None
        if held.people is not None:
            holders = Members(pair, held.people[entries], held.counts[entries]).over(np.arange(pairs))
        return Spread(name, spread.hierarchy, owners[first], codes[first], counts, holders, whole=spread.overall)

    @cached_property
    def _people(self) -> _Entries | None:
        """Whose rows are in each class, where a person may have several."""
        members = self.classes.members
        if members is None:
            return None
        return _Entries.of(len(self.classes), members.owners, members.owners, members.rows, members.people)

    @cached_property
    def _held(self) -> dict[str, _Entries]:
        """Per sensitive column, the values in each class."""
        found = {}
        for name, spread in self.classes.spreads.items():
            owners, codes, counts, people = spread.owners, spread.codes, spread.counts, None
            if spread.holders is not None:
                pairs, people = spread.holders.owners, spread.holders.people
                owners, codes, counts = owners[pairs], codes[pairs], spread.holders.rows
            found[name] = _Entries.of(len(self.classes), owners, codes, counts, people)
        return found


@dataclass(frozen=True, eq=False)
class _Entries:
    """Counts or people, class by class, so that those of a few classes are found without looking at the others."""

    starts: Ints
    """Where the entries of each class start, and where the last ones end."""
    codes: Ints
    counts: Ints
    people: Ints | None

    @classmethod
    def of(cls, classes: int, owners: Ints, codes: Ints, counts: Ints, people: Ints | None) -> _Entries:
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(classes + 1))
        return cls(starts, codes[order], counts[order], None if people is None else people[order])

    def of_classes(self, rows: Ints) -> tuple[Ints, Ints]:
        """The entries of some classes one after another, and how many each has."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        ends = np.cumsum(lengths)
        return np.arange(ends[-1]) + np.repeat(self.starts[rows] - ends + lengths, lengths), lengths

    def distinct(self, member: Ints, entries: Ints, groups: int) -> Ints:
        """How many people some entries are of, by group: each person once, where it is known who they are."""
        if self.people is None:
            return total(member, self.counts[entries], groups)
        width = self._width
        first, _, _ = group(member * width + self.people[entries], groups * width)
        return np.bincount(member[first], minlength=groups).astype(np.int64)

    @cached_property
    def _width(self) -> int:
        return 1 + (0 if self.people is None else int(self.people.max(initial=-1)))


def looks(recoding: Recoding) -> tuple[Ints, Ints, int]:
    """The classes that are published, the group of those that look alike, and the number of groups."""
    kept, sizes = recoding.kept, [len(labels) for labels in recoding.labels]
    keys, _ = pack([codes[kept] for codes in recoding.codes], sizes, int(kept.sum()))
    _, member = np.unique(keys, return_inverse=True)
    return np.flatnonzero(kept), member.reshape(-1), int(member.max(initial=-1)) + 1


def verify(recoding: Recoding, limits: Requirements) -> Recoding:
    """The recoding, if all that is published satisfies the limits: counted again, whatever a search says."""
    rows, alike, groups = looks(recoding)
    # Suppressed people are a class of their own: distances are to the whole table.
    member = np.full(len(recoding.kept), groups)
    member[rows] = alike
    spreads = {name: spread.over(member) for name, spread in recoding.classes.spreads.items()}
    number, members = int(member.max(initial=-1)) + 1, recoding.classes.members
    counted = None if members is None else members.over(member)
    people = total(member, recoding.classes.sizes, number) if counted is None else counted.sizes(number)
    published = Classes((), (), people, spreads, members=counted)
    bad = limits.violated(published, hidden=np.arange(len(people)) == groups)
    if bad[:groups].any() or recoding.suppressed_rows > limits.suppressible:
        raise DiscreetError(
            "The recoding does not satisfy its limits, so nothing is published.",
            remedy='Report this, and use search="optimal" meanwhile.',
        )
    return recoding
