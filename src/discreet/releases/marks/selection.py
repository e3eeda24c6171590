"""Selection of a release's marks and decoys, drawn from its key so that it can be repeated."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import Refused, UsageError
from discreet.kernel.arrays import Floats, Label
from discreet.kernel.hierarchy import text
from discreet.kernel.serialise import json_of
from discreet.policy import Policy
from discreet.releases.decoys.detectability import DetectabilityResult, exhibit, told
from discreet.releases.decoys.donors import Donors, repeated
from discreet.releases.decoys.nearest_classes import number_of
from discreet.releases.decoys.synthesis import DecoyRows, Filler
from discreet.releases.marks.codebook import DEFAULT, Law, Marks, derive, secret_probabilities
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
    shifts_so_far,
    some,
    worst_lost,
)
from discreet.releases.population_link import Linked
from discreet.sources.table import Table
from discreet.wording import brief_percent

MOST_VALUES = 200
"""Different numbers beyond which they are put together in tenths."""


def tenths(values: Floats, counts: Floats) -> Floats:
    """Edges that cut numbers into ten parts of about as many people."""
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(counts[order]) / max(float(np.sum(counts)), 1.0)
    places = np.searchsorted(shares, np.arange(1, 10) / 10)
    return np.unique(values[order][np.minimum(places, len(values) - 1)])


def other_shifts(
    table: Table, donors: Donors, pairs: MarkPairs, decoys: DecoyRows, chance: Floats
) -> dict[str, Floats]:
    """Per column that is no quasi-identifier, its shift in an average copy as pairs are added one by one.

    `chance` has the probabilities of presence of all real marks, then of all decoys.
    """
    half = len(pairs)
    rows = [(number, row) for number, place in enumerate(pairs.real.tolist()) for row in donors.rows[place].tolist()]
    numbers = np.concatenate([np.array([number for number, _ in rows], dtype=np.int64), decoys.places])
    changes = np.concatenate([chance[:half][numbers[: len(rows)]] - 1, chance[half:][decoys.places]])
    order = np.argsort(numbers, kind="stable")
    last = np.searchsorted(numbers[order], np.arange(half), side="right") - 1
    shifts = {}
    for column in donors.columns:
        cells = [*(column.cells[row] for _, row in rows), *decoys.columns[column.name]]
        values: list[Any] = [text(cells[place]) for place in order.tolist()]
        counted = table.engine.count([column.name]).occupied()
        coded = counted.columns[column.name]
        people = np.bincount(coded.codes, weights=counted.counts, minlength=len(coded.values))
        numbers = np.array([number_of(value) for value in coded.values], dtype=np.float64)
        known = ~np.isnan(numbers)
        base: dict[Hashable, float] = dict(zip(coded.values, people.tolist(), strict=True))
        if len(coded.values) > MOST_VALUES and 2 * known.sum() >= len(coded.values):
            # Many numbers are put together in tenths.
            edges = tenths(numbers[known], people[known])
            base = {}
            for part, count in zip(_parts(coded.values, edges), people.tolist(), strict=True):
                base[part] = base.get(part, 0.0) + count
            values = _parts(values, edges)
        shifts[column.name] = shifts_so_far(base, values, changes[order], at=last.tolist())
    return shifts


def _parts(values: Sequence[Label], edges: Floats) -> list[int]:
    """Where each number lies between the edges; -1 for what is none."""
    numbers = np.array([number_of(value) for value in values], dtype=np.float64)
    return [int(part) for part in np.where(np.isnan(numbers), -1, np.searchsorted(edges, numbers, side="right"))]


ATTEMPTS = 3
"""Choices of marks that are tried: with a few dozen marks a classifier is right about one choice by luck alone."""


@dataclass(frozen=True, eq=False)
class Marking:
    """The marks of a release and the rows of its decoys."""

    linked: Linked
    marks: Marks
    decoys: DecoyRows
    gate: DetectabilityResult
    shifts: Mapping[str, float]
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

    Decoys that a classifier detects are replaced, at most twice. `force` goes on with too few marks, with detectable
    decoys, and with columns whose values can only be repeated.
    """
    # The columns that are not published.
    policy = table.policy or Policy()
    if policy.count:
        raise UsageError(
            f"Rows of {table.name} stand for several people each, and decoys are put among rows of one person each.",
            remedy="Give a table with one row per person; the population may be counts.",
        )
    drop, budget = policy.unpublished, budget or MarkBudget()
    band = AmbiguityBand.of(linked)
    for attempt in range(ATTEMPTS):
        # One choice of marks, with decoys made up for it and put before the classifier.
        again = f"/attempt {attempt}" if attempt else ""
        for_pairs, for_decoys, for_gate = (
            np.random.default_rng(list(derive(key, f"{purpose}/{release}{again}")))
            for purpose in ("pairs", "decoys", "gate")
        )
        available = paired(linked, band, for_pairs, budget=budget)
        pairs = affordable(linked, available, law, budget=budget, release=release, key=key)
        _refuse_few(len(pairs), force=force)
        if not len(pairs):
            return _none(linked, band, available)
        pairs, decoys, filler = _filled(linked, table, pairs, for_decoys, drop=drop, force=force)
        # As many of them as leave every column within the budget.
        marks = as_marks(linked, pairs)
        chance, half = secret_probabilities(marks, law, release=release, key=key), len(pairs)
        changes = marks.sizes.astype(np.float64) * np.where(marks.decoy, chance, chance - 1)
        order = np.arange(2 * half).reshape(2, half).T.ravel()
        by_pair = [marks.labels[place] for place in order.tolist()]
        shifts = {
            name: shifts_so_far(
                people_by(linked.released, name),
                [label[place] for label in by_pair],
                changes[order],
                at=range(1, 2 * half, 2),
            )
            for place, name in enumerate(marks.columns)
        } | other_shifts(table, filler.donors, pairs, decoys, chance)
        # Shifts go up and down as pairs are added, so more pairs may do where fewer would not.
        fine = np.flatnonzero(np.max(list(shifts.values()), axis=0) <= budget.shift)
        count = int(fine[-1]) + 1 if len(fine) else 0
        last = {name: float(moved[count - 1]) if count else 0.0 for name, moved in shifts.items()}
        pairs, decoys = pairs.only(slice(count)), decoys.only(np.arange(count))
        _refuse_few(len(pairs), force=force)
        if not len(pairs):
            return _none(linked, band, available)
        gate = told(exhibit(linked, filler.donors, pairs, decoys), for_gate)
        if force or not gate.refused:
            marks, placed = as_marks(linked, pairs), DecoyRows(decoys.columns, decoys.places + len(pairs))
            chance = secret_probabilities(marks, law, release=release, key=key)
            return Marking(linked, marks, placed, gate, last, chance, band, len(available))
    raise Refused(
        f"A classifier tells decoys from real classes with AUC {gate.auc:.2f} (0.5 is guessing, up to {gate.floor:.2f} may be luck).",
        remedy="Leave out columns that depend closely on the quasi-identifiers, or force it.",
    )


