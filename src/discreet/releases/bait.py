"""Bait (AnonTokens, as published): decoys riskier than any person, different per copy.

It works against an adversary without a list of the population. One who has such a list counts look-alikes and detects
decoys by their link counts, alone or together with others: `discreet.releases` has marks for that. This mode is here
because it is published, and because the attacks can be run against it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.kernel import Classes, Column
from discreet.kernel.arrays import Flags, Ints, Label
from discreet.kernel.serialise import json_of
from discreet.releases.marks.pairing import people_by
from discreet.releases.population_link import Linked
from discreet.wording import fine_percent

DECOYS = 10
BUDGET = 0.05
REMOVALS = ("random", "size", "risk")
"""Classes that one copy keeps alone: any, those hardly larger than k (as decoys are), or those of fewest people."""


@dataclass(frozen=True, eq=False)
class Baited:
    """One recipient's copy: what is put in, and what is taken out."""

    recipient: str
    decoys: Classes
    """Classes of people who are not in the data, with the number of rows each gets."""
    decoy_links: Ints
    """Per decoy, the people of the population who look like it."""
    alone: Ints
    """Places, among the released classes, of those that no other copy has,"""
    removed: Ints
    """and of those that this copy lacks, since another copy alone has them."""
    removed_records: int
    """People in them."""
    shift: float
    """The largest change of any column: half the sum of absolute differences of its shares, before and after."""

    to_dict = json_of(
        "recipient decoy_records=decoys.records removed_records shift",
        decoys=lambda self: len(self.decoys),
        alone=lambda self: len(self.alone),
        removed=lambda self: len(self.removed),
    )

    def __repr__(self) -> str:
        return f"Baited({len(self.decoys)} decoys of {self.decoys.records} rows, {len(self.removed)} classes removed)"


@dataclass(frozen=True, eq=False)
class BaitCopy:
    """All classes of a copy as its recipient sees them, and what only the custodian knows."""

    tuples: tuple[tuple[Label, ...], ...]
    sizes: Ints
    links: Ints
    """People of the population in each class, which a recipient with a list of it can count."""
    decoy: np.ndarray[Any, np.dtype[np.bool_]]
    """Which classes are decoys: the custodian's secret."""

    def __repr__(self) -> str:
        return f"BaitCopy({int(self.sizes.sum())} rows in {len(self.sizes)} classes)"


@dataclass(frozen=True, eq=False)
class BaitPlan:
    """Disjoint decoys for every recipient, and the real classes each copy lacks."""

    linked: Linked
    copies: tuple[Baited, ...]
    removal: str
    budget: float
    available: int
    """Candidates that could be used."""

    def of(self, recipient: str) -> Baited:
        """One recipient's copy."""
        for copy in self.copies:
            if copy.recipient == recipient:
                return copy
        raise UsageError(f"'{recipient}' is no recipient of this plan.", remedy="Plan again with all recipients.")

    def seen_by(self, recipient: str) -> BaitCopy:
        """What a recipient holds, class by class in the order of their values."""
        copy, released = self.of(recipient), self.linked.released
        present = np.ones(len(released), dtype=bool)
        present[copy.removed] = False
        tuples = [*released.keep(present).tuples(), *copy.decoys.tuples()]
        sizes = np.concatenate([released.sizes[present], copy.decoys.sizes])
        links = np.concatenate([self.linked.links[present], copy.decoy_links])
        decoy = np.arange(len(tuples)) >= int(present.sum())
        order = sorted(range(len(tuples)), key=lambda place: [(cell is None, cell or "") for cell in tuples[place]])
        return BaitCopy(tuple(tuples[place] for place in order), sizes[order], links[order], decoy[order])

    def probability_of_decoy(self, recipient: str) -> float:
        """The paper's n_d/(n_d + n_e): how likely a class that only one copy of a coalition holds is a decoy.

        It is the same for coalitions of every size, since a copy has each of its n_e classes alone among all copies. This
        is no guarantee, and is never shown as one. It holds only against recipients without population data; those who
        can count look-alikes detect decoys nearly always.
        """
        copy = self.of(recipient)
        return len(copy.decoys) / (len(copy.decoys) + len(copy.alone))

    def hits(self, leaked: Classes) -> dict[str, int]:
        """Decoys of each recipient in a leaked copy at any levels, without those that merged with released people."""
        hits = {}
        for copy in self.copies:
            alone = ~same_origin(copy.decoys, self.linked.released.at(joined_levels(copy.decoys, leaked)))
            hits[copy.recipient] = int((same_origin(copy.decoys, leaked) & alone).sum())
        return hits

    def words(self) -> str:
        """The plan for people."""
        first = self.copies[0]
        share = max(copy.removed_records for copy in self.copies) / self.linked.released.records
        return (
            f"{len(self.copies):,} recipients get {len(first.decoys):,} decoys each, none in two copies, of {self.available:,} "
            f"candidates, and {len(first.alone):,} real classes ({self.removal}) that no other copy has; so each copy lacks "
            f"{len(first.removed):,} real classes, at most {fine_percent(share)} of the people. A recipient with a list of the population can tell these decoys by counting look-alikes, alone or "
            f"with others."
        )

    to_dict = json_of(
        "available removal budget copies",
        recipients=lambda self: len(self.copies),
        released=lambda self: len(self.linked.released),
    )

    def __repr__(self) -> str:
        return f"BaitPlan({len(self.copies)} recipients, {len(self.copies[0].decoys)} decoys each)"


