"""Service: ledger entry and state of a release together; loading sealed releases."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Connection, select

from discreet.errors import IntegrityError, Refused
from discreet.ledger import Ledger, Receipt
from discreet.ledger import queries as ledger_reading
from discreet.ledger.entry import Detail, listing, timestamp
from discreet.ledger.ledger import utc_now
from discreet.releases.delivery import repository
from discreet.releases.delivery.repository import Copy, StoredRelease, subject_of
from discreet.releases.manifest import Manifest
from discreet.releases.manifest import digest as digest_of
from discreet.releases.marks.codebook import derive
from discreet.releases.plan import published_columns
from discreet.releases.tracing.case import Traceable
from discreet.store.tables.ledger import ENTRY


@dataclass(frozen=True)
class Registry:
    """The releases in the store of a ledger."""

    ledger: Ledger

    def key(self, name: str) -> bytes:
        """The secret of a release. It follows from the keys of the ledger, so there is nothing more to keep."""
        return derive(self.ledger.keys.values, f"release/{name}")

    def find(self, name: str, version: int | None = None) -> StoredRelease | None:
        """A version, the newest unless said; None if there is none."""
        with self.ledger.store.reading() as connection:
            return repository.find(connection, name, version)

    def require(self, name: str, version: int | None = None) -> StoredRelease:
        """A version, the newest unless said; an error in words if there is none."""
        with self.ledger.store.reading() as connection:
            return repository.require(connection, name, version)

    def manifests(self) -> Iterator[Manifest]:
        """The newest version of every release, in the order in which they were sealed."""
        with self.ledger.store.reading() as connection:
            releases = repository.every_one(connection)
        for kept in sorted(releases, key=lambda one: one.made):
            yield self.open(kept)

    def retired(self, name: str) -> set[str]:
        """Recipients who get no further copies of a release."""
        with self.ledger.store.reading() as connection:
            return repository.retired(connection, name)

    def open(self, kept: StoredRelease) -> Manifest:
        """The manifest, after the ledger has confirmed that it is the one that was committed to."""
        # What the newest entry about sealing this version says, shown to be part of the tree.
        chosen = select(ENTRY.c.sequence).where(ENTRY.c.event == "releases.sealed", ENTRY.c.subject == kept.subject)
        with self.ledger.store.reading() as connection:
            newest = connection.execute(chosen.order_by(ENTRY.c.sequence.desc()).limit(1)).scalars().all()
            found = ledger_reading.receipts(connection, newest)
        committed = found[0].entry.details.get("manifest") if found else None
        if committed != digest_of(kept.sealed) or committed != kept.digest:
            raise IntegrityError(
                f"The manifest of release '{kept.name}' version {kept.version} in the store is not the one that the "
                "ledger committed to before delivery: it was changed or swapped.",
                remedy="Restore the store from a backup; nothing that rests on this manifest is evidence.",
            )
        manifest = Manifest.unseal(kept.sealed, key=self.key(kept.name))
        if (manifest.release, manifest.version, manifest.revision) != (kept.name, kept.version, kept.revision):
            raise IntegrityError(
                f"The manifest of release '{kept.name}' belongs to another one.",
                remedy="Restore the store from a backup.",
            )
        return manifest

    def seal(self, manifest: Manifest, *, actor: str, state: str = "approved") -> StoredRelease:
        """Commit to a manifest: a new version, or further recipients of one. Nothing may leave the house before."""
        sealed, gates = manifest.seal(key=self.key(manifest.release)), manifest.gates
        done = published_columns(manifest.published, manifest.released)
        published = [f"{name} ({about['role']}): {about['treatment']}" for name, about in done.items()]
        now = timestamp(utc_now())
        before = self.find(manifest.release, manifest.version)
        known = before.copies if before else ()
        names = [copy.recipient for copy in known]
        added = [Copy(name, state, None, None, now) for name in manifest.recipients if name not in names]
        kept = StoredRelease(
            name=manifest.release,
            version=manifest.version,
            revision=manifest.revision,
            sealed=sealed,
            digest=digest_of(sealed),
            content=before.content if before else None,
            actor=before.actor if before else actor,
            made=before.made if before else now,
            copies=known if before else tuple(added),
        )
        self.ledger.record(
            actor=actor,
            event="releases.sealed",
            key=f"sealed:{kept.digest}",
            subject=kept.subject,
            policy=manifest.policy or None,
            details={
                "manifest": kept.digest,
                "revision": manifest.revision,
                "recipients": len(manifest.recipients),
                "k": manifest.settings.k,
                "sign_off": gates.sign_off,
                "population_source": gates.population_source,
                "population_licence": gates.population_licence,
                "counts_only": gates.counts_only,
                **listing("published", published),
            },
            along=lambda connection: (
                repository.revise(connection, kept, added) if manifest.revision else repository.add(connection, kept)
            ),
        )
        return self.require(kept.name, kept.version)

    def approve(self, kept: StoredRelease, *, actor: str) -> StoredRelease:
        """Let copies that another custodian planned be written."""
        if actor == kept.actor:
            raise Refused(
                "The person who planned a release cannot approve it.", remedy="Ask another custodian to review it."
            )
        now = timestamp(utc_now())
        for name in [copy.recipient for copy in kept.copies if copy.state == "planned"]:
            self.ledger.record(
                actor=actor,
                event="web.approved",
                key=f"approved:{kept.subject}/{name}",
                subject=f"{kept.subject}/recipient:{name}",
                details={"manifest": kept.digest},
                along=lambda connection, name=name: repository.change(  # type: ignore[misc]
                    connection, kept, name, to="approved", changed=now
                ),
            )
        return self.require(kept.name, kept.version)

    def refuse_delivery(self, kept: StoredRelease, recipient: str) -> None:
        """Stop unless this copy may be written."""
        state = kept.copy(recipient).state
        if state == "planned":
            raise Refused(
                f"The copy of '{recipient}' was not approved yet.", remedy="Ask another custodian to approve it."
            )
        if state == "retired":
            raise Refused(
                f"'{recipient}' was retired from release '{kept.name}' and gets no further copies.",
                remedy="Leave this recipient out, or start a release with another name.",
            )

    def deliver(
        self, kept: StoredRelease, recipient: str, *, file: str, rows: int, content: str, actor: str
    ) -> Receipt:
        """Write down that a copy with this digest is handed over. It takes its place only after this has returned."""
        self.refuse_delivery(kept, recipient)
        now = timestamp(utc_now())

        def along(connection: Connection) -> None:
            repository.hold_to_content(connection, kept, content)
            repository.change(connection, kept, recipient, to="delivered", file=file, rows=rows, changed=now)

        return self.ledger.record(
            actor=actor,
            event="releases.delivered",
            key=f"delivered:{kept.subject}/{recipient}/{file}",
            subject=f"{kept.subject}/recipient:{recipient}",
            details={"file": file, "rows": rows, "manifest": kept.digest},
            along=along,
        ).require()

    def retire(self, name: str, recipient: str, *, actor: str) -> StoredRelease:
        """Give a recipient no further copies. Who had one can still be found by a trace."""
        kept = self.require(name)
        kept.copy(recipient)
        now = timestamp(utc_now())
        self.ledger.record(
            actor=actor,
            event="releases.retired",
            key=f"retired:{repository.subject_of(name)}/{recipient}",
            subject=f"{repository.subject_of(name)}/recipient:{recipient}",
            along=lambda connection: repository.retire(connection, name, recipient, now=now),
        )
        return self.require(name)


Where = Ledger | str | os.PathLike[str] | None
"""A ledger that is open, the address of a store, or nothing for the default one."""


@contextmanager
def registry_of(store: Where, *, create: bool = False) -> Iterator[Registry]:
    """The releases of a store, closed afterwards unless its ledger was handed in open."""
    if isinstance(store, Ledger):
        yield Registry(store)
        return
    with Ledger.open(store, create=create) as ledger:
        yield Registry(ledger)


def whoever_asks() -> str:
    """The user of this process, for entries of the ledger."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "custodian"


