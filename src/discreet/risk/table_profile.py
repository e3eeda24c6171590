"""Profile of a table: its columns, a guess of each role, and which columns single people out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol, cast, runtime_checkable

import numpy as np

from discreet.errors import EmptySource, UsageError
from discreet.kernel import Bins, Classes, Countable, Tally
from discreet.kernel.arrays import Ints, Label, group, total
from discreet.kernel.serialise import card, json_of
from discreet.policy import Draft, Policy, Role, write_draft
from discreet.risk.assessment import Governed, opened
from discreet.risk.role_guess import Guess, guess, in_context
from discreet.risk.value_shape import Content, Shape, decimal_mark, majority, missing_codes, plain_number
from discreet.wording import brief_percent, people_in_rows

WORK = 400_000_000
"""Cells that may be grouped before the search stops at a smaller size of combination, above pairs;"""
SEARCHED = 500_000
"""People up to whom combinations are searched without being asked: beyond, counting all tuples takes long."""
TOGETHER = 2**20
"""Cells that are sorted in one go."""
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

    titles, records = classes.names, classes.records

    def take(columns: tuple[int, ...], unique: int) -> None:
        combinations.append(Combination(tuple(titles[i] for i in columns), unique, unique / records))

    while stack:
        places, member, groups = stack.pop()
        others = range(places[-1] + 1 if places else 0, len(classes.columns))
        if member is not None and len(places) + 1 == reach and classes.members is None:
            for place, unique in zip(others, _alone(classes, member, groups, others), strict=True):
                take((*places, place), unique)
            continue
        for place in others:
            values = len(classes.columns[place].labels)
            keys = classes.codes[place] if member is None else member * values + classes.codes[place]
            _, finer, distinct = group(keys, groups * values)
            unique = _single(classes, finer, distinct)
            take((*places, place), unique)
            if len(places) + 1 < reach and unique < classes.records:
                stack.append(((*places, place), finer, distinct))
    return ranked(combinations, classes.records, reach=reach)


def _alone(classes: Classes, member: Ints, groups: int, others: Sequence[int]) -> list[int]:
    """People alone in their group and with their value of one more column, for each of some columns.

    Keys of which few are possible are counted, others sorted; the lowest bit says that several people share a tuple.
    """
    shared, rows, alone = (classes.sizes > 1).astype(np.int64), len(classes), np.zeros(len(others), dtype=np.int64)
    values = np.array([len(classes.columns[place].labels) for place in others], dtype=np.int64)
    order = np.argsort(values)
    few = int(np.searchsorted(values[order], rows // groups, side="right"))
    together = max(1, TOGETHER // max(rows, 1))
    starts = [*range(0, few, together), *range(few, len(others), together)]
    for start, end in itertools.pairwise([*starts, len(others)]):
        some = order[start:end]
        most = groups * int(values[some].max())
        keys = np.stack([classes.codes[others[place]] for place in some]) + member * values[some, np.newaxis]
        if start < few:
            keys += most * np.arange(len(some))[:, np.newaxis]
            people = np.bincount(keys.ravel(), np.tile(classes.sizes, len(some)), most * len(some))
            alone[some] = (people.reshape(len(some), most) == 1).sum(axis=1)
            continue
        keys = np.sort((2 * keys + shared).astype(np.int32 if 2 * most < 2**31 else np.int64), axis=1)
        differs = np.ones((len(some), rows + 1), dtype=bool)
        differs[:, 1:-1] = keys[:, 1:] >> 1 != keys[:, :-1] >> 1
        alone[some] = (differs[:, 1:] & differs[:, :-1] & (keys & 1 == 0)).sum(axis=1)
    return alone.tolist()


def _single(classes: Classes, member: Ints, groups: int) -> int:
    """People who are alone in a group of classes; with several rows, in at least one."""
    if classes.members is None:
        return int((total(member, classes.sizes, groups) == 1).sum())
    merged = classes.members.over(member)
    return merged.number(merged.sizes(groups) == 1)


def ranked(combinations: Sequence[Combination], records: int, *, reach: int) -> SinglingOut:
    """Combinations in order, without those that contain one on which everybody is alone."""
    unique = {combination.columns for combination in combinations if combination.unique == records}

    def contains_unique(columns: tuple[str, ...]) -> bool:
        sizes = range(1, len(columns) if unique else 1)
        return any(part in unique for size in sizes for part in itertools.combinations(columns, size))

    fair = [one for one in combinations if not contains_unique(one.columns)]
    minimal = tuple(combination.columns for combination in fair if combination.columns in unique)
    order = sorted(fair, key=lambda combination: (-combination.unique, len(combination.columns), combination.columns))
    return SinglingOut(reach, minimal, tuple(order))


def pairs_affordable(columns: int) -> bool:
    """Whether all pairs of so many columns may be looked at."""
    return columns + math.comb(columns, 2) <= MOST


FEWEST = 5
"""Values held by fewer people are not shown."""
SHOWN, SOME = 10, 6
"""Values that are shown, and categories of which more are better grouped than hidden."""
UNSHOWN, FARTHEST = ("identifier", "drop"), 1e300
"""Columns of these roles name people, or may: no value is shown. Numbers beyond are drawn at the end of the axis."""


class Tabular(Countable, Protocol):
    """A table that knows its columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    def tallies(self, names: Sequence[str]) -> Iterator[Tally]:
        """The people per value of each of these columns alone."""

    @property
    def name(self) -> str:
        """What to call it in words."""


