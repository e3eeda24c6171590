"""How far the marks of an average copy shift each column."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.kernel.arrays import Floats, Label
from discreet.kernel.hierarchy import text
from discreet.releases.closeness import number_of
from discreet.releases.decoys.decoys import DecoyRows
from discreet.releases.decoys.donors import Donors
from discreet.releases.marks.codebook import Marks
from discreet.releases.marks.distribution_shift import shifts_so_far
from discreet.releases.marks.pairing import Pairs, people_by
from discreet.releases.population_link import Linked
from discreet.sources.table import Table

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


def other_shifts(table: Table, donors: Donors, pairs: Pairs, decoys: DecoyRows, chance: Floats) -> dict[str, Floats]:
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
