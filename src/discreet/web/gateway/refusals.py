"""Refusals, newest first, and what a reference leads to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from discreet.store.tables.gateway import REFUSAL, USER
from discreet.store.tables.ledger import ENTRY
from discreet.web.gateway.entry_view import ANSWERED, Told, subject_of, told_of
from discreet.web.gateway.users import User
from discreet.web.ledger import store as ledger_store

PAGE = 50
LONGEST_REFERENCE = 15
"""Hexadecimal digits of a number that every database can keep."""


@dataclass(frozen=True)
class Refusal:
    """One refusal, and the number of the user."""

    told: Told
    user: int


@dataclass(frozen=True)
class Page:
    """Some refusals; `older` is what to ask for next."""

    refusals: tuple[Refusal, ...]
    older: int | None


def newest(
    connection: Connection, *, user: int | None = None, database: str = "", before: int | None = None, most: int = PAGE
) -> Page:
    """The newest refusals, or the newest with a smaller number than `before`."""
    wanted: Select[Any] = (
        select(REFUSAL.c.sequence, REFUSAL.c.user, ENTRY.c.body)
        .join(ENTRY, ENTRY.c.sequence == REFUSAL.c.sequence)
        .order_by(REFUSAL.c.sequence.desc())
        .limit(most + 1)
    )
    if user is not None:
        wanted = wanted.where(REFUSAL.c.user == user)
    if database:
        wanted = wanted.join(USER, USER.c.id == REFUSAL.c.user).where(USER.c.database == database)
    if before is not None:
        wanted = wanted.where(REFUSAL.c.sequence < before)
    rows = connection.execute(wanted).all()
    found = [_refusal(row) for row in rows[:most]]
    older = rows[most - 1].sequence if len(rows) > most else None
    return Page(tuple(one for one in found if one is not None), older)


def _refusal(row: Any) -> Refusal | None:
    told = told_of(ledger_store.entry_of(row.sequence, row.body))
    return None if told is None else Refusal(told, row.user)


def number_of(reference: str) -> int | None:
    """The number of the entry that a reference names; None if it is no reference.

    >>> number_of(" 4f2a "), number_of("0x12"), number_of("")
    (20266, None, None)
    """
    text = reference.strip().upper()
    if not text or len(text) > LONGEST_REFERENCE or any(letter not in "0123456789ABCDEF" for letter in text):
        return None
    return int(text, 16)


def by_reference(connection: Connection, reference: str) -> Told | None:
    """What was refused, or would have been; None if the reference leads to no refusal."""
    number = number_of(reference)
    entry = ledger_store.find(connection, number) if number is not None else None
    told = told_of(entry) if entry is not None else None
    return told if told is not None and told.is_refusal else None


def history(connection: Connection, user: User, *, most: int) -> Sequence[Told]:
    """The newest results and refusals of one user, the newest first; so many entries are looked at."""
    mine = (ENTRY.c.subject == subject_of(user.database, user.name), ENTRY.c.event == ANSWERED)
    told = ENTRY.c.outcome.in_(("reserved", "refused", "done", "released"))
    wanted = select(ENTRY.c.sequence, ENTRY.c.body).where(*mine, told).order_by(ENTRY.c.sequence.desc()).limit(most)
    read = [ledger_store.entry_of(row.sequence, row.body) for row in connection.execute(wanted)]
    taken_back = {one.budget.reservation for one in read if one.outcome == "released" and one.budget is not None}
    found = [told_of(one) for one in read if one.sequence not in taken_back]
    return [one for one in found if one is not None]
