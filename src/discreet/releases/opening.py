"""Opening a release that was kept: for late recipients, for the next version, and for a trace."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.ledger import Ledger
from discreet.ledger.entry import Detail
from discreet.ledger.request import Receipt
from discreet.releases.delivery.repository import Kept, subject_of
from discreet.releases.delivery.service import Registry
from discreet.releases.manifest.manifest import Manifest

if TYPE_CHECKING:
    from discreet.releases.tracing.case import Traceable

Where = Ledger | str | os.PathLike[str] | None
"""A ledger that is open, the address of a store, or nothing for the default one."""


@contextmanager
def ledger_of(store: Where, *, create: bool = False) -> Iterator[Ledger]:
    """The ledger of a store, closed afterwards unless it was handed in open."""
    if isinstance(store, Ledger):
        yield store
        return
    with Ledger.open(store, create=create) as ledger:
        yield ledger


def whoever_asks() -> str:
    """The user of this process, for entries of the ledger."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "custodian"


@dataclass(frozen=True, eq=False)
class Opened:
    """A version of a release whose manifest is the one that the ledger committed to."""

    kept: Kept
    manifest: Manifest

    @property
    def name(self) -> str:
        """Its name."""
        return self.kept.name

    @cached_property
    def traceable(self) -> Traceable:
        """What a trace is held against."""
        from discreet.releases.tracing.case import Traceable

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
        )

    def __repr__(self) -> str:
        return f"Opened({self.name} version {self.kept.version}, {len(self.kept.copies)} copies)"


def open_release(name: str, store: Where = None, *, version: int | None = None) -> Opened:
    """Open a release by its name, the newest version unless said; refused if its manifest was changed or swapped."""
    with ledger_of(store) as ledger:
        registry = Registry(ledger)
        kept = registry.require(name, version)
        return Opened(kept, registry.open(kept))


def record_trace(
    opened: Opened, store: Where = None, *, details: dict[str, Detail], actor: str | None = None, key: str | None = None
) -> Receipt:
    """Write down that a trace was made and what it said, before anybody is told."""
    with ledger_of(store) as ledger:
        return ledger.record(
            actor=actor or whoever_asks(),
            event="releases.traced",
            key=key,
            subject=subject_of(opened.name),
            details={"version": opened.kept.version, "manifest": opened.kept.digest, **details},
        )
