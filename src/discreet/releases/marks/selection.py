"""Selection of a release's marks, the rows of its decoys, and the column shift.

Everything that is drawn is drawn from the key, so that the same release can be made again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import Refused, UsageError
from discreet.kernel.arrays import Floats, Label
from discreet.kernel.hierarchy import text
from discreet.kernel.serialise import json_of
from discreet.policy import Policy
from discreet.releases.decoys.detectability import Gate, exhibit, told
from discreet.releases.decoys.donors import Donors
from discreet.releases.decoys.nearest_classes import number_of
from discreet.releases.decoys.perturbation import repeated
from discreet.releases.decoys.synthesis import DecoyRows, Filler
from discreet.releases.marks.codebook import DEFAULT, Law, Marks, derive, secret_probabilities
from discreet.releases.marks.distribution_shift import shifts_so_far
from discreet.releases.marks.pairing import (
    FEWEST_MARKS,
    AmbiguityBand,
    MarkBudget,
    MarkPairs,
    affordable,
    as_marks,
    expected_lost,
    labels_of,
    paired,
    people_by,
    some,
    within,
    worst_lost,
)
from discreet.releases.population_link import Linked
from discreet.sources.table import Table
from discreet.wording import brief_percent

# How far the marks of an average copy shift each column.
Shifts = Mapping[str, float]
MOST_VALUES = 200
"""Different numbers beyond which they are put together in tenths."""


def tenths(values: Iterable[float], counts: Sequence[float]) -> Floats:
    """Edges that cut numbers into ten parts of about as many people."""
    known = np.array(list(values), dtype=np.float64)
    order = np.argsort(known, kind="stable")
    shares = np.cumsum(np.asarray(counts, dtype=np.float64)[order]) / max(float(np.sum(counts)), 1.0)
    places = np.searchsorted(shares, np.arange(1, 10) / 10)
    return np.unique(known[order][np.minimum(places, len(known) - 1)])


def quasi_shifts(linked: Linked, marks: Marks, probabilities: Floats) -> dict[str, Floats]:
    """The shift of each quasi-identifier in an average copy with the first pair, the first two, and so on.

    Marks are all real ones, then all decoys, pair by pair.
    """
    half = len(marks) // 2
    changes = marks.sizes.astype(np.float64) * np.where(marks.decoy, probabilities, probabilities - 1)
    order = np.arange(2 * half).reshape(2, half).T.ravel()
    labels = [marks.labels[place] for place in order.tolist()]
    return {
        name: shifts_so_far(
            people_by(linked.released, name),
            [label[place] for label in labels],
            changes[order],
            at=range(1, 2 * half, 2),
        )
        for place, name in enumerate(marks.columns)
    }


def other_shifts(
    table: Table, donors: Donors, pairs: MarkPairs, decoys: DecoyRows, chance: Floats
) -> dict[str, Floats]:
    """The shift of each other column in an average copy with the first pair, the first two, and so on."""
    half = len(pairs)
    rows = [(number, row) for number, place in enumerate(pairs.real.tolist()) for row in donors.rows[place].tolist()]
    numbers = np.concatenate([np.array([number for number, _ in rows], dtype=np.int64), decoys.places])
    changes = np.concatenate([chance[:half][numbers[: len(rows)]] - 1, chance[half:][decoys.places]])
    order = np.argsort(numbers, kind="stable")
    last = np.searchsorted(numbers[order], np.arange(half), side="right") - 1
    found = {}
    for column in donors.columns:
        cells = [*(column.cells[row] for _, row in rows), *decoys.columns[column.name]]
        base, values = _base(table, column.name, cells)
        ordered = [values[place] for place in order.tolist()]
        found[column.name] = shifts_so_far(base, ordered, changes[order], at=last.tolist())
    return found


def _base(table: Table, name: str, cells: Sequence[Any]) -> tuple[dict[Hashable, float], list[Hashable]]:
    """People per value of a column of the table, and the cells as such values; many numbers are put together in tenths."""
    counted = table.engine.count([name]).occupied()
    coded = counted.columns[name]
    people = np.bincount(coded.codes, weights=counted.counts, minlength=len(coded.values)).tolist()
    spelt = [text(cell) for cell in cells]
    if len(coded.values) <= MOST_VALUES:
        return dict(zip(coded.values, people, strict=True)), list(spelt)
    known = [
        (number, count)
        for value, count in zip(coded.values, people, strict=True)
        if (number := _number(value)) is not None
    ]
    if 2 * len(known) < len(coded.values):
        return dict(zip(coded.values, people, strict=True)), list(spelt)
    edges = tenths([number for number, _ in known], [count for _, count in known])
    held = _parts(coded.values, edges)
    parts: dict[Hashable, float] = {}
    for part, count in zip(held, people, strict=True):
        parts[part] = parts.get(part, 0.0) + count
    return parts, list(_parts(spelt, edges))


def _parts(values: Sequence[Label], edges: Floats) -> list[int]:
    """Where each number lies between the edges; -1 for what is none."""
    numbers = np.array([number_of(value) for value in values], dtype=np.float64)
    return [int(part) for part in np.where(np.isnan(numbers), -1, np.searchsorted(edges, numbers, side="right"))]


def _number(value: Label) -> float | None:
    number = number_of(value)
    return None if np.isnan(number) else number


ATTEMPTS = 3
"""Choices of marks that are tried. With a few dozen marks a classifier is right about one choice by luck alone; it is right
about the next one too where the decoys show what they are."""


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
    band: AmbiguityBand
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
        lost = worst_lost(self.marks.sizes[real], self.probabilities[real])
        return float(lost[-1]) / self.linked.released.records if len(lost) else 0.0

    to_dict = json_of(
        "pairs_available=pairs rows_lost most_lost gate shifts",
        marks=lambda self: len(self.marks),
        band=lambda self: {"real": len(self.band.real), "free": len(self.band.free)},
    )

    def __repr__(self) -> str:
        return f"Marking({len(self.marks)} marks, {brief_percent(self.rows_lost)} of rows lost per copy, gate {self.gate.auc:.2f})"


@dataclass(frozen=True, eq=False)
class ReleaseSecret:
    """What makes a release unlike any other: its key, its name and its law of presence."""

    key: bytes
    release: str
    law: Law = DEFAULT
    attempt: int = 0

    def generator(self, purpose: str) -> np.random.Generator:
        """Randomness that can be had again, other for each attempt."""
        again = f"/attempt {self.attempt}" if self.attempt else ""
        return np.random.default_rng(list(derive(self.key, f"{purpose}/{self.release}{again}")))

    def probabilities(self, marks: Marks) -> Floats:
        """The probability of each mark."""
        return secret_probabilities(marks, self.law, release=self.release, key=self.key)


def mark(
    linked: Linked,
    table: Table,
    *,
    key: bytes,
    release: str,
    law: Law = DEFAULT,
    budget: MarkBudget | None = None,
    force: bool = False,
) -> Marking:
    """Choose marks within the budget and make up the rows of their decoys; refused where that cannot be done well.

    Decoys that a classifier tells from real classes are thrown away and others made up, at most twice.

    `force` goes on with too few marks, with decoys that a classifier tells from real classes, and with columns whose
    values can only be repeated.
    """
    # The columns that are not published.
    policy = table.policy or Policy()
    if policy.count:
        raise UsageError(
            f"Rows of {table.name} stand for several people each, and decoys are put among rows of one person each.",
            remedy="Give a table with one row per person; the population may be counts.",
        )
    drop, budget = policy.unpublished, budget or MarkBudget()
    for attempt in range(ATTEMPTS):
        marking = _attempted(linked, table, ReleaseSecret(key, release, law, attempt), budget, drop=drop, force=force)
        if force or not marking.gate.refused:
            return marking
    raise _told_apart(marking.gate)


def _attempted(
    linked: Linked, table: Table, secret: ReleaseSecret, budget: MarkBudget, *, drop: tuple[str, ...], force: bool
) -> Marking:
    """One choice of marks, with decoys made up for it and put before the classifier."""
    band = AmbiguityBand.of(linked)
    available = paired(linked, band, secret.generator("pairs"), budget=budget)
    chosen = affordable(linked, available, secret.law, budget=budget, release=secret.release, key=secret.key)
    _refuse_few(len(chosen), force=force)
    if not len(chosen):
        return _none(linked, band, available)
    chosen, decoys, filler = _filled(linked, table, chosen, secret, drop=drop, force=force)
    chosen, decoys, shifts = _balanced(linked, table, chosen, decoys, filler, secret, budget)
    _refuse_few(len(chosen), force=force)
    if not len(chosen):
        return _none(linked, band, available)
    gate = told(exhibit(linked, filler.donors, chosen, decoys), secret.generator("gate"))
    marks, placed = as_marks(linked, chosen), DecoyRows(decoys.columns, decoys.places + len(chosen))
    return Marking(linked, marks, placed, gate, shifts, secret.probabilities(marks), band, len(available))


def _none(linked: Linked, band: AmbiguityBand, available: MarkPairs) -> Marking:
    """No marks at all, which only force allows."""
    nobody = available.only(slice(0))
    none, gate = DecoyRows({}, nobody.real), Gate(0.5, 1.0, 0, 0)
    return Marking(linked, as_marks(linked, nobody), none, gate, {}, np.zeros(0), band, len(available))


def _filled(
    linked: Linked, table: Table, pairs: MarkPairs, secret: ReleaseSecret, *, drop: tuple[str, ...], force: bool
) -> tuple[MarkPairs, DecoyRows, Filler]:
    """The pairs whose decoys can be filled, and the rows of these."""
    sizes, free = linked.released.sizes[pairs.real], some(linked.population, pairs.free)
    generator = secret.generator("decoys")
    filler = Filler.fetch(table, linked.released, linked.population, free, sizes, pairs.real, generator, drop=drop)
    copied = repeated(filler.donors.columns)
    if copied and not force:
        raise _gives_away(copied[0])
    everywhere = labels_of(linked.population, pairs.free)
    fit = filler.fit(everywhere)
    if 2 * len(fit) < FEWEST_MARKS and len(fit) < len(pairs) and not force:
        raise _unknown(str(filler.unknown(everywhere)))
    labels = [everywhere[place] for place in fit.tolist()]
    return pairs.only(fit), filler.decoys(some(free, fit), labels, sizes[fit], generator), filler


def _balanced(
    linked: Linked,
    table: Table,
    pairs: MarkPairs,
    decoys: DecoyRows,
    filler: Filler,
    secret: ReleaseSecret,
    budget: MarkBudget,
) -> tuple[MarkPairs, DecoyRows, Shifts]:
    """As many of the pairs as leave every column within the budget, and the shifts they cause."""
    chance = secret.probabilities(as_marks(linked, pairs))
    quasi = quasi_shifts(linked, as_marks(linked, pairs), chance)
    shifts = {**quasi, **other_shifts(table, filler.donors, pairs, decoys, chance)}
    count = within(list(shifts.values()), budget.shift)
    last = {name: float(moved[count - 1]) if count else 0.0 for name, moved in shifts.items()}
    return pairs.only(slice(count)), decoys.only(np.arange(count)), last


def _refuse_few(pairs: int, *, force: bool) -> None:
    if 2 * pairs < FEWEST_MARKS and not force:
        raise Refused(
            f"Only {2 * pairs} classes can be marks, and below {FEWEST_MARKS} a leak can hardly be traced.",
            remedy="Release more detail or allow more suppression, so that more classes are of doubtful size; or force it.",
        )


def _told_apart(gate: Gate) -> Refused:
    return Refused(
        f"A classifier tells decoys from real classes with AUC {gate.auc:.2f} (0.5 is guessing, up to {gate.floor:.2f} may be luck).",
        remedy="Leave out columns that depend closely on the quasi-identifiers, or force it.",
    )


def _unknown(column: str) -> Refused:
    return Refused(
        f"Column '{column}' follows from the quasi-identifiers, and what it would be in classes that are not released is "
        "not known.",
        remedy="Leave the column out; recipients can derive it anyway.",
    )


def _gives_away(column: str) -> Refused:
    return Refused(
        f"Column '{column}' holds values that hardly two people share and that cannot be made up; a decoy that repeats one "
        "leads to the row it was taken from.",
        remedy='Leave the column out (role "identifier"), make it coarser, or force it.',
    )
