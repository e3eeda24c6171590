"""Releases and copies as terminal output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from discreet.cli import console
from discreet.releases.plan import columns_by_role

if TYPE_CHECKING:
    from discreet.releases.delivery.copies import Delivered
    from discreet.releases.delivery.release import Release
    from discreet.releases.delivery.repository import Kept


def tell_delivered(made: Release, copies: list[Delivered], *, as_json: bool) -> None:
    """What was written, for whom."""
    if as_json:
        console.data({**made.to_dict(), "delivered": [copy.to_dict() for copy in copies]})
        return
    marks = made.preflight.get("marks", 0)
    console.heading(f"Release {made.name}, version {made.version}: {len(copies)} copies, {marks} marks")
    rows = [(copy.recipient, f"{copy.rows:,}", copy.file[:16], _where(copy)) for copy in copies]
    console.table(["recipient", "rows", "SHA-256", "folder"], rows, numeric=(1,))
    if made.manifest.published:
        click.echo(click.wrap_text(f"Every copy has {columns_by_role(made.manifest.published)}.", width=96))
    click.echo(f"The manifest is sealed; the ledger holds its SHA-256: {made.opened.kept.digest}")
    console.say(
        f"\nNext: keep a head of the ledger elsewhere (discreet ledger head --out head.json). Who has which control\nrecords stands in the store and its keys only: keep both. Later: discreet release show {made.name}"
    )


def tell_kept(kept: Kept) -> None:
    """How the copies of a version stand."""
    console.heading(f"Release {kept.name}, version {kept.version}")
    rows = [
        (
            copy.recipient,
            copy.state,
            "" if copy.rows is None else f"{copy.rows:,}",
            (copy.file or "")[:16],
            _day(copy.changed),
        )
        for copy in kept.copies
    ]
    console.table(["recipient", "state", "rows", "SHA-256", "since"], rows, numeric=(2,))


def _where(copy: Delivered) -> str:
    return copy.folder if copy.new else f"{copy.folder} (was there)"


def _day(moment: str) -> str:
    return moment[:16].replace("T", " ")
