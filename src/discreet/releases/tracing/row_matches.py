"""Row matches: which rows of a release a leaked file shows, though cells were changed, moved or lost.

Every row of the release that is asked about is compared with the rows of the file in its cell. Agreement in a column
counts by how rarely so much of it comes by chance, so that a changed cell costs little and an equal rare one says much.
How well rows agree that are there, and rows that are not, is learnt from control rows, which every copy holds: by their
best agreement in their own cell, and in the cell of another control row. No recipient's marks are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from discreet.kernel import Coded
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.kernel.hierarchy import text
from discreet.releases.decoys.donors import number_of

MOST_PAIRS = 20_000_000
"""Pairs of a row of the release and one of the file that are compared."""
CHUNK = 2_000_000
BINS = 12
CLEARLY_MORE, BITS_OF_LUCK = 1.5, 7.0
"""How many times as much, and how many bits over all control rows more, columns one by one must say than rows as a whole."""
SMOOTHING = 0.5
HARDLY_ANY, ALL_BUT = 0.01, 0.999
"""The share of rows elsewhere that may agree as a row itself does; and what agreement counts as whole."""
LEAST_GAIN = 4.0
"""Log-likelihood by which two intervals must explain control rows better than one: noise of many intervals adds up over marks."""
ROWS = "rows as a whole"
FEWEST_CELLS = 20
"""Cells of control rows from which on one is where another is not."""
FEW_NUMBERS = 8
"""Different numbers up to which they count as categories."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows of a release, as its manifest holds them."""

    keys: Ints
    """The cell of each row, at the level of the file."""
    cells: Mapping[str, Sequence[Label]]
    controls: Flags
    """Which of them every copy holds."""


@dataclass(frozen=True, eq=False)
class LeakedRows:
    """Rows of a leaked file, equal ones together."""

    keys: Ints
    cells: Mapping[str, Coded]
    counts: Ints


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """Log-likelihoods of each stored row's best agreement, if the file shows it or not."""

    shown: Floats
    hidden: Floats
    bits: float
    """How much a row says on average, at best 1."""
    by: str
    """How rows were compared."""


