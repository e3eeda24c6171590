"""Ledger for auditors: search, one entry with its proof, verify, export; pages and API."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, insert, or_, select
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from discreet.errors import IntegrityError
from discreet.ledger import EVENTS, OUTCOMES, Entry
from discreet.ledger.entry import LONGEST_TEXT
from discreet.ledger.merkle import MerkleTree
from discreet.ledger.verifier import canonical, is_head
from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import CHECK
from discreet.web.entry_sentences import VERBS, sentence
from discreet.web.framework.context import Here, by_number, go
from discreet.web.framework.forms import Day, Strict, Text, is_day
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import ApiGet, Page, Route, Submit
from discreet.web.framework.shared_state import Site

PAGE = 50
CHUNK = 256 * 1024
_VERIFYING = threading.Lock()
"""Verifying reads everything; one at a time is enough."""


@dataclass(frozen=True)
class EntrySearch:
    """Search for entries: `subject` and what is below it, days (UTC) both included."""

    actor: str = ""
    room: str = ""
    event: str = ""
    outcome: str = ""
    subject: str = ""
    since: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            unfit = f"is text of at most {LONGEST_TEXT} characters" if len(value) > LONGEST_TEXT else ""
            if name in ("since", "until") and not is_day(value):
                unfit = unfit or "is a day such as 2026-05-31"
            if unfit:
                raise Problem(422, f"'{name}' {unfit}.", remedy="Correct it and ask again.")

    @classmethod
    def of(cls, query: Mapping[str, str | None]) -> EntrySearch:
        """What the names of an address ask for."""
        return cls(**{field.name: (query.get(field.name) or "").strip() for field in fields(cls)})

    @property
    def given(self) -> dict[str, str]:
        """What is chosen, by name."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}

    def query(self, **more: str | int) -> str:
        """As part of an address."""
        return urlencode({**self.given, **more})


@dataclass(frozen=True)
class EntryList:
    """Some entries, newest first; `older` is what to ask for next."""

    entries: tuple[Entry, ...]
    older: int | None


def newest(connection: Connection, wanted: EntrySearch, *, before: int | None = None, most: int = PAGE) -> EntryList:
    """The newest wanted entries, or the newest with a smaller number than `before`."""
    if not all(value.isprintable() for value in wanted.given.values()):
        return EntryList((), None)  # no entry holds such a text, and not every database can be asked for it
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
    return EntryList(shown, shown[-1].sequence if len(rows) > most else None)


def find(connection: Connection, number: int) -> Entry | None:
    """One entry, by number."""
    body = connection.execute(select(ENTRY.c.body).where(ENTRY.c.sequence == number)).scalar()
    return None if body is None else entry_of(number, body)


def entry_of(number: int, body: str) -> Entry:
    """An entry from its body; an error if that is not what was written."""
    try:
        return Entry.read(body)
    except ValueError:
        raise IntegrityError(
            f"Entry {number} of the ledger is not what was written.", remedy="Verify the ledger."
        ) from None


@dataclass(frozen=True)
class LedgerCheck:
    """A verification of the ledger."""

    time: str
    actor: str
    head: str
    problems: int


def last_check(connection: Connection) -> LedgerCheck | None:
    """The newest verification of the ledger."""
    row = connection.execute(select(CHECK).order_by(CHECK.c.id.desc()).limit(1)).one_or_none()
    return None if row is None else LedgerCheck(row.time, row.actor, row.head, row.problems)


def ledger_page(context: Here, before: Annotated[int | None, Query(ge=0, le=10**17)] = None) -> Response:
    """The newest entries that were asked for."""
    search = EntrySearch.of(context.request.query_params)
    with context.site.store.reading() as connection:
        page = newest(connection, search, before=before)
        head, check = MerkleTree.read(connection).head(), last_check(connection)
    return context.page(
        "ledger.html",
        wanted=search,
        page=page,
        paged=before is not None,
        head=head,
        check=check,
        sentence=sentence,
        verbs=VERBS,
        events=EVENTS,
        outcomes=OUTCOMES,
        rooms=sorted({event.partition(".")[0] for event in EVENTS}),
    )


ENTRY_LOADS = by_number("entry", find)
"""Entries have no owner: the permission to read the ledger covers each."""


def entry_page(context: Here) -> Response:
    """One entry, and the proof that it is in the ledger."""
    entry: Entry = context.loaded
    with context.site.store.reading() as connection:
        head = MerkleTree.read(connection).head()
    return context.page(
        "entry.html",
        entry=entry,
        sentence=sentence(entry),
        meaning=EVENTS.get(entry.event, ""),
        outcome=OUTCOMES.get(entry.outcome, ""),
        head=head,
        proof=context.site.ledger.prove_inclusion(entry.sequence, size=head["size"]),
        body=json.dumps(entry.to_dict(), indent=2, ensure_ascii=False, sort_keys=True),
    )


