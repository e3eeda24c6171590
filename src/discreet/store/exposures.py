"""Exposures of database users, stored between requests and processes.

The misuse room serialises an exposure (`Exposure.to_bytes`) and reads it again (`Exposure.from_bytes`); here it is only
bytes. A writer names the version it has read, so that of two results at the same time neither is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from discreet.errors import Outdated
from discreet.store.store import Store
from discreet.store.tables.gateway import EXPOSURE
from discreet.store.transitions import update_one


@dataclass(frozen=True)
class StoredExposure:
    """The stored exposure of one user, and how often it has changed."""

    content: bytes
    version: int


@dataclass(frozen=True)
class Exposures:
    """The exposures of all users in a store.

    >>> import tempfile, pathlib
    >>> with Store.open(pathlib.Path(tempfile.mkdtemp()) / "store.db") as store:
    ...     exposures = Exposures(store)
    ...     first = exposures.keep("ann", b"what ann knows", seen=0)
    ...     first, exposures.of("ann").content, exposures.of("eve")
    (1, b'what ann knows', None)
    """

    store: Store

    def of(self, person: str) -> StoredExposure | None:
        """The exposure of a user; None if nothing is stored."""
        with self.store.reading() as connection:
            row = connection.execute(select(EXPOSURE).where(EXPOSURE.c.person == person)).one_or_none()
        return None if row is None else StoredExposure(bytes(row.content), int(row.version))

    def keep(self, person: str, content: bytes, *, seen: int) -> int:
        """Store it in place of the version that was read (0: none); gives the new version."""
        with self.store.writing() as connection:
            return write(connection, person, content, seen=seen)


def write(connection: Connection, person: str, content: bytes, *, seen: int) -> int:
    """The same within the caller's transaction, such as that of the ledger entry (`along=`)."""
    new = {"version": seen + 1, "content": content}
    if seen > 0:
        mine = (EXPOSURE.c.person == person, EXPOSURE.c.version == seen)
        if not update_one(connection, EXPOSURE, *mine, **new):
            raise _changed()
        return seen + 1
    try:
        with connection.begin_nested():
            connection.execute(insert(EXPOSURE).values(person=person, **new))
    except IntegrityError:
        raise _changed() from None
    return 1


def _changed() -> Outdated:
    return Outdated(
        "The exposure of this user has changed in the meantime.", remedy="Read it again, add to it, and store that."
    )
