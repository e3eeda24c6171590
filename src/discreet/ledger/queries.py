"""Queries on the ledger: entries, budgets, and the export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from fractions import Fraction
from typing import TypedDict, Unpack

from sqlalchemy import Connection, Row, Select, or_, select

from discreet.errors import IntegrityError, UsageError
from discreet.ledger.accounts import Budget
from discreet.ledger.entry import Entry, timestamp
from discreet.ledger.merkle import MerkleTree, inclusion, inclusion_holds, stored_subtree
from discreet.ledger.operations import Receipt
from discreet.ledger.verifier import canonical, leaf_hash
from discreet.store.tables.ledger import BUDGET, ENTRY

PAGE = 1_000
BODIES = select(ENTRY.c.sequence, ENTRY.c.body)


class EntryFilter(TypedDict, total=False):
    """Which entries are wanted; what is left out does not matter."""

    actor: str | None
    room: str | None
    event: str | None
    outcome: str | None
    subject: str | None
    """This subject, and everything below it (`project:7` also finds `project:7/pair:12`)."""
    since: datetime | None
    until: datetime | None
    after: int | None
    """Only entries with a greater number."""
    last: int | None
    """Only the newest ones, that many."""


def entries(connection: Connection, **wanted: Unpack[EntryFilter]) -> Iterator[Entry]:
    """The entries that are wanted, in order."""
    query = _chosen(BODIES, wanted)
    last = wanted.get("last")
    if last is None:
        yield from (_entry(row) for row in _pages(connection, query))
        return
    newest = connection.execute(query.order_by(ENTRY.c.sequence.desc()).limit(last)).all()
    yield from (_entry(row) for row in reversed(newest))


def _chosen(query: Select[tuple[int, str]], wanted: EntryFilter) -> Select[tuple[int, str]]:
    for name in ("actor", "room", "event", "outcome"):
        if (value := wanted.get(name)) is not None:
            query = query.where(ENTRY.c[name] == value)
    if (subject := wanted.get("subject")) is not None:
        below = ENTRY.c.subject.startswith(f"{subject}/", autoescape=True)
        query = query.where(or_(ENTRY.c.subject == subject, below))
    if (since := wanted.get("since")) is not None:
        query = query.where(ENTRY.c.time >= timestamp(since))
    if (until := wanted.get("until")) is not None:
        query = query.where(ENTRY.c.time < timestamp(until))
    if (after := wanted.get("after")) is not None:
        query = query.where(ENTRY.c.sequence > after)
    return query


def _pages(connection: Connection, query: Select[tuple[int, str]]) -> Iterator[Row[tuple[int, str]]]:
    """Rows in order, a page at a time, so that a long ledger needs little memory."""
    page = connection.execute(query.order_by(ENTRY.c.sequence).limit(PAGE)).all()
    while page:
        yield from page
        rest = query.where(ENTRY.c.sequence > page[-1].sequence)
        page = connection.execute(rest.order_by(ENTRY.c.sequence).limit(PAGE)).all()


def _entry(row: Row[tuple[int, str]]) -> Entry:
    try:
        return Entry.read(row.body)
    except ValueError:
        raise _changed(row.sequence) from None


def _changed(number: int) -> IntegrityError:
    return IntegrityError(
        f"Entry {number} of the ledger is not what was written.", remedy="Run: discreet ledger verify"
    )


def bodies(connection: Connection) -> Iterator[bytes]:
    """What was hashed, entry by entry."""
    return (row.body.encode("utf-8", "surrogatepass") for row in _pages(connection, BODIES))


def export(connection: Connection) -> Iterator[bytes]:
    """One entry per line, and the signed head as the last line."""
    for body in bodies(connection):
        yield body + b"\n"
    yield canonical(MerkleTree.read(connection).head()) + b"\n"


def proven(connection: Connection, tree: MerkleTree, number: int, body: str) -> Receipt:
    """The receipt of an entry, after showing that the tree holds it: a row that was slipped in grants nothing."""
    leaf = leaf_hash(body.encode())
    path = inclusion(stored_subtree(connection), number, tree.size) if 0 <= number < tree.size else []
    if not inclusion_holds(leaf, number, tree.size, path, tree.frontier.root()):
        raise _changed(number)
    return Receipt(Entry.read(body), leaf.hex(), replayed=True)


def receipts(connection: Connection, numbers: Iterable[int]) -> list[Receipt]:
    """The receipts of entries."""
    if not (wanted := list(numbers)):
        return []
    tree = MerkleTree.read(connection)
    rows = connection.execute(BODIES.where(ENTRY.c.sequence.in_(wanted)).order_by(ENTRY.c.sequence)).all()
    return [proven(connection, tree, row.sequence, row.body) for row in rows]


def by_key(connection: Connection, actor: str, key: str) -> Receipt | None:
    """The receipt of a request, by its key."""
    found = connection.execute(select(ENTRY.c.sequence).where(ENTRY.c.key == key, ENTRY.c.actor == actor)).scalars()
    return next(iter(receipts(connection, found.all())), None)


def budgets(connection: Connection) -> list[Budget]:
    """All budgets, by name."""
    return sorted((_budget(row) for row in connection.execute(select(BUDGET))), key=lambda budget: budget.name)


def budget(connection: Connection, name: str) -> Budget:
    """One budget."""
    row = connection.execute(select(BUDGET).where(BUDGET.c.name == name)).one_or_none()
    if row is None:
        raise UsageError(f"There is no budget '{name}'.", remedy="Make it first: ledger.set_budget(name, ...).")
    return _budget(row)


def _budget(row: Row[tuple[str, int, int, int, int, int]]) -> Budget:
    allowed, spent, reserved = (Fraction(amount, row.parts) for amount in (row.allowed, row.spent, row.reserved))
    return Budget(row.name, allowed, spent, reserved, row.parts, row.version)
