"""`discreet.release`: one copy per recipient, so that leaks can be traced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import Refused, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.arrays import Label
from discreet.kernel.classes import Levels
from discreet.kernel.rules import fitted
from discreet.kernel.serialise import card
from discreet.policy import Policy
from discreet.releases.bait_release import BaitSettings, draft_bait
from discreet.releases.decoys.donors import rows_of_classes
from discreet.releases.decoys.matching import DecoyRows
from discreet.releases.delivery.copies import Copying, Delivered, Format, Watch, recoded
from discreet.releases.delivery.repository import Copy
from discreet.releases.delivery.service import Opened, Registry, Where, open_release, registry_of, whoever_asks
from discreet.releases.manifest import DecoyCells, Manifest, PopulationSummary, ReleaseSettings, fingerprint
from discreet.releases.marks.codebook import Codebook, Law, Marks
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.marks.row_marks import RowCodebook
from discreet.releases.marks.selection import mark, spelling
from discreet.releases.plan import Node, Preflight, find_node, published_columns, require_releasable
from discreet.releases.population_link import Linked
from discreet.releases.preconditions import Gates, check_names
from discreet.releases.tracing.case import chains_of
from discreet.sources import Table


@dataclass(frozen=True, eq=False)
class Release:
    """A version of a release whose manifest is sealed and committed to. Nothing has left the house until `write`."""

    opened: Opened
    table: Table | None = field(default=None, repr=False)
    store: Where = field(default=None, repr=False)
    actor: str = field(default_factory=whoever_asks, repr=False)

    @property
    def name(self) -> str:
        """Its name."""
        return self.opened.kept.name

    @property
    def version(self) -> int:
        """Its version, from 1 on."""
        return self.opened.kept.version

    @property
    def manifest(self) -> Manifest:
        """All secrets of it."""
        return self.opened.manifest

    @property
    def recipients(self) -> tuple[str, ...]:
        """Who has, or will have, a copy."""
        return self.opened.kept.recipients

    @property
    def copies(self) -> tuple[Copy, ...]:
        """How the copy of each recipient stands."""
        return self.opened.kept.copies

    @property
    def preflight(self) -> dict[str, Any]:
        """What was foreseen when it was made."""
        return dict(self.manifest.preflight)

    @classmethod
    def open(cls, name: str, *, store: Where = None, table: Table | None = None, actor: str | None = None) -> Release:
        """The newest version of a release; the table is needed to write copies."""
        return cls(open_release(name, store), table, store, actor or whoever_asks())

    def write(
        self,
        folder: str | Path,
        *,
        format: Format = "parquet",  # noqa: A002 - what everybody calls it
        recipients: Sequence[str] | None = None,
        watch: Watch = lambda step, recipient: None,
    ) -> list[Delivered]:
        """Write a folder per recipient: the data, a README and the agreement. Repeated, it goes on where it stopped.

        Each copy is read back and compared class by class, then written down in the ledger, and only then put there.
        """
        if self.table is None:
            raise UsageError("Copies are written from the table.", remedy="Release.open(name, table=table).")
        with registry_of(self.store) as registry:
            kept = registry.require(self.name, self.version)
            manifest = registry.open(kept)
            work = Copying(registry, kept, manifest, self.table, str(folder), format, self.actor, watch)
            if recipients is None:
                return work.write([copy.recipient for copy in kept.copies if copy.state != "retired"])
            return work.write([kept.copy(name).recipient for name in recipients])

    def refuse_other_data(self) -> None:
        """Stop unless the table is the one that this version was made of."""
        if self.table is not None:
            recoded(self.table, self.manifest)

    def add_recipient(self, *names: str) -> Release:
        """The same release with further recipients; nobody else's copy changes."""
        with registry_of(self.store) as registry:
            kept = registry.require(self.name, self.version)
            manifest = registry.open(kept)
            check_names([*manifest.recipients, *names], "recipient")
            _refuse_retired(registry, self.name, names)
            registry.seal(manifest.with_recipients(names, key=registry.key(self.name)), actor=self.actor)
            return self._again(registry)

    def retire(self, recipient: str) -> Release:
        """Give a recipient no further copies; who had one can still be found by a trace."""
        with registry_of(self.store) as registry:
            registry.retire(self.name, recipient, actor=self.actor)
            return self._again(registry)

    def approve(self, *, actor: str) -> Release:
        """Let copies that another custodian planned be written."""
        with registry_of(self.store) as registry:
            registry.approve(registry.require(self.name, self.version), actor=actor)
            return self._again(registry)

    def refreshed(self) -> Release:
        """The same as the store knows it now."""
        return replace(self, opened=open_release(self.name, self.store, version=self.version))

    def _again(self, registry: Registry) -> Release:
        kept = registry.require(self.name, self.version)
        return replace(self, opened=Opened(kept, registry.open(kept)))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; nothing in it says which rows are control records."""
        settings = self.manifest.settings
        return {
            **self.opened.kept.to_dict(),
            "levels": self.manifest.levels,
            "k": settings.k,
            "law": settings.law,
            "requirements": list(settings.requirements),
            "published": published_columns(self.manifest.published, self.manifest.released),
            "released": self.manifest.released.records,
            "classes": len(self.manifest.released),
            "preflight": self.preflight,
        }

    def __repr__(self) -> str:
        return f"Release({self.name} version {self.version}, {len(self.recipients)} recipients)"

    def _repr_html_(self) -> str:
        rows = [(copy.recipient, copy.state, "none" if copy.rows is None else f"{copy.rows:,}") for copy in self.copies]
        words = f"Release {self.name}, version {self.version}: {self.manifest.released.records:,} people."
        return card(words, rows, head=("recipient", "state", "rows"))


def release(
    table: Table,
    population: Countable | Classes,
    recipients: Sequence[str],
    *,
    name: str,
    gates: Gates,
    k: int = 5,
    suppression: float = 0.1,
    loss: str = "dm_star",
    levels: Levels | None = None,
    law: str = "0.2/0.5",
    row_ids: str | None = "row",
    diversity: Any = None,
    closeness: Any = None,
    force: bool = False,
    approved: bool = True,
    bait: BaitSettings | None = None,
    store: Where = None,
    actor: str | None = None,
) -> Release:
    """Decide who gets which marks, seal that, and commit to it in the ledger; `Release.write` then writes the copies.

    With `bait` copies hold decoys as published instead of marks, for recipients without a list of the population.

    Under a name that is known, the same data go on where a failure stopped, with further recipients if there are; other
    data are the next version. With approved=False, copies wait until another custodian calls `Release.approve`.
    """
    gates.check()
    check_names([name], "release")
    people = check_names(recipients, "recipient")
    if not people:
        raise UsageError("A release has at least one recipient.", remedy="Name who gets a copy.")
    chosen = Law.parse(law).name if bait is None else bait.law
    settings = ReleaseSettings(k=k, suppression=suppression, loss=loss, law=chosen, row_ids=row_ids)
    who = actor or whoever_asks()
    require_releasable(table)
    state = "approved" if approved else "planned"
    with registry_of(store, create=True) as registry:
        _refuse_retired(registry, name, people)
        before = registry.find(name)
        previous = None if before is None else registry.open(before)
        if before is not None and previous is not None:
            # The same people under the same settings: this is the version that is there, perhaps with more recipients.
            asked = replace(settings, requirements=previous.settings.requirements)
            names = tuple(column.name for column in previous.released.columns)
            same_settings = asked.to_dict() == previous.settings.to_dict()
            if same_settings and fingerprint(table.classes(names)) == previous.fingerprint:
                added = [recipient for recipient in people if recipient not in previous.recipients]
                if added:
                    check_names([*previous.recipients, *added], "recipient")
                    more = previous.with_recipients(added, key=registry.key(name))
                    before = registry.seal(more, actor=who, state=state)
                return Release(Opened(before, registry.open(before)), table, store, who)
            previous.refuse_change_of_bait()
            levels = levels_of_next_version(previous, settings, levels)
        node = find_node(table, population, settings, levels=levels, diversity=diversity, closeness=closeness)
        settings = replace(settings, requirements=node.requirements)
        manifest = _draft(registry.key(name), name, table, node, settings, people, gates, previous, force=force)
        kept = registry.seal(manifest, actor=who, state=state)
        return Release(Opened(kept, registry.open(kept)), table, store, who)


def _refuse_retired(registry: Registry, name: str, recipients: Sequence[str]) -> None:
    if gone := registry.retired(name) & set(recipients):
        raise Refused(
            f"{len(gone)} of the recipients {'was' if len(gone) == 1 else 'were'} retired from release '{name}'.",
            remedy=f"Leave out {', '.join(sorted(gone))}, or start a release of another name.",
        )


def levels_of_next_version(previous: Manifest, settings: ReleaseSettings, levels: Levels | None) -> Levels:
    """The levels of the first version, at which all others are, so that a class is the same class."""
    if previous.settings.law != settings.law:
        raise Refused(
            f"Version {previous.version} of '{previous.release}' follows the law {previous.settings.law}; with another one a "
            "recipient's marks would change, and two versions would show which classes they are.",
            remedy=f"Use the law {previous.settings.law}, or start a release of another name.",
        )
    first = previous.levels
    asked = levels if levels is None or isinstance(levels, Mapping) else dict(zip(first, levels, strict=True))
    if {**first, **(asked or {})} != first:
        raise Refused(
            f"Version {previous.version} of '{previous.release}' is at other levels, and all versions are at the same.",
            remedy="Leave out the levels, or start a release of another name.",
        )
    return first


def _draft(
    key: bytes,
    name: str,
    table: Table,
    node: Node,
    settings: ReleaseSettings,
    recipients: Sequence[str],
    gates: Gates,
    previous: Manifest | None,
    *,
    force: bool,
) -> Manifest:
    """Everything about a version, before it is sealed."""
    linked, policy = node.linked, table.policy or Policy()
    columns = tuple(column for column in table.published if column not in linked.data.names)
    foreseen: dict[str, Any]
    rows: RowCodebook | None = None
    if (bait := BaitSettings.parse(settings.law)) is not None:
        drafted = draft_bait(linked, table, recipients, bait, key=key, release=name)
        codebook, decoys, foreseen = drafted.codebook, _as_text(drafted.rows, columns), drafted.foreseen
    else:
        law = Law.parse(settings.law)
        if previous is not None:
            rows = rows_carried_over(previous, linked, table, recipients, key=key)
            left = 0 if rows is None else len(rows.rows)
            marks, decoys = carried_over(previous, linked, columns, rows=left, force=force)
            foreseen = {"marks": len(marks), "marks_before": len(previous.codebook.marks), "row_marks": left}
        else:
            marking = mark(linked, table, key=key, release=name, law=law, single_rows=node.only_size, force=force)
            rows = RowCodebook.of(marking.rows, marking.row_probabilities, recipients, release=name, key=key)
            marks, foreseen = marking.marks, Preflight.of(marking, recipients=len(recipients), law=law).to_dict()
            decoys = _as_text(marking.decoys, columns)
        codebook = Codebook.of(marks, law, recipients, release=name, key=key)
    return Manifest(
        release=name,
        version=1 if previous is None else previous.version + 1,
        revision=0,
        settings=settings,
        policy=policy.digest,
        rules={
            column.name: fitted(policy.rule(column.name), column.hierarchy.labels[0]) for column in linked.data.columns
        },
        fingerprint=fingerprint(node.classes),
        released=linked.released,
        links=linked.links,
        chains={column: chains_of(column, linked.data, linked.population) for column in linked.data.names},
        crowd=PopulationSummary.of(linked.population, sampling=linked.sampling),
        codebook=codebook,
        decoys=decoys,
        gates=gates,
        preflight=foreseen,
        published=table.published,
        rows=rows,
    )


def _as_text(rows: DecoyRows, columns: tuple[str, ...]) -> DecoyCells:
    """Texts from which the columns' types can be made again; a number that is none is not a missing value."""
    cells = {column: [spelling(cell) for cell in rows.columns.get(column, ())] for column in columns}
    return DecoyCells(cells, rows.places)


