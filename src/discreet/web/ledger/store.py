"""Ledger entries, newest first, in pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

from sqlalchemy import Connection, or_, select

from discreet.errors import IntegrityError
from discreet.ledger import Entry
from discreet.ledger.entry import LONGEST_TEXT
from discreet.store.tables.ledger import ENTRY
from discreet.web.framework.problems import Problem

PAGE = 50
NAMES = ("actor", "room", "event", "outcome", "subject", "since", "until")


@dataclass(frozen=True)
class Wanted:
    """Which entries; what is empty does not matter. `subject` also finds what is below it; days are UTC, both included."""

    actor: str = ""
    room: str = ""
    event: str = ""
    outcome: str = ""
    subject: str = ""
    since: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        for name in NAMES:
            if len(getattr(self, name)) > LONGEST_TEXT:
                raise _unfit(name, f"is text of at most {LONGEST_TEXT} characters")
        for name in ("since", "until"):
            if getattr(self, name) and not is_day(getattr(self, name)):
                raise _unfit(name, "is a day such as 2026-05-31")

    @property
    def any(self) -> bool:
        """Is anything chosen?"""
        return any(getattr(self, name) for name in NAMES)

    @property
    def in_vain(self) -> bool:
        """Is something asked for that cannot stand in an entry, and cannot be asked of every database?"""
        return not all(getattr(self, name).isprintable() for name in NAMES)

    def query(self, **more: str | int) -> str:
        """As it stands in an address."""
        chosen = {name: getattr(self, name) for name in NAMES if getattr(self, name)}
        return urlencode({**chosen, **more})


@dataclass(frozen=True)
class Page:
    """Some entries, newest first; `older` is what to ask for next."""

    entries: tuple[Entry, ...]
    older: int | None


def newest(connection: Connection, wanted: Wanted, *, before: int | None = None, most: int = PAGE) -> Page:
    """The newest entries that are wanted, or the newest with a smaller number than `before`."""
    if wanted.in_vain:
        return Page((), None)
    query = select(ENTRY.c.sequence, ENTRY.c.body).order_by(ENTRY.c.sequence.desc()).limit(most + 1)
    for name in ("actor", "room", "event", "outcome"):
        if value := getattr(wanted, name):
            query = query.where(ENTRY.c[name] == value)
    if wanted.subject:
        below = ENTRY.c.subject.startswith(f"{wanted.subject}/", autoescape=True)
        query = query.where(or_(ENTRY.c.subject == wanted.subject, below))
    if wanted.since:
        query = query.where(ENTRY.c.time >= wanted.since)
    if wanted.until:
        query = query.where(ENTRY.c.time < f"{wanted.until}~")  # after every time of that day
    if before is not None:
        query = query.where(ENTRY.c.sequence < before)
    rows = connection.execute(query).all()
    shown = tuple(entry_of(row.sequence, row.body) for row in rows[:most])
    return Page(shown, shown[-1].sequence if len(rows) > most else None)


def find(connection: Connection, number: int) -> Entry | None:
    """One entry."""
    body = connection.execute(select(ENTRY.c.body).where(ENTRY.c.sequence == number)).scalar()
    return None if body is None else entry_of(number, body)


def wanted_of(query: Mapping[str, str]) -> Wanted:
    """What an address asks for."""
    return Wanted(**{name: query.get(name, "").strip() for name in NAMES})


def entry_of(number: int, body: str) -> Entry:
    """An entry from its body; an error if that is not what was written."""
    try:
        return Entry.read(body)
    except ValueError:
        raise IntegrityError(
            f"Entry {number} of the ledger is not what was written.", remedy="Verify the ledger."
        ) from None


def is_day(text: str) -> bool:
    """Is it a day as entries write it?

    >>> is_day("2026-05-31"), is_day("2026-05-32"), is_day("20260531")
    (True, False, False)
    """
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _unfit(name: str, words: str) -> Problem:
    return Problem(422, f"'{name}' {words}.", remedy="Correct it and ask again.")
