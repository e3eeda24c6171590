"""Observed marks: where rows of a leaked file meet marks of the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import DataError, EmptySource
from discreet.kernel import Coded, Histogram
from discreet.kernel.arrays import Flags, Floats, Ints, group, pack, total
from discreet.kernel.hierarchy import text
from discreet.releases.tracing.case import STRANGER, Key, PublishedLevel, SuspectTable, Traceable
from discreet.releases.tracing.row_matches import LeakedRows, RowEvidence, StoredRows, row_evidence


@dataclass(frozen=True, eq=False)
class Sightings:
    """Per cell the rows of the file and those that every copy has; per mark its cell and the rows that it adds there."""

    counts: Ints
    base: Ints
    cells: Ints
    """The cell of each mark, those of classes and then those of rows; -1 where the file cannot show it."""
    sizes: Ints
    rows: int
    foreign: int
    """Rows that are in no copy."""
    left_out: int
    """Rows that are written too coarsely to be used."""
    columns: dict[str, int]
    """The columns that were used, and how many levels above the published one they are."""
    notes: tuple[str, ...] = ()
    classes: frozenset[Key] | None = None
    """The classes that the file shows, where it shows all quasi-identifiers as they were published."""

    @cached_property
    def visible(self) -> Ints:
        """Places of the marks that the file could show."""
        return np.flatnonzero(self.cells >= 0)

    @cached_property
    def lone(self) -> Flags:
        """Per visible mark, whether rows in its cell can come from it alone."""
        cells = self.cells[self.visible]
        marks = np.bincount(cells, minlength=len(self.counts))
        return np.asarray((marks[cells] == 1) & (self.base[cells] == 0))

    @cached_property
    def seen(self) -> Ints:
        """Places of the marks that came up: rows are where only marks have any."""
        cells = self.cells[self.visible]
        return np.asarray(self.visible[(self.counts[cells] > 0) & (self.base[cells] == 0)])

    @property
    def telling(self) -> bool:
        """Whether different copies can look different in the file."""
        return len(self.counts) > 1 and len(self.visible) > 0


def sightings_of(traceable: Traceable, table: SuspectTable) -> Sightings:
    """The cells of a file by the quasi-identifiers that it shows."""
    names = [ladder.name for ladder in traceable.ladders if ladder.name in table.columns]
    histogram = table.counted(names)
    rows = int(histogram.counts.sum())
    if not rows:
        raise EmptySource(f"There is no row in {table.name}.", remedy="Give a file with at least one row.")
    recognised, notes = _recognised(traceable, histogram)
    used = [column for column in recognised if column.telling]
    coarser = strange = np.zeros(len(histogram.counts), dtype=bool)
    for column in used:
        coarser, strange = coarser | column.coarser, strange | (column.codes < 0)
    good = ~strange & ~coarser
    counts, base, cells, foreign = _cells(traceable, used, histogram.counts, good)
    # The classes, where the file shows all quasi-identifiers as they were published.
    classes: frozenset[Key] | None = None
    every = {ladder.name for ladder in traceable.ladders if ladder.open}
    if {column.ladder.name for column in used} == every and not any(column.step for column in used):
        by_name = {column.ladder.name: column.codes[good] for column in used}
        top = np.zeros(int(good.sum()), dtype=np.int64)
        classes = frozenset(zip(*(by_name.get(name, top).tolist() for name in traceable.columns), strict=True))
    return Sightings(
        counts=counts,
        base=base,
        cells=cells,
        sizes=np.concatenate([traceable.codebook.marks.sizes, np.ones(traceable.row_marks, dtype=np.int64)]),
        rows=rows,
        foreign=foreign + int(histogram.counts[strange & ~coarser].sum()),
        left_out=int(histogram.counts[coarser].sum()),
        columns={column.ladder.name: column.step for column in used},
        notes=tuple(notes),
        classes=classes,
    )


def _recognised(traceable: Traceable, found: Histogram) -> tuple[list[Recognised], list[str]]:
    known, notes = [], []
    for ladder in traceable.ladders:
        if ladder.name not in found.columns:
            if ladder.open:
                notes.append(f"The file has no column '{ladder.name}'; if it has another name there, map it.")
            continue
        one = recognise(ladder, found.columns[ladder.name], found.counts)
        if one is None:
            notes.append(f"Column '{ladder.name}' is left out: most of its labels fit no level of its hierarchy.")
            continue
        known.append(one)
        if one.mixed:
            notes.append(
                f"Column '{ladder.name}' mixes levels of its hierarchy; all was brought to the coarsest common one."
            )
        if one.finer:
            notes.append(
                f"Column '{ladder.name}' is finer than any copy: it was filled in from elsewhere, or this is no release."
            )
    return known, notes


def _cells(traceable: Traceable, used: Sequence[Recognised], counts: Ints, good: Flags) -> tuple[Ints, Ints, Ints, int]:
    """Rows of the file and of every copy per cell, the cell of each mark, and the rows of the file in no cell."""
    places = [traceable.columns.index(one.ladder.name) for one in used]
    upwards = [one.ladder.hierarchy.map(0, one.step) for one in used]
    everywhere = traceable.base > 0
    parts = [
        [up[traceable.released_codes[place][everywhere]] for up, place in zip(upwards, places, strict=True)],
        [up[traceable.mark_codes[place]] for up, place in zip(upwards, places, strict=True)],
        [up[traceable.row_codes[place][: traceable.row_marks]] for up, place in zip(upwards, places, strict=True)],
        [one.codes[good] for one in used],
    ]
    base, marks = traceable.base[everywhere], len(traceable.codebook.marks) + traceable.row_marks
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    sizes = [len(one.ladder.hierarchy.labels[one.step]) for one in used]
    keys, bound = pack(columns, sizes, len(base) + marks + int(good.sum()))
    _, member, groups = group(keys, bound)
    ours, theirs = member[: len(base) + marks], member[len(base) + marks :]
    known = np.zeros(groups, dtype=bool)
    known[ours] = True
    number = np.cumsum(known) - 1
    rows = total(theirs, counts[good], groups)
    whole = total(member[: len(base)], base, groups)
    return rows[known], whole[known], number[member[len(base) : len(base) + marks]], int(rows[~known].sum())


def rows_seen(traceable: Traceable, table: SuspectTable, columns: Mapping[str, int]) -> RowsSeen | None:
    """What the other columns of the file say of single rows and decoys."""
    book, decoys = traceable.rows, traceable.decoys
    if book is None:
        return None
    names = [name for name in book.rows.cells if name in table.columns]
    if not names:
        return None
    quasi = [ladder.name for ladder in traceable.ladders if ladder.name in columns]
    histogram = table.counted([*quasi, *names])
    of_decoys = np.asarray(() if decoys is None else decoys.places, dtype=np.int64)
    good = np.ones(len(histogram.counts), dtype=bool)
    parts: list[tuple[Ints, Ints]] = []
    for place, ladder in enumerate(traceable.ladders):
        if ladder.name not in columns:
            continue
        column = recognise(ladder, histogram.columns[ladder.name], histogram.counts)
        if column is None or column.step != columns[ladder.name]:
            continue
        up = ladder.hierarchy.map(0, column.step)
        own = np.concatenate([traceable.row_codes[place], traceable.mark_codes[place][of_decoys]])
        parts.append((up[own], column.codes))
        good &= ~column.coarser & (column.codes >= 0)
    ours = np.zeros(len(book.rows.labels) + len(of_decoys), dtype=np.int64)
    theirs = np.zeros(int(good.sum()), dtype=np.int64)
    for own, codes in parts:
        width = int(max(own.max(initial=0), codes.max(initial=0))) + 1
        ours, theirs = ours * width + own, theirs * width + codes[good]
    cells = {
        name: [*book.rows.cells[name], *map(text, () if decoys is None else decoys.columns[name])] for name in names
    }
    controls = np.zeros(len(ours), dtype=bool)
    controls[book.rows.single : len(book.rows.labels)] = True
    leaked = {name: Coded(histogram.columns[name].values, histogram.columns[name].codes[good]) for name in names}
    evidence = row_evidence(StoredRows(ours, cells, controls), LeakedRows(theirs, leaked, histogram.counts[good]))
    return None if evidence is None else RowsSeen(evidence, len(book.rows), len(book.rows.labels), of_decoys)


@dataclass(frozen=True, eq=False)
class RowsSeen:
    """Evidence of single rows: those that are marks, control rows, then those of decoys."""

    evidence: RowEvidence
    marks: int
    decoys_from: int
    of_decoys: Ints
    """Per row of a decoy, the place of its mark."""

    def of_marks(self) -> tuple[Floats, Floats]:
        """Per row mark, the logarithm of the likelihood if it is shown, and if it is not."""
        return self.evidence.shown[: self.marks], self.evidence.hidden[: self.marks]

    def of_classes(self, marks: int) -> tuple[Floats, Floats]:
        """The same per class mark, by the rows of decoys; 0 for others."""
        shown, hidden = (
            np.bincount(self.of_decoys, weights=logs[self.decoys_from :], minlength=marks).astype(np.float64)
            for logs in (self.evidence.shown, self.evidence.hidden)
        )
        return shown, hidden


def sightings_of_decoys(traceable: Traceable, table: SuspectTable, original: Any = None) -> Sightings:
    """The decoys of a file by their other columns, without tuples of the `original` table or of two decoys."""
    decoys = traceable.decoys
    names = [] if decoys is None else [name for name in decoys.columns if name in table.columns]
    if decoys is None or not names:
        raise DataError(
            f"{table.name} cannot carry evidence: none of its columns tells copies of this release apart.",
            remedy=f"Copies differ by {', '.join(traceable.columns)}; if the file has these under other names, map them: --column THEIRS=OURS.",
        )
    # The mark of each tuple that one decoy alone has.
    owners: dict[tuple[Any, ...], int] = {}
    shared: set[tuple[Any, ...]] = set()
    coded = {name: Coded.of(decoys.columns[name]) for name in names}
    for cells, place in zip(_tuples(coded, names), decoys.places, strict=True):
        if owners.setdefault(cells, int(place)) != place:
            shared.add(cells)
    if original is not None:
        shared.update(_tuples(SuspectTable.of(original).counted(names).columns, names))
    owners = {cells: place for cells, place in owners.items() if cells not in shared}
    histogram = table.counted(names)
    marks = len(traceable.codebook.marks) + traceable.row_marks
    counts, sizes = np.zeros(marks, dtype=np.int64), np.bincount(list(owners.values()), minlength=marks)
    for cells, number in zip(_tuples(histogram.columns, names), histogram.counts.tolist(), strict=True):
        if cells in owners:
            counts[owners[cells]] += number
    rows = int(histogram.counts.sum())
    if not rows:
        raise EmptySource(f"There is no row in {table.name}.", remedy="Give a file with at least one row.")
    note = "The quasi-identifiers do not tell copies apart here: only decoys were looked for, by their other columns."
    return Sightings(
        counts=counts,
        base=np.zeros(marks, dtype=np.int64),
        cells=np.where(sizes > 0, np.arange(marks), -1),
        sizes=sizes.astype(np.int64),
        rows=rows,
        foreign=0,
        left_out=0,
        columns={},
        notes=(note,),
    )


def _tuples(columns: Mapping[str, Coded], names: Sequence[str]) -> list[tuple[Any, ...]]:
    cells = [[columns[name].values[code] for code in columns[name].codes.tolist()] for name in names]
    return list(zip(*cells, strict=True))


KNOWN = 0.5
"""Share of rows whose label must be on the ladder for a column to be what its name says."""
COVERED = 0.95
"""Share of rows at the level of a column or below; the few above it are left out."""


@dataclass(frozen=True, eq=False)
class Recognised:
    """A column of a leaked file on its ladder."""

    ladder: PublishedLevel
    step: int
    """Levels above the published one."""
    codes: Ints
    """Per tuple of the file, its label at that level; -1 where it is on no level, or above."""
    coarser: Flags
    """Per tuple, whether its label is above."""
    mixed: bool
    """Whether labels are on several levels."""
    finer: bool
    """Whether some labels are finer than anything that was published."""

    @property
    def telling(self) -> bool:
        """Whether it tells people apart at that level."""
        return len(self.ladder.hierarchy.labels[self.step]) > 1


def recognise(ladder: PublishedLevel, column: Coded, counts: Ints) -> Recognised | None:
    """A column by its labels; None where most of them are strangers to its hierarchy."""
    rows = np.bincount(column.codes, weights=counts, minlength=len(column.values))
    steps = ladder.steps(column.values)
    raised = ladder.published(column.values)
    finer = (steps < 0) & (raised != STRANGER)
    known = (steps >= 0) | finer
    if rows[known].sum() < KNOWN * rows.sum() or not rows.sum():
        return None
    heights = np.where(finer, 0, steps)
    # The lowest step that nearly all rows can be brought to.
    by_step = np.bincount(heights[known], weights=rows[known])
    step = int(np.searchsorted(np.cumsum(by_step), COVERED * by_step.sum()))
    lifted = ladder.hierarchy.map(0, step)
    upwards = np.where(raised >= 0, lifted[np.maximum(raised, 0)], -1)
    codes = np.where(finer, upwards, ladder.lifted(column.values, steps, step))
    # A cell that was emptied says as little as the top of the hierarchy.
    empty = np.array([value is None for value in column.values], dtype=bool) & ~known
    return Recognised(
        ladder=ladder,
        step=step,
        codes=codes[column.codes],
        coarser=((heights > step) | empty)[column.codes],
        mixed=len(set(heights[known & (rows > 0)].tolist())) > 1,
        finer=bool(rows[finer].sum()),
    )