def verify(context: Here) -> Response:
    """Verify the ledger against itself, the last head and one saved elsewhere."""
    given = context.form.verbatim("head", most=4_000, lines=True).strip()
    heads = [_head(given)] if given else []
    problems, head = verified(context.site, actor=context.owner.name, heads=heads)
    if problems:
        return context.page("verdict.html", problems=problems, head=head)
    return go("/ledger", said="verified")


def verified(site: Site, *, actor: str, heads: Sequence[Mapping[str, Any]] = ()) -> tuple[list[str], dict[str, Any]]:
    """Faults of the ledger, checked against these heads and the one of the last verification; and its head."""
    with site.store.reading() as connection:
        last = last_check(connection)
    known = [*heads, *([] if last is None else [_head(last.head)])]
    head = site.ledger.head()
    if not _VERIFYING.acquire(blocking=False):
        raise Problem(409, "The ledger is being verified just now.", remedy="Wait a moment and look again.")
    try:
        problems = list(site.ledger.verify(heads=known).problems)
    except IntegrityError as error:
        problems = [error.problem]
    finally:
        _VERIFYING.release()
    values = {"time": site.stamp(), "actor": actor, "problems": len(problems)}
    with site.store.writing() as connection:
        connection.execute(insert(CHECK).values(**values, head=canonical(head).decode("ascii")))
    return problems, head


def export(context: Here) -> Response:
    """The ledger as JSON lines, the signed head last; itself recorded first."""
    context.act("web.shown", "ledger", act="exported")
    lines = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
    lines.writelines(context.site.ledger.export())
    size = lines.tell()
    lines.seek(0)
    headers = {"Content-Disposition": 'attachment; filename="ledger.jsonl"', "Content-Length": str(size)}
    pieces = iter(partial(lines.read, CHUNK), b"")
    closed = BackgroundTask(lines.close)
    return StreamingResponse(pieces, media_type="application/x-ndjson", headers=headers, background=closed)


def _head(text: str) -> Mapping[str, Any]:
    try:
        head: Any = json.loads(text)
    except (ValueError, RecursionError):
        head = None
    if not is_head(head):
        remedy = "Paste all of it: the text in braces, from the first to the last."
        raise Problem(422, "That is not a head of a ledger.", remedy=remedy)
    return dict(head)


class Head(Strict):
    """The signed head of the ledger: what it holds, in one hash."""

    format: str
    ledger: str
    size: int
    root: str
    time: str
    key: str
    signature: str


class ChargeModel(Strict):
    """Charge to a budget, in parts (`parts` to the one), and its state afterwards."""

    name: str
    parts: int
    amount: int
    held: int
    allowed: int
    spent: int
    reserved: int
    reservation: int | None
    expires: str | None


class EntryModel(Strict):
    """One entry of the ledger."""

    sequence: int
    time: str
    clock: str | None
    actor: str
    room: str
    event: str
    outcome: str
    subject: str
    risk_before: str | None
    risk_after: str | None
    policy: str | None
    key: str
    budget: ChargeModel | None
    details: dict[str, str | int | bool | None]
    previous: str


class EntriesPage(Strict):
    """Some entries, newest first; ask again with `before` = `older` for the next ones."""

    entries: list[EntryModel]
    older: int | None


class EntriesQuery(BaseModel):
    """Which entries; what is left out does not matter."""

    model_config = ConfigDict(extra="forbid")

    actor: Text = ""
    room: Text = ""
    event: Text = ""
    outcome: Text = ""
    subject: Text = ""
    since: Day | None = None
    until: Day | None = None
    before: int | None = Field(default=None, ge=0, le=10**17)
    most: int = Field(default=50, ge=1, le=500)


def head(context: Here) -> Head:
    """The signed head; keep it where no writer of the store can change it."""
    with context.site.store.reading() as connection:
        return Head(**MerkleTree.read(connection).head())


def entry_list(context: Here, query: Annotated[EntriesQuery, Query()]) -> EntriesPage:
    """Entries, newest first."""
    with context.site.store.reading() as connection:
        page = newest(connection, EntrySearch.of(vars(query)), before=query.before, most=query.most)
    return EntriesPage(entries=[EntryModel(**entry.to_dict()) for entry in page.entries], older=page.older)


def entry(context: Here, number: str) -> EntryModel:
    """One entry."""
    return EntryModel(**context.loaded.to_dict())


LEDGER_ROUTES: tuple[Route, ...] = (
    Page("/ledger", "ledger.read", ledger_page),
    Page("/ledger/{number}", "ledger.read", entry_page, loads=ENTRY_LOADS),
    Submit("/ledger/verify", "ledger.verify", verify),
    Submit("/ledger/export", "ledger.export", export),
    ApiGet("/api/v1/ledger/head", "ledger.read", head, returns=Head),
    ApiGet("/api/v1/ledger/entries", "ledger.read", entry_list, returns=EntriesPage),
    ApiGet("/api/v1/ledger/entries/{number}", "ledger.read", entry, loads=ENTRY_LOADS, returns=EntryModel),
)
