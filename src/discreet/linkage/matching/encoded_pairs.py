"""Candidate pairs of encoded records by likeness; the machine decides all of them.

Nobody can review such a pair: there is nothing to read. So the threshold is set by what the tables themselves show. Two
records of one table are two people where every table has each person once. How often they are as alike as two records of
different tables says how many of the latter are alike by chance, twins and namesakes included.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError, UsageError
from discreet.kernel.arrays import Flags, Floats
from discreet.linkage.folder import ProjectFolder, Records
from discreet.linkage.matching.pairs import Pairs
from discreet.linkage.matching.thresholds import Calibration, pooled

Filters = npt.NDArray[np.uint8]
BITS, EVEN = 48.0, 0.8
"""Weight per unit of likeness, and the likeness of weight 0: the order of pairs is all that matters until they are calibrated."""
PER_RECORD = 5
"""Candidate pairs that are kept for each record, about."""
TILE = 4096
LARGEST_SAMPLE = 30_000
"""Records of a table that are compared with each other."""
DRAWN = 1_000_000
BIN = 0.01
FEWEST_ALIKE = 1.0
"""One more chance pair is supposed among the likely ones than was seen."""


def weight_of(likeness: Any) -> Any:
    """The weight of a likeness.

    >>> weight_of(0.8)
    0.0
    """
    return BITS * (likeness - EVEN)


def likeness_of(weight: Any) -> Any:
    """The likeness of a weight."""
    return weight / BITS + EVEN


def dice(first: Filters, second: Filters) -> Floats:
    """The Dice coefficient of every filter with every other.

    >>> dice(np.array([[0b11110000]], dtype=np.uint8), np.array([[0b11000000]], dtype=np.uint8)).round(3).tolist()
    [[0.667]]
    """
    bits = [np.unpackbits(filters, axis=1).astype(np.float32) for filters in (first, second)]
    common = bits[0] @ bits[1].T  # whole numbers below 2^24: exact in single precision
    total = bits[0].sum(axis=1)[:, None] + bits[1].sum(axis=1)[None, :]
    return np.asarray(2 * common / np.maximum(total, 1), dtype=np.float64)


def alike_pairs(
    first: Filters, second: Filters, floor: float, *, same: bool = False
) -> tuple[Records, Records, Floats]:
    """Places of filters that are at least so alike, tile by tile.

    With `same` the two are one table, and each pair counts once.
    """
    found: list[tuple[Records, Records, Floats]] = []
    for top in range(0, len(first), TILE):
        for left in range(top if same else 0, len(second), TILE):
            likeness = dice(first[top : top + TILE], second[left : left + TILE])
            rows, columns = np.nonzero(likeness >= floor)
            if same and left == top:
                rows, columns = rows[rows < columns], columns[rows < columns]
            found.append((rows + top, columns + left, likeness[rows, columns]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    rows, columns, likeness = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, columns, likeness


def filters_of(folder: ProjectFolder) -> tuple[Filters, Flags]:
    """The filters of all records, and which records have one."""
    texts = folder.encodings()
    there = np.array([text is not None for text in texts])
    raw = [base64.b64decode(text) for text in texts if text is not None]
    if len({len(one) for one in raw}) > 1:
        raise DataError(
            "The tables have encodings of different lengths: they were made with different schemas.",
            remedy="Agree on one link file, or one schema, and encode again.",
        )
    filters = np.zeros((len(texts), len(raw[0]) if raw else 1), dtype=np.uint8)
    if raw:
        filters[there] = np.frombuffer(b"".join(raw), dtype=np.uint8).reshape(len(raw), -1)
    return filters, there


def score_likeness(folder: ProjectFolder, floor: float) -> Pairs:
    """All pairs of different tables that are at least so alike."""
    filters, there = filters_of(folder)
    parts = [
        (records[one][rows], records[other][columns], likeness)
        for records in [_records(folder, there)]
        for one in range(len(records))
        for other in range(one + 1, len(records))
        for rows, columns, likeness in [alike_pairs(filters[records[one]], filters[records[other]], floor)]
    ]
    first, second, likeness = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.lexsort((second, first))
    return Pairs.of(first[order], second[order], weight_of(likeness[order]))


def find_encoded(folder: ProjectFolder, *, seed: int) -> tuple[Pairs, Calibration, float]:
    """Candidate pairs, the probability of their likeness, and the least likeness of a candidate."""
    if not folder.across:
        raise UsageError(
            "Encoded records are linked between tables that have every person once: two tables are needed.",
            remedy="Give two tables to `discreet link init`, without `within`.",
        )
    filters, there = filters_of(folder)
    records = _records(folder, there)
    if min(map(len, records)) < 2:
        raise DataError("A table has fewer than two encoded records.", remedy="Was the right column named?")
    rng = np.random.default_rng(seed)
    floor = least_likeness(filters, records, rng)
    pairs = score_likeness(folder, floor)
    calibration = calibration_by_chance(likeness_of(pairs.weight), chance_within(filters, records, floor, rng))
    return calibration.applied(pairs), calibration, floor


def _records(folder: ProjectFolder, there: Flags) -> list[Records]:
    """The records of each table that have a filter."""
    table = folder.table_of(np.arange(folder.records, dtype=np.int64))
    return [np.flatnonzero(there & (table == place)) for place in range(len(folder.sizes))]


def _between(records: list[Records]) -> int:
    total = sum(map(len, records))
    return (total**2 - sum(len(part) ** 2 for part in records)) // 2


def least_likeness(filters: Filters, records: list[Records], rng: np.random.Generator) -> float:
    """The likeness from which on there are a few candidates for each record."""
    everybody, table = np.concatenate(records), np.repeat(np.arange(len(records)), [len(part) for part in records])
    first, second = (rng.integers(0, len(everybody), DRAWN) for _ in range(2))
    between = table[first] != table[second]
    first, second = everybody[first[between]], everybody[second[between]]
    steps = range(0, len(first), TILE)
    likeness = np.concatenate(
        [dice_beside(filters[first[at : at + TILE]], filters[second[at : at + TILE]]) for at in steps]
    )
    return float(np.quantile(likeness, max(0.5, 1 - PER_RECORD * len(everybody) / _between(records))))


def dice_beside(first: Filters, second: Filters) -> Floats:
    """The Dice coefficient of each filter with the one beside it."""
    common = np.bitwise_count(first & second).sum(axis=1)
    total = np.bitwise_count(first).sum(axis=1) + np.bitwise_count(second).sum(axis=1)
    return np.asarray(2 * common / np.maximum(total, 1), dtype=np.float64)


def chance_within(
    filters: Filters, records: list[Records], floor: float, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """The likeness of pairs within tables, and for how many pairs between tables each stands."""
    drawn = [rng.choice(part, min(len(part), LARGEST_SAMPLE), replace=False) for part in records]
    within = sum(len(part) * (len(part) - 1) // 2 for part in drawn)
    likeness = np.concatenate([alike_pairs(filters[part], filters[part], floor, same=True)[2] for part in drawn])
    return np.stack([likeness, np.full(len(likeness), _between(records) / within)], axis=1)


def calibration_by_chance(likeness: Floats, chance: npt.NDArray[np.float64]) -> Calibration:
    """The probability that a pair is more than chance, by likeness: never falling."""
    low = np.floor(min(likeness.min(initial=1), chance[:, 0].min(initial=1)) / BIN) * BIN
    edges = np.arange(low, 1 + 2 * BIN, BIN)
    seen = np.histogram(likeness, edges)[0]
    expected = np.histogram(chance[:, 0], edges, weights=chance[:, 1])[0]
    there = np.flatnonzero(seen)
    if not len(there):
        return Calibration(np.array([weight_of(1.0)]), np.array([0.5]), 0)
    # Chance pairs of a likeness that no pair between tables has count for the next that is there.
    place = np.minimum(np.searchsorted(there, np.arange(len(seen))), len(there) - 1)
    gathered = np.bincount(place, weights=expected, minlength=len(there))
    likely = gathered < seen[there] / 2
    gathered = gathered + FEWEST_ALIKE * likely * seen[there] / max(seen[there][likely].sum(), 1)
    right = np.clip(1 - gathered / seen[there], 0, 1)
    fitted = pooled(np.asarray(right), seen[there].astype(np.float64))
    return Calibration(np.asarray(weight_of(edges[there] + BIN / 2)), np.asarray(fitted), 0)
