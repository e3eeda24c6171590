"""`discreet.release`: one copy per recipient, so that leaks can be traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.errors import Refused, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.classes import Levels
from discreet.kernel.rules import fitted
from discreet.kernel.serialise import card
from discreet.policy import Policy
from discreet.releases.bait_release import BaitSettings, draft_bait
from discreet.releases.delivery.copies import Copying, Delivered, Format, Watch, recoded
from discreet.releases.delivery.repository import Copy
from discreet.releases.delivery.service import Opened, Registry, Where, open_release, registry_of, whoever_asks
from discreet.releases.manifest import (
    Manifest,
    PopulationSummary,
    ReleaseSettings,
    ReservedRows,
    fingerprint,
)
from discreet.releases.marks.codebook import Codebook, Law
from discreet.releases.marks.row_marks import RowCodebook
from discreet.releases.marks.selection import mark
from discreet.releases.marks.turnover import SHARED, Continuation, as_text, reserved, shares_people
from discreet.releases.plan import Node, Preflight, find_node, published_columns, require_releasable
from discreet.releases.power import coalition_supported, marks_needed
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
            registry.seal(manifest.with_recipients(names, key=registry.key(manifest.scope)), actor=self.actor)
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
    dataset: str | None = None,
    store: Where = None,
    actor: str | None = None,
) -> Release:
    """Decide who gets which marks, seal that, and commit to it in the ledger; `Release.write` then writes the copies.

    With `bait` copies hold decoys as published instead of marks, for recipients without a list of the population.

    Under a name that is known, the same data go on where a failure stopped, with further recipients if there are; other
    data are the next version. All releases of a data set, whatever they are called, share marks and decoys: they
    are recognised by people they have in common, and `dataset` says which they are where that cannot be seen. With approved=False, copies wait until another custodian calls `Release.approve`.
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
        last = None if before is None else registry.open(before)
        if before is not None and last is not None:
            # The same people under the same settings: this is the version that is there, perhaps with more recipients.
            asked = replace(settings, requirements=last.settings.requirements)
            names = tuple(column.name for column in last.released.columns)
            same_settings = asked.to_dict() == last.settings.to_dict()
            if same_settings and fingerprint(table.classes(names)) == last.fingerprint:
                added = [recipient for recipient in people if recipient not in last.recipients]
                if added:
                    check_names([*last.recipients, *added], "recipient")
                    more = last.with_recipients(added, key=registry.key(last.scope))
                    before = registry.seal(more, actor=who, state=state)
                return Release(Opened(before, registry.open(before)), table, store, who)
        scope, previous = data_set_of(registry, name, table, dataset, force=force)
        if previous is not None:
            previous.refuse_change_of_bait()
            levels = levels_of_next_version(previous, settings, levels)
        node = find_node(table, population, settings, levels=levels, diversity=diversity, closeness=closeness)
        settings, key = replace(settings, requirements=node.requirements), registry.key(scope)
        version = 1 if last is None else last.version + 1
        manifest = _draft(key, name, scope, version, table, node, settings, people, gates, previous, force=force)
        kept = registry.seal(manifest, actor=who, state=state)
        return Release(Opened(kept, registry.open(kept)), table, store, who)


