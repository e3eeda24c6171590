"""Profile of a table: its columns, a guess of each role, and which columns single people out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import numpy as np

from discreet.errors import EmptySource, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.arrays import Ints, group, total
from discreet.kernel.serialise import card, json_of
from discreet.policy import Draft, Policy, Role, write_draft
from discreet.risk.assessment import Governed
from discreet.risk.role_guess import guess
from discreet.risk.value_shape import Content, Shape
from discreet.wording import brief_percent

WORK = 400_000_000
"""Cells that may be grouped before the search stops at a smaller size of combination, above pairs;"""
MOST = 200_000
"""combinations that may be grouped before it does: each costs time however few people there are."""


@dataclass(frozen=True)
class Combination:
    """Some columns, and how many people they single out."""

    columns: tuple[str, ...]
    unique: int
    """People who are alone with their values on these columns."""
    share: float

    to_dict = json_of()


@dataclass(frozen=True)
class SinglingOut:
    """What a search over combinations found."""

    largest: int
    """Combinations of up to this many columns were looked at."""
    minimal_unique: tuple[tuple[str, ...], ...]
    """Combinations on which everybody is alone, while on no part of them everybody is."""
    combinations: tuple[Combination, ...]
    """Every combination looked at, those that single out most people first."""


def singling_out(classes: Classes, *, largest: int = 4) -> SinglingOut:
    """Search all combinations of up to `largest` columns, leaving out what contains a unique one.

    >>> people = Classes.of(["a", "b", "c"], [("1", "1", "x"), ("1", "2", "x"), ("2", "1", "x")])
    >>> singling_out(people).minimal_unique
    (('a', 'b'),)
    """
    if largest < 1:
        raise UsageError("Combinations have at least one column.", remedy="Give a largest size of 1 or more.")
    if not classes.records:
        raise EmptySource("There is nobody in the table.", remedy="Give a table with at least one row.")
    # The largest size of combination whose search stays within bounds, at least 1.
    number, reach = 0, 0
    for size in range(1, min(largest, len(classes.columns)) + 1):
        number += math.comb(len(classes.columns), size)
        if (size > 1 and number > MOST) or (size > 2 and number * len(classes) > WORK):
            break
        reach = size
    # Depth first, each combination grouped from the one it extends.
    combinations: list[Combination] = []
    stack: list[tuple[tuple[int, ...], Ints | None, int]] = [((), None, 1)]
    while stack:
        places, member, groups = stack.pop()
        for place in range(places[-1] + 1 if places else 0, len(classes.columns)):
            values = len(classes.columns[place].labels)
            keys = classes.codes[place] if member is None else member * values + classes.codes[place]
            _, finer, distinct = group(keys, groups * values)
            unique = int((total(finer, classes.sizes, distinct) == 1).sum())
            columns = (*places, place)
            names = tuple(classes.names[i] for i in columns)
            combinations.append(Combination(names, unique, unique / classes.records))
            if len(columns) < reach and unique < classes.records:
                stack.append((columns, finer, distinct))
    return ranked(combinations, classes.records, reach=reach)


def ranked(combinations: Sequence[Combination], records: int, *, reach: int) -> SinglingOut:
    """Combinations in order, without those that contain one on which everybody is alone."""
    unique = {combination.columns for combination in combinations if combination.unique == records}

    def contains_unique(columns: tuple[str, ...]) -> bool:
        parts = (itertools.combinations(columns, size) for size in range(1, len(columns)))
        return any(part in unique for part in itertools.chain.from_iterable(parts))

    fair = [combination for combination in combinations if not contains_unique(combination.columns)]
    minimal = tuple(combination.columns for combination in fair if combination.columns in unique)
    order = sorted(fair, key=lambda combination: (-combination.unique, len(combination.columns), combination.columns))
    return SinglingOut(reach, minimal, tuple(order))


def pairs_affordable(columns: int) -> bool:
    """Whether all pairs of so many columns may be looked at."""
    return columns + math.comb(columns, 2) <= MOST


FEWEST = 5
"""Values held by fewer people are not shown."""
SHOWN = 10
BINS = 10
FARTHEST = 1e300
"""Numbers beyond are drawn at the end of the axis."""


class Tabular(Countable, Protocol):
    """A table that knows its columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    def each(self, names: Sequence[str]) -> Iterator[Classes]:
        """The people per value of each of these columns alone."""

    @property
    def name(self) -> str:
        """What to call it in words."""


@dataclass(frozen=True)
class Share:
    """A value or range, and how many people have it."""

    label: str
    records: int


@dataclass(frozen=True)
class ColumnProfile:
    """One column."""

    name: str
    looks: Content
    distinct: int
    missing: int
    unique: int
    """People who have a value of their own."""
    share_unique: float
    """Their share."""
    distribution: tuple[Share, ...]
    """The commonest values, or ranges of numbers and dates; nothing that fewer than five people share."""
    hidden: int
    """People whose value is not shown."""
    role: Role
    reason: str
    hierarchy: str

    to_dict = json_of(
        "name type=looks distinct missing share_unique hidden suggested_role=role reason",
        distribution=lambda self: [{"value": share.label, "records": share.records} for share in self.distribution],
        suggested_hierarchy=lambda self: self.hierarchy or None,
    )


