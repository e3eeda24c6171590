"""Repository of releases and copies in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.exc import IntegrityError as Taken

from discreet.errors import Outdated, Refused, UsageError
from discreet.kernel.serialise import json_of
from discreet.store.tables.web import RELEASE, RELEASE_COPY
from discreet.store.transitions import StateMachine, update_one

STATES = {
    "planned": "sealed; waits for approval",
    "approved": "may be written",
    "delivered": "was written and handed over",
    "retired": "gets no further copies",
}
"""What each state of a copy means."""
COLUMNS = ("name", "version", "revision", "sealed", "digest", "content", "actor", "made")
"""Columns of a stored version, as `StoredRelease` names them."""


def _changed() -> Outdated:
    return Outdated(
        "This release was changed by another person in the meantime.",
        remedy="Look at it: discreet release show; then repeat.",
    )


COPIES = StateMachine(
    RELEASE_COPY,
    {
        "planned": ("approved", "retired"),
        "approved": ("delivered", "retired"),
        "delivered": ("delivered", "retired"),
        "retired": ("retired",),
    },
    _changed,
)


@dataclass(frozen=True)
class Copy:
    """One recipient's copy of a version."""

    recipient: str
    state: str
    file: str | None
    """The SHA-256 of what was handed over last."""
    rows: int | None
    changed: str

    to_dict = json_of()


@dataclass(frozen=True)
class StoredRelease:
    """One version of a release in the store; only its key opens the manifest."""

    name: str
    version: int
    revision: int
    sealed: bytes = field(repr=False)
    digest: str
    content: str | None
    """The keyed hash of the rows that copies are written from, once one was written."""
    actor: str
    made: str
    copies: tuple[Copy, ...]

    @property
    def subject(self) -> str:
        """What entries of the ledger call it."""
        return f"{subject_of(self.name)}/version:{self.version}"

    @property
    def recipients(self) -> tuple[str, ...]:
        """Who has, or will have, a copy."""
        return tuple(copy.recipient for copy in self.copies)

    def copy(self, recipient: str) -> Copy:
        """The copy of one recipient."""
        for copy in self.copies:
            if copy.recipient == recipient:
                return copy
        raise UsageError(
            f"Release '{self.name}' has no such recipient.", remedy=f"List them: discreet release show {self.name}"
        )

    to_dict = json_of("name version revision manifest=digest actor made copies")


def subject_of(name: str) -> str:
    """What entries of the ledger call a release."""
    return f"release:{name}"


def every_one(connection: Connection) -> list[StoredRelease]:
    """The newest version of every release, by name."""
    rows = connection.execute(select(RELEASE).order_by(RELEASE.c.name, RELEASE.c.version)).all()
    newest = {row.name: row for row in rows}
    return [_kept(connection, row) for row in newest.values()]


def versions(connection: Connection, name: str) -> list[int]:
    """The numbers of the versions of a release."""
    found = select(RELEASE.c.version).where(RELEASE.c.name == name).order_by(RELEASE.c.version)
    return [int(number) for number in connection.execute(found).scalars()]


def find(connection: Connection, name: str, version: int | None = None) -> StoredRelease | None:
    """A version of a release, the newest unless said; None if there is none."""
    wanted = select(RELEASE).where(RELEASE.c.name == name).order_by(RELEASE.c.version.desc()).limit(1)
    if version is not None:
        wanted = wanted.where(RELEASE.c.version == version)
    row = connection.execute(wanted).one_or_none()
    return None if row is None else _kept(connection, row)


def require(connection: Connection, name: str, version: int | None = None) -> StoredRelease:
    """A version of a release, the newest unless said; an error in words if there is none."""
    found = find(connection, name, version)
    if found is None:
        what = f"'{name}'" if version is None else f"'{name}' version {version}"
        raise UsageError(f"There is no release {what} in this store.", remedy="List them: discreet release list")
    return found


def retired(connection: Connection, name: str) -> set[str]:
    """Recipients who get no further copies."""
    chosen = select(RELEASE_COPY.c.recipient).where(RELEASE_COPY.c.release == name, RELEASE_COPY.c.state == "retired")
    return set(connection.execute(chosen).scalars())


def add(connection: Connection, kept: StoredRelease) -> None:
    """Keep a new version with its copies."""
    try:
        with connection.begin_nested():
            connection.execute(insert(RELEASE).values({name: getattr(kept, name) for name in COLUMNS}))
    except Taken:
        raise _changed() from None
    _add_copies(connection, kept, kept.copies, first=0)


def revise(connection: Connection, kept: StoredRelease, added: Sequence[Copy]) -> None:
    """Keep a manifest with further recipients in place of the revision before it."""
    seen = RELEASE.c.name == kept.name, RELEASE.c.version == kept.version, RELEASE.c.revision == kept.revision - 1
    new = {"sealed": kept.sealed, "digest": kept.digest, "revision": kept.revision}
    if not update_one(connection, RELEASE, *seen, **new):
        raise _changed()
    _add_copies(connection, kept, added, first=len(kept.copies))


def _add_copies(connection: Connection, kept: StoredRelease, copies: Sequence[Copy], *, first: int) -> None:
    rows = [
        {"release": kept.name, "version": kept.version, "place": first + number, **copy.__dict__}
        for number, copy in enumerate(copies)
    ]
    connection.execute(insert(RELEASE_COPY), rows)


def change(
    connection: Connection,
    kept: StoredRelease,
    recipient: str,
    *,
    to: str | None = None,
    was: Sequence[str] | None = None,
    **new: Any,
) -> None:
    """Move a copy to a state, or change one that is in the states `was`; a refusal if it is in another one by now."""
    mine = (
        RELEASE_COPY.c.release == kept.name,
        RELEASE_COPY.c.version == kept.version,
        RELEASE_COPY.c.recipient == recipient,
    )
    COPIES.move(connection, *mine, to=to, was=was, **new)


def retire(connection: Connection, name: str, recipient: str, *, now: str) -> None:
    """Retire a recipient's copies of all versions."""
    mine = RELEASE_COPY.c.release == name, RELEASE_COPY.c.recipient == recipient
    connection.execute(COPIES.update(*mine, to="retired", changed=now))


def hold_to_content(connection: Connection, kept: StoredRelease, content: str) -> None:
    """All copies of a version come from the same rows: remember them at the first copy, compare at the others."""
    this = RELEASE.c.name == kept.name, RELEASE.c.version == kept.version
    connection.execute(update(RELEASE).where(*this, RELEASE.c.content.is_(None)).values(content=content))
    if connection.execute(select(RELEASE.c.content).where(*this)).scalar_one() != content:
        raise other_rows(kept)


def other_rows(kept: StoredRelease) -> Refused:
    """The data are not those that earlier copies came from."""
    return Refused(
        f"These are not the rows that earlier copies of '{kept.name}' version {kept.version} were written from, although "
        "the same people are counted in them.",
        remedy="Give the same table again, or make a new version with all recipients.",
    )


def _kept(connection: Connection, row: Row[Any]) -> StoredRelease:
    mine = RELEASE_COPY.c.release == row.name, RELEASE_COPY.c.version == row.version
    rows = connection.execute(select(RELEASE_COPY).where(*mine).order_by(RELEASE_COPY.c.place))
    copies = tuple(Copy(copy.recipient, copy.state, copy.file, copy.rows, copy.changed) for copy in rows)
    columns = {name: getattr(row, name) for name in COLUMNS}
    return StoredRelease(**{**columns, "sealed": bytes(row.sealed)}, copies=copies)
