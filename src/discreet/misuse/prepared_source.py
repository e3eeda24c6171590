"""Prepared source: counted once, so that many results can be scored against it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ColumnError, OutsideHierarchy, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.arrays import LIMIT, Floats, Ints, Label, group, pack, total
from discreet.kernel.hierarchy import text
from discreet.misuse.input_tables import countable
from discreet.misuse.result_formats import Cells, numbered, whole
from discreet.misuse.sensitivity import Sensitivity, Weights, record_scores
from discreet.risk.assessment import Governed

# From keys to numbers, for many keys at once and for one: a plain table where keys are dense, else a hash table.
SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Fibonacci hashing: an odd number near 2**64 divided by the golden ratio."""
WORD = 2**64
ROOM = 65_536
"""A plain table may always have this many places more than there are keys."""
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""How a whole number is spelt that fits into 63 bits."""


class Lookup(Protocol):
    """Which number belongs to a key; 0 where none does."""

    def many(self, keys: Ints) -> Ints:
        """The number of each key."""

    def one(self, key: int) -> int:
        """The number of one key, without the overhead of arrays."""


def lookup(keys: Ints, numbers: Ints, bound: int) -> Lookup:
    """A table of distinct keys from 0 up to `bound`.

    >>> table = lookup(np.array([3, 5]), np.array([30, 50]), 10)
    >>> table.many(np.array([5, 4, 3])).tolist(), table.one(5), table.one(6)
    ([50, 0, 30], 50, 0)
    """
    if bound <= 4 * len(keys) + ROOM:
        places = np.zeros(bound, dtype=np.int64)
        places[keys] = numbers
        return Dense(places, _view(places))
    return Hashed.of(keys, numbers)


@dataclass(frozen=True, eq=False)
class Dense:
    """A place for every possible key."""

    places: Ints
    view: memoryview

    def many(self, keys: Ints) -> Ints:
        return self.places[keys]

    def one(self, key: int) -> int:
        return self.view[key]


@dataclass(frozen=True, eq=False)
class Hashed:
    """Keys in the order of their hashes, one per bucket on average."""

    shift: int
    starts: NDArray[np.int32]
    keys: Ints
    numbers: Ints
    views: tuple[memoryview, memoryview, memoryview]
    """The three arrays again: reading one number from a view is several times cheaper than from an array."""

    @classmethod
    def of(cls, keys: Ints, numbers: Ints) -> Hashed:
        """Build the table."""
        bits = max(len(keys).bit_length(), 1)
        hashes = _hash(keys, 64 - bits)
        order = np.argsort(hashes, kind="stable")
        starts = np.searchsorted(hashes[order], np.arange(2**bits + 1)).astype(np.int32)
        # One more key, which no query equals, is behind the last bucket.
        ordered, values = np.append(keys[order], -1), np.append(numbers[order], 0)
        return cls(64 - bits, starts, ordered, values, (_view(starts), _view(ordered), _view(values)))

    def many(self, keys: Ints) -> Ints:
        """The number of each key, searched bucket by bucket for all at once."""
        hashes = _hash(keys, self.shift)
        places = self.starts[hashes]
        hit = self.keys[places] == keys
        numbers = np.where(hit, self.numbers[places], 0)
        left = np.flatnonzero(~hit)
        ends = self.starts[hashes[left] + 1]
        places = places[left] + 1
        while len(left):
            inside = places < ends
            left, places, ends = left[inside], places[inside], ends[inside]
            hit = self.keys[places] == keys[left]
            numbers[left[hit]] = self.numbers[places[hit]]
            left, places, ends = left[~hit], places[~hit] + 1, ends[~hit]
        return numbers

    def one(self, key: int) -> int:
        starts, keys, numbers = self.views
        at = (key * int(SPREAD) % WORD) >> self.shift
        for place in range(starts[at], starts[at + 1]):
            if keys[place] == key:
                return numbers[place]
        return 0


def _hash(keys: Ints, shift: int) -> Ints:
    return ((keys.astype(np.uint64) * SPREAD) >> np.uint64(shift)).astype(np.int64)


def _view(array: Any) -> memoryview:
    return memoryview(array)


# How many people of the source share a tuple of quasi-identifier values: D of the measure.
@dataclass(frozen=True, eq=False)
class ValueIndex:
    """Code of each value of a column; all unknown values share the last code."""

    codes_of: Mapping[Label, int]

    @property
    def unknown(self) -> int:
        """The code of all values that the source does not have."""
        return len(self.codes_of)

    def codes(self, cells: Cells) -> Ints:
        """The code of each cell."""
        wanted = whole(cells) if isinstance(cells, np.ndarray) else None
        if wanted is None:
            return numbered(cells, lambda label: self.codes_of.get(label, self.unknown), np.int64)
        low, places, integers, codes = self._integers
        if places is None:
            at = np.minimum(np.searchsorted(integers, wanted), max(len(integers) - 1, 0))
            return np.where(integers[at] == wanted, codes[at], self.unknown)
        # Subtraction may wrap around for far values, but then the place is outside as well.
        shifted = (wanted - low).view(np.uint64)
        return places[np.minimum(shifted, np.uint64(len(places) - 1)).view(np.int64)]

    @cached_property
    def _integers(self) -> tuple[int, Ints | None, Ints, Ints]:
        """Whole numbers among the values with their codes; a plain table where dense."""
        known = sorted(
            (int(label), code) for label, code in self.codes_of.items() if label and INTEGER.fullmatch(label)
        )
        if not known:
            return 0, np.array([self.unknown]), np.array([], dtype=np.int64), np.array([], dtype=np.int64)
        integers, codes = (np.array(side, dtype=np.int64) for side in zip(*known, strict=True))
        low, span = known[0][0], known[-1][0] - known[0][0] + 1
        if span > 8 * len(known) + ROOM:
            return low, None, integers, codes
        places = np.full(span + 1, self.unknown, dtype=np.int64)
        places[integers - low] = codes
        return low, places, integers, codes


@dataclass(frozen=True, eq=False)
class Crowds:
    """Look-up of D by some quasi-identifiers; an unknown tuple is a crowd of one."""

    indexes: tuple[ValueIndex, ...]
    steps: tuple[tuple[Lookup | None, int], ...]
    """Per column a look-up that makes the key so far small again, where it would outgrow 62 bits, and its size."""
    sizes: Lookup
    factors: Floats | None = None
    """Where D is another distinguishing factor than the size: that of each class, by the number that `sizes` gives."""

    @classmethod
    def of(cls, classes: Classes, factors: Floats | None = None) -> Crowds:
        """From the classes of the source by these quasi-identifiers."""
        if factors is not None:
            numbered = replace(classes, sizes=np.arange(1, len(classes) + 1), members=None)
            return replace(cls.of(numbered), factors=np.concatenate([[1.0], factors]))
        indexes = tuple(ValueIndex(column.hierarchy.index[column.level]) for column in classes.columns)
        keys, bound = np.zeros(len(classes), dtype=np.int64), 1
        steps: list[tuple[Lookup | None, int]] = []
        for index, codes in zip(indexes, classes.codes, strict=True):
            smaller, size = None, index.unknown + 1
            if bound * size >= LIMIT:
                met, keys = np.unique(keys, return_inverse=True)
                smaller, keys, bound = lookup(met, np.arange(1, len(met) + 1), bound), keys + 1, len(met) + 1
            steps.append((smaller, size))
            keys, bound = keys * size + codes, bound * size
        return cls(indexes, tuple(steps), lookup(keys, classes.sizes, bound))

    def many(self, columns: Sequence[Cells], rows: int) -> Any:
        """D of each row: whole numbers, or other factors."""
        keys = np.zeros(rows, dtype=np.int64)
        for index, cells, (smaller, size) in zip(self.indexes, columns, self.steps, strict=True):
            keys = keys if smaller is None else smaller.many(keys)
            keys = keys * size + index.codes(cells)
        found = self.sizes.many(keys)
        return np.maximum(found, 1) if self.factors is None else self.factors[found]

    def one(self, values: Sequence[Any]) -> float:
        """D of one row."""
        key = 0
        for value, (known, unknown, smaller) in zip(values, self._quick, strict=True):
            if smaller is not None:
                key = smaller.one(key)
            kind = type(value)
            label = value if kind is str else str(value) if kind is int else text(value)
            key = key * (unknown + 1) + known(label, unknown)
        found = self.sizes.one(key)
        return (found or 1) if self.factors is None else float(self.factors[found])

    @cached_property
    def _quick(self) -> tuple[tuple[Callable[[Label, int], int], int, Lookup | None], ...]:
        """The steps for one row, unpacked."""
        steps = zip(self.indexes, self.steps, strict=True)
        return tuple((index.codes_of.get, index.unknown, smaller) for index, (smaller, _) in steps)


KEPT_CROWDS = 16
KEPT = 1024


@dataclass(frozen=True, eq=False)
class ScoringPlan:
    """How results with some columns are scored."""

    names: tuple[str, ...]
    """The columns of the result."""
    quasi: tuple[str, ...]
    """The quasi-identifiers among them."""
    weighing: tuple[tuple[str, Weights], ...]
    """The sensitive columns among them and what their values weigh, in the order in which weights are added up."""
    source: Prepared

    @property
    def crowds(self) -> Crowds | None:
        """Look-up of D; None without quasi-identifiers, when D is the result's size."""
        return self.source.crowds(self.quasi, self.sensitive) if self.quasi else None

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return tuple(name for name, _ in self.weighing)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A source counted by its quasi-identifiers."""

    quasi: tuple[str, ...]
    counted: Classes
    """The classes of the source by all its quasi-identifiers."""
    source: Countable | Classes
    entity: str | None = None
    """The column that says whom a row is about, where an entity may have several rows."""
    factor: str = "k"
    """The distinguishing factor: one of `FACTORS`."""
    scorers: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What scores results against this source, by how it was asked to."""
    _crowds: dict[tuple[tuple[str, ...], ...], Crowds] = field(default_factory=dict, repr=False)
    _whole: dict[tuple[Any, ...], tuple[int, float] | None] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """Rows of the source; people where each has one, or where an entity was named."""
        return int(self.counted.rows.sum())

    def crowds(self, quasi: tuple[str, ...], sensitive: tuple[str, ...]) -> Crowds:
        """Look-up of D by some of the quasi-identifiers, for results with these sensitive columns."""
        key = (quasi, () if self.factor == "k" else sensitive)
        found = self._crowds.get(key)
        if found is None:
            found = Crowds.of(*self._distinguishing(*key))
            make_room(self._crowds, KEPT_CROWDS)
            self._crowds[key] = found
        return found

    def _distinguishing(self, quasi: tuple[str, ...], sensitive: tuple[str, ...]) -> tuple[Classes, Floats | None]:
        """Classes by these quasi-identifiers, with their factors where these are no sizes."""
        if not sensitive:
            return self.counted.project(quasi), None
        joint = _counted(self.source, [*quasi, *sensitive])
        first, member, _ = _grouped(joint, len(quasi))
        classes = Classes(joint.columns[: len(quasi)], tuple(codes[first] for codes in joint.codes[: len(quasi)]),
                          np.ones(len(first), dtype=np.int64))  # fmt: skip
        return classes, distinguishing(joint, member, len(quasi), self.factor)

    def plan(self, names: tuple[str, ...], sensitivity: Sensitivity, quasi: Sequence[str]) -> ScoringPlan:
        """How to score a result with these columns."""
        for name in quasi:
            if name not in self.quasi:
                raise UsageError(
                    f"The source was not prepared for the quasi-identifier '{name}'.",
                    remedy="Name it when the source is prepared: prepare(source, quasi=[...])",
                )
        if both := [name for name in quasi if name in sensitivity.weights]:
            raise UsageError(
                f"Column '{both[0]}' is a quasi-identifier and has weights.",
                remedy="A column either helps to find a person or is what would be learned; choose one.",
            )
        present = tuple(name for name in self.quasi if name in names and name in quasi)
        weighing = tuple((name, weights) for name, weights in sensitivity.weights.items() if name in names)
        return ScoringPlan(names, present, weighing, self)

    def whole(self, plan: ScoringPlan, sensitivity: Sensitivity) -> tuple[int, float] | None:
        """Rows and largest record score of the whole source; None if not countable."""
        key = (plan.quasi, plan.sensitive, sensitivity)
        if key in self._whole:
            return self._whole[key]
        make_room(self._whole, KEPT)
        try:
            joint = _counted(self.source, [*plan.quasi, *plan.sensitive])
        except (ColumnError, OutsideHierarchy):
            self._whole[key] = None
            return None
        crowds: Any = np.full(len(joint), joint.records)
        if plan.quasi:
            _, member, groups = _grouped(joint, len(plan.quasi))
            if self.factor != "k" and plan.sensitive:
                crowds = distinguishing(joint, member, len(plan.quasi), self.factor)[member]
            else:
                merged = None if joint.members is None else joint.members.over(member)
                crowds = (total(member, joint.sizes, groups) if merged is None else merged.sizes(groups))[member]
        weights = [
            np.array([its(label) for label in joint.columns[place].labels])[joint.codes[place]]
            for place, (_, its) in enumerate(plan.weighing, start=len(plan.quasi))
        ]
        self._whole[key] = self.rows, float(record_scores(weights, crowds).max())
        return self._whole[key]

    def __repr__(self) -> str:
        by = ", ".join(self.quasi) or "nothing"
        return f"Prepared({self.rows} people in {len(self.counted)} classes by {by})"


