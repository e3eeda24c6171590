"""Checking a ledger where it is stored: what the offline verifier checks, and every other row against the entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from discreet.errors import IntegrityError
from discreet.ledger.entry import Charge, Entry, row_of
from discreet.ledger.keys import Keys
from discreet.ledger.queries import PAGE
from discreet.ledger.replaying import Replay
from discreet.ledger.tree import STRIDE, Tree
from discreet.ledger.verifier import Check, Frontier, Verdict, leaf_hash
from discreet.store.tables.ledger import BUDGET, ENTRY, NODE, RESERVATION, TREE


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
        tree = Tree.read(connection)
    except IntegrityError as error:
        work.check.fault(error.problem)
        return work.check.finish(None)
    if keys is not None and (tree.key, tree.values_check) != (keys.public, keys.values_check):
        work.check.fault("The ledger names other keys than those that are in use.")
    return work.check.finish(tree.head())