def plan_bait(
    linked: Linked,
    recipients: Sequence[str],
    *,
    rng: np.random.Generator,
    decoys: int = DECOYS,
    removal: str = "risk",
    budget: float = BUDGET,
    least_factor: float = 1.0,
    most_factor: float | None = None,
    subjects: bool = False,
    fillable: Flags | None = None,
) -> BaitPlan:
    """Choose decoys by risk factor, deal them out, and choose real classes that one copy keeps alone.

    With `most_factor` decoys are any candidates between the two factors, so that they are no outliers (the paper: a
    factor of at most 1.5, or classes of minLink/2 people, a factor of 2). Without it the riskiest come first.

    Each recipient's own real classes are taken out of the copies of all others, so that a class which only one of several
    colluding copies holds need not be a decoy (Section 3 of the paper). `budget` is the share of the released classes that
    a copy may lose so; `removal` is one of `REMOVALS`; `least_factor` leaves out candidates of less risk; `subjects` allows
    candidates in which people of the data were left out, and `fillable` leaves out candidates for which no rows can be made.
    The state of `rng` determines the decoys: seed it with a secret.
    """
    if not recipients or len(set(recipients)) < len(recipients):
        raise UsageError("Every recipient is named once.", remedy='For example recipients=["north", "south"].')
    # Candidates that may be used, the riskiest first, ties in any order.
    candidates, released, many = linked.candidates, linked.released, len(recipients)
    if most_factor is not None and not most_factor >= least_factor:
        raise UsageError(
            f"The largest factor, {most_factor:g}, is below the least, {least_factor:g}.",
            remedy="A decoy is at least as risky as the riskiest person: most_factor=1.5, for example.",
        )
    fits = candidates.factors >= least_factor
    if not subjects:
        fits &= candidates.subjects == 0
    if fillable is not None:
        fits &= fillable
    if most_factor is None:
        usable = _riskiest_first(np.flatnonzero(fits), candidates.links, rng)
    else:
        usable = rng.permutation(np.flatnonzero(fits & (candidates.factors <= most_factor)))
    if decoys < 1 or decoys * many > len(usable):
        raise UsageError(
            f"{len(usable):,} candidates are enough for {len(usable) // max(decoys, 1):,} recipients of {decoys:,} decoys "
            f"each, not for {many:,}.",
            remedy="Give fewer decoys to each, lower the least factor, or look at other limits: release feasibility --grid.",
        )
    # Released classes that each copy keeps and all others lose.
    per_copy = classes_per_recipient(budget, len(released), many)
    if removal not in REMOVALS:
        raise UsageError(f"There is no removal named '{removal}'.", remedy=f"Choose one of: {', '.join(REMOVALS)}.")
    if removal == "risk":
        pool = _riskiest_first(np.flatnonzero(linked.links > 0), linked.links, rng)
    else:
        small = 10 * released.sizes <= 11 * linked.k
        pool = rng.permutation(len(released) if removal == "random" else np.flatnonzero(small))
    if per_copy * many > len(pool):
        raise UsageError(
            f"Removal by {removal} finds {len(pool):,} classes, enough for {len(pool) // per_copy:,} copies that keep "
            f"{per_copy:,} each alone, not for {many:,}.",
            remedy="Lower the budget, serve fewer recipients, or remove at random.",
        )
    alone = deal(pool, per_copy, many, rng)
    hands = deal(usable, decoys, many, rng)
    everyone = np.concatenate(alone)
    copies = tuple(
        _copy_with_bait(linked, name, hand, own, np.setdiff1d(everyone, own), rng)
        for name, hand, own in zip(recipients, hands, alone, strict=True)
    )
    return BaitPlan(linked, copies, removal, float(budget), len(usable))


