"""Published columns that say what was made coarser, or single people out by values of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.kernel import Coded
from discreet.kernel.arrays import Ints, Label, group
from discreet.kernel.hierarchy import Tally
from discreet.kernel.rules import Rule
from discreet.kernel.serialise import json_of
from discreet.policy import Policy
from discreet.wording import brief_percent

# Columns that give a quasi-identifier away: what is published as it is says what was made coarser.
#
# The square of the age, the year of birth beside the age, the city beside its region: whoever reads the one knows the other.
# Looked for on some rows, by pairs: of two rows with the same value of the published column, how often have they the same
# value of the quasi-identifier, and how often have two rows that are alike in what is published of it?
MOST_ROWS = 20_000
FOLLOWS = 0.95
"""The same of what is published of a quasi-identifier, for a column that follows from it: whether they are 50 or older."""
FEWEST_PAIRS = 50
"""Pairs of rows that must share a value, or nothing follows from what they have in common."""
CLEAR = 0.35
"""Share of what a column leaves open that another must close: two ages belong to a year of birth."""
FEW_ROWS = 5
"""Rows per value from which on the values themselves say something; rarer ones are each a person's own, which nobody can read,"""
RANGES = 500
"""so that numbers and dates are compared in so many ranges as well."""


@runtime_checkable
class Sampled(Protocol):
    """A table that hands over some of its rows."""

    def sample(self, names: Sequence[str], *, most: int) -> dict[str, Coded]:
        """The cells of some columns, row by row: of all rows, or of so many by chance."""

    @property
    def published(self) -> dict[str, str]:
        """Every column that is published, with its role."""


@dataclass(frozen=True)
class Giveaway:
    """A published column from which a quasi-identifier can be told."""

    column: str
    role: str
    quasi: str
    share: float
    """Of pairs of rows with the same value of the column, those with the same value of the quasi-identifier,"""
    baseline: float
    """and the same of pairs that are alike in what is published of the quasi-identifier."""
    rows: int
    """Rows that were looked at."""
    cuts: bool = False
    """Whether it follows from the quasi-identifier instead, and so divides what is published of it: shares are the other
    way round, of pairs with the same value of the quasi-identifier those with the same value of the column."""

    @property
    def exact(self) -> bool:
        """Whether each value of the one goes with one value of the other in these rows."""
        return self.share == 1.0

    def words(self) -> str:
        """The finding as a sentence."""
        if self.cuts:
            return (
                f"{self.column} ({self.role}, published as it is) follows from {self.quasi}, so it divides what is "
                f'published of {self.quasi}. role = "drop" leaves it out; role = "quasi" counts it among what people know.'
            )
        how = (
            "exactly"
            if self.exact
            else f"nearly: {brief_percent(self.share)} of pairs of rows that share the one share the other"
        )
        return (
            f"{self.column} ({self.role}, published as it is) gives {self.quasi} away {how}. "
            f'role = "drop" leaves it out; role = "quasi" with a hierarchy makes it coarser, too.'
        )

    to_dict = json_of("column role quasi share baseline exact cuts rows")


# Columns that are published as they are and single people out without any quasi-identifier: a number, an exact amount.
OWN = 0.5
"""Share of people with a value of their own above which a column is named."""


@runtime_checkable
class Tallied(Protocol):
    """A table whose columns are counted one by one."""

    def tallies(self, names: Sequence[str]) -> Iterator[Tally]:
        """People per value of each column alone."""

    @property
    def published(self) -> Mapping[str, str]:
        """Every column that is published, with its role."""


@dataclass(frozen=True)
class SinglesOut:
    """A column published as it is in which most people have a value that nobody else has."""

    column: str
    role: str
    people: int
    """People with a value of their own; a missing one counts as a value,"""
    records: int
    """of so many."""

    def words(self) -> str:
        """The finding as a sentence."""
        return (
            f"{self.people:,} of {self.records:,} people have a value of {self.column} ({self.role}, published as it is) that "
            f'nobody else has: an attacker who knows it finds them. role = "drop" leaves it out; role = "quasi" counts it '
            "among what people know."
        )

    to_dict = json_of("column role people")


def singling_columns(table: Tallied) -> tuple[SinglesOut, ...]:
    """Columns published as they are in which more than half of the people have a value that nobody else has."""
    told = {name: role for name, role in table.published.items() if role in ("other", "sensitive")}
    return tuple(
        SinglesOut(name, role, tally.unique, tally.people)
        for (name, role), tally in zip(told.items(), table.tallies([*told]) if told else (), strict=True)
        if tally.unique > OWN * tally.people
    )


Telling = Giveaway | SinglesOut
"""What a column that is published as it is tells about people."""


