"""Turnover: marks, decoys and donors when a data set is released again.

Who holds two releases of a data set compares them. So marks stay marks, with the same answer for the same recipient,
whatever the release is called, and decoys change as real classes do: of the people whose values they hold, those go who
left the data; newcomers are as many as real classes with as many look-alikes gain; and what is smaller than k vanishes for good.
People who lend their values to a decoy are released nowhere, then and later, and a class that becomes real under a decoy is
left out for everybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import Refused
from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.kernel.serialise import json_of
from discreet.policy import Policy
from discreet.releases.decoys.donors import Donors, rows_of_classes
from discreet.releases.decoys.matching import DecoyRows, Filler
from discreet.releases.manifest import DecoyCells, Manifest, ReservedRows
from discreet.releases.marks.codebook import Marks, derive
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.marks.row_marks import RowCodebook, RowMarks
from discreet.releases.marks.selection import spelling
from discreet.releases.population_link import Linked
from discreet.sources import Table
from discreet.wording import fine_percent

Labels = tuple[Label, ...]
Row = tuple[Labels, tuple[Label, ...]]
"""A class, and every other cell as text."""


def as_text(rows: DecoyRows, columns: Sequence[str]) -> DecoyCells:
    """Cells as texts from which the columns' types can be made again."""
    cells = {column: [spelling(cell) for cell in rows.columns.get(column, ())] for column in columns}
    return DecoyCells(cells, rows.places)


def reserved(rows: DecoyRows, columns: Sequence[str]) -> ReservedRows:
    """The people whose values decoys hold."""
    own = {**rows.columns, **rows.own}
    cells = {column: [spelling(cell) for cell in own.get(column, ())] for column in columns}
    return ReservedRows(rows.donors, cells, np.arange(len(rows.donors)))


@dataclass(frozen=True, eq=False)
class PastRows:
    """Rows that a manifest holds, and how many of them a table still has."""

    rows: tuple[Row, ...]
    there: Flags

    @classmethod
    def of(cls, labels: Sequence[Labels], cells: Mapping[str, Sequence[Label]], left: Counter[Row]) -> PastRows:
        """Look each up among the rows that are left, and take it out."""
        names = sorted(cells)
        rows = tuple((label, tuple(cells[name][place] for name in names)) for place, label in enumerate(labels))
        there = []
        for row in rows:
            there.append(left[row] > 0)
            left[row] -= there[-1]
        return cls(rows, np.array(there, dtype=bool))


def rows_in(table: Table, classes: Classes, labels: set[Labels], columns: Sequence[str]) -> Counter[Row]:
    """How often a table has each row of some classes."""
    held = np.array([label in labels for label in classes.tuples()], dtype=bool)
    if not held.any():
        return Counter()
    cells, _ = rows_of_classes(table, classes, held, drop=(table.policy or Policy()).unpublished)
    quasi = zip(*(cells[name] for name in classes.names), strict=True)
    others = zip(*(map(spelling, cells[name]) for name in sorted(columns)), strict=True) if columns else None
    return Counter(zip(quasi, others, strict=True) if others else ((label, ()) for label in quasi))


@dataclass(frozen=True, eq=False)
class Turnover:
    """How people of a data set came and went since it was released before."""

    leaving: float
    """The share of released people who are no longer there as they were."""
    isolated: float
    """People whom both releases together show in groups of fewer than k, on average."""
    withheld: int
    """Rows that are left out because decoys hold their values."""
    closed: int
    """People of classes that are left out because a decoy has their place."""

    to_dict = json_of()

    def words(self) -> tuple[str, ...]:
        """What a custodian should know before copies of both are in one hand."""
        if not self.leaving:
            return ()
        left_out = self.withheld + self.closed
        return (
            (
                f"{fine_percent(self.leaving)} of the people who were released before are gone or have changed. {left_out:,} people "
                "are left out for everybody, since decoys have their values or their place."
            ),
            (
                f"A person who holds this release and the one before sees who came, left and stayed: about {self.isolated:,.0f} people are then in "
                "groups of fewer than k. Release seldom, or only to recipients without the earlier copies."
            ),
        )