def _filled(
    linked: Linked,
    table: Table,
    pairs: MarkPairs,
    generator: np.random.Generator,
    *,
    drop: tuple[str, ...],
    force: bool,
) -> tuple[MarkPairs, DecoyRows, Filler]:
    """The pairs whose decoys can be filled, and the rows of these."""
    sizes, free = linked.released.sizes[pairs.real], some(linked.population, pairs.free)
    filler = Filler.fetch(table, linked.released, linked.population, free, sizes, pairs.real, generator, drop=drop)
    copied = repeated(filler.donors.columns)
    if copied and not force:
        raise Refused(
            f"Column '{copied[0]}' holds values that hardly two people share and that cannot be made up; a decoy that repeats one "
            "leads to the row it was taken from.",
            remedy='Leave the column out (role "identifier"), make it coarser, or force it.',
        )
    everywhere = labels_of(linked.population, pairs.free)
    # Every column that follows from its quasi-identifiers must be known.
    known = np.array([[follows.knows(label) for follows in filler.follows] for label in everywhere], dtype=bool)
    fit = np.flatnonzero(known.reshape(len(everywhere), len(filler.follows)).all(axis=1))
    if 2 * len(fit) < FEWEST_MARKS and len(fit) < len(pairs) and not force:
        worst = filler.follows[int(np.argmin(known.sum(axis=0)))]
        raise Refused(
            f"Column '{filler.donors.columns[worst.column].name}' follows from the quasi-identifiers, and what it would be in classes that are "
            "not released is not known.",
            remedy="Leave the column out; recipients can derive it anyway.",
        )
    labels = [everywhere[place] for place in fit.tolist()]
    return pairs.only(fit), filler.decoys(some(free, fit), labels, sizes[fit], generator), filler


def _none(linked: Linked, band: AmbiguityBand, available: MarkPairs) -> Marking:
    """No marks at all, which only force allows."""
    nobody = available.only(slice(0))
    none, gate = DecoyRows({}, nobody.real), DetectabilityResult(0.5, 1.0, 0, 0)
    return Marking(linked, as_marks(linked, nobody), none, gate, {}, np.zeros(0), band, len(available))


def _refuse_few(pairs: int, *, force: bool) -> None:
    if 2 * pairs < FEWEST_MARKS and not force:
        raise Refused(
            f"Only {2 * pairs} classes can be marks, and below {FEWEST_MARKS} a leak can hardly be traced.",
            remedy="Release more detail or allow more suppression, so that more classes are of doubtful size; or force it.",
        )