def giveaways(
    table: Sampled, coarser: Mapping[str, Callable[[Label], object] | None], *, most: int = MOST_ROWS
) -> tuple[Giveaway, ...]:
    """Published columns that give a quasi-identifier away.

    `coarser` has the quasi-identifiers that are not published as they are, each with what is published of a value; None
    where that is not known yet, or where nothing of it is published.
    """
    told = {
        name: role for name, role in table.published.items() if role in ("other", "sensitive") and name not in coarser
    }
    if not coarser or not told:
        return ()
    cells = table.sample([*coarser, *told], most=most)
    readings, found = {name: _readings(cells[name]) for name in told}, []
    for quasi in coarser:
        shown = np.zeros(len(cells[quasi].codes), dtype=np.int64)
        published = coarser[quasi]
        if published is not None:
            labels = [published(value) for value in cells[quasi].values]
            places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
            shown = np.array([places[label] for label in labels], dtype=np.int64)[cells[quasi].codes]
        # A quasi-identifier that is nearly each person's own is told by its order: a number that counts along with it.
        targets = _readings(cells[quasi]) or [cells[quasi].codes]
        measured = [
            (target, baseline) for target in targets if (baseline := _agreement(shown, target)) not in (None, 1)
        ]
        for name, role in told.items():
            shares = [
                (share, baseline)
                for (target, baseline), codes in itertools.product(measured, readings[name])
                if (share := _agreement(codes, target)) is not None
            ]
            share, baseline = max(shares, key=lambda pair: (pair[0] - pair[1]) / (1 - pair[1]), default=(0.0, 0.0))
            if (share - baseline) / (1 - baseline) >= CLEAR:
                found.append(Giveaway(name, role, quasi, share, baseline, len(shown)))
            elif (follows := _follows(cells[name].codes, targets, shown)) is not None:
                found.append(Giveaway(name, role, quasi, *follows, len(shown), cuts=True))
    return tuple(found)


def _follows(codes: Ints, targets: Sequence[Ints], shown: Ints) -> tuple[float, float] | None:
    """Shares of pairs alike in a column, of those alike in a quasi-identifier and in what is published of it.

    None where the column does not follow from the quasi-identifier, or divides nothing that is published.
    """
    baseline = _agreement(shown, codes)
    shares = [share for target in targets if (share := _agreement(target, codes)) is not None]
    if baseline is None or not shares or (max(shares) - baseline) < FOLLOWS * (1 - baseline) or baseline == 1:
        return None
    return max(shares), baseline


def coarser_at(policy: Policy, levels: Mapping[str, int]) -> dict[str, Callable[[Label], object] | None]:
    """Quasi-identifiers that are published at a level above their first, with what is published of a value.

    Those without a level are recoded class by class, in ways of their own.
    """
    found: dict[str, Callable[[Label], object] | None] = {}
    for name in policy.quasi:
        level = levels.get(name)
        if level != 0:
            found[name] = None if level is None else _published(policy.rule(name), level)
    return found


def _published(rule: Rule, level: int) -> Callable[[Label], object]:
    def label(value: Label) -> object:
        path = rule.missing if value is None else rule.path(value)
        return None if path is None else path[level]

    return label


def _agreement(given: Ints, target: Ints) -> float | None:
    """Of pairs of rows with the same `given`, the share with the same `target`; None where there are too few pairs."""
    sizes = np.bincount(given) if len(given) else given
    pairs = int((sizes * (sizes - 1)).sum()) // 2
    if pairs < FEWEST_PAIRS:
        return None
    wide = int(target.max()) + 1
    _, members, number = group(given * wide + target, (int(given.max()) + 1) * wide)
    both = np.bincount(members, minlength=number)
    return float((both * (both - 1)).sum() / 2 / pairs)


def _readings(coded: Coded) -> list[Ints]:
    """The values of a column, and the ranges they are in by their order; texts have that of a dictionary."""
    known = [value for value in coded.values if value is not None]
    order: np.ndarray[Any, Any]
    try:
        order = np.array([float(value) for value in known])
    except ValueError:
        order = np.array(known)
    readings = [coded.codes] if FEW_ROWS * len(known) <= len(coded.codes) else []
    ranges = min(RANGES, len(coded.codes) // FEW_ROWS)
    if len(known) > ranges > 1:
        ranks = np.empty(len(known), dtype=np.int64)
        ranks[np.argsort(order, kind="stable")] = np.arange(len(known))
        by_value = dict(zip(known, (ranks * ranges // len(known)).tolist(), strict=True))
        places = [ranges if value is None else by_value[value] for value in coded.values]
        readings.append(np.array(places, dtype=np.int64)[coded.codes])
    return readings