def carried_over(
    previous: Manifest, linked: Linked, columns: tuple[str, ...], *, rows: int, force: bool
) -> tuple[Marks, DecoyCells]:
    """The marks that still can be: made-up classes that are not released, and real ones that are.

    A recipient who holds two versions compares them. A made-up class that vanishes, a real one that comes back, or a class
    all of whose rows are others than before would be noticed. So the marks of the first version stay marks, with the same
    answer for the same recipient and the same made-up rows, as long as the data allow it; and there are no new ones.
    `columns` are the published columns of the table other than the quasi-identifiers; `rows` row marks are left as well.
    """
    old, decoys = previous.codebook.marks, previous.decoys
    if set(columns) - set(decoys.columns):
        raise Refused(
            f"The table has columns that version {previous.version} of '{previous.release}' had not, and made-up rows have no "
            "values for them.",
            remedy="Leave them out, or start a release of another name.",
        )
    sizes = linked.released.project(old.columns).lookup(old.labels)
    links = linked.population.project(old.columns).lookup(old.labels)
    places = np.flatnonzero(np.where(old.decoy, (sizes == 0) & (links > 0), sizes > 0))
    if len(places) + rows < FEWEST_MARKS and not force:
        before = len(old) + (0 if previous.rows is None else len(previous.rows.rows))
        raise Refused(
            f"Too much has changed since version {previous.version} of '{previous.release}': {len(places) + rows} of its {before} "
            f"marks are left, and below {FEWEST_MARKS} a leak can hardly be traced.",
            remedy="Start a release of another name; new marks in this one would show recipients which classes they are.",
        )
    number = np.full(len(old), -1, dtype=np.int64)
    number[places] = np.arange(len(places))
    marks = Marks(
        columns=old.columns,
        labels=tuple(old.labels[place] for place in places.tolist()),
        decoy=old.decoy[places],
        sizes=np.where(old.decoy, old.sizes, sizes)[places],
        links=links[places],
        partners=number[old.partners[places]],
    )
    kept = np.flatnonzero(np.isin(decoys.places, places)).tolist()
    cells = {name: [decoys.columns[name][row] for row in kept] for name in columns}
    return marks, DecoyCells(cells, np.searchsorted(places, decoys.places[kept]))


