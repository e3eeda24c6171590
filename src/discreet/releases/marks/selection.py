"""Selection of a release's marks and decoys, drawn from its key so that it can be repeated."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import Refused, UsageError
from discreet.kernel.arrays import Floats, Ints, Label
from discreet.kernel.hierarchy import text
from discreet.kernel.serialise import json_of
from discreet.policy import Policy
from discreet.releases.decoys.detectability import DetectabilityResult, exhibit, most_telling, told
from discreet.releases.decoys.donors import Donors, number_of
from discreet.releases.decoys.matching import DecoyRows, Filler
from discreet.releases.marks.codebook import DEFAULT, Law, Marks, derive, secret_probabilities
from discreet.releases.marks.pairing import (
    FEWEST_MARKS,
    AmbiguityBand,
    MarkBudget,
    MarkPairs,
    affordable,
    ambiguous,
    as_marks,
    expected_lost,
    labels_of,
    paired,
    people_by,
    shifts_so_far,
    some,
    worst_lost,
)
from discreet.releases.marks.row_marks import RowMarks, ValueLosses, choose_rows, losses_of
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
    rows: RowMarks
    row_probabilities: Floats
    """Per row mark, the secret probability of being present."""
    losses: tuple[ValueLosses, ...]
    """Per column, what copies lack of its values."""

    @cached_property
    def rows_lost(self) -> float:
        """The share of released rows that a copy lacks on average."""
        return expected_lost(*self._lost) / self.linked.released.records

    @cached_property
    def most_lost(self) -> float:
        """The share of released rows that fewer than one copy in a million lacks."""
        lost = worst_lost(*self._lost)
        return float(lost[-1]) / self.linked.released.records if len(lost) else 0.0

    @property
    def _lost(self) -> tuple[Ints, Floats]:
        """The rows of each mark that a copy may lack, and the probability that it does not."""
        real, ones = ~self.marks.decoy, np.ones(len(self.rows), dtype=np.int64)
        sizes = np.concatenate([self.marks.sizes[real], ones])
        return sizes, np.concatenate([self.probabilities[real], self.row_probabilities])

    to_dict = json_of(
        "pairs_available=pairs rows_lost most_lost gate shifts",
        marks=lambda self: len(self.marks),
        row_marks=lambda self: len(self.rows),
        band=lambda self: {"real": len(self.band.real), "free": len(self.band.free)},
    )

    def __repr__(self) -> str:
        lost = brief_percent(self.rows_lost)
        return f"Marking({len(self.marks)} marks, {len(self.rows)} row marks, {lost} of rows lost per copy, gate {self.gate.auc:.2f})"


def mark(
    linked: Linked,
    table: Table,
    *,
    key: bytes,
    release: str,
    law: Law = DEFAULT,
    budget: MarkBudget | None = None,
    single_rows: bool = True,
    force: bool = False,
) -> Marking:
    """Choose marks within the budget and fill their decoys; refused where that cannot be done well.

    Decoys that a classifier detects are replaced, at most twice. `force` goes on with too few marks, with detectable
    decoys, and with columns whose values can only be repeated. With `single_rows`, copies lack single rows as well.
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
        # One choice of marks, with decoys for it put before the classifier.
        again = f"/attempt {attempt}" if attempt else ""
        for_pairs, for_decoys, for_gate = (
            np.random.default_rng(list(derive(key, f"{purpose}/{release}{again}")))
            for purpose in ("pairs", "decoys", "gate")
        )
        available = paired(linked, band, for_pairs, budget=budget)
        pairs = affordable(linked, available, law, budget=budget, release=release, key=key)
        pairs, decoys, filler, short = _filled(linked, table, pairs, for_decoys, drop=drop)
        # As many of them as leave every column within the budget.
        marks = as_marks(linked, pairs)
        chance, half = secret_probabilities(marks, law, release=release, key=key), len(pairs)
        changes = marks.sizes.astype(np.float64) * np.where(marks.decoy, chance, chance - 1)
        order = np.arange(2 * half).reshape(2, half).T.ravel()
        by_pair = [marks.labels[place] for place in order.tolist()]
        shifts: dict[str, Floats] = {}
        if half:
            shifts = {
                name: shifts_so_far(
                    people_by(linked.released, name),
                    [label[place] for label in by_pair],
                    changes[order],
                    at=range(1, 2 * half, 2),
                )
                for place, name in enumerate(marks.columns)
            } | other_shifts(table, filler.released, pairs, decoys, chance)
        # Shifts go up and down as pairs are added, so more pairs may do where fewer would not.
        fine = np.flatnonzero(np.max(list(shifts.values()), axis=0) <= budget.shift) if half else np.arange(0)
        count = int(fine[-1]) + 1 if len(fine) else 0
        last = {name: float(moved[count - 1]) if count else 0.0 for name, moved in shifts.items()}
        pairs, decoys = pairs.only(slice(count)), decoys.only(np.arange(count))
        gate = DetectabilityResult(0.5, 1.0, 0, 0)
        if len(pairs):
            shown = exhibit(linked, filler, pairs, decoys, for_gate)
            gate = told(shown, for_gate)
        if force or not gate.refused:
            break
    else:
        worst, alone = most_telling(shown, for_gate)
        raise Refused(
            f"A classifier tells decoys from real classes with AUC {gate.auc:.2f} (0.5 is guessing, up to {gate.floor:.2f} may be luck); "
            f"column '{worst}' tells most, by itself {alone:.2f}.",
            remedy=f"Leave out '{worst}', publish the quasi-identifier that it hangs on more coarsely, or force it.",
        )
    marks, placed = as_marks(linked, pairs), decoys.at(decoys.places + len(pairs))
    chance = secret_probabilities(marks, law, release=release, key=key)
    rows, losses = single_rows_of(
        linked, filler.released, pairs, chance, key=key, release=release, none=not single_rows
    )
    if len(marks) + len(rows) < FEWEST_MARKS and not force:
        raise short or Refused(
            f"Only {len(marks) + len(rows)} classes and rows can be marks, and below {FEWEST_MARKS} a leak can hardly be traced.",
            remedy="Release more people or more detail, so that more classes have rows to spare or are of doubtful size; or force it.",
        )
    return Marking(
        linked,
        marks,
        placed,
        gate,
        last,
        chance,
        band,
        len(available),
        rows,
        rows.probabilities(release=release, key=key),
        losses,
    )


