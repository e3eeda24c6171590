"""`discreet.release`: one copy per recipient, so that leaks can be traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.errors import Refused, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.classes import Levels
from discreet.kernel.serialise import card
from discreet.releases.delivery.copies import Copying, Delivered, Format, Watch, recoded
from discreet.releases.delivery.repository import Copy, StoredRelease
from discreet.releases.delivery.service import Opened, Registry, Where, ledger_of, whoever_asks
from discreet.releases.manifest.draft import draft
from discreet.releases.manifest.manifest import Manifest, ReleaseSettings, fingerprint
from discreet.releases.marks.codebook import Law
from discreet.releases.plan import find_node, published_columns, require_releasable
from discreet.releases.preconditions import Gates, check_names
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
        with ledger_of(store) as ledger:
            registry = Registry(ledger)
            kept = registry.require(name)
            opened = Opened(kept, registry.open(kept))
        return cls(opened, table, store, actor or whoever_asks())

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
        with ledger_of(self.store) as ledger:
            registry = Registry(ledger)
            kept = registry.require(self.name, self.version)
            manifest = registry.open(kept)
            work = Copying(registry, kept, manifest, self.table, str(folder), format, self.actor, watch)
            return work.write(_wanted(kept, recipients))

    def refuse_other_data(self) -> None:
        """Stop unless the table is the one that this version was made of."""
        if self.table is not None:
            recoded(self.table, self.manifest)

    def add_recipient(self, *names: str) -> Release:
        """The same release with further recipients; nobody else's copy changes."""
        with ledger_of(self.store) as ledger:
            registry = Registry(ledger)
            kept = registry.require(self.name, self.version)
            manifest = registry.open(kept)
            check_names([*manifest.recipients, *names], "recipient")
            _refuse_retired(registry, self.name, names)
            registry.seal(manifest.with_recipients(names, key=registry.key(self.name)), actor=self.actor)
            return self._again(registry)

    def retire(self, recipient: str) -> Release:
        """Give a recipient no further copies; who had one can still be found by a trace."""
        with ledger_of(self.store) as ledger:
            registry = Registry(ledger)
            registry.retire(self.name, recipient, actor=self.actor)
            return self._again(registry)

    def approve(self, *, actor: str) -> Release:
        """Let copies that were planned by somebody else be written."""
        with ledger_of(self.store) as ledger:
            registry = Registry(ledger)
            registry.approve(registry.require(self.name, self.version), actor=actor)
            return self._again(registry)

    def refreshed(self) -> Release:
        """The same as the store knows it now."""
        with ledger_of(self.store) as ledger:
            return self._again(Registry(ledger))

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
    store: Where = None,
    actor: str | None = None,
) -> Release:
    """Decide who gets which marks, seal that, and commit to it in the ledger; `Release.write` then writes the copies.

    Under a name that is known, the same data go on where a failure stopped, with further recipients if there are; other
    data are the next version. With approved=False, copies wait until somebody else calls `Release.approve`.
    """
    gates.check()
    check_names([name], "release")
    people = check_names(recipients, "recipient")
    if not people:
        raise UsageError("A release has at least one recipient.", remedy="Name who gets a copy.")
    settings = ReleaseSettings(k=k, suppression=suppression, loss=loss, law=Law.parse(law).name, row_ids=row_ids)
    who = actor or whoever_asks()
    require_releasable(table)
    with ledger_of(store, create=True) as ledger:
        registry = Registry(ledger)
        _refuse_retired(registry, name, people)
        before = registry.find(name)
        previous = None if before is None else registry.open(before)
        if previous is not None and _same(previous, table, settings):
            kept = _continued(registry, previous, people, who, state="approved" if approved else "planned")
            return Release(Opened(kept, registry.open(kept)), table, store, who)
        _refuse_other_law(previous, settings)
        levels = levels if previous is None else _same_levels(previous, levels)
        node = find_node(table, population, settings, levels=levels, diversity=diversity, closeness=closeness)
        settings = replace(settings, requirements=node.requirements)
        manifest = draft(registry.key(name), name, table, node, settings, people, gates, previous, force=force)
        kept = registry.seal(manifest, actor=who, state="approved" if approved else "planned")
        return Release(Opened(kept, registry.open(kept)), table, store, who)


def _same(previous: Manifest, table: Table, settings: ReleaseSettings) -> bool:
    """Whether this asks for the version that is there: the same people, under the same settings."""
    asked = replace(settings, requirements=previous.settings.requirements)
    if asked.to_dict() != previous.settings.to_dict():
        return False
    names = tuple(column.name for column in previous.released.columns)
    return fingerprint(table.classes(names)) == previous.fingerprint


def _continued(
    registry: Registry, manifest: Manifest, recipients: Sequence[str], actor: str, *, state: str
) -> StoredRelease:
    added = [name for name in recipients if name not in manifest.recipients]
    if not added:
        return registry.require(manifest.release, manifest.version)
    check_names([*manifest.recipients, *added], "recipient")
    more = manifest.with_recipients(added, key=registry.key(manifest.release))
    return registry.seal(more, actor=actor, state=state)


def _wanted(kept: StoredRelease, recipients: Sequence[str] | None) -> list[str]:
    if recipients is not None:
        return [kept.copy(name).recipient for name in recipients]
    return [copy.recipient for copy in kept.copies if copy.state != "retired"]


def _refuse_retired(registry: Registry, name: str, recipients: Sequence[str]) -> None:
    gone = registry.retired(name) & set(recipients)
    if gone:
        raise Refused(
            f"{len(gone)} of the recipients {'was' if len(gone) == 1 else 'were'} retired from release '{name}'.",
            remedy=f"Leave out {', '.join(sorted(gone))}, or start a release of another name.",
        )


def _same_levels(previous: Manifest, levels: Levels | None) -> Levels:
    """All versions are at the levels of the first, so that a class is the same class."""
    names = previous.levels
    asked = (
        names if levels is None else levels if isinstance(levels, Mapping) else dict(zip(names, levels, strict=True))
    )
    if {**names, **asked} != names:
        raise Refused(
            f"Version {previous.version} of '{previous.release}' is at other levels, and all versions are at the same.",
            remedy="Leave out the levels, or start a release of another name.",
        )
    return names


def _refuse_other_law(previous: Manifest | None, settings: ReleaseSettings) -> None:
    if previous is not None and previous.settings.law != settings.law:
        raise Refused(
            f"Version {previous.version} of '{previous.release}' follows the law {previous.settings.law}; with another one a "
            "recipient's marks would change, and two versions would show which classes they are.",
            remedy=f"Use the law {previous.settings.law}, or start a release of another name.",
        )
