"""Published columns that say what was made coarser, or single people out by values of their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.kernel import Classes, Coded
from discreet.kernel.arrays import Ints, group
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
MANY = 20
"""Values from which on so little is clear; of fewer, such as decades, much is said by whatever goes along with them,"""
NEARLY = 0.9
"""and a column must close so much."""
FEWEST_APART = 10
"""Pairs that would differ by chance must be so many, or it says nothing that they agree."""
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

    @property
    def policy(self) -> Policy | None:
        """What its columns are."""


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
    level: int = 0
    """The level of the quasi-identifier's hierarchy that it says: an age says a year of birth, not a day."""
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
        what = f"level {self.level} of {self.quasi}" if self.level else self.quasi
        return (
            f"{self.column} ({self.role}, published as it is) gives {what} away {how}. "
            f'role = "drop" leaves it out; role = "quasi" with a hierarchy makes it coarser, too.'
        )

    to_dict = json_of("column role quasi level share baseline exact cuts rows")


# Columns that are published as they are and single people out without any quasi-identifier: a number, an exact amount.
OWN = 0.2
"""Share of people with a value of their own from which on a column is named, and for two columns that are no measurement:"""
OWN_TOGETHER = 0.5
PAIRS = 10
"""pairs that are counted, those first that look most like it in some rows."""
MOST_PAIRED = 60
"""Columns up to which pairs are looked at."""


@runtime_checkable
class Tallied(Protocol):
    """A table whose columns are counted, one by one or together."""

    def tallies(self, names: Sequence[str]) -> Iterator[Tally]:
        """People per value of each column alone."""

    def classes(self, by: Sequence[str]) -> Classes:
        """People per tuple of values."""

    def sample(self, names: Sequence[str], *, most: int) -> dict[str, Coded]:
        """The cells of some columns, row by row: of all rows, or of so many by chance."""

    @property
    def published(self) -> Mapping[str, str]:
        """Every column that is published, with its role."""


@dataclass(frozen=True)
class SinglesOut:
    """A column published as it is, or two, in which many people have values that nobody else has."""

    columns: tuple[str, ...]
    role: str
    people: int
    """People with a value of their own; a missing one counts as a value,"""
    records: int
    """of so many."""

    @property
    def column(self) -> str:
        """The name, or both."""
        return " and ".join(self.columns)

    def words(self) -> str:
        """The finding as a sentence."""
        values = "a value" if len(self.columns) == 1 else "values"
        return (
            f"{self.people:,} of {self.records:,} people have {values} of {self.column} ({self.role}, published as "
            f"{'it is' if len(self.columns) == 1 else 'they are'}) that nobody else has: an attacker who knows "
            f'{"it" if len(self.columns) == 1 else "them"} finds them. role = "drop" leaves a column out; role = "quasi" '
            "counts it among what people know."
        )

    to_dict = json_of("column columns role people")


def singling_columns(table: Tallied) -> tuple[SinglesOut, ...]:
    """Columns published as they are, and pairs of other ones, in which many people have values that nobody else has."""
    told = {name: role for name, role in table.published.items() if role in ("other", "sensitive")}
    tallies = dict(zip(told, table.tallies([*told]), strict=True)) if told else {}
    found = [
        SinglesOut((name,), told[name], tally.unique, tally.people)
        for name, tally in tallies.items()
        if tally.unique > OWN * tally.people
    ]
    named = {one.column for one in found}
    paired = [
        name for name, role in told.items() if role == "other" and name not in named and tallies[name].distinct > 1
    ]
    for names in _likely_pairs(table, paired):
        classes = table.classes(names)
        unique = classes.people(classes.sizes == 1)
        if unique > OWN_TOGETHER * classes.records:
            found.append(SinglesOut(names, "other", unique, classes.records))
    return tuple(found)