@dataclass(frozen=True, eq=False)
class Continuation:
    """A data set released again: everything that follows from how it was released before."""

    linked: Linked
    """Without the people who are left out for everybody."""
    marks: Marks
    decoys: DecoyCells
    reserved: ReservedRows | None
    rows: RowCodebook | None
    turnover: Turnover

    @classmethod
    def of(
        cls,
        previous: Manifest,
        linked: Linked,
        table: Table,
        recipients: Sequence[str],
        *,
        columns: tuple[str, ...],
        only_size: bool,
        key: bytes,
        force: bool,
    ) -> Continuation:
        """Carry over what still can be; `columns` are those published beside the quasi-identifiers."""
        return ReleaseStep(previous, linked, table, columns, only_size, key).done(recipients, force=force)


@dataclass(frozen=True, eq=False)
class ReleaseStep:
    """From one release of a data set to the next."""

    previous: Manifest
    before: Linked
    """The data now, before anybody is left out for decoys."""
    table: Table
    columns: tuple[str, ...]
    only_size: bool
    key: bytes

    def done(self, recipients: Sequence[str], *, force: bool) -> Continuation:
        """All of it."""
        old, marks = self.previous, self.previous.codebook.marks
        if set(self.columns) - set(old.decoys.columns):
            raise Refused(
                f"The table has columns that version {old.version} of '{old.release}' had not, and decoys have no values for them.",
                remedy="Leave them out; or force it, and anyone who compares both can find decoys.",
            )
        decoys, donors, sizes = self.decoys_now()
        alive = np.where(marks.decoy, sizes >= self.before.k, False)
        # What became too small does not come back, neither decoys nor real classes: no decoy could return with its people.
        earlier = () if old.reserved is None else old.reserved.gone
        under = {*earlier, *(marks.labels[place] for place in np.flatnonzero(marks.decoy))}
        linked, withheld, closed = self.without_donors(donors, under)
        now = linked.released.project(marks.columns).lookup(marks.labels)
        links = linked.population.project(marks.columns).lookup(marks.labels)
        places = np.flatnonzero(np.where(marks.decoy, alive & (links > 0), now > 0))
        rows, left = self.rows_now(linked, withheld, recipients)
        if len(places) + left < FEWEST_MARKS and not force:
            first = len(marks) + (0 if old.rows is None else len(old.rows.rows))
            raise Refused(
                f"Too much has changed since version {old.version} of '{old.release}': {len(places) + left} of its {first} "
                f"marks are left, and below {FEWEST_MARKS} a leak can hardly be traced.",
                remedy="If these are other people, release them under another name and data set; if not, release them again later, or force it.",
            )
        number = np.full(len(marks), -1, dtype=np.int64)
        number[places] = np.arange(len(places))
        carried = Marks(
            columns=marks.columns,
            labels=tuple(marks.labels[place] for place in places.tolist()),
            decoy=marks.decoy[places],
            sizes=np.where(marks.decoy, sizes, now)[places],
            links=links[places],
            partners=number[marks.partners[places]],
        )
        kept = np.flatnonzero(np.isin(decoys.places, places))
        row = np.full(len(decoys), -1, dtype=np.int64)
        row[kept] = np.arange(len(kept))
        cells = {name: [decoys.columns[name][place] for place in kept.tolist()] for name in self.columns}
        released = set(linked.released.project(marks.columns).tuples())
        vanished = () if linked.k != old.settings.k else old.released.project(marks.columns).tuples()
        gone = [*earlier, *(label for label in vanished if label not in released)]
        shown = (*old.released.project(marks.columns).tuples(), *(() if old.reserved is None else old.reserved.shown))
        return Continuation(
            linked,
            carried,
            DecoyCells(cells, np.searchsorted(places, decoys.places[kept])),
            None
            if old.reserved is None
            else replace(
                donors,
                decoys=np.where(donors.decoys >= 0, row[donors.decoys], -1),
                shown=tuple(dict.fromkeys(label for label in shown if label not in released)),
                gone=(*gone, *(marks.labels[place] for place in np.flatnonzero(marks.decoy & ~alive))),
            ),
            rows,
            Turnover(self._leaving, self.isolated(linked), len(withheld), closed),
        )

    @cached_property
    def _found(self) -> tuple[PastRows, PastRows]:
        """Reserved people and released rows, and which of them the table still has."""
        old = self.previous
        donors = old.reserved or ReservedRows((), {name: [] for name in self.columns}, np.zeros(0, dtype=np.int64))
        held = old.rows.rows if old.rows is not None else RowMarks(old.released.names, (), {}, 0)
        labels = {*donors.labels, *held.labels}
        data = self.before.data.project(self.previous.codebook.marks.columns)
        left = rows_in(self.table, data, labels, self.columns)
        shared = {name: held.cells.get(name, []) for name in self.columns}
        given = {name: donors.cells.get(name, []) for name in self.columns}
        return PastRows.of(donors.labels, given, left), PastRows.of(held.labels, shared if held.labels else {}, left)

    @cached_property
    def _leaving(self) -> float:
        """The share of stored rows that the table no longer has."""
        donors, released = self._found
        there = released.there if len(released.there) else donors.there
        return float(1 - there.mean()) if len(there) else 0.0

    def decoys_now(self) -> tuple[DecoyCells, ReservedRows, Ints]:
        """The rows of decoys now, everybody who is reserved, and decoys' sizes."""
        old, marks = self.previous, self.previous.codebook.marks
        if old.reserved is None:
            # Decoys of the first design have no donors: they stay as they are.
            nobody = ReservedRows((), {name: [] for name in self.columns}, np.zeros(0, dtype=np.int64))
            return old.decoys, nobody, np.where(marks.decoy, marks.sizes, 0)
        there, of_rows = self._found[0].there, old.reserved.decoys
        stay = of_rows[there & (of_rows >= 0)]
        gone = np.setdiff1d(np.arange(len(old.decoys)), stay)
        stays = np.delete(np.arange(len(old.decoys)), gone)
        places = old.decoys.places[stays]
        made_up = np.flatnonzero(marks.decoy)
        rng = np.random.default_rng(list(derive(self.key, f"turnover/{old.scope}/{old.version}/{old.fingerprint}")))
        share = min(1.0, self.before.sampling * self._leaving)
        joining = np.zeros(len(marks), dtype=np.int64)
        joining[made_up] = rng.binomial(marks.links[made_up], share)
        # Donors of a decoy that is too small by now stay reserved.
        sizes = np.bincount(places, minlength=len(marks)) + joining
        joining[sizes < self.before.k] = 0
        fresh = self.newcomers(joining, rng)
        filled = np.bincount(fresh.places, minlength=len(marks)) + np.bincount(places, minlength=len(marks))
        number = np.full(len(old.decoys), -1, dtype=np.int64)
        number[stays] = np.arange(len(stays))
        given, added = as_text(fresh, self.columns), reserved(fresh, self.columns)
        cells = {
            name: [*(old.decoys.columns[name][row] for row in stays.tolist()), *given.columns[name]]
            for name in self.columns
        }
        donors = ReservedRows(
            (*old.reserved.labels, *added.labels),
            {name: [*old.reserved.cells[name], *added.cells[name]] for name in self.columns},
            np.concatenate([np.where(of_rows >= 0, number[of_rows], -1), len(stays) + added.decoys]).astype(np.int64),
        )
        return DecoyCells(cells, np.concatenate([places, fresh.places])), donors, filled

    def newcomers(self, joining: Ints, rng: np.random.Generator) -> DecoyRows:
        """New rows of decoys: left-out people whom no release showed."""
        old, marks = self.previous, self.previous.codebook.marks
        growing = np.flatnonzero(joining)
        if not len(growing) or old.reserved is None:
            return DecoyRows({}, np.zeros(0, dtype=np.int64))
        shown = {*old.released.project(marks.columns).tuples(), *old.reserved.shown}
        order = [self.before.data.names.index(name) for name in marks.columns]
        fresh = np.array(
            [tuple(label[place] for place in order) not in shown for label in self.before.data.tuples()], dtype=bool
        )
        # Classes that were shown before count as released here, too: their people are known.
        source = replace(self.before, kept=self.before.kept | ~fresh)
        nobody = np.zeros(0, dtype=np.int64)
        drop = (self.table.policy or Policy()).unpublished
        filler = Filler.fetch(self.table, source, int(joining.sum()), nobody, rng, drop=drop)
        filler = replace(filler, left_out=self.unreserved(filler.left_out, source.suppressed))
        order = [marks.columns.index(name) for name in self.before.population.names]
        labels = [tuple(marks.labels[place][column] for column in order) for place in growing.tolist()]
        index = {label: place for place, label in enumerate(self.before.population.tuples())}
        known = [
            number
            for number, label in enumerate(labels)
            if label in index and all(follows.knows(label) for follows in filler.follows)
        ]
        there = np.array([index[labels[number]] for number in known], dtype=np.int64)
        population = self.before.population
        free = Classes(population.columns, tuple(codes[there] for codes in population.codes), population.sizes[there])
        rows = filler.decoys(free, [labels[number] for number in known], joining[growing[known]], rng)
        names = source.data.names
        places = [names.index(name) for name in marks.columns]
        donors = tuple(tuple(label[place] for place in places) for label in rows.donors)
        return replace(rows, places=growing[known][rows.places] if len(rows) else rows.places, donors=donors)

    def unreserved(self, left_out: Donors, classes: Classes) -> Donors:
        """Without people who give their values to a decoy, or once did."""
        reserved = self._found[0]
        taken = Counter(row for row, here in zip(reserved.rows, reserved.there.tolist(), strict=True) if here)
        order = [classes.names.index(name) for name in self.previous.codebook.marks.columns]
        labels = [tuple(label[place] for place in order) for label in classes.tuples()]
        columns = [{column.name: column.cells for column in left_out.columns}[name] for name in sorted(self.columns)]
        free = []
        for row, owner in enumerate(left_out.owners.tolist()):
            whole = (labels[owner], tuple(spelling(cells[row]) for cells in columns))
            if taken[whole] > 0:
                taken[whole] -= 1
            else:
                free.append(row)
        return left_out.only(np.array(free, dtype=np.int64))

    def without_donors(self, donors: ReservedRows, under_decoys: set[Labels]) -> tuple[Linked, list[int], int]:
        """The data without donors and without classes in which decoys are or were."""
        data, kept = self.before.data, self.before.kept.copy()
        order = [data.names.index(name) for name in self.previous.codebook.marks.columns]
        tuples = [tuple(label[place] for place in order) for label in data.tuples()]
        closing = np.array([label in under_decoys for label in tuples], dtype=bool) & kept
        closed = int(data.sizes[closing].sum())
        kept &= ~closing
        place_of = {label: place for place, label in enumerate(tuples)}
        old = 0 if self.previous.reserved is None else len(self.previous.reserved)
        here = [
            number
            for number in np.flatnonzero(self._found[0].there[:old]).tolist()
            if kept[place_of[donors.labels[number]]]
        ]
        lacking = np.bincount([place_of[donors.labels[number]] for number in here], minlength=len(data))
        small = kept & (lacking > 0) & ((data.sizes - lacking < self.before.k) | (not self.only_size))
        closed += int(data.sizes[small].sum())
        kept &= ~small
        withheld = [number for number in here if kept[place_of[donors.labels[number]]]]
        sizes = data.sizes - np.where(kept, lacking, 0)
        return replace(self.before, data=replace(data, sizes=sizes), kept=kept), withheld, closed

    def rows_now(
        self, linked: Linked, withheld: list[int], recipients: Sequence[str]
    ) -> tuple[RowCodebook | None, int]:
        """Row marks that are left, and the rows that no copy holds."""
        book, donors = self.previous.rows, self.previous.reserved
        if book is None:
            return None, 0
        rows, there = book.rows, self._found[1].there
        sizes = linked.released.project(rows.columns).lookup(rows.labels)
        kept, spare = [], Counter[Labels]()
        for place, label in enumerate(rows.labels[: rows.marks]):
            if there[place] and spare[label] < sizes[place] - linked.k:
                spare[label] += 1
                kept.append(place)
        controls = np.arange(rows.single, len(rows.labels))
        controls = controls[there[controls] & (sizes[controls] > 0)]
        parts: list[tuple[Sequence[Labels], Mapping[str, Sequence[Label]], list[int]]] = [
            (rows.labels, rows.cells, kept),
            ((), {}, []) if donors is None else (donors.labels, donors.cells, withheld),
            (rows.labels, rows.cells, controls.tolist()),
        ]
        labels = tuple(every[place] for every, _, places in parts for place in places)
        cells = {name: [every[name][place] for _, every, places in parts for place in places] for name in self.columns}
        marks = RowMarks(rows.columns, labels, cells, len(kept), len(withheld))
        chances = book.probabilities[np.array(kept, dtype=np.int64)]
        return RowCodebook.of(marks, chances, recipients, release=self.previous.scope, key=self.key), len(kept)

    def isolated(self, linked: Linked) -> float:
        """People in groups of fewer than k who left, came or stayed in a class.

        By binomial laws with the share that left. Where no other column is published, rows cannot be told apart.
        """
        if not self.columns or not self._leaving:
            return 0.0
        old = self.previous.released
        before = linked.released.link(old)
        both = before > 0
        sizes, leaving = linked.released.sizes[both], self._leaving
        people = 0.0
        for total, share in ((before[both], leaving), (before[both], 1 - leaving), (sizes, leaving)):
            distinct, counts = np.unique(total, return_counts=True)
            people += float(expected_few(distinct, share, below=linked.k) @ counts)
        return people