FACTORS = {
    "k": "people of the source with the same quasi-identifiers",
    "l-diversity": "different values among them of the sensitive column with fewest (Machanavajjhala et al.)",
    "alpha-k": "1/alpha, where alpha is the largest share that a sensitive value has among them (Wong et al.)",
}
"""What D can be: how hard it is to tell whose values a row has. The two others are never larger than k."""


def distinguishing(joint: Classes, member: Ints, quasi: int, factor: str) -> Floats:
    """D of each class, from its sensitive columns; missing values count for nothing.

    >>> joint = Classes.of(["job", "account"], [("Lawyer", "Gold"), ("Lawyer", "White")], [3, 1])
    >>> distinguishing(joint, np.array([0, 0]), 1, "l-diversity"), distinguishing(joint, np.array([0, 0]), 1, "alpha-k")
    (array([2.]), array([1.33333333]))
    """
    groups = int(member.max(initial=-1)) + 1
    people, least = np.bincount(member, weights=joint.sizes, minlength=groups), np.full(groups, np.inf)
    for column, codes in zip(joint.columns[quasi:], joint.codes[quasi:], strict=True):
        labels = column.labels
        known = np.array([label is not None for label in labels], dtype=bool)[codes]
        pairs, place = np.unique(member[known] * len(labels) + codes[known], return_inverse=True)
        owners = pairs // max(len(labels), 1)
        if factor == "l-diversity":
            its = np.bincount(owners, minlength=groups).astype(np.float64)
        else:
            most = np.zeros(groups)
            np.maximum.at(most, owners, np.bincount(place, weights=joint.sizes[known], minlength=len(pairs)))
            its = people / np.maximum(most, 1.0)
        least = np.minimum(least, its)
    found: Floats = np.maximum(least, 1.0)
    return found


