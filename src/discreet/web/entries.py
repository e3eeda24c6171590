"""Entries of the ledger for pages and programs: the newest first, some at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlencode

from sqlalchemy import Connection, or_, select

from discreet.errors import IntegrityError
from discreet.ledger import Entry
from discreet.ledger.entry import LONGEST_TEXT
from discreet.store.tables import ENTRY
from discreet.web.problems import Problem

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
            value = getattr(self, name)
            if len(value) > LONGEST_TEXT or not value.isprintable():
                raise _unfit(name, f"is printable text of at most {LONGEST_TEXT} characters")
        for name in ("since", "until"):
            if getattr(self, name):
                _day(name, getattr(self, name))

    @property
    def any(self) -> bool:
        """Is anything chosen?"""
        return any(getattr(self, name) for name in NAMES)

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
    query = select(ENTRY.c.sequence, ENTRY.c.body).order_by(ENTRY.c.sequence.desc()).limit(most + 1)
    for name in ("actor", "room", "event", "outcome"):
        if value := getattr(wanted, name):
            query = query.where(ENTRY.c[name] == value)
    if wanted.subject:
        below = ENTRY.c.subject.startswith(f"{wanted.subject}/", autoescape=True)
        query = query.where(or_(ENTRY.c.subject == wanted.subject, below))
    if wanted.since:
        query = query.where(ENTRY.c.time >= _day("since", wanted.since).isoformat())
    if wanted.until:
        query = query.where(ENTRY.c.time < (_day("until", wanted.until) + timedelta(days=1)).isoformat())
    if before is not None:
        query = query.where(ENTRY.c.sequence < before)
    rows = connection.execute(query).all()
    shown = tuple(_entry(row.sequence, row.body) for row in rows[:most])
    return Page(shown, shown[-1].sequence if len(rows) > most else None)


def find(connection: Connection, number: int) -> Entry | None:
    """One entry."""
    body = connection.execute(select(ENTRY.c.body).where(ENTRY.c.sequence == number)).scalar()
    return None if body is None else _entry(number, body)


def wanted_of(query: Mapping[str, str]) -> Wanted:
    """What an address asks for."""
    return Wanted(**{name: query.get(name, "").strip() for name in NAMES})


def _entry(number: int, body: str) -> Entry:
    try:
        return Entry.read(body)
    except ValueError:
        raise IntegrityError(
            f"Entry {number} of the ledger is not what was written.", remedy="Verify the ledger."
        ) from None


def _day(name: str, value: str) -> date:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        raise _unfit(name, "is a day such as 2026-05-31") from None
    if not 1990 <= day.year <= 9990:
        raise _unfit(name, "is a day in a year that makes sense")
    return day


def _unfit(name: str, words: str) -> Problem:
    return Problem(422, f"'{name}' {words}.", remedy="Correct it and ask again.")
