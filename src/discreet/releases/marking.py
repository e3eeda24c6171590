"""Choosing the marks of a release, and making up the rows of its decoys.

Everything that is drawn is drawn from the key, so that the same release can be made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import Refused, UsageError
from discreet.kernel import Classes
from discreet.kernel.hierarchy import Ints, Label
from discreet.policy import Policy
from discreet.releases.band import Band
from discreet.releases.bias import Shifts, shifts_so_far
from discreet.releases.budget import Budget, expected_lost, worst_lost
from discreet.releases.closeness import Space
from discreet.releases.codebook import Marks, secret_probabilities
from discreet.releases.decoys import DecoyRows
from discreet.releases.donors import Column, Donors, neighbours
from discreet.releases.keyed import Floats, derive
from discreet.releases.laws import DEFAULT, Law
from discreet.releases.linked import Linked
from discreet.releases.pairing import closest, most
from discreet.releases.splicing import Splicer
from discreet.releases.telling import Exhibit, Gate, told
from discreet.sources.table import Table

FEWEST_MARKS = 30
NEAR = 0.95
"""The share of real classes whose distance to the nearest other one a decoy must not exceed."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Real classes and the unreleased ones they were paired with, the riskiest first."""

    real: Ints
    """Places among the released classes."""
    free: Ints
    """Places among the classes of the population."""

    def __len__(self) -> int:
        return len(self.real)

    def first(self, count: int) -> Pairs:
        """The riskiest of them."""
        return Pairs(self.real[:count], self.free[:count])


@dataclass(frozen=True, eq=False)
class Marking:
    """The marks of a release and the rows of its decoys."""

    linked: Linked
    marks: Marks
    decoys: DecoyRows
    gate: Gate
    shifts: Shifts
    """Per column, how far the share of any of its values changes in an average copy."""
    probabilities: Floats
    """Per mark, the secret probability of being present."""
    band: Band
    pairs: int
    """Pairs that could have been marks."""

    @cached_property
    def rows_lost(self) -> float:
        """The share of released rows that a copy lacks on average."""
        real = ~self.marks.decoy
        return expected_lost(self.marks.sizes[real], self.probabilities[real]) / self.linked.released.records

    @cached_property
    def most_lost(self) -> float:
        """The share of released rows that fewer than one copy in a million lacks."""
        real = ~self.marks.decoy
        return float(worst_lost(self.marks.sizes[real], self.probabilities[real])[-1]) / self.linked.released.records

    def to_dict(self) -> dict[str, Any]:
        """For JSON; counts and shares only, nothing that says which classes are marks."""
        return {
            "marks": len(self.marks),
            "pairs_available": self.pairs,
            "band": {"real": len(self.band.real), "free": len(self.band.free)},
            "rows_lost": self.rows_lost,
            "most_lost": self.most_lost,
            "gate": self.gate.to_dict(),
            "shifts": dict(self.shifts),
        }

    def __repr__(self) -> str:
        return f"Marking({len(self.marks)} marks, {self.rows_lost:.1%} of rows lost per copy, gate {self.gate.auc:.2f})"


def mark(
    linked: Linked,
    table: Table,
    *,
    key: bytes,
    release: str,
    law: Law = DEFAULT,
    budget: Budget | None = None,
    force: bool = False,
) -> Marking:
    """Choose marks within the budget and make up the rows of their decoys; refused where that cannot be done well."""
    drop = _published(table)
    budget = budget or Budget()
    band = Band.of(linked)
    available = paired(linked, band, budget=budget)
    chosen = affordable(linked, available, law, budget=budget, release=release, key=key)
    marks = as_marks(linked, chosen)
    if len(marks) < FEWEST_MARKS and not force:
        raise _too_few(len(marks))
    generator = np.random.default_rng(list(derive(key, f"decoys/{release}")))
    space = Space(linked.released, {})
    decoy_classes, sizes = _classes_of(linked, chosen), linked.released.sizes[chosen.real]
    near = neighbours(space, decoy_classes, sizes)
    wanted = np.zeros(len(linked.released), dtype=bool)
    wanted[np.concatenate([chosen.real, *near])] = True
    donors = Donors.fetch(table, linked.released, wanted, drop=drop)
    made = _filled(donors, near, sizes, generator)
    decoys = _decoy_rows(donors, made, sizes, len(chosen))
    gate = _gate(linked, donors, chosen, made, sizes, generator)
    if gate.refused and not force:
        raise _told_apart(gate)
    probabilities = secret_probabilities(marks, law, release=release, key=key)
    return Marking(
        linked, marks, decoys, gate, _shifts(linked, marks, probabilities), probabilities, band, len(available)
    )


def paired(linked: Linked, band: Band, *, budget: Budget) -> Pairs:
    """Pairs of a real class and a near unreleased one with about the same link count, the riskiest first."""
    space = Space(linked.released, {})
    real_classes, free_classes = _some(linked.released, band.real), _some(linked.population, band.free)
    if not len(real_classes) or not len(free_classes):
        return Pairs(band.real[:0], band.free[:0])
    limit = np.quantile(space.nearest(real_classes, itself=band.real), NEAR)
    free = band.free[space.nearest(free_classes) <= limit + 1e-9]
    left, right = np.log(linked.links[band.real]), np.log(linked.population.sizes[free])
    pairs = closest(left, right)
    if linked.released.sizes[band.real[pairs[:, 0]]].sum() < budget.rows * linked.released.records:
        pairs = most(left, right)
    real, free = band.real[pairs[:, 0]], free[pairs[:, 1]]
    order = np.argsort(linked.links[real] + linked.population.sizes[free], kind="stable")
    return Pairs(real[order], free[order])