def _likely_pairs(table: Tallied, names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns that nearly single out most of some rows; whoever is not alone among few is not among many."""
    if not 2 <= len(names) <= MOST_PAIRED:
        return []
    cells = table.sample(names, most=MOST_ROWS)
    likely = []
    for first, second in itertools.combinations(names, 2):
        one, other = cells[first], cells[second]
        rows = len(one.codes)
        if len(one.values) * len(other.values) <= OWN_TOGETHER * rows:
            continue  # there are too few pairs of values
        _, members, number = group(one.codes * len(other.values) + other.codes, len(one.values) * len(other.values))
        alone = int((np.bincount(members, minlength=number) == 1).sum())
        if alone > OWN_TOGETHER * rows:
            likely.append((alone, (first, second)))
    return [pair for _, pair in sorted(likely, key=lambda one: -one[0])[:PAIRS]]


Telling = Giveaway | SinglesOut
"""What a column that is published as it is tells about people."""


def told_apart(found: Sequence[Telling]) -> dict[str, list[dict[str, Any]]]:
    """The findings for JSON, by their kind."""
    return {
        "gives_away": [one.to_dict() for one in found if isinstance(one, Giveaway)],
        "singles_out": [one.to_dict() for one in found if isinstance(one, SinglesOut)],
    }


def telling_columns(table: Sampled, levels: Mapping[str, int] | None = None) -> tuple[Telling, ...]:
    """Published columns that single people out, then those that give away what is published at these levels."""
    singling = singling_columns(table) if isinstance(table, Tallied) else ()
    return *singling, *giveaways(table, levels)


def giveaways(
    table: Sampled, levels: Mapping[str, int] | None = None, *, most: int = MOST_ROWS
) -> tuple[Giveaway, ...]:
    """Published columns that give a quasi-identifier away.

    `levels` are those at which quasi-identifiers are published; one without a level is recoded class by class, in ways of
    its own. Without `levels` nothing is known of what is published.
    """
    policy = table.policy or Policy()
    coarser = [name for name in policy.quasi if levels is None or levels.get(name) != 0]
    told = {
        name: role for name, role in table.published.items() if role in ("other", "sensitive") and name not in coarser
    }
    if not coarser or not told:
        return ()
    cells = table.sample([*coarser, *told], most=most)
    readings, found = {name: _readings(cells[name]) for name in told}, []
    for quasi in coarser:
        steps = LevelsOf(cells[quasi], policy.rule(quasi))
        level = None if levels is None else levels.get(quasi)
        shown = np.zeros(len(cells[quasi].codes), dtype=np.int64) if level is None else steps.at(level)
        # A quasi-identifier that is nearly each person's own is told by its order: a number that counts along with it.
        own = _readings(cells[quasi], order=steps.order)
        targets = [(0, reading) for reading in own]
        targets += [(step, codes) for step, codes in steps.between() if step != level]
        measured = [
            (step, target, baseline, CLEAR if not step or int(target.max()) >= MANY else NEARLY)
            for step, target in targets
            if (baseline := _agreement(shown, target)) not in (None, 1)
        ]
        for name, role in told.items():
            best, finest = None, (0, 0.0)
            for (step, target, baseline, enough), codes in itertools.product(measured, readings[name]):
                share = _agreement(codes, target)
                if share is None or (share - baseline) < enough * (1 - baseline):
                    continue
                if (detail := (int(target.max()), share - baseline)) > finest:  # the year of birth, not its decade
                    best, finest = Giveaway(name, role, quasi, share, baseline, len(shown), level=step), detail
            if best is not None:
                found.append(best)
            elif (follows := _follows(cells[name].codes, steps, own, shown)) is not None:
                found.append(Giveaway(name, role, quasi, *follows, len(shown), cuts=True))
    return tuple(found)


def _follows(codes: Ints, steps: LevelsOf, own: Sequence[Ints], shown: Ints) -> tuple[float, float] | None:
    """Shares of pairs alike in a column, of those alike in a quasi-identifier and in what is published of it.

    None where the column does not follow from the quasi-identifier, or divides nothing that is published.
    """
    baseline = _agreement(shown, codes)
    if baseline is None or baseline == 1:
        return None
    shares = [_agreement(target, codes, apart=1 - baseline) for target in (steps.codes, *own)]
    # Days of birth that hardly anybody shares are compared with the next ones: an age goes on over many of them.
    shares.append(steps.agreement_of_neighbours(codes))
    best = max((share for share in shares if share is not None), default=0.0)
    return (best, baseline) if best - baseline >= FOLLOWS * (1 - baseline) else None


class LevelsOf:
    """What each row of a quasi-identifier is at every level of its hierarchy."""

    def __init__(self, coded: Coded, rule: Rule) -> None:
        self.codes: Ints = coded.codes
        self.height = rule.height
        self.values = coded.values
        self._paths = [rule.missing if value is None else rule.path(value) for value in coded.values]

    def at(self, level: int) -> Ints:
        """Codes of the labels at a level, row by row."""
        labels = [None if path is None else path[level] for path in self._paths]
        places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        return np.array([places[label] for label in labels], dtype=np.int64)[self.codes]

    def between(self) -> Iterator[tuple[int, Ints]]:
        """The levels between the values and the top, with their codes."""
        for level in range(1, self.height - 1):
            yield level, self.at(level)

    @cached_property
    def order(self) -> Ints:
        """The rank of each value: numbers by size, others by the groups of their hierarchy, as dates by decade and year."""
        known = [place for place, value in enumerate(self.values) if value is not None]
        try:
            keys: list[Any] = [float(str(self.values[place])) for place in known]
        except ValueError:
            keys = [tuple(map(str, reversed(self._paths[place] or (self.values[place],)))) for place in known]
        ranks = np.full(len(self.values), len(known), dtype=np.int64)
        for rank, (_, place) in enumerate(sorted(zip(keys, known, strict=True))):
            ranks[place] = rank
        return ranks

    def agreement_of_neighbours(self, codes: Ints) -> float | None:
        """Of rows that need not differ from the next one in the order of the values, the share that do not.

        A column has at least as many changes as values. None where the quasi-identifier's values repeat, or where hardly
        any of the column do.
        """
        distinct, rows = len(np.unique(codes)), len(self.codes)
        if len(self.values) * FEW_ROWS <= rows or rows - distinct < FEWEST_PAIRS:
            return None
        ordered = codes[np.argsort(self.order[self.codes], kind="stable")]
        changes = int((ordered[1:] != ordered[:-1]).sum())
        return 1 - (changes - (distinct - 1)) / (rows - distinct)


def _agreement(given: Ints, target: Ints, *, apart: float = 1.0) -> float | None:
    """Of pairs of rows with the same `given`, the share with the same `target`; None where there are too few pairs.

    `apart` is the share of all pairs that differ: of too few pairs none may, by chance.
    """
    sizes = np.bincount(given) if len(given) else given
    pairs = int((sizes * (sizes - 1)).sum()) // 2
    if pairs < FEWEST_PAIRS or pairs * apart < FEWEST_APART:
        return None
    wide = int(target.max()) + 1
    _, members, number = group(given * wide + target, (int(given.max()) + 1) * wide)
    both = np.bincount(members, minlength=number)
    return float((both * (both - 1)).sum() / 2 / pairs)


def _readings(coded: Coded, *, order: Ints | None = None) -> list[Ints]:
    """The values of a column, and the ranges they are in by their order; texts have that of a dictionary."""
    known = [value for value in coded.values if value is not None]
    keys: np.ndarray[Any, Any]
    try:
        keys = np.array([float(value) for value in known])
    except ValueError:
        keys = np.array(known)
    if order is not None:
        keys = np.array([rank for rank, value in zip(order, coded.values, strict=True) if value is not None])
    readings = [coded.codes]
    ranges = min(RANGES, len(coded.codes) // FEW_ROWS)
    if len(known) > ranges > 1:
        ranks = np.empty(len(known), dtype=np.int64)
        ranks[np.argsort(keys, kind="stable")] = np.arange(len(known))
        by_value = dict(zip(known, (ranks * ranges // len(known)).tolist(), strict=True))
        places = [ranges if value is None else by_value[value] for value in coded.values]
        readings.append(np.array(places, dtype=np.int64)[coded.codes])
    return readings
