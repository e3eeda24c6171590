"""Copies that are written and verified but not handed over: they lie in the house until somebody comes for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection

from discreet.ledger import Receipt
from discreet.releases.delivery import repository
from discreet.releases.delivery.copies import Copying, Format, Watch
from discreet.releases.delivery.repository import Kept
from discreet.releases.delivery.service import Registry
from discreet.sources import Table


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
class Shelf(Registry):
    """A registry in whose eyes a copy that is written is not delivered yet; it only remembers what was written."""

    written: dict[str, tuple[str, int, str]] = field(default_factory=dict)

    def deliver(  # type: ignore[override]
        self, kept: Kept, recipient: str, *, file: str, rows: int, content: str, actor: str
    ) -> Receipt | None:
        """Remember it; nothing leaves the house."""
        self.refuse_delivery(kept, recipient)
        self.written[recipient] = (file, rows, content)
        return None


def shelve(
    registry: Registry,
    kept: Kept,
    table: Table,
    folder: Path,
    *,
    recipients: Sequence[str],
    format: Format = "parquet",  # noqa: A002 - what everybody calls it
    watch: Watch = lambda step, recipient: None,
) -> list[Shelved]:
    """Write a folder per recipient below an empty one, each verified class by class against the sealed manifest."""
    shelf = Shelf(registry.ledger)
    Copying(shelf, kept, registry.open(kept), table, str(folder), format, "", watch).write(recipients)
    return [Shelved(name, folder / name, *shelf.written[name]) for name in recipients]


def keep_shelved(connection: Connection, kept: Kept, copies: Sequence[Shelved], *, now: str) -> None:
    """Remember which file lies there for whom; a refusal if somebody was retired meanwhile, or rows are others."""
    for one in copies:
        repository.hold_to_content(connection, kept, one.content)
        new = {"file": one.file, "rows": one.rows, "changed": now}
        repository.change(connection, kept, one.recipient, was=["approved"], **new)