@dataclass(frozen=True, eq=False)
class Opened:
    """A version of a release whose manifest is the one that the ledger committed to."""

    kept: StoredRelease
    manifest: Manifest

    @property
    def name(self) -> str:
        """Its name."""
        return self.kept.name

    @cached_property
    def traceable(self) -> Traceable:
        """What a trace is held against."""
        manifest = self.manifest
        return Traceable(
            release=manifest.release,
            codebook=manifest.codebook,
            released=manifest.released.project(manifest.codebook.marks.columns),
            links=manifest.links,
            population_links=(manifest.crowd.links, manifest.crowd.classes),
            levels=manifest.levels,
            chains={name: tuple(chains) for name, chains in manifest.chains.items()},
            rules=manifest.rules,
            decoys=manifest.decoys,
            rows=manifest.rows,
        )

    def __repr__(self) -> str:
        return f"Opened({self.name} version {self.kept.version}, {len(self.kept.copies)} copies)"


def open_release(name: str, store: Where = None, *, version: int | None = None) -> Opened:
    """Open a release by its name, the newest version unless said; refused if its manifest was changed or swapped."""
    with registry_of(store) as registry:
        kept = registry.require(name, version)
        return Opened(kept, registry.open(kept))


def record_trace(
    opened: Opened,
    store: Where = None,
    *,
    details: dict[str, Detail],
    actor: str | None = None,
    along: Callable[[Connection], object] | None = None,
) -> Receipt:
    """Record that a trace was made and what it said, before anybody sees it."""
    with registry_of(store) as registry:
        return registry.ledger.record(
            actor=actor or whoever_asks(),
            event="releases.traced",
            subject=subject_of(opened.name),
            details={"version": opened.kept.version, "manifest": opened.kept.digest, **details},
            along=along,
        )