@dataclass(frozen=True)
class Profile:
    """What is in a table."""

    source: str
    records: int
    columns: tuple[ColumnProfile, ...]
    singling_out: SinglingOut
    """Over the columns that are no identifiers by themselves."""
    minimal_unique: tuple[tuple[str, ...], ...]
    """Fewest columns on which everybody is alone; of columns that look like identifiers only those that do it alone."""

    @property
    def telling(self) -> tuple[Combination, ...]:
        """Of each size, the combination that singles out most people."""
        best: dict[int, Combination] = {}
        for combination in self.singling_out.combinations:
            best.setdefault(len(combination.columns), combination)
        return tuple(best[size] for size in sorted(best))

    def drafts(self) -> list[Draft]:
        """The suggested roles, for a policy file."""
        return [Draft(column.name, column.role, column.reason, column.hierarchy) for column in self.columns]

    def policy(self) -> Policy:
        """The policy that `discreet policy init` drafts."""
        return Policy.parse(write_draft(self.drafts()), file="the drafted policy")

    to_dict = json_of(
        "source records columns minimal_unique combinations_up_to=singling_out.largest",
        singling_out=lambda self: self.singling_out.combinations[:20],
    )

    def __repr__(self) -> str:
        return f"Profile({self.records} people, {len(self.columns)} columns)"

    def _repr_html_(self) -> str:
        best = max(self.telling, key=lambda combination: combination.unique, default=None)
        alone = "" if best is None else f" {', '.join(best.columns)} single out {best.unique:,} of them."
        rows = [
            (column.name, column.role, f"{column.distinct:,}", brief_percent(column.share_unique), column.reason)
            for column in self.columns
        ]
        head = ("column", "may be", "distinct", "people alone", "because")
        return card(f"{self.source} holds {self.records:,} people.{alone}", rows, head=head)


def profile(table: Tabular, *, largest: int = 4) -> Profile:
    """Types, distributions, uniqueness, and the fewest columns that single people out."""
    if largest < 1:
        raise UsageError("Combinations have at least one column.", remedy="Give a largest size of 1 or more.")
    records, columns = 0, []
    named = table.policy.identifiers if isinstance(table, Governed) and table.policy else ()
    for name, classes in zip(table.columns, table.each(table.columns), strict=True):
        records = classes.records
        columns.append(_column(name, classes, names_people=name in named))
    # Over the columns that are no identifiers and tell people apart; one by one where even their pairs are too many.
    search = [
        column for column in columns if column.role != "identifier" and column.distinct + (column.missing > 0) > 1
    ]
    if not search:
        result = SinglingOut(0, (), ())
    elif largest > 1 and pairs_affordable(len(search)):
        result = singling_out(table.classes([column.name for column in search]), largest=largest)
    else:
        single = [Combination((column.name,), column.unique, column.share_unique) for column in search]
        result = ranked(single, records, reach=1)
    alone = tuple((column.name,) for column in columns if column.share_unique == 1)
    minimal = tuple(dict.fromkeys([*alone, *result.minimal_unique]))
    return Profile(table.name, records, tuple(columns), result, minimal)


def _column(name: str, classes: Classes, *, names_people: bool) -> ColumnProfile:
    """One column; values of an identifier are never shown: five rows with one of them may be one person."""
    labels = classes.columns[0].labels
    known = [label for label in labels if label is not None]
    shape = Shape(known)
    looks = shape.looks
    unique = int((classes.sizes == 1).sum())
    share = unique / classes.records
    counts = list(zip((labels[code] for code in classes.codes[0].tolist()), classes.sizes.tolist(), strict=True))
    missing = sum(size for value, size in counts if value is None)
    met = [(value, size) for value, size in counts if value is not None]
    guessed = guess(name, shape, share_unique=share, records=classes.records)
    if names_people or guessed.role == "identifier":
        shares = []
    elif looks == "number" and len(met) > SHOWN:
        shares = _ranges(met)
    elif looks == "date":
        decades: Counter[str] = Counter()
        for value, size in met:
            decades[f"{shape.year(value) // 10}0s"] += size
        shares = [Share(decade, size) for decade, size in sorted(decades.items())]
    else:
        shares = [Share(value, size) for value, size in sorted(met, key=lambda pair: (-pair[1], pair[0]))][:SHOWN]
    shown = tuple(share for share in shares if share.records >= FEWEST)
    hidden = classes.records - missing - sum(share.records for share in shown)
    return ColumnProfile(
        name, looks, len(known), missing, unique, share, shown, hidden, guessed.role, guessed.reason, guessed.hierarchy
    )


def _ranges(counts: Sequence[tuple[str, int]]) -> list[Share]:
    """Ranges with round edges; the outer ones are open, so that nobody's extreme value shows."""
    numbers = np.clip([float(Decimal(value)) for value, _ in counts], -FARTHEST, FARTHEST)
    if numbers.max() == numbers.min():
        return [Share(f"{numbers[0]:.12g}", sum(size for _, size in counts))]
    # The next of 1, 2, 5, 10, 20, 50, ...
    width = (numbers.max() - numbers.min()) / BINS
    power = 10.0 ** math.floor(math.log10(width))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= width)
    bins, places = np.unique(np.floor(numbers / step), return_inverse=True)
    people = np.bincount(places, weights=[size for _, size in counts]).astype(int).tolist()
    edges = [
        Share(f"{low * step:.12g} to {(low + 1) * step:.12g}", count) for low, count in zip(bins, people, strict=True)
    ]
    shown = [place for place, share in enumerate(edges) if share.records >= FEWEST]
    if len(shown) > 1:
        first, last = shown[0], shown[-1]
        edges[first] = Share(f"below {(bins[first] + 1) * step:.12g}", sum(people[: first + 1]))
        edges[last] = Share(f"{bins[last] * step:.12g} or more", sum(people[last:]))
    return [edges[place] for place in shown]
