"""The only place that spends and that writes the ledger: some requests, one transaction, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from discreet.errors import DiscreetError, IntegrityError
from discreet.ledger.accounts import Accounts
from discreet.ledger.entry import Entry, row_of, timestamp
from discreet.ledger.keys import Keys
from discreet.ledger.operations import Decision
from discreet.ledger.queries import proven
from discreet.ledger.receipt import DENIED, Receipt
from discreet.ledger.request import Request
from discreet.ledger.tree import Tree
from discreet.store.tables.ledger import ENTRY

Outcome = Receipt | DiscreetError
Clock = Callable[[], datetime]

_KNOWN = select(ENTRY.c.actor, ENTRY.c.key, ENTRY.c.sequence, ENTRY.c.body).where(
    ENTRY.c.key.in_(bindparam("keys", expanding=True))
)


@dataclass
class Batch:
    """Requests on their way into the ledger, on a connection that holds the lock of the tree."""

    connection: Connection
    tree: Tree
    accounts: Accounts
    now: str
    known: dict[tuple[str, str], Receipt]
    rows: list[dict[str, Any]] = field(default_factory=list)

    def take(self, request: Request) -> Outcome:
        """Decide on one request and write it down, or say why it cannot be."""
        try:
            if (first := self._replay(request)) is not None:
                return first
            decision = self._decide(request)
        except DiscreetError as error:
            return error
        return self._enter(request, decision)

    def _decide(self, request: Request) -> Decision:
        """What the step says; and what goes along with it, behind a savepoint, so that its failure is its own."""
        now = max(self.now, self.tree.time)
        if request.along is None:
            return request.step.decide(self.accounts, number=self.tree.size, now=now)
        restore = self.accounts.remember(request.step.budgets(), request.step.reservations())
        decision = request.step.decide(self.accounts, number=self.tree.size, now=now)
        if decision.outcome in DENIED:
            return decision
        try:
            with self.connection.begin_nested():
                request.along(self.connection)
        except DiscreetError:
            restore()
            raise
        return decision

    def _replay(self, request: Request) -> Receipt | None:
        first = self.known.get((request.actor, request.key))
        return None if first is None else Receipt(request.recognise(first.entry), first.leaf, replayed=True)

    def _enter(self, request: Request, decision: Decision) -> Receipt:
        entry = self._entry(request, decision)
        body = entry.body()
        receipt = Receipt(entry, self.tree.append(body))
        self.tree.time = entry.time
        self.rows.append(row_of(entry, body, receipt.leaf))
        self.known[request.actor, request.key] = receipt
        return receipt

    def _entry(self, request: Request, decision: Decision) -> Entry:
        late = self.now < self.tree.time
        return Entry(
            sequence=self.tree.size,
            time=self.tree.time if late else self.now,
            clock=self.now if late else None,
            actor=request.actor,
            room=request.room,
            event=request.event,
            outcome=decision.outcome,
            subject=request.subject,
            risk_before=request.risk_before,
            risk_after=request.risk_after,
            policy=request.policy,
            key=request.key,
            budget=decision.charge,
            details=request.details,
            previous=self.tree.last,
        )


def write(
    connection: Connection, requests: Sequence[Request], *, keys: Keys, clock: Clock, seen: Tree | None
) -> tuple[list[Outcome], Tree]:
    """Decide on the requests in order and write all of it; gives what became of each, and the tree afterwards.

    `seen` is the tree that this process wrote or read last. Nothing holds until the transaction is committed.
    """
    tree = _locked(connection, keys, seen)
    was = tree.size
    steps = [request.step for request in requests]
    batch = Batch(
        connection,
        tree,
        Accounts.load(
            connection,
            [name for step in steps for name in step.budgets()],
            [number for step in steps for number in step.reservations()],
        ),
        timestamp(clock()),
        _known(connection, tree, requests),
    )
    outcomes = [batch.take(request) for request in requests]
    if batch.rows:
        connection.execute(insert(ENTRY), batch.rows)
        batch.accounts.save(connection)
        tree.save(connection, keys, was=was)
    return outcomes, tree


def _locked(connection: Connection, keys: Keys, seen: Tree | None) -> Tree:
    tree = Tree.lock(connection)
    tree.check(connection, seen)
    if (tree.key, tree.values_check) != (keys.public, keys.values_check):
        raise IntegrityError(
            "The ledger is signed with other keys than ours.", remedy="Give its keys in DISCREET_KEYS."
        )
    return tree


def _known(connection: Connection, tree: Tree, requests: Sequence[Request]) -> dict[tuple[str, str], Receipt]:
    wanted = {(request.actor, request.key) for request in requests}
    found = connection.execute(_KNOWN, {"keys": [request.key for request in requests]}).all()
    return {
        (row.actor, row.key): proven(connection, tree, row.sequence, row.body)
        for row in found
        if (row.actor, row.key) in wanted
    }
