"""Queries on the ledger: entries, receipts, budgets, the export, and the integrity check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection, Row, Select, or_, select

from discreet.errors import IntegrityError, UsageError
from discreet.ledger.accounts import Budget
from discreet.ledger.entry import Charge, Entry, row_of, timestamp
from discreet.ledger.keys import Keys
from discreet.ledger.merkle import STRIDE, MerkleTree, inclusion, inclusion_holds, stored_subtree
from discreet.ledger.operations import Receipt
from discreet.ledger.verifier import Check, Verdict, canonical, leaf_hash
from discreet.store.tables.ledger import BUDGET, ENTRY, NODE, RESERVATION, TREE

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
    query = BODIES
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
    rows: Iterator[Any] = _pages(connection, query)
    if (last := wanted.get("last")) is not None:
        rows = iter(connection.execute(query.order_by(ENTRY.c.sequence.desc()).limit(last)).all()[::-1])
    for row in rows:
        try:
            yield Entry.read(row.body)
        except ValueError:
            raise _changed(row.sequence) from None


def _pages(connection: Connection, query: Select[Any]) -> Iterator[Row[Any]]:
    """Rows in order, a page at a time, so that a long ledger needs little memory."""
    page = connection.execute(query.order_by(ENTRY.c.sequence).limit(PAGE)).all()
    while page:
        yield from page
        rest = query.where(ENTRY.c.sequence > page[-1].sequence)
        page = connection.execute(rest.order_by(ENTRY.c.sequence).limit(PAGE)).all()


def _changed(number: int) -> IntegrityError:
    return IntegrityError(
        f"Entry {number} of the ledger is not what was written.", remedy="Run: discreet ledger verify"
    )


def export(connection: Connection) -> Iterator[bytes]:
    """One entry per line, and the signed head as the last line."""
    for row in _pages(connection, BODIES):
        yield row.body.encode("utf-8", "surrogatepass") + b"\n"
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


# Integrity check of a stored ledger: the verifier's checks, and a replay of budgets.
#
# What the entries make of budgets and reservations, from the first to the last: every step must follow from the one before.
Held = tuple[str, int, str | None, int | None]
"""Of which budget, how much, until when, and which entry closed it."""


@dataclass
class Replay:
    """Budgets with the number of their changes, and reservations, as they follow from the entries."""

    budgets: dict[str, tuple[Charge, int]] = field(default_factory=dict)
    reservations: dict[int, Held] = field(default_factory=dict)

    def take(self, entry: Entry) -> Iterator[str]:
        """Go on by one entry; says what does not follow."""
        charge = entry.budget
        if charge is None:
            return
        before, version = self.budgets.get(charge.name, (None, 0))
        expected = before
        if entry.event == "ledger.budget":
            expected = replace(before, allowed=charge.allowed) if before else replace(charge, spent=0, reserved=0)
        elif before is not None:
            spent, reserved = before.spent + charge.amount, before.reserved
            match entry.outcome:
                case "refused":
                    pass
                case "done":
                    expected = replace(before, spent=spent)
                case "reserved":
                    self.reservations[entry.sequence] = (charge.name, charge.amount, charge.expires, None)
                    expected = replace(before, reserved=reserved + charge.amount)
                case _:
                    # What closes a reservation must name an open one of this budget, and spend no more than it held.
                    number = -1 if charge.reservation is None else charge.reservation
                    name, held, expires, closed = self.reservations.get(number, ("", -1, None, None))
                    expected = None
                    if (name, held, closed) == (charge.name, charge.held, None) and charge.amount <= held:
                        self.reservations[number] = (name, held, expires, entry.sequence)
                        expected = replace(before, spent=spent, reserved=reserved - charge.held)
        if expected is None:
            yield f"speaks of a budget or reservation that is not there ('{charge.name}')."
            return
        if (expected.parts, expected.allowed, expected.spent, expected.reserved) != (
            charge.parts,
            charge.allowed,
            charge.spent,
            charge.reserved,
        ):
            yield f"leaves budget '{charge.name}' otherwise than it should."
        if charge.spent + charge.reserved > charge.allowed or min(charge.amount, charge.held) < 0:
            yield f"leaves budget '{charge.name}' beyond its limit."
        self.budgets[charge.name] = (charge, version + (entry.outcome != "refused"))


def check_store(connection: Connection, *, heads: Sequence[Mapping[str, Any]], keys: Keys | None = None) -> Verdict:
    """Check everything that is stored, against itself, against heads from elsewhere, and against our keys."""
    check, replay = Check(heads), Replay()
    nodes: dict[tuple[int, int], str] = {}
    # Every row of the ledger: its body, and the columns that repeat parts of it.
    for row in _pages(connection, select(ENTRY)):
        number = check.tree.size
        body = row.body.encode("utf-8", "surrogatepass")
        complete = check.entry(body)
        for level in range(STRIDE, len(complete), STRIDE):
            nodes[level, (check.tree.size >> level) - 1] = complete[level].hex()
        try:
            entry = Entry.read(row.body)
        except ValueError:
            continue
        if dict(row._mapping) != row_of(entry, body, leaf_hash(body).hex()):
            check.fault(f"Entry {number} does not say what its row says.")
        for words in replay.take(entry):
            check.fault(f"Entry {number} {words}")
    # Every other row follows from the entries.
    if {(row.level, row.position): row.hash for row in connection.execute(select(NODE))} != nodes:
        check.fault("The stored nodes of the tree are not those of the entries.")
    expected = {
        "root": check.tree.root().hex(),
        "peaks": "".join(peak.hex() for peak in check.tree.peaks),
        "last": check.previous,
        "time": check.time,
        "values_check": check.opening.get("values"),
    }
    trees = connection.execute(select(TREE)).all()
    if len(trees) != 1 or any(getattr(trees[0], name) != value for name, value in expected.items()):
        check.fault("The stored tree is not that of the entries.")
    stored = {row.name: tuple(row)[1:] for row in connection.execute(select(BUDGET))}
    replayed = {
        name: (charge.parts, charge.allowed, charge.spent, charge.reserved, version)
        for name, (charge, version) in replay.budgets.items()
    }
    for name in sorted(stored.keys() | replayed.keys()):
        if stored.get(name) != replayed.get(name):
            check.fault(f"Budget '{name}' is not what the entries make of it.")
    if {row.sequence: tuple(row)[1:] for row in connection.execute(select(RESERVATION))} != replay.reservations:
        check.fault("What is reserved is not what the entries make of it.")
    try:
        tree = MerkleTree.read(connection)
    except IntegrityError as error:
        check.fault(error.problem)
        return check.finish(None)
    if keys is not None and (tree.key, tree.values_check) != (keys.public, keys.values_check):
        check.fault("The ledger names other keys than those that are in use.")
    return check.finish(tree.head())
