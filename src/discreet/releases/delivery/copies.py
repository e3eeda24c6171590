"""Copies of a release: written per recipient, verified, staged, with their documents."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sqlalchemy import Connection

from discreet.anonymity.result import AS_IT_IS, treatment
from discreet.errors import IntegrityError, Refused, UsageError
from discreet.kernel import Classes, Coded, Column, Recoding
from discreet.kernel.arrays import Flags, Ints
from discreet.kernel.hierarchy import Hierarchy
from discreet.kernel.serialise import json_of
from discreet.ledger import Receipt
from discreet.releases.delivery import repository
from discreet.releases.delivery.repository import StoredRelease
from discreet.releases.delivery.service import Registry
from discreet.releases.manifest import Manifest, fingerprint
from discreet.sources import Table
from discreet.sources.engine import CopyFolder, CopyFolders, Marked, Pool
from discreet.sources.export.copies import pooled, refuse_row_ids
from discreet.sources.export.staging import agree
from discreet.sources.export.targets import occupied

Format = Literal["parquet", "csv", "csv.gz"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "csv.gz")
Watch = Callable[[str, str], Any]
"""Is told what was done, and for whom; it may stop everything by raising."""


@dataclass(frozen=True)
class Delivered:
    """A copy that is in its place."""

    recipient: str
    folder: str
    file: str
    """The SHA-256 of its data."""
    rows: int
    new: bool
    """Whether it was written now; else it was there already."""

    to_dict = json_of()


@dataclass(frozen=True, eq=False)
class ExpectedClasses:
    """The classes that copies consist of: the released ones, then the decoys, each with its mark if it has one."""

    classes: Classes
    marks: Ints
    """Per class the place of its mark, or -1."""
    decoys: Flags
    """Which classes are decoys."""

    @classmethod
    def of(cls, manifest: Manifest) -> ExpectedClasses:
        """From what was sealed."""
        marks, released = manifest.codebook.marks, manifest.released
        place_of = {labels: place for place, labels in enumerate(released.project(marks.columns).tuples())}
        numbers = np.full(len(released), -1, dtype=np.int64)
        real, decoys = np.flatnonzero(~marks.decoy), np.flatnonzero(marks.decoy)
        try:
            numbers[[place_of[marks.labels[mark]] for mark in real.tolist()]] = real
        except KeyError:
            raise _contradiction("a real mark is no released class") from None
        if any(marks.labels[mark] in place_of for mark in decoys.tolist()):
            raise _contradiction("a decoy shares its class with people of the data")
        columns, codes = _joined_columns(
            released.project(marks.columns), [marks.labels[mark] for mark in decoys.tolist()]
        )
        return cls(
            Classes(columns, codes, np.concatenate([released.sizes, marks.sizes[decoys]])),
            np.concatenate([numbers, decoys]),
            np.arange(len(released) + len(decoys)) >= len(released),
        )

    def of_copy(self, present: Flags) -> Classes:
        """The classes of the copy that holds these marks."""
        return self.classes.keep(np.append(present, True)[self.marks])

    def real(self, present: Flags) -> Classes:
        """The same without decoys: people only."""
        return self.classes.keep(np.append(present, True)[self.marks] & ~self.decoys)


def _joined_columns(
    released: Classes, decoys: Sequence[tuple[Any, ...]]
) -> tuple[tuple[Column, ...], tuple[Ints, ...]]:
    columns, codes = [], []
    for place, (column, own) in enumerate(zip(released.columns, released.codes, strict=True)):
        both = Coded.of([*column.labels, *(labels[place] for labels in decoys)])
        columns.append(Column(column.name, Hierarchy.of([[label] for label in both.values])))
        codes.append(np.concatenate([both.codes[: len(column.labels)][own], both.codes[len(column.labels) :]]))
    return tuple(columns), tuple(codes)


@dataclass(frozen=True, eq=False)
class Copying:
    """The copies of one version, to be written to one folder."""

    registry: Registry
    kept: StoredRelease
    manifest: Manifest
    table: Table
    out: str
    format: Format
    actor: str
    watch: Watch = lambda step, recipient: None

    @property
    def data(self) -> str:
        """The name of the file in every folder."""
        return f"data.{self.format}"

    @cached_property
    def expected(self) -> ExpectedClasses:
        """The classes that copies consist of."""
        return ExpectedClasses.of(self.manifest)

    def write(self, recipients: Sequence[str]) -> list[Delivered]:
        """Write what is not there yet. Repeated after any failure, it goes on where it stopped."""
        self._refuse(recipients)
        recoding = recoded(self.table, self.manifest)
        mark = (self.table.policy.delimiter if self.table.policy else None) or ","
        with self.table.engine.folders(self.out, delimiter=mark) as desk:
            there = {name: self._there(desk, name) for name in recipients}
            todo = [name for name in recipients if there[name] is None]
            made = self._write_all(desk, recoding, todo) if todo else {}
        return [there[name] or made[name] for name in recipients]

    def _refuse(self, recipients: Sequence[str]) -> None:
        if self.format not in FORMATS:
            raise UsageError(f"A copy is written as {', '.join(FORMATS)}.", remedy="Choose one of them.")
        for name in recipients:
            self.registry.refuse_delivery(self.kept, name)
        refuse_row_ids(list(self.table.published), self.manifest.settings.row_ids)

    def _there(self, desk: CopyFolders, recipient: str) -> Delivered | None:
        """The copy that is in its place and is the one that was written down; None if there is none yet."""
        found, copy = desk.present(recipient, self.data), self.kept.copy(recipient)
        if found is None:
            return None
        if copy.state != "delivered" or copy.file != found:
            raise occupied(f"{self.out}/{recipient}")
        return Delivered(recipient, f"{self.out}/{recipient}", found, copy.rows or 0, new=False)

    def _write_all(self, desk: CopyFolders, recoding: Recoding, recipients: Sequence[str]) -> dict[str, Delivered]:
        marks, decoys = self.manifest.codebook.marks, self.manifest.decoys
        order = [marks.columns.index(name) for name in recoding.names]
        labels = [tuple(one[place] for place in order) for one in marks.labels]
        marked = Marked(labels, decoys.columns, decoys.places)
        guarded = self.format != "parquet"
        with pooled(self.table, recoding, marked, folder=desk.scratch, guarded=guarded) as pool:
            content = self.registry.ledger.fingerprint(pool.content)
            if self.kept.content not in (None, content):
                raise repository.other_rows(self.kept)
            self.watch("pooled", "")
            return {name: self._deliver(desk, pool, name, content) for name in recipients}

    def _deliver(self, desk: CopyFolders, pool: Pool, recipient: str, content: str) -> Delivered:
        parcel = desk.make(recipient)
        try:
            rows = self._fill(parcel, pool, recipient)
            digest = parcel.digest(self.data)
            self._describe(parcel, pool, rows, digest)
            self.watch("written", recipient)
            self.registry.deliver(self.kept, recipient, file=digest, rows=rows, content=content, actor=self.actor)
            self.watch("recorded", recipient)
            parcel.put()
            self.watch("put", recipient)
        finally:
            parcel.discard()
        return Delivered(recipient, f"{self.out}/{recipient}", digest, rows, new=True)

    def _fill(self, parcel: CopyFolder, pool: Pool, recipient: str) -> int:
        """Write the data, read them back, and stop unless every class is as it was sealed."""
        settings, present = self.manifest.settings, self.manifest.codebook.row(recipient)
        target = parcel.target(self.data)
        # An order that could be repeated would show, in two deliveries of one copy, which rows came from where.
        rows = pool.write(present, target, secret=secrets.token_bytes(32), row_ids=settings.row_ids)
        titles = [*([settings.row_ids] if settings.row_ids else []), *pool.columns]
        meant = self.expected.of_copy(present)
        agree(target, meant, columns=titles, count=None)
        people = self.expected.real(present)
        if rows != meant.records or (len(people) and int(people.sizes.min()) < settings.k):
            raise _contradiction("a copy without its decoys would not be k-anonymous")
        return rows

    def _describe(self, parcel: CopyFolder, pool: Pool, rows: int, digest: str) -> None:
        told = readme(self.manifest, data=self.data, columns=pool.columns, rows=rows, digest=digest)
        parcel.write_text(README, told)
        parcel.write_text(AGREEMENT, self.manifest.gates.agreement)


def recoded(table: Table, manifest: Manifest) -> Recoding:
    """How the table is published in this version; refused if it is another table."""
    table.refuse_undeclared()
    table.refuse_several_rows_a_person()
    if set(table.published) - set(manifest.levels) != set(manifest.decoys.columns):
        raise Refused(
            f"The table has other columns than release '{manifest.release}' version {manifest.version} was made with.",
            remedy="Give the table it was made with, or make a new version.",
        )
    classes = table.classes(tuple(column.name for column in manifest.released.columns))
    if fingerprint(classes) != manifest.fingerprint:
        raise Refused(
            f"These are not the data that release '{manifest.release}' version {manifest.version} was made of.",
            remedy="Give the same table again, or make a new version of the release.",
        )
    node = classes.at(manifest.levels)
    kept = np.asarray(manifest.released.lookup(list(node.tuples())) > 0)
    return Recoding.of_levels(classes, manifest.levels, kept=node.keep(kept).holds(classes))


def _contradiction(why: str) -> IntegrityError:
    return IntegrityError(
        f"The manifest contradicts itself: {why}.", remedy="Nothing was written. Report this, it is a bug."
    )


# Copies that are written and verified, and wait for delivery.
@dataclass(frozen=True)
class Shelved:
    """A copy in its folder."""

    recipient: str
    folder: Path
    file: str
    """The SHA-256 of its data."""
    rows: int
    content: str
    """The keyed hash of the rows that it was written from."""


@dataclass(frozen=True)
class StagedCopies(Registry):
    """A registry in whose eyes a copy that is written is not delivered yet; it only remembers what was written."""

    written: dict[str, tuple[str, int, str]] = field(default_factory=dict)

    def deliver(  # type: ignore[override]
        self, kept: StoredRelease, recipient: str, *, file: str, rows: int, content: str, actor: str
    ) -> Receipt | None:
        """Remember it; nothing leaves the house."""
        self.refuse_delivery(kept, recipient)
        self.written[recipient] = (file, rows, content)
        return None


def shelve(
    registry: Registry,
    kept: StoredRelease,
    table: Table,
    folder: Path,
    *,
    recipients: Sequence[str],
    format: Format = "parquet",  # noqa: A002 - what everybody calls it
    watch: Watch = lambda step, recipient: None,
) -> list[Shelved]:
    """Write a folder per recipient below an empty one, each verified class by class against the sealed manifest."""
    shelf = StagedCopies(registry.ledger)
    Copying(shelf, kept, registry.open(kept), table, str(folder), format, "", watch).write(recipients)
    return [Shelved(name, folder / name, *shelf.written[name]) for name in recipients]


def keep_shelved(connection: Connection, kept: StoredRelease, copies: Sequence[Shelved], *, now: str) -> None:
    """Remember which file lies there for whom; a refusal if somebody was retired meanwhile, or rows are others."""
    for one in copies:
        repository.hold_to_content(connection, kept, one.content)
        repository.change(connection, kept, one.recipient, was=["approved"], file=one.file, rows=one.rows, changed=now)


# The two texts that go with every copy. They say that control records exist; which ones they are is nowhere.
README = "README.md"
AGREEMENT = "AGREEMENT.md"


def readme(manifest: Manifest, *, data: str, columns: tuple[str, ...], rows: int, digest: str) -> str:
    """What a recipient should know. It differs between copies in nothing but what the copy itself tells."""
    settings = manifest.settings
    recoded = {column.name: column for column in manifest.released.columns}
    coarse = (
        f"Values are coarsened so that everybody who is described looks like at least {settings.k - 1} others on "
        f"{_listed(tuple(recoded))}. People for whom that was not possible are left out. Every copy of this release is made "
        "in the same way."
    )
    control = (
        "This copy contains control records: rows that look like all others and describe nobody. Some rows of the original "
        "are left out as well. Both serve to find the source of a leak or of a re-identification. See "
        f"[the agreement]({AGREEMENT})."
    )
    lines = [
        f"# {manifest.release}, version {manifest.version}",
        "",
        f"`{data}` has {rows:,} rows. Its SHA-256 is `{digest}`.",
        "",
        "## How it was made",
        "",
        coarse,
        "",
        "## Control records",
        "",
        control,
        "",
        "## Columns",
        "",
        "| column | |",
        "|---|---|",
    ]
    if settings.row_ids is not None:
        lines.append(f"| {_cell(settings.row_ids)} | number of the row in this file; it means nothing elsewhere |")
    for name in columns:
        column = recoded.get(name)
        done = treatment(column.level, column.hierarchy.height) if column else AS_IT_IS
        lines.append(f"| {_cell(name)} | {'as collected' if done == AS_IT_IS else done} |")
    lines += ["", "Rows come in random order.", ""]
    return "\n".join(lines)


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _cell(name: str) -> str:
    return name.replace("|", "\\|").replace("\n", " ")
