"""Copies of a release: written per recipient, verified, staged, with their documents."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from discreet.policy import Policy
from discreet.releases.delivery import repository
from discreet.releases.delivery.repository import StoredRelease
from discreet.releases.delivery.service import Registry
from discreet.releases.manifest import Manifest, fingerprint
from discreet.sources import Table
from discreet.sources.engine import CopyFolders, Marked, Pool
from discreet.sources.export.copies import pooled, refuse_row_ids
from discreet.sources.export.staging import agree
from discreet.sources.export.targets import occupied

Format = Literal["parquet", "csv", "csv.gz"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "csv.gz")
Watch = Callable[[str, str], Any]
"""Called with what was done, and for whom; it may stop everything by raising."""


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
    single: Ints
    """Per row mark, the place of its class."""

    @classmethod
    def of(cls, manifest: Manifest) -> ExpectedClasses:
        """From what was sealed."""
        marks, released = manifest.codebook.marks, manifest.released
        place_of = {labels: place for place, labels in enumerate(released.project(marks.columns).tuples())}
        mark_of = np.full(len(released), -1, dtype=np.int64)
        real, decoys = np.flatnonzero(~marks.decoy), np.flatnonzero(marks.decoy)
        try:
            mark_of[[place_of[marks.labels[mark]] for mark in real.tolist()]] = real
        except KeyError:
            raise _contradiction("a real mark is no released class") from None
        if any(marks.labels[mark] in place_of for mark in decoys.tolist()):
            raise _contradiction("a decoy shares its class with people of the data")
        rows = () if manifest.rows is None else manifest.rows.rows.labels[: manifest.rows.rows.single]
        try:
            single = np.array([place_of[labels] for labels in rows], dtype=np.int64)
        except KeyError:
            raise _contradiction("a row mark is in no released class") from None
        if (mark_of[single] >= 0).any():
            raise _contradiction("a row mark is in a class that is a mark itself")
        # Rows that no copy holds are in the table beside those that were sealed.
        withheld = len(single) if manifest.rows is None else manifest.rows.rows.withheld
        sizes = released.sizes + np.bincount(single[len(single) - withheld :], minlength=len(released))
        columns, codes = [], []
        classes = released.project(marks.columns)
        for place, (column, own) in enumerate(zip(classes.columns, classes.codes, strict=True)):
            both = Coded.of([*column.labels, *(marks.labels[mark][place] for mark in decoys.tolist())])
            columns.append(Column(column.name, Hierarchy.of([[label] for label in both.values])))
            codes.append(np.concatenate([both.codes[: len(column.labels)][own], both.codes[len(column.labels) :]]))
        return cls(
            Classes(tuple(columns), tuple(codes), np.concatenate([sizes, marks.sizes[decoys]])),
            np.concatenate([mark_of, decoys]),
            np.arange(len(released) + len(decoys)) >= len(released),
            single,
        )

    def of_copy(self, present: Flags, *, people_only: bool = False) -> Classes:
        """The classes of the copy that holds these marks, with or without decoys."""
        of_classes, of_rows = np.split(present, [len(present) - len(self.single)])
        included = np.append(of_classes, True)[self.marks]
        lacking = np.bincount(self.single[~of_rows], minlength=len(self.classes))
        classes = Classes(self.classes.columns, self.classes.codes, self.classes.sizes - lacking)
        return classes.keep(included & ~self.decoys if people_only else included)


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
    staged: list[Shelved] | None = None
    """Where copies are listed that wait for delivery; without it, each is recorded as delivered."""

    @property
    def data(self) -> str:
        """The name of the file in every folder."""
        return f"data.{self.format}"

    def write(self, recipients: Sequence[str]) -> list[Delivered]:
        """Write what is not there yet. Repeated after any failure, it goes on where it stopped."""
        if self.format not in FORMATS:
            raise UsageError(f"A copy is written as {', '.join(FORMATS)}.", remedy="Choose one of them.")
        for name in recipients:
            self.registry.refuse_delivery(self.kept, name)
        refuse_row_ids(list(self.table.published), self.manifest.settings.row_ids)
        recoding = recoded(self.table, self.manifest)
        policy = self.table.policy or Policy()
        done: dict[str, Delivered] = {}
        with self.table.engine.folders(
            self.out, delimiter=policy.delimiter or ",", formulas=policy.formulas
        ) as folders:
            # A copy that is in its place must be the one that was written down.
            for name in recipients:
                digest, copy = folders.present(name, self.data), self.kept.copy(name)
                if digest is None:
                    continue
                if copy.state != "delivered" or copy.file != digest:
                    raise occupied(f"{self.out}/{name}")
                done[name] = Delivered(name, f"{self.out}/{name}", digest, copy.rows or 0, new=False)
            todo = [name for name in recipients if name not in done]
            if todo:
                marks, decoys = self.manifest.codebook.marks, self.manifest.decoys
                order = [marks.columns.index(name) for name in recoding.names]
                labels = [tuple(cells[place] for place in order) for cells in marks.labels]
                marked = Marked(
                    labels,
                    decoys.columns,
                    decoys.places,
                    {} if self.manifest.rows is None else self.manifest.rows.rows.published,
                )
                guarded = self.format != "parquet" and policy.formulas == "quote"
                expected = ExpectedClasses.of(self.manifest)
                with pooled(self.table, recoding, marked, folder=folders.scratch, guarded=guarded) as pool:
                    content = self.registry.ledger.fingerprint(pool.content)
                    if self.kept.content not in (None, content):
                        raise repository.other_rows(self.kept)
                    self.watch("pooled", "")
                    for name in todo:
                        done[name] = self._deliver(folders, pool, expected, name, content)
        return [done[name] for name in recipients]

    def _deliver(
        self, folders: CopyFolders, pool: Pool, expected: ExpectedClasses, recipient: str, content: str
    ) -> Delivered:
        """Write the data, read them back, and stop unless every class is as it was sealed; then record the copy."""
        settings, present = self.manifest.settings, self.manifest.present(recipient)
        parcel = folders.make(recipient)
        try:
            target = parcel.target(self.data)
            # An order that could be repeated would show, in two deliveries of one copy, which rows came from where.
            rows = pool.write(present, target, secret=secrets.token_bytes(32), row_ids=settings.row_ids)
            titles = [*([settings.row_ids] if settings.row_ids else []), *pool.columns]
            meant, people = expected.of_copy(present), expected.of_copy(present, people_only=True)
            agree(target, meant, columns=titles, count=None)
            if rows != meant.records or (len(people) and int(people.sizes.min()) < settings.k):
                raise _contradiction("a copy without its decoys would not be k-anonymous")
            digest = parcel.digest(self.data)
            text = readme(self.manifest, data=self.data, columns=pool.columns, rows=rows, digest=digest)
            parcel.write_text(README, text)
            parcel.write_text(AGREEMENT, self.manifest.gates.agreement)
            self.watch("written", recipient)
            if self.staged is None:
                self.registry.deliver(self.kept, recipient, file=digest, rows=rows, content=content, actor=self.actor)
            else:
                self.staged.append(Shelved(recipient, Path(self.out) / recipient, digest, rows, content))
            self.watch("recorded", recipient)
            parcel.put()
            self.watch("put", recipient)
        finally:
            parcel.discard()
        return Delivered(recipient, f"{self.out}/{recipient}", digest, rows, new=True)


def recoded(table: Table, manifest: Manifest) -> Recoding:
    """How the table is published in this version; refused if it is another table."""
    table.refuse_undeclared()
    table.refuse_unconfirmed()
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


@dataclass(frozen=True)
class Shelved:
    """A copy that is written and verified, and waits for delivery."""

    recipient: str
    folder: Path
    file: str
    """The SHA-256 of its data."""
    rows: int
    content: str
    """The keyed hash of the rows that it was written from."""


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
    staged: list[Shelved] = []
    Copying(registry, kept, registry.open(kept), table, str(folder), format, "", watch, staged).write(recipients)
    return staged


def keep_shelved(connection: Connection, kept: StoredRelease, copies: Sequence[Shelved], *, now: str) -> None:
    """Record which file waits for whom; a refusal if a recipient was retired meanwhile, or rows are others."""
    for copy in copies:
        repository.hold_to_content(connection, kept, copy.content)
        repository.change(
            connection, kept, copy.recipient, was=["approved"], file=copy.file, rows=copy.rows, changed=now
        )


# The two texts that go with every copy. They say that control records exist; which ones they are is nowhere.
README = "README.md"
AGREEMENT = "AGREEMENT.md"


def readme(manifest: Manifest, *, data: str, columns: tuple[str, ...], rows: int, digest: str) -> str:
    """What a recipient should know; it says nothing that the copy itself does not show."""
    settings = manifest.settings
    recoded = {column.name: column for column in manifest.released.columns}
    *most, last = recoded
    quasi = f"{', '.join(most)} and {last}" if most else last
    table = ["| column | |", "|---|---|"]
    if settings.row_ids is not None:
        table.append(f"| {_cell(settings.row_ids)} | number of the row in this file; it means nothing elsewhere |")
    for name in columns:
        column = recoded.get(name)
        done = treatment(column.level, column.hierarchy.height) if column else AS_IT_IS
        table.append(f"| {_cell(name)} | {'as collected' if done == AS_IT_IS else done} |")
    paragraphs = (
        f"# {manifest.release}, version {manifest.version}",
        f"`{data}` has {rows:,} rows. Its SHA-256 is `{digest}`.",
        "## How it was made",
        (
            f"Values are coarsened so that everybody who is described looks like at least {settings.k - 1} others on "
            f"{quasi}. People for whom that was not possible are left out. Every copy "
            "of this release is made in the same way."
        ),
        "## Control records",
        (
            "This copy contains control records: rows that look like all others and describe nobody. Some rows of the original "
            "are left out as well. Both serve to find the source of a leak or of a re-identification. See "
            f"[the agreement]({AGREEMENT})."
        ),
        "## Columns",
        "\n".join(table),
        "Rows come in random order.\n",
    )
    return "\n\n".join(paragraphs)


def _cell(name: str) -> str:
    return name.replace("|", "\\|").replace("\n", " ")
