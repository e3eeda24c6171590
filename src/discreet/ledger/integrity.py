"""Integrity check of a stored ledger: the verifier's checks, and a replay of budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, select

from discreet.errors import IntegrityError
from discreet.ledger.entry import Charge, Entry, row_of
from discreet.ledger.keys import Keys
from discreet.ledger.merkle import STRIDE, MerkleTree
from discreet.ledger.queries import PAGE
from discreet.ledger.verifier import Check, Frontier, Verdict, leaf_hash
from discreet.store.tables.ledger import BUDGET, ENTRY, NODE, RESERVATION, TREE

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
        expected = _limit(before, charge) if entry.event == "ledger.budget" else self._moved(before, entry, charge)
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

    def _moved(self, before: Charge | None, entry: Entry, charge: Charge) -> Charge | None:
        if before is None:
            return None
        match entry.outcome:
            case "refused":
                return before
            case "done":
                return replace(before, spent=before.spent + charge.amount)
            case "reserved":
                self.reservations[entry.sequence] = (charge.name, charge.amount, charge.expires, None)
                return replace(before, reserved=before.reserved + charge.amount)
            case _:
                return self._closed(before, entry, charge)

    def _closed(self, before: Charge, entry: Entry, charge: Charge) -> Charge | None:
        number = -1 if charge.reservation is None else charge.reservation
        name, held, expires, closed = self.reservations.get(number, ("", -1, None, None))
        if (name, held, closed) != (charge.name, charge.held, None) or charge.amount > held:
            return None
        self.reservations[number] = (name, held, expires, entry.sequence)
        return replace(before, spent=before.spent + charge.amount, reserved=before.reserved - charge.held)


def _limit(before: Charge | None, charge: Charge) -> Charge:
    if before is None:
        return replace(charge, spent=0, reserved=0)
    return replace(before, allowed=charge.allowed)


@dataclass
class StoreCheck:
    """Goes through all tables of the ledger."""

    connection: Connection
    check: Check
    replay: Replay
    nodes: dict[tuple[int, int], str]

    def entries(self) -> None:
        """Every row of the ledger: its body, and the columns that repeat parts of it."""
        for row in self._rows():
            number = self.check.tree.size
            body = row["body"].encode("utf-8", "surrogatepass")
            self._nodes(self.check.entry(body))
            try:
                entry = Entry.read(row["body"])
            except ValueError:
                continue
            if row != row_of(entry, body, leaf_hash(body).hex()):
                self.check.fault(f"Entry {number} does not say what its row says.")
            for words in self.replay.take(entry):
                self.check.fault(f"Entry {number} {words}")

    def _rows(self) -> Iterator[dict[str, Any]]:
        after = None
        while True:
            query = select(ENTRY).order_by(ENTRY.c.sequence).limit(PAGE)
            page = self.connection.execute(query if after is None else query.where(ENTRY.c.sequence > after)).all()
            if not page:
                return
            yield from (dict(row._mapping) for row in page)
            after = page[-1].sequence

    def _nodes(self, complete: Sequence[bytes]) -> None:
        for level in range(STRIDE, len(complete), STRIDE):
            self.nodes[level, (self.check.tree.size >> level) - 1] = complete[level].hex()

    def others(self) -> None:
        """Every other row follows from the entries."""
        stored = {(row.level, row.position): row.hash for row in self.connection.execute(select(NODE))}
        if stored != self.nodes:
            self.check.fault("The stored nodes of the tree are not those of the entries.")
        self._tree(self.connection.execute(select(TREE)).all())
        budgets = {row.name: tuple(row) for row in self.connection.execute(select(BUDGET))}
        expected = self.replay.budgets
        for name in sorted(budgets.keys() | expected.keys()):
            if name not in expected or name not in budgets or budgets[name] != _budget_row(*expected[name]):
                self.check.fault(f"Budget '{name}' is not what the entries make of it.")
        held = {row.sequence: tuple(row)[1:] for row in self.connection.execute(select(RESERVATION))}
        if held != self.replay.reservations:
            self.check.fault("What is reserved is not what the entries make of it.")

    def _tree(self, rows: Sequence[Any]) -> None:
        tree: Frontier = self.check.tree
        expected = {
            "root": tree.root().hex(),
            "peaks": "".join(peak.hex() for peak in tree.peaks),
            "last": self.check.previous,
            "time": self.check.time,
            "values_check": self.check.opening.get("values"),
        }
        if len(rows) != 1 or any(getattr(rows[0], name) != value for name, value in expected.items()):
            self.check.fault("The stored tree is not that of the entries.")


def _budget_row(charge: Charge, version: int) -> tuple[str, int, int, int, int, int]:
    return charge.name, charge.parts, charge.allowed, charge.spent, charge.reserved, version


def check_store(connection: Connection, *, heads: Sequence[Mapping[str, Any]], keys: Keys | None = None) -> Verdict:
    """Check everything that is stored, against itself, against heads that were kept elsewhere, and against our keys."""
    work = StoreCheck(connection, Check(heads), Replay(), {})
    work.entries()
    work.others()
    try:
        tree = MerkleTree.read(connection)
    except IntegrityError as error:
        work.check.fault(error.problem)
        return work.check.finish(None)
    if keys is not None and (tree.key, tree.values_check) != (keys.public, keys.values_check):
        work.check.fault("The ledger names other keys than those that are in use.")
    return work.check.finish(tree.head())