def affordable(linked: Linked, pairs: Pairs, law: Law, *, budget: Budget, release: str, key: bytes) -> Pairs:
    """The riskiest pairs that the budget allows."""
    marks = as_marks(linked, pairs)
    half = len(pairs)
    chance = secret_probabilities(marks, law, release=release, key=key)
    sizes = linked.released.sizes[pairs.real]
    count = budget.pairs(sizes, chance[:half], released=linked.released.records)
    changes = np.stack([-sizes * (1 - chance[:half]), sizes * chance[half:]], axis=1).ravel()
    labels = [label for pair in zip(marks.labels[:half], marks.labels[half:], strict=True) for label in pair]
    for place, name in enumerate(marks.columns):
        moved = shifts_so_far(_base(linked.released, name), [label[place] for label in labels], changes)[1::2]
        too_far = np.flatnonzero(moved > budget.shift)
        count = min(count, int(too_far[0]) if len(too_far) else half)
    return pairs.first(count)


def as_marks(linked: Linked, pairs: Pairs) -> Marks:
    """The pairs as marks: all real ones, then all decoys in the same order. A decoy takes its partner's size."""
    half = len(pairs)
    sizes = linked.released.sizes[pairs.real]
    places = np.arange(half)
    return Marks(
        columns=linked.released.names,
        labels=(*_labels(linked.released, pairs.real), *_labels(linked.population, pairs.free)),
        decoy=np.repeat([False, True], half),
        sizes=np.concatenate([sizes, sizes]),
        links=np.concatenate([linked.links[pairs.real], linked.population.sizes[pairs.free]]),
        partners=np.concatenate([places + half, places]),
    )


def _base(classes: Classes, name: str) -> dict[Any, float]:
    place = classes.names.index(name)
    people = np.bincount(classes.codes[place], weights=classes.sizes, minlength=len(classes.columns[place].labels))
    return dict(zip(classes.columns[place].labels, people.tolist(), strict=True))


def _labels(classes: Classes, places: Ints) -> list[tuple[Label, ...]]:
    cells = [
        [column.labels[code] for code in codes[places].tolist()]
        for column, codes in zip(classes.columns, classes.codes, strict=True)
    ]
    return list(zip(*cells, strict=True))


def _some(classes: Classes, places: Ints) -> Classes:
    """Some classes, in the given order."""
    return Classes(classes.columns, tuple(codes[places] for codes in classes.codes), classes.sizes[places])


def _classes_of(linked: Linked, pairs: Pairs) -> Classes:
    return _some(linked.population, pairs.free)


def _filled(donors: Donors, near: Sequence[Ints], sizes: Ints, generator: np.random.Generator) -> Ints:
    """The rows of all decoys, one after another: per row and column the donor row that gives the cell."""
    splicer = Splicer.of(donors)
    made = [np.zeros((0, len(donors.columns)), dtype=np.int64)]
    for classes, size in zip(near, sizes.tolist(), strict=True):
        pool = np.concatenate([donors.rows[place] for place in classes.tolist()])
        made.append(splicer.rows(pool, size, generator))
    return np.concatenate(made)


def _decoy_rows(donors: Donors, made: Ints, sizes: Ints, half: int) -> DecoyRows:
    columns = {
        column.name: [column.cells[row] for row in made[:, place].tolist()]
        for place, column in enumerate(donors.columns)
    }
    return DecoyRows(columns, np.repeat(np.arange(half, 2 * half), sizes))


def _gate(
    linked: Linked, donors: Donors, pairs: Pairs, made: Ints, sizes: Ints, generator: np.random.Generator
) -> Gate:
    """Show the rows of both kinds to the classifier, with their quasi-identifiers."""
    half = len(pairs)
    rows = [donors.rows[place] for place in pairs.real.tolist()]
    real = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    owners = np.concatenate(
        [np.repeat(np.arange(half), [len(one) for one in rows]), np.repeat(np.arange(half, 2 * half), sizes)]
    )
    labels = [*_labels(linked.released, pairs.real), *_labels(linked.population, pairs.free)]
    quasi = [
        Column.of(name, [labels[owner][place] for owner in owners.tolist()])
        for place, name in enumerate(linked.released.names)
    ]
    others = [
        Column.of(column.name, [column.cells[row] for row in [*real.tolist(), *made[:, place].tolist()]])
        for place, column in enumerate(donors.columns)
    ]
    return told(Exhibit([*quasi, *others], owners, np.repeat([False, True], half)), generator)


def _shifts(linked: Linked, marks: Marks, probabilities: Floats) -> dict[str, float]:
    changes = marks.sizes * np.where(marks.decoy, probabilities, probabilities - 1)
    return {
        name: float(shifts_so_far(_base(linked.released, name), [label[place] for label in marks.labels], changes)[-1])
        for place, name in enumerate(marks.columns)
    }


def _published(table: Table) -> tuple[str, ...]:
    """The columns that are not published."""
    policy = table.policy or Policy()
    if policy.count:
        raise UsageError(
            f"Rows of {table.name} stand for several people each, and decoys are put among rows of one person each.",
            remedy="Give a table with one row per person; the population may be counts.",
        )
    return tuple(policy.identifiers)


def _too_few(marks: int) -> Refused:
    return Refused(
        f"Only {marks} classes can be marks, and below {FEWEST_MARKS} a leak can hardly be traced.",
        remedy="Release more detail or allow more suppression, so that more classes are of doubtful size; or force it.",
    )


def _told_apart(gate: Gate) -> Refused:
    return Refused(
        f"A classifier tells decoys from real classes with AUC {gate.auc:.2f} (0.5 is guessing, {gate.floor:.2f} is luck).",
        remedy="Leave out columns that depend closely on the quasi-identifiers, or force it.",
    )