def _copy_with_bait(
    linked: Linked, recipient: str, hand: Ints, alone: Ints, removed: Ints, rng: np.random.Generator
) -> Baited:
    """One recipient's copy, and the largest total variation distance of a column between it and the released table."""
    candidates, released = linked.candidates, linked.released
    places = candidates.classes.keep(np.isin(np.arange(len(candidates)), hand))
    decoys = Classes(places.columns, places.codes, decoy_sizes(linked, places.sizes, rng))
    left = released.keep(~np.isin(np.arange(len(released)), removed))
    rows, shifts = left.records + decoys.records, [0.0]
    for name in released.names:
        before, after, added = (people_by(classes, name) for classes in (released, left, decoys))
        shares = [
            (before.get(label, 0.0) / released.records, after.get(label, 0.0) / rows + added.get(label, 0.0) / rows)
            for label in {*before, *after, *added}
        ]
        shifts.append(math.fsum(abs(old - new) for old, new in shares) / 2)
    people = int(released.sizes[removed].sum())
    return Baited(recipient, decoys, places.sizes, alone, removed, people, max(shifts))


def _riskiest_first(places: Ints, links: Ints, rng: np.random.Generator) -> Ints:
    """Classes of the fewest people in the population first, ties in any order."""
    shuffled = rng.permutation(places)
    return shuffled[np.argsort(links[shuffled], kind="stable")]


def classes_per_recipient(budget: float, classes: int, recipients: int) -> int:
    """Real classes that each copy keeps alone: n_e = floor(b * E_d / N_r).

    Each copy then lacks those of all others, (N_r - 1) * n_e, which is less than the share b of the classes.

    >>> classes_per_recipient(0.05, 1000, 7)
    7
    """
    if not 0 <= budget <= 1:
        raise UsageError("The removal budget is a share from 0 to 1.", remedy="0.05 means: 5 % of the classes.")
    return math.floor(Fraction(str(budget)) * classes / recipients)


def deal(ranked: Ints, per_copy: int, copies: int, rng: np.random.Generator) -> list[Ints]:
    """The first of a ranking dealt out in rounds, so that no copy gets all of the best; the order changes each round.

    >>> hands = deal(np.arange(6), 2, 3, np.random.default_rng(1))
    >>> [sorted(hand // 3) for hand in hands] == [[0, 1]] * 3
    True
    """
    rounds = ranked[: per_copy * copies].reshape(per_copy, copies)
    dealt = rng.permuted(rounds, axis=1)
    return [np.sort(dealt[:, copy]) for copy in range(copies)]


# A class of few people in the population has few in the data. A decoy as large as the average class would be noticed, and
# so would decoys that are all as small as they may be.
NEIGHBOURS = 25
"""Released classes among which a size is drawn."""


def decoy_sizes(linked: Linked, links: Ints, rng: np.random.Generator) -> Ints:
    """A size for a decoy of each link count G: that of a released class nearby in ln G, and never more than G.

    >>> from discreet.kernel import Classes
    >>> people = Classes.of(["zip"], [("1",), ("2",), ("3",)], [3, 4, 90])
    >>> linked = Linked.at_node(people, people, [0], k=3)
    >>> decoy_sizes(linked, np.array([3]), np.random.default_rng(1)).tolist()
    [3]
    """
    met = linked.links > 0
    if not met.any():
        raise UsageError("No class is released, so no size can be taken from one.", remedy="Allow other limits.")
    order = np.argsort(linked.links[met], kind="stable")
    log_links, sizes = np.log(linked.links[met][order]), linked.released.sizes[met][order]
    width = min(NEIGHBOURS, len(log_links))
    first = np.clip(np.searchsorted(log_links, np.log(links)) - width // 2, 0, len(log_links) - width)
    drawn = []
    for start, link in zip(first, links, strict=True):
        # More people than the population has would give the decoy away.
        fitting = sizes[start : start + width]
        fitting = fitting[fitting <= link]
        drawn.append(int(rng.choice(fitting)) if len(fitting) else linked.k)
    return np.array(drawn, dtype=np.int64)


# Classes of two copies stem from the same people if they meet at the coarser of their levels, column by column.
def joined_levels(mine: Classes, theirs: Classes) -> dict[str, int]:
    """The per-column maximum of the levels: the finest node at which both can be compared."""
    others = theirs.levels
    return {name: max(level, others[name]) for name, level in mine.levels.items()}


def same_origin(mine: Classes, theirs: Classes) -> NDArray[np.bool_]:
    """For each class of mine, whether some class of theirs may hold the same people.

    >>> from discreet.kernel import Mask
    >>> fine = Classes.of(["zip"], [("11",), ("12",), ("21",)], rules={"zip": Mask(2)})
    >>> same_origin(fine, fine.keep(np.array([True, False, False])).at({"zip": 1})).tolist()
    [True, True, False]
    """
    levels = joined_levels(mine, theirs)
    columns = tuple(Column(column.name, column.hierarchy, levels[column.name]) for column in mine.columns)
    codes = tuple(
        column.hierarchy.map(column.level, levels[column.name])[each]
        for column, each in zip(mine.columns, mine.codes, strict=True)
    )
    # Not regrouped: one entry for each class of mine, also where two of them become one.
    return np.asarray(Classes(columns, codes, mine.sizes).link(theirs) > 0)
