"""How far the marks of an average copy shift each column."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.kernel.hierarchy import Label
from discreet.kernel.histogram import text
from discreet.releases.choosing import Pairs, people_by
from discreet.releases.closeness import number_of
from discreet.releases.codebook import Marks
from discreet.releases.decoys import DecoyRows
from discreet.releases.donors import Donors
from discreet.releases.keyed import Floats
from discreet.releases.linked import Linked
from discreet.releases.shifting import shift, shifts_so_far
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


def quasi_shifts(linked: Linked, marks: Marks, probabilities: Floats) -> dict[str, float]:
    """The shift of each quasi-identifier in an average copy."""
    changes = marks.sizes.astype(np.float64) * np.where(marks.decoy, probabilities, probabilities - 1)
    return {
        name: shift(people_by(linked.released, name), [label[place] for label in marks.labels], changes)
        for place, name in enumerate(marks.columns)
    }


def other_shifts(table: Table, donors: Donors, pairs: Pairs, decoys: DecoyRows, chance: Floats) -> dict[str, Floats]:
    """The shift of each other column in an average copy with the first pair, the first two, and so on."""
    half = len(pairs)
    rows = [(number, row) for number, place in enumerate(pairs.real.tolist()) for row in donors.rows[place].tolist()]
    numbers = np.concatenate([np.array([number for number, _ in rows]), decoys.places])
    changes = np.concatenate([chance[:half][numbers[: len(rows)]] - 1, chance[half:][decoys.places]])
    order = np.argsort(numbers, kind="stable")
    last = np.searchsorted(numbers[order], np.arange(half), side="right") - 1
    found = {}
    for column in donors.columns:
        cells = [*(column.cells[row] for _, row in rows), *decoys.columns[column.name]]
        base, values = _base(table, column.name, cells)
        moved = shifts_so_far(base, [values[place] for place in order.tolist()], changes[order])
        found[column.name] = moved[last]
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
    parts: dict[Hashable, float] = {}
    for value, count in zip(coded.values, people, strict=True):
        part = _part(value, edges)
        parts[part] = parts.get(part, 0.0) + count
    return parts, [_part(value, edges) for value in spelt]


def _part(value: Label, edges: Floats) -> int:
    number = _number(value)
    return -1 if number is None else int(np.searchsorted(edges, number, side="right"))


def _number(value: Label) -> float | None:
    number = number_of(value)
    return None if np.isnan(number) else number
