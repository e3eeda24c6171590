"""Custody of copies that are out: expiry, recall, and proof of deletion.

All of it is in the ledger and nowhere else. A copy that has expired or was recalled is open until its recipient has proved
its deletion; recipients of it stay in every trace, since a copy that was called back can still leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from discreet.errors import Refused, UsageError
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger
from discreet.releases.delivery.repository import StoredRelease
from discreet.releases.delivery.service import Registry

DUE, DELETED = "releases.recalled", "releases.deleted"


@dataclass(frozen=True)
class CopyInCustody:
    """One recipient's copy, its last day, and whether its deletion was proved."""

    release: str
    version: int
    recipient: str
    file: str | None
    by: str | None
    """Until when it must be deleted; None if nobody said."""
    why: str
    deleted: str | None
    """When its deletion was proved."""

    to_dict = json_of()

    def overdue(self, today: date) -> bool:
        """Whether it should be deleted by now, and nobody proved that."""
        return self.by is not None and self.deleted is None and date.fromisoformat(self.by) < today


def copies_in_custody(ledger: Ledger, kept: StoredRelease) -> list[CopyInCustody]:
    """Every delivered copy of a version."""
    said: dict[str, tuple[str, str]] = {}
    deleted: dict[str, str] = {}
    for entry in ledger.entries(room="releases", subject=kept.subject, outcome="done"):
        recipient = entry.subject.rpartition("/recipient:")[2]
        if entry.event == DUE:
            said[recipient] = (str(entry.details["by"]), str(entry.details["why"]))
        elif entry.event == DELETED:
            deleted[recipient] = entry.time
        elif entry.event == "releases.delivered":
            # A copy that was handed over again, say after it was lost, must be deleted again.
            deleted.pop(recipient, None)
    found = []
    for copy in kept.copies:
        if copy.file is not None:
            by, why = said.get(copy.recipient, (None, ""))
            when = deleted.get(copy.recipient)
            found.append(CopyInCustody(kept.name, kept.version, copy.recipient, copy.file, by, why, when))
    return found


def recall(
    registry: Registry, kept: StoredRelease, recipient: str, *, by: date, today: date, why: str, actor: str
) -> str:
    """Ask for a copy to be deleted by a day; gives the letter.

    Recipients of recalled copies get no further ones. A day to come is an expiry: until then the recipient may get further copies.
    """
    copy = kept.copy(recipient)
    if copy.file is None:
        raise Refused(
            f"'{recipient}' has no copy of '{kept.name}'.", remedy="Retire them instead: discreet release retire."
        )
    if not why.strip() or not why.isprintable() or len(why) > 400:
        raise UsageError("Why a copy is recalled is one line of at most 400 characters.", remedy="Give --why.")
    registry.ledger.record(
        actor=actor,
        event=DUE,
        subject=f"{kept.subject}/recipient:{recipient}",
        details={"by": by.isoformat(), "why": why, "file": copy.file},
    )
    if by <= today:
        registry.retire(kept.name, recipient, actor=actor)
    return (
        f"# Deletion of a copy of {kept.name}, version {kept.version}\n\n"
        f"To {recipient}: please delete your copy by {by.isoformat()}. {why}\n\n"
        f"The copy is the file with the SHA-256 `{copy.file}`. Delete every copy of it and of everything that was derived from it "
        "row by row, on disks, in backups and with those to whom you passed it on, and send back, signed:\n\n"
        "1. the SHA-256 above, and that this file and all its copies were deleted;\n"
        "2. when, by whom, and how (which systems, which procedure);\n"
        "3. until when backups still hold it, if they cannot be changed.\n\n"
        "The copy remains traceable.\n"
    )


def prove_deletion(registry: Registry, kept: StoredRelease, recipient: str, *, proof: str, actor: str) -> None:
    """Record a proof of deletion; `proof` is the SHA-256 of what was sent."""
    copy = kept.copy(recipient)
    if copy.file is None:
        raise Refused(f"'{recipient}' has no copy of '{kept.name}'.", remedy="Look: discreet release show.")
    registry.ledger.record(
        actor=actor,
        event=DELETED,
        subject=f"{kept.subject}/recipient:{recipient}",
        details={"proof": proof, "file": copy.file},
    )
