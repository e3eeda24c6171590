"""What database users were answered in statistics: audit of who sets, budget, and answers known by their names.

The gateway serialises the audit; here it is only bytes. A writer names the version it has read, so that of two gateways
that answer the same user at the same time, neither forgets what the other has answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

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
    people: bytes | None
    """Everybody who was in a set, eight bytes each; None to leave what is stored."""
    content: bytes | None
    """The audit; None to leave it as it is stored."""
    known: bytes
    """Names of questions and answers, sixteen bytes each."""
    allowed: int = 0
    """The budget when it was last charged."""
    ceiling: int = 0
    """The limit of the audit then, in millionths."""


@dataclass(frozen=True)
class AnswersTotal:
    """What one account has used of its audit and budget, without the people."""

    database: str
    account: str
    attribute: str
    used: int
    allowed: int
    reduction: float
    ceiling: float

    @property
    def column(self) -> str:
        """Name of the column without its schema."""
        return self.attribute.partition(".")[2] or self.attribute

    @property
    def left(self) -> int:
        """Answers that were left after the last one."""
        return max(0, self.allowed - self.used)

    @property
    def audited(self) -> int:
        """How much of the audit's limit is used, in percent, rounded up."""
        return ceil(100 * self.reduction / self.ceiling) if self.ceiling else 100


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
    return StoredAnswers(
        int(row.version), int(row.used), int(row.reduction), *blobs, int(row.allowed), int(row.ceiling)
    )


def write_answers(connection: Connection, database: str, account: str, attribute: str, stored: StoredAnswers) -> None:
    """Store it in place of the version before (0: none)."""
    names = ("version", "used", "allowed", "reduction", "ceiling", "people", "content", "known")
    values = {name: value for name in names if (value := getattr(stored, name)) is not None}
    row = {"database": database, "account": account, "attribute": attribute}
    if stored.version > 1:
        guard = (*_row(database, account, attribute), ANSWERS.c.version == stored.version - 1)
        written = update_one(connection, ANSWERS, *guard, **values)
    else:
        try:
            with connection.begin_nested():
                connection.execute(insert(ANSWERS).values(**row, **values))
            written = True
        except IntegrityError:
            written = False
    if not written:
        raise Outdated(
            "The answers of this account have changed in the meantime.", remedy="Read them again, and decide again."
        )


def totals(connection: Connection, database: str | None = None, account: str | None = None) -> list[AnswersTotal]:
    """What accounts have used, by database, account and attribute."""
    names = ("database", "account", "attribute", "used", "allowed", "reduction", "ceiling")
    columns = [ANSWERS.c[name] for name in names]
    wanted = select(*columns).order_by(*columns[:3])
    for column, value in ((ANSWERS.c.database, database), (ANSWERS.c.account, account)):
        if value is not None:
            wanted = wanted.where(column == value)
    return [
        AnswersTotal(
            row.database, row.account, row.attribute,
            int(row.used), int(row.allowed), int(row.reduction) / PARTS, int(row.ceiling) / PARTS,
        )
        for row in connection.execute(wanted)
    ]  # fmt: skip


def _row(database: str, account: str, attribute: str) -> tuple[Condition, ...]:
    return (ANSWERS.c.database == database, ANSWERS.c.account == account, ANSWERS.c.attribute == attribute)