def rows_carried_over(
    previous: Manifest, linked: Linked, table: Table, recipients: Sequence[str], *, key: bytes
) -> RowCodebook | None:
    """The row marks whose rows are still there and can still be spared."""
    book = previous.rows
    if book is None or not len(book.rows.labels):
        return book
    rows = book.rows
    sizes = linked.released.project(rows.columns).lookup(rows.labels[: rows.marks])
    wanted = linked.released.project(rows.columns)
    asked = set(rows.labels)
    held = np.array([labels in asked for labels in wanted.tuples()], dtype=bool)
    cells, _ = rows_of_classes(table, linked.released, held, drop=(table.policy or Policy()).unpublished)
    names = sorted(rows.cells)
    there = Counter(
        zip(
            zip(*(cells[name] for name in rows.columns), strict=True),
            zip(*(map(spelling, cells[name]) for name in names), strict=True),
            strict=True,
        )
    )
    kept, spare = [], Counter[tuple[Label, ...]]()
    for place, labels in enumerate(rows.labels[: rows.marks]):
        whole = (labels, tuple(rows.cells[name][place] for name in names))
        if there[whole] > 0 and spare[labels] < sizes[place] - linked.k:
            there[whole] -= 1
            spare[labels] += 1
            kept.append(place)
    places = np.array(kept, dtype=np.int64)
    return RowCodebook.of(rows.only(places), book.probabilities[places], recipients, release=previous.release, key=key)