def _grouped(joint: Classes, columns: int) -> tuple[Ints, Ints, int]:
    """Classes grouped by their first columns: first member, group of each, number of groups."""
    sizes = [len(column.labels) for column in joint.columns[:columns]]
    return group(*pack(list(joint.codes[:columns]), sizes, len(joint)))


def make_room(kept: dict[Any, Any], most: int) -> None:
    """Forget the oldest: ever new columns must not fill the memory."""
    while len(kept) >= most:
        del kept[next(iter(kept))]


def prepare(
    source: Any, quasi: Sequence[str] | None = None, *, entity: str | None = None, factor: str = "k"
) -> Prepared:
    """Count a source by its quasi-identifiers, to score many results against it.

    Without `quasi` those of the policy are taken. With `entity`, the column that says whom a row is about, people are
    counted rather than rows. `factor` is the distinguishing factor D: `k`, or with regard to how much the values of those
    who look alike differ, `l-diversity` or `alpha-k`.

    >>> prepare([{"job": "Lawyer", "city": "NY"}, {"job": "Lawyer", "city": "LA"}], ["job"])
    Prepared(2 people in 1 classes by job)
    """
    if isinstance(source, Prepared):
        return source
    table = countable(source)
    if quasi is None:
        policy = table.policy if isinstance(table, Governed) else None
        if policy is None and not isinstance(table, Classes):
            raise UsageError("Say which columns are quasi-identifiers.", remedy="quasi=[...], or read with a policy.")
        weighed = policy.sensitivity if policy else {}
        known = policy.quasi if policy else table.names if isinstance(table, Classes) else ()
        quasi = [name for name in known if name not in weighed]
    names = tuple(dict.fromkeys(quasi))
    if factor not in FACTORS:
        raise UsageError(
            f"There is no distinguishing factor '{factor}'.", remedy=f"Choose one of: {', '.join(FACTORS)}."
        )
    if factor != "k" and entity is not None:
        raise UsageError(
            "Other distinguishing factors than k count rows, and here several rows may be one person.",
            remedy="Leave out the entity, or the distinguishing factor.",
        )
    if entity is None or entity not in columns_of_source(table):
        return Prepared(names, _counted(table, names), table, factor=factor)
    # With the entity among the columns each class counts once: people instead of rows.
    rows = _counted(table, (*names, entity))
    people = Classes(rows.columns, rows.codes, np.ones(len(rows), dtype=np.int64))
    return Prepared(names, people.project(names), table, entity)


def columns_of_source(table: Any) -> tuple[str, ...]:
    """The names of the columns of a source, as far as it tells them."""
    return tuple(table.names if isinstance(table, Classes) else getattr(table, "columns", getattr(table, "names", ())))


def _counted(table: Countable | Classes, names: Sequence[str]) -> Classes:
    return table.project(names) if isinstance(table, Classes) else table.classes(names)