def row_evidence(stored: StoredRows, leaked: LeakedRows) -> RowEvidence | None:
    """Compare by all columns together, and by one after the other; what says more about control rows is taken."""
    names = [name for name in stored.cells if name in leaked.cells]
    controls = np.flatnonzero(stored.controls)
    if not names or len(controls) < 2 * BINS or not len(leaked.keys):
        return None
    # Control rows once more, in the nearest cells where they are not: rows there are like those of their own cell.
    ranked = controls[np.argsort(stored.keys[controls], kind="stable")]
    _, crowds = np.unique(stored.keys[ranked], return_counts=True)
    elsewhere = stored.keys[np.roll(ranked, min(int(crowds.max()), len(ranked) // 2))]
    apart = len(crowds) >= FEWEST_CELLS
    rows = np.concatenate([np.arange(len(stored.keys)), ranked]) if apart else np.arange(len(stored.keys))
    keys = np.concatenate([stored.keys, elsewhere]) if apart else stored.keys
    columns = [AgreementColumn.of(stored.cells[name], leaked.cells[name]).of_rows(rows) for name in names]
    first, second = best_agreements(keys, leaked, columns)
    there = ranked if apart else controls
    gone = first[:, len(stored.keys) :] if apart else second[:, there]
    whole = np.maximum(sum(column.most for column in columns), 1e-9)[: len(stored.keys)]
    asked = first[:, : len(stored.keys)]
    found, missing = asked[0, there] / whole[there], gone[0] / whole[there]
    if apart:
        missing = without_themselves(found, second[0, there] / whole[there], missing)
    ways = [Learnt.of(found, missing).about(asked[0] / whole, ROWS)]
    if len(columns) > 1:
        # Columns are learnt from half of the control rows and their sum from the others: it must not fit chance.
        alone = [Learnt.of(own[there][::2], other[::2]) for own, other in zip(asked[1:], gone[1:], strict=True)]
        summed = np.sum([one.weight(own) for one, own in zip(alone, asked[1:], strict=True)], axis=0)
        without = np.sum([one.weight(own) for one, own in zip(alone, gone[1:], strict=True)], axis=0)
        ways.append(Learnt.of(summed[there][1::2], without[1::2]).about(summed, "column by column"))
        # This way has more to fit by chance: it must say clearly more.
        if ways[1].bits / CLEARLY_MORE - BITS_OF_LUCK / len(there) > ways[0].bits:
            return ways[1]
    return ways[0]


@dataclass(frozen=True, eq=False)
class Learnt:
    """How often rows that are there, and rows that are not, agree so much."""

    edges: Floats
    shown: Floats
    """Per interval, the logarithm of the share of rows that are there."""
    hidden: Floats
    rows: int
    """Rows that it was learnt from, on each side."""

    @classmethod
    def of(cls, there: Floats, gone: Floats) -> Learnt:
        """From the agreements of both."""
        both = np.concatenate([there, gone])
        # Where few rows are there, the few that agree as rows elsewhere hardly ever do must not be among others.
        rare = np.quantile(gone, [0.97, 0.99, 0.995]) * (1 + 1e-9)
        edges = np.unique([*np.quantile(both, np.linspace(0, 1, BINS + 1)[1:-1]), *rare, both.max() * 0.999])
        counts = np.stack(
            [
                np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
                for values in (there, gone)
            ]
        )
        # The more rows agree, the more speaks for them being there: what says otherwise is chance, and is put together.
        starts = rising(*counts)
        edges, counts = edges[starts[1:] - 1], np.add.reduceat(counts, starts, axis=1)
        shown, hidden = np.log((counts + SMOOTHING) / (counts.sum(axis=1, keepdims=True) + SMOOTHING * len(starts)))
        return cls(edges, shown, hidden, len(there))

    @property
    def bits(self) -> float:
        """How much an agreement says of whether the row is there, at best 1."""
        shown, hidden = np.exp(self.shown), np.exp(self.hidden)
        middle = np.log2((shown + hidden) / 2)
        whole = float((shown * (np.log2(shown) - middle) + hidden * (np.log2(hidden) - middle)).sum() / 2)
        # Less what chance alone would show on average (Miller and Madow 1955).
        return whole - (len(shown) - 1) / (4 * self.rows * math.log(2))

    def weight(self, agreements: Floats) -> Floats:
        """How much agreements speak for a row being there, as logarithms."""
        return np.asarray((self.shown - self.hidden)[np.searchsorted(self.edges, agreements, side="right")])

    def about(self, agreements: Floats, by: str) -> RowEvidence:
        """The evidence of such agreements."""
        places = np.searchsorted(self.edges, agreements, side="right")
        return RowEvidence(self.shown[places], self.hidden[places], self.bits, by)


def without_themselves(found: Floats, second: Floats, elsewhere: Floats) -> Floats:
    """How well rows agree that are not there, from what control rows show.

    Rows of the own cell are more alike than rows elsewhere. So a control row's own cell is taken, without the row that agrees
    as hardly any does elsewhere, since that is the control row itself; how rarely others agree so much is known from elsewhere.
    """
    line = float(np.quantile(elsewhere, 1 - HARDLY_ANY))
    if line > ALL_BUT:
        return elsewhere
    own = np.where(found > line, second, found)
    return np.concatenate([own[own <= line], elsewhere[elsewhere > line]])


def rising(there: Ints, gone: Ints) -> Ints:
    """Where intervals begin that each have clearly more of `there`.

    First what falls is put together (pool adjacent violators), then what chance explains: `LEAST_GAIN`.

    >>> rising(np.array([50, 70, 60, 190]), np.array([190, 60, 70, 0])).tolist()
    [0, 1, 3]
    """
    blocks: list[tuple[int, int, int]] = []
    for start, (more, fewer) in enumerate(zip(there.tolist(), gone.tolist(), strict=True)):
        blocks.append((start, more, fewer))
        while len(blocks) > 1 and blocks[-2][1] * sum(blocks[-1][1:]) >= blocks[-1][1] * sum(blocks[-2][1:]):
            blocks[-2:] = [_together(*blocks[-2:])]
    while len(blocks) > 1:
        gains = [_fit(one) + _fit(other) - _fit(_together(one, other)) for one, other in pairwise(blocks)]
        least = int(np.argmin(gains))
        if gains[least] >= LEAST_GAIN:
            break
        blocks[least : least + 2] = [_together(*blocks[least : least + 2])]
    return np.array([start for start, _, _ in blocks])


def _together(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    return one[0], one[1] + other[1], one[2] + other[2]


def _fit(block: tuple[int, int, int]) -> float:
    """The log-likelihood of which rows of an interval are there, by their share."""
    whole = block[1] + block[2]
    return sum(part * math.log(part / whole) for part in block[1:] if part)


@dataclass(frozen=True, eq=False)
class AgreementColumn:
    """A column of both sides: how rarely two cells agree as much as they do."""

    ours: Ints
    theirs: Ints
    rarity: Floats
    """Per value, the logarithm of one over its share among the stored rows."""
    numbers: Floats | None
    """Per value its number, where the column is one of many numbers."""
    known: Floats
    """The numbers of the stored rows, sorted."""
    rows: int
    """How many rows are stored."""

    @classmethod
    def of(cls, ours: Sequence[Label], theirs: Coded) -> AgreementColumn:
        """From the cells of the stored rows and of the file."""
        index: dict[Label, int] = {}
        own = np.array([index.setdefault(_plain(cell), len(index)) for cell in ours], dtype=np.int64)
        width = len(index)
        values = np.array([index.setdefault(_plain(value), len(index)) for value in theirs.values], dtype=np.int64)
        counts = np.bincount(own, minlength=len(index))
        rarity = np.log(len(own) / np.maximum(counts, 1))
        labels = list(index)
        numbers = np.array([number_of(label) for label in labels])
        known = np.isfinite(numbers[own])
        many = width > FEW_NUMBERS and 2 * known.sum() > len(own)
        codes = values[theirs.codes] if len(values) else np.zeros(0, dtype=np.int64)
        return cls(own, codes, rarity, numbers if many else None, np.sort(numbers[own][known]), len(own))

    def of_rows(self, rows: Ints) -> AgreementColumn:
        """The same for some stored rows, or for one several times."""
        return replace(self, ours=self.ours[rows])

    @property
    def most(self) -> Floats:
        """What each stored row would reach with its equal."""
        return self.rarity[self.ours]

    def agreement(self, ours: Ints, theirs: Ints) -> Floats:
        """Of pairs of rows: the logarithm of one over the share of rows that agree as much."""
        one, other = self.ours[ours], self.theirs[theirs]
        same = one == other
        if self.numbers is None:
            return np.where(same, self.rarity[one], 0.0)
        mine = self.numbers[one]
        far = np.abs(mine - self.numbers[other])
        near = np.isfinite(far)
        far = np.where(near, far, 0.0)
        inside = np.searchsorted(self.known, mine + far, side="right") - np.searchsorted(self.known, mine - far)
        rare = np.log(self.rows / np.maximum(inside, 1))
        return np.where(near, rare, np.where(same, self.rarity[one], 0.0))


def _plain(cell: object) -> Label:
    """A cell as text; a number is spelt one way."""
    label = text(cell)
    if label is None or (not label[:1].isdigit() and label[:1] not in "-."):
        return label
    try:
        return text(float(label)) if len(label) < 16 else label
    except ValueError:
        return label


def best_agreements(keys: Ints, leaked: LeakedRows, columns: Sequence[AgreementColumn]) -> tuple[Floats, Floats]:
    """Best agreements of stored rows, and the best without the row that gave them.

    The first way is by all columns together, then each column by itself.
    """
    ours, theirs = comparable_keys(keys, leaked.keys, columns)
    order = np.argsort(theirs, kind="stable")
    starts, stops = (np.searchsorted(theirs[order], ours, side=side) for side in ("left", "right"))
    lengths = stops - starts
    best = np.zeros((len(columns) + 1, len(ours)))
    second = np.zeros_like(best)
    ends = np.cumsum(lengths)
    row = 0
    while row < len(ours):
        last = max(row + 1, int(np.searchsorted(ends, (ends[row - 1] if row else 0) + CHUNK, side="right")))
        busy = np.arange(row, last)[lengths[row:last] > 0]
        if len(busy):
            heads = np.concatenate([[0], np.cumsum(lengths[busy])[:-1]])
            mine = np.repeat(busy, lengths[busy])
            their_rows = order[
                np.arange(len(mine)) - np.repeat(heads, lengths[busy]) + np.repeat(starts[busy], lengths[busy])
            ]
            each = [column.agreement(mine, their_rows) for column in columns]
            for way, scores in enumerate([np.sum(each, axis=0), *each]):
                top = np.maximum.reduceat(scores, heads)
                best[way, busy] = top
                # Without one row that gave the best: itself again where equal rows are, or the next.
                is_top = scores >= np.repeat(top, lengths[busy]) - 1e-12
                times = np.add.reduceat(is_top * leaked.counts[their_rows], heads)
                rest = np.maximum.reduceat(np.where(is_top, 0.0, scores), heads)
                second[way, busy] = np.where(times > 1, top, rest)
        row = last
    return best, second


def comparable_keys(ours: Ints, theirs: Ints, columns: Sequence[AgreementColumn]) -> tuple[Ints, Ints]:
    """Cells, or cells and the most telling column where there are too many pairs."""
    sizes = np.unique(theirs, return_counts=True)
    pairs = dict(zip(*(each.tolist() for each in sizes), strict=True))
    if sum(pairs.get(key, 0) for key in ours.tolist()) <= MOST_PAIRS:
        return ours, theirs
    worth = []
    for column in columns:
        there = np.zeros(len(column.rarity), dtype=bool)
        there[column.theirs] = True
        worth.append(float((there[column.ours] * column.most).mean()))
    chosen = columns[int(np.argmax(worth))]
    width = len(chosen.rarity)
    return ours * width + chosen.ours, theirs * width + chosen.theirs
