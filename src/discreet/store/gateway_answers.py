"""What database users were answered in statistics: audit of who sets, budget, and answers known by their names.

The gateway serialises the audit; here it is only bytes. A writer names the version it has read, so that of two gateways
that answer the same user at the same time, neither forgets what the other has answered.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from discreet.errors import Outdated
from discreet.store.tables.gateway import ANSWERS
from discreet.store.transitions import Condition, update_one

PARTS = 1_000_000
"""Reductions are stored in millionths, rounded up."""


@dataclass(frozen=True)
class StoredAnswers:
    """What one account was answered about one attribute."""

    version: int
    used: int
    """Answers counted against the budget."""
    reduction: int
    """Largest share of the uncertainty about anybody that is removed, in millionths."""
    people: bytes
    """Everybody who was in a set, eight bytes each."""
    content: bytes
    """The audit."""
    known: bytes
    """Names of questions and answers, sixteen bytes each."""


@dataclass(frozen=True)
class AnswersTotal:
    """What one account has used of its audit and budget, without the people."""

    database: str
    account: str
    attribute: str
    used: int
    reduction: float


def read_version(connection: Connection, database: str, account: str, attribute: str) -> int:
    """The version that is stored; 0 if there is none."""
    found = connection.execute(select(ANSWERS.c.version).where(*_row(database, account, attribute))).scalar()
    return int(found or 0)


def read_answers(connection: Connection, database: str, account: str, attribute: str) -> StoredAnswers | None:
    """What is stored; None if nothing was answered yet."""
    row = connection.execute(select(ANSWERS).where(*_row(database, account, attribute))).one_or_none()
    if row is None:
        return None
    blobs = (bytes(row.people), bytes(row.content), bytes(row.known))
    return StoredAnswers(int(row.version), int(row.used), int(row.reduction), *blobs)


def write_answers(
    connection: Connection, database: str, account: str, attribute: str, stored: StoredAnswers, *, people: bool = True
) -> None:
    """Store it in place of the version before (0: none); without `people` these stay as they are."""
    values = {name: getattr(stored, name) for name in ("version", "used", "reduction", "content", "known")}
    if people:
        values["people"] = stored.people
    row = {"database": database, "account": account, "attribute": attribute}
    if stored.version > 1:
        guard = (*_row(database, account, attribute), ANSWERS.c.version == stored.version - 1)
        written = update_one(connection, ANSWERS, *guard, **values)
    else:
        try:
            with connection.begin_nested():
                connection.execute(insert(ANSWERS).values(**row, **{**values, "people": stored.people}))
            written = True
        except IntegrityError:
            written = False
    if not written:
        raise Outdated(
            "The answers of this account have changed in the meantime.", remedy="Read them again, and decide again."
        )


def totals(connection: Connection, database: str | None = None, account: str | None = None) -> list[AnswersTotal]:
    """What accounts have used, by database, account and attribute."""
    columns = (ANSWERS.c.database, ANSWERS.c.account, ANSWERS.c.attribute, ANSWERS.c.used, ANSWERS.c.reduction)
    wanted = select(*columns).order_by(*columns[:3])
    for column, value in ((ANSWERS.c.database, database), (ANSWERS.c.account, account)):
        if value is not None:
            wanted = wanted.where(column == value)
    rows = connection.execute(wanted)
    return [
        AnswersTotal(row.database, row.account, row.attribute, int(row.used), int(row.reduction) / PARTS)
        for row in rows
    ]


def _row(database: str, account: str, attribute: str) -> tuple[Condition, ...]:
    return (ANSWERS.c.database == database, ANSWERS.c.account == account, ANSWERS.c.attribute == attribute)