def data_set_of(
    registry: Registry, name: str, table: Table, asked: str | None, *, force: bool = False
) -> tuple[str, Manifest | None]:
    """The data set that a table is, and the newest release of it.

    Releases of the same people share marks, bits and decoys: else who compares two of them finds the decoys by absence.
    """
    if asked is not None:
        check_names([asked], "data set")
    newest: dict[str, Manifest] = {}
    mine = None
    for manifest in registry.manifests():
        newest[manifest.scope] = manifest
        mine = manifest.scope if manifest.release == name else mine
    if mine is not None and asked not in (None, mine):
        raise Refused(
            f"Release '{name}' is of the data set '{mine}', and all its versions are.",
            remedy=f"Leave the data set out, or start a release of another name for '{asked}'.",
        )
    scope = mine or asked
    for other, manifest in newest.items():
        if other == scope or (force and scope is not None):
            continue
        names = tuple(column.name for column in manifest.released.columns)
        columns = table.policy.quasi if table.policy else ()
        if force and set(table.published) - set(names) - set(manifest.decoys.columns):
            continue
        same = set(names) <= set(columns) and fingerprint(table.classes(names)) == manifest.fingerprint
        if same or shares_people(manifest, table) > SHARED:
            if scope is None:
                return other, manifest
            raise Refused(
                f"Many of these people are in the data set '{other}', of which '{manifest.release}' was released. Under another "
                "name they would have other decoys and marks, and who compares both would find them.",
                remedy=f"Leave the data set out, or give '{other}'.",
            )
    return scope or name, newest.get(scope or name)


def continued(
    previous: Manifest, node: Node, table: Table, recipients: Sequence[str], *, key: bytes, force: bool
) -> Continuation:
    """Marks, decoys and rows of a data set that was released before."""
    columns = tuple(column for column in table.published if column not in node.linked.data.names)
    return Continuation.of(
        previous, node.linked, table, recipients, columns=columns, only_size=node.only_size, key=key, force=force
    )


def foreseen_again(previous: Manifest, again: Continuation, *, recipients: int) -> dict[str, Any]:
    """What a further release of a data set can prove."""
    real, marks = ~again.marks.decoy, again.marks
    single = 0 if again.rows is None else len(again.rows.rows)
    return {
        **previous.preflight,
        "recipients": recipients,
        "marks": len(marks),
        "marks_before": len(previous.codebook.marks),
        "row_marks": single,
        "needed": [marks_needed(recipients, colluding) for colluding in (1, 2, 3)],
        "coalition": coalition_supported(len(marks) + single, recipients),
        "most_lost": float((marks.sizes[real].sum() + single) / max(again.linked.released.records, 1)),
        "turnover": again.turnover.to_dict(),
        "notes": list(again.turnover.words()),
    }


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
            "recipient's marks would change, and two releases of these people would show which classes they are.",
            remedy=f"Use the law {previous.settings.law}.",
        )
    first = previous.levels
    asked = levels if levels is None or isinstance(levels, Mapping) else dict(zip(first, levels, strict=True))
    if {**first, **(asked or {})} != first:
        raise Refused(
            f"Version {previous.version} of '{previous.release}' is at other levels, and all releases of a data set are at the same: "
            "rows of decoys would be missing at the others.",
            remedy="Leave out the levels.",
        )
    return first


def _draft(
    key: bytes,
    name: str,
    scope: str,
    version: int,
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
        drafted = draft_bait(linked, table, recipients, bait, key=key, release=scope)
        codebook, decoys, foreseen = drafted.codebook, as_text(drafted.rows, columns), drafted.foreseen
        lent: ReservedRows | None = reserved(drafted.rows, columns)
    else:
        law = Law.parse(settings.law)
        if previous is not None:
            again = continued(previous, node, table, recipients, key=key, force=force)
            linked, marks, decoys, lent, rows = again.linked, again.marks, again.decoys, again.reserved, again.rows
            foreseen = foreseen_again(previous, again, recipients=len(recipients))
        else:
            marking = mark(linked, table, key=key, release=scope, law=law, single_rows=node.only_size, force=force)
            rows = RowCodebook.of(marking.rows, marking.row_probabilities, recipients, release=scope, key=key)
            marks, foreseen = marking.marks, Preflight.of(marking, recipients=len(recipients), law=law).to_dict()
            decoys, lent = as_text(marking.decoys, columns), reserved(marking.decoys, columns)
        codebook = Codebook.of(marks, law, recipients, release=scope, key=key)
    return Manifest(
        release=name,
        version=version,
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
        dataset="" if scope == name else scope,
        reserved=lent,
    )
