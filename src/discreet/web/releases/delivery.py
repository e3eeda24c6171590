"""Delivery of packed copies that wait in our folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, delete, insert, select

from discreet.errors import IntegrityError
from discreet.releases.delivery import repository
from discreet.releases.delivery.repository import Kept
from discreet.releases.delivery.service import Registry
from discreet.store.tables.releases import PARCEL
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem


@dataclass(frozen=True)
class Parcel:
    """One recipient's copy in one file: the data, a README and the agreement."""

    release: str
    version: int
    recipient: str
    file: str
    digest: str
    size: int


def keep(connection: Connection, parcel: Parcel, *, plan: int, now: str) -> None:
    """Remember that it lies there."""
    connection.execute(insert(PARCEL).values(**parcel.__dict__, plan=plan, made=now))


def of_release(connection: Connection, kept: Kept) -> dict[str, Parcel]:
    """What lies ready of a version, by recipient."""
    mine = (PARCEL.c.release == kept.name, PARCEL.c.version == kept.version)
    rows = connection.execute(select(PARCEL).where(*mine))
    return {
        row.recipient: Parcel(row.release, row.version, row.recipient, row.file, row.digest, row.size) for row in rows
    }


def throw_away(context: Context, name: str, recipient: str) -> None:
    """Copies that nobody will come for any more do not lie around."""
    mine = (PARCEL.c.release == name, PARCEL.c.recipient == recipient)
    with context.site.store.writing() as connection:
        files = connection.execute(delete(PARCEL).where(*mine).returning(PARCEL.c.file)).scalars().all()
    context.site.places.folder.forget(files)


def hand_over(context: Context, kept: Kept, recipient: str) -> Path:
    """Write down that a copy is handed over, then give its file. Only what was approved and made is there at all."""
    Registry(context.site.ledger).refuse_delivery(kept, recipient)
    with context.site.store.reading() as connection:
        parcel = of_release(connection, kept).get(recipient)
    path = None if parcel is None else context.site.places.folder.find(parcel.file)
    if parcel is None or path is None:
        raise Problem(
            404,
            "No copy for this recipient lies here.",
            remedy="Copies are made once their plan is approved; those made on the command line lie where it wrote them.",
        )
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != parcel.digest:
            raise IntegrityError("A copy in the folder is not the one that was made.", remedy="Restore a backup.")
    copy, now = kept.copy(recipient), context.site.stamp()

    def along(connection: Connection) -> None:
        repository.change(connection, kept, recipient, to="delivered", changed=now)

    context.act(
        "releases.delivered",
        f"{kept.subject}/recipient:{recipient}",
        along=along,
        file=copy.file,
        rows=copy.rows,
        packed=parcel.digest,
        manifest=kept.digest,
    )
    return path