def expected_few(people: Ints, share: float, *, below: int) -> Floats:
    """How many people are expected in a group of fewer than `below`, by the binomial law.

    >>> expected_few(np.array([2, 50]), 0.5, below=3).round(3).tolist()
    [1.0, 0.0]
    """
    if not 0 < share < 1:
        return np.where(people < below, people * share, 0.0)
    term = people * np.log1p(-share)
    expected = np.zeros(len(people))
    for number in range(1, below):
        with np.errstate(divide="ignore"):
            term = term + np.log(np.maximum(people - number + 1, 0) / number) + np.log(share) - np.log1p(-share)
        expected += number * np.exp(term)
    return expected


FEWEST_SHARED, SHARED = 10, 0.1
"""Stored rows that a table has beyond chance, as a number and a share, from which on it is of the same people."""


def shares_people(manifest: Manifest, table: Table) -> float:
    """The share of a manifest's rows that a table has, beyond what chance brings."""
    columns = sorted(manifest.decoys.columns)
    names = tuple(column.name for column in manifest.released.columns)
    held = manifest.rows
    published = set(table.published) - set(names)
    if held is None or not held.rows.labels or set(names) - set(table.published) or set(columns) - published:
        return 0.0
    classes = table.classes(names)
    levels: Any = manifest.levels
    if any(levels[column.name] >= column.hierarchy.height for column in classes.columns):
        return 0.0
    data = classes.at(levels).project(held.rows.columns)
    labels = held.rows.labels
    left = rows_in(table, data, set(labels), columns)
    cells = {name: held.rows.cells[name] for name in columns}
    # The same cells in the classes of others say how much chance brings.
    moved = {name: [*cells[name][len(labels) // 2 :], *cells[name][: len(labels) // 2]] for name in columns}
    found, chance = (PastRows.of(labels, own, Counter(left)).there for own in (cells, moved))
    if found.sum() - chance.sum() < FEWEST_SHARED:
        return 0.0
    return float((found.mean() - chance.mean()) / max(1 - chance.mean(), 1e-9))