def single_rows_of(
    linked: Linked,
    donors: Donors,
    pairs: MarkPairs,
    chance: Floats,
    *,
    key: bytes,
    release: str,
    none: bool,
) -> tuple[RowMarks, tuple[ValueLosses, ...]]:
    """The row marks of a release, and what all its marks cost each value."""
    losses = losses_of(linked, donors, pairs.real, chance[: len(pairs)])
    doubtful = ambiguous(linked.links, sampling=linked.sampling, k=linked.k)
    doubtful[pairs.real] = True
    taken = spared = np.arange(0)
    if not none:
        generator = np.random.default_rng(list(derive(key, f"rows/{release}")))
        taken, spared = choose_rows(linked, donors, losses, doubtful, generator)
    rows = np.concatenate([taken, spared]).astype(np.int64)
    owners = donors.owners[rows]
    cells = {column.name: [spelling(column.cells[row]) for row in rows.tolist()] for column in donors.columns}
    return RowMarks(linked.released.names, tuple(labels_of(linked.released, owners)), cells, len(taken)), tuple(losses)


def _filled(
    linked: Linked,
    table: Table,
    pairs: MarkPairs,
    generator: np.random.Generator,
    *,
    drop: tuple[str, ...],
) -> tuple[MarkPairs, DecoyRows, Filler, Refused | None]:
    """The pairs whose decoys can be filled, the rows of these, and what to say where they are too few."""
    sizes, free = linked.released.sizes[pairs.real], some(linked.population, pairs.free)
    filler = Filler.fetch(table, linked, int(sizes.sum()), pairs.real, generator, drop=drop)
    everywhere = labels_of(linked.population, pairs.free)
    # Every column that follows from its quasi-identifiers must be known.
    known = np.array([[follows.knows(label) for follows in filler.follows] for label in everywhere], dtype=bool)
    fit = np.flatnonzero(known.reshape(len(everywhere), len(filler.follows)).all(axis=1))
    short: Refused | None = None
    if 2 * len(fit) < FEWEST_MARKS and len(fit) < len(pairs):
        worst = filler.follows[int(np.argmin(known.sum(axis=0)))]
        short = Refused(
            f"Column '{filler.released.columns[worst.column].name}' follows from the quasi-identifiers, and what it would be in classes that are "
            "not released is not known.",
            remedy="Leave the column out; recipients can derive it anyway.",
        )
    labels = [everywhere[place] for place in fit.tolist()]
    decoys = filler.decoys(some(free, fit), labels, sizes[fit], generator)
    # Where donors run out, there are fewer decoys.
    filled = np.unique(decoys.places)
    if 2 * len(filled) < FEWEST_MARKS and len(filled) < len(fit):
        short = Refused(
            f"Decoys are made of the {linked.suppressed.records:,} people who are left out of all copies, and these suffice for "
            f"{len(filled):,} of {len(fit):,} decoys.",
            remedy="Allow more suppression or publish more detail, so that more people are left out; or force it.",
        )
    rows = decoys.at(np.searchsorted(filled, decoys.places))
    return pairs.only(fit[filled]), rows, filler, short


def spelling(cell: Any) -> Label:
    """A cell as a text of which its type can be made; a number that is none is not a missing value."""
    return "nan" if isinstance(cell, float) and math.isnan(cell) else text(cell)