@runtime_checkable
class Owned(Protocol):
    """A table that knows whose its rows are."""

    @property
    def person(self) -> tuple[str, ...]:
        """The columns that say it."""

    @property
    def rows(self) -> int | None:
        """So many, where a policy says whose row it is."""


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
    numbered: bool = False
    """Whether it seems to number people."""
    weight: bool = False
    """Whether it seems to hold survey weights."""
    household: bool = False
    """Whether it seems to number households."""

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
    decimal: str | None = None
    """A comma where numbers have it before their decimals and no policy says so."""
    missing: tuple[str, ...] = ()
    """Codes for a missing value among the numbers or dates of some column, where no policy says so."""
    person: str | None = None
    """The column that says whose row it is, where numbers of people are on several rows each and no policy says so."""
    rows: int | None = None
    """How many rows these people have, where a column says whose they are."""

    @property
    def telling(self) -> tuple[Combination, ...]:
        """Of each size, the combination that singles out most people."""
        best: dict[int, Combination] = {}
        for combination in self.singling_out.combinations:
            best.setdefault(len(combination.columns), combination)
        return tuple(best[size] for size in sorted(best))

    def drafts(self) -> list[Draft]:
        """The suggested roles, for a policy file."""
        return [
            Draft(
                column.name,
                "drop" if column.weight else column.role,  # as it is, a weight can tell people apart
                column.reason,
                column.hierarchy,
                values=column.distinct
                if column.role == "quasi" and column.looks == "text" and column.distinct > SOME
                else 0,
                person=column.name == self.person,
                household=column.household and column.distinct < self.records - column.missing,
                weight=column.name == self.weight,
                empty=column.missing,
            )
            for column in self.columns
        ]

    @property
    def weight(self) -> str | None:
        """The column that says how many people of the population each of a survey stands for."""
        return next((column.name for column in self.columns if column.weight and not column.missing), None)

    def policy(self) -> Policy:
        """The policy that `discreet policy init` drafts."""
        return Policy.parse(
            write_draft(self.drafts(), decimal=self.decimal, missing=self.missing), file="the drafted policy"
        )

    to_dict = json_of(
        "source records rows person missing columns minimal_unique combinations_up_to=singling_out.largest",
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
        return card(f"{self.source} holds {people_in_rows(self.records, self.rows)}.{alone}", rows, head=head)


def profile(table: Tabular, *, largest: int | None = None) -> Profile:
    """Types, distributions, uniqueness, and the fewest columns that single people out.

    Combinations have up to `largest` columns: 4, unless given; columns one by one in tables of many people. Where numbers
    of people are on several rows each, people are counted, not rows, although no policy says so.
    """
    if largest is not None and largest < 1:
        raise UsageError("Combinations have at least one column.", remedy="Give a largest size of 1 or more.")
    if not callable(getattr(table, "tallies", None)):
        table = cast(Tabular, opened(table, Policy()))  # a frame, or the path of a file
    policy = table.policy if isinstance(table, Governed) else None
    declared = policy.decimal if policy else "."
    tallies = list(table.tallies(table.columns))
    mark = decimal_mark(tally.values for tally in tallies) if declared == "." else None
    codes = () if policy and policy.missing else missing_codes(tallies, decimal=mark or declared)
    tallies = [tally.without(codes) for tally in tallies]
    shapes = [Shape(sorted(tally.values), complete=tally.complete, decimal=mark or declared) for tally in tallies]
    named, records = list(zip(table.columns, shapes, strict=True)), tallies[0].people
    guesses = [
        guess(name, majority(shape), share_unique=tally.unique / tally.people, records=records, distinct=tally.distinct)
        for (name, shape), tally in zip(named, tallies, strict=True)
    ]
    guesses = in_context(guesses, named)
    hidden = {name for (name, _), guessed in zip(named, guesses, strict=True) if guessed.role in UNSHOWN}
    hidden.update(policy.identifiers if policy else ())

    def described(table: Tabular, tallies: Sequence[Tally]) -> list[ColumnProfile]:
        return [
            _column(name, tally, shape, guessed, hidden=name in hidden, table=table)
            for (name, shape), tally, guessed in zip(named, tallies, guesses, strict=True)
        ]

    columns = described(table, tallies)
    rows, person = (table.rows if isinstance(table, Owned) else None), _numbered(policy, columns, records)
    if person is not None:
        rows, missing = records, next(column.missing for column in columns if column.name == person)
        if missing or not isinstance(table, Owned):  # it is not known whose rows these are, so who shares a value
            columns = [replace(column, distribution=(), hidden=rows - column.missing) for column in columns]
        else:
            table = cast(Tabular, opened(table, replace(policy or Policy(), person=(person,))))
            tallies = [tally.without(codes) for tally in table.tallies(table.columns)]
            columns, records = described(table, tallies), tallies[0].people
    if largest is None:
        largest = 4 if records <= SEARCHED else 1
    # Over the columns that are no identifiers and tell people apart; one by one where even their pairs are too many.
    search = [column for column in columns if column.role not in UNSHOWN and column.distinct + (column.missing > 0) > 1]
    if not search:
        result = SinglingOut(0, (), ())
    elif largest > 1 and pairs_affordable(len(search)):
        result = singling_out(table.classes([column.name for column in search]), largest=largest)
    else:
        single = [Combination((column.name,), column.unique, column.share_unique) for column in search]
        result = ranked(single, records, reach=1)
    alone = [(column.name,) for column in columns if column.share_unique == 1]
    minimal = tuple(dict.fromkeys([*alone, *result.minimal_unique]))
    return Profile(table.name, records, tuple(columns), result, minimal, mark, codes, person, rows)


def _numbered(policy: Policy | None, columns: Sequence[ColumnProfile], records: int) -> str | None:
    """The column whose numbers of people are on several rows each, unless a policy says what a row is."""
    if policy is not None and (policy.person is not None or policy.count is not None):
        return None
    several = [column for column in columns if column.numbered and 1 < column.distinct < records - column.missing]
    return max(several, key=lambda column: column.distinct).name if several else None


def _column(name: str, tally: Tally, shape: Shape, guessed: Guess, *, hidden: bool, table: Tabular) -> ColumnProfile:
    """One column; values of an identifier are never shown: five rows with one of them may be one person."""
    unread = not tally.complete and tally.bins is None  # some values that were not looked at are no numbers
    looks = "text" if shape.looks == "number" and unread else shape.looks
    if hidden:
        shares = []
    elif looks == "number" and tally.distinct > SHOWN:
        shares = _ranges(tally, shape, lambda: _grouping(name, tally, table))
    elif looks == "date" and tally.complete:
        decades, places = np.unique([shape.year(value) // 10 for value in tally.counts], return_inverse=True)
        people = _grouping(name, tally, table)(places, len(decades))
        shares = [Share(f"{decade}0s", int(size)) for decade, size in zip(decades, people, strict=True)]
    else:
        order = sorted(tally.counts.items(), key=lambda pair: (-pair[1], pair[0]))
        shares = [Share(value, size) for value, size in order][:SHOWN]
    shown = tuple(share for share in shares if share.records >= FEWEST)
    held = sum(tally.counts.values()) if tally.complete else tally.people - tally.missing
    return ColumnProfile(
        name,
        looks,
        tally.distinct,
        tally.missing,
        tally.unique,
        tally.unique / tally.people,
        shown,
        max(0, held - sum(share.records for share in shown)),
        **{what: getattr(guessed, what) for what in ("role", "reason", "hierarchy", "household", "numbered", "weight")},
    )


Grouping = Callable[[Ints, int], Ints]
"""People per group, given the group of each value and how many groups there are."""


def _grouping(name: str, tally: Tally, table: Tabular) -> Grouping:
    """How the people of a column's values are counted in groups: each once, however many of its values they hold."""
    if not (isinstance(table, Owned) and table.rows is not None):
        sizes = list(tally.counts.values())
        return lambda groups, number: np.bincount(groups, weights=sizes, minlength=number).astype(np.int64)
    classes = table.classes([name])
    order: dict[Label, int] = {value: place for place, value in enumerate(tally.counts)}
    places = np.array([order.get(value, -1) for (value,) in classes.tuples()])  # the missing value is in no group

    def people(groups: Ints, number: int) -> Ints:
        if classes.members is None:
            return np.bincount(groups[places[places >= 0]], classes.sizes[places >= 0], number).astype(np.int64)
        return classes.members.over(np.where(places < 0, number, groups[places])).sizes(number + 1)[:number]

    return people


def _ranges(tally: Tally, shape: Shape, grouping: Callable[[], Grouping]) -> list[Share]:
    """Ranges with round edges; the outer ones are open, so that nobody's extreme value shows."""
    bins = tally.bins
    if bins is not None:
        starts, width, sizes = bins.starts, bins.width, bins.people
        places = np.arange(len(starts))
        people: Grouping = lambda groups, number: np.bincount(groups, sizes, number).astype(np.int64)  # noqa: E731
    else:
        values = [float(Decimal(plain_number(value, shape.decimal))) for value in tally.counts]
        numbers, people = np.clip(np.array(values), -FARTHEST, FARTHEST), grouping()
        width = Bins.width_of(float(numbers.min()), float(numbers.max()))
        if not width:
            return [Share(f"{numbers[0]:.12g}", int(people(np.zeros(len(numbers), dtype=np.int64), 1)[0]))]
        starts, places = np.unique(np.floor(numbers / width), return_inverse=True)
    counts = people(places, len(starts))
    labels = [f"{start * width:.12g} to {(start + 1) * width:.12g}" for start in starts]
    shown = np.flatnonzero(counts >= FEWEST)
    if len(shown) > 1:
        first, last = int(shown[0]), int(shown[-1])
        counts[first : last + 1] = people(np.clip(places, first, last) - first, last - first + 1)
        labels[first] = f"below {(starts[first] + 1) * width:.12g}"
        labels[last] = f"{starts[last] * width:.12g} or more"
    return [Share(labels[place], int(counts[place])) for place in shown]
