"""Group commit: waiting requests in one transaction; the only code that spends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from discreet.errors import DiscreetError, IntegrityError, StoreError, StoreUnreachable, UsageError
from discreet.ledger.accounts import Accounts
from discreet.ledger.entry import Entry, row_of, timestamp
from discreet.ledger.keys import Keys
from discreet.ledger.merkle import MerkleTree
from discreet.ledger.operations import DENIED, Decision, Receipt, Request
from discreet.ledger.queries import proven
from discreet.store import Address, Store
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
    tree: MerkleTree
    accounts: Accounts
    now: str
    known: dict[tuple[str, str], Receipt]
    rows: list[dict[str, Any]] = field(default_factory=list)

    def take(self, request: Request) -> Outcome:
        """Decide on one request and write it down, or say why it cannot be."""
        try:
            first = self.known.get((request.actor, request.key))
            if first is not None:
                return Receipt(request.recognise(first.entry), first.leaf, replayed=True)
            decision = self._decide(request)
        except DiscreetError as error:
            return error
        late = self.now < self.tree.time
        entry = Entry(
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
        body = entry.body()
        receipt = Receipt(entry, self.tree.append(body))
        self.tree.time = entry.time
        self.rows.append(row_of(entry, body, receipt.leaf))
        self.known[request.actor, request.key] = receipt
        return receipt

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


def keys_of(tree: MerkleTree, known: Keys | None, address: Address) -> Keys:
    """The keys that sign this tree: those that are known, or what is in their place now, after a rotation."""
    for keys in (known, None):
        given = keys or Keys.of_store(address)
        fitting = None if given is None else given.for_tree(tree.key)
        if fitting is not None and (tree.key, tree.values_check) == (fitting.public, fitting.values_check):
            return fitting
    raise IntegrityError(
        f"The ledger in {address} is signed with other keys than those that are given for it.",
        remedy="Say in DISCREET_KEYS where its file of keys is; every program that writes to it needs the same.",
    )


def write(
    connection: Connection,
    requests: Sequence[Request],
    *,
    keys: Keys,
    clock: Clock,
    store: Store,
    seen: MerkleTree | None,
) -> tuple[list[Outcome], MerkleTree, Keys]:
    """Decide on the requests in order and write all of it; gives what became of each, the tree afterwards, and its keys.

    `seen` is the tree that this process wrote or read last. Nothing holds until the transaction is committed.
    """
    tree = MerkleTree.lock(connection)
    tree.check(connection, seen)
    keys = keys_of(tree, keys, store.address)
    was = tree.size
    steps = [request.step for request in requests]
    budgets = [name for step in steps for name in step.budgets()]
    reservations = [number for step in steps for number in step.reservations()]
    accounts = Accounts.load(connection, budgets, reservations)
    # Requests that were answered before, by their keys.
    wanted = {(request.actor, request.key) for request in requests}
    known = {
        (row.actor, row.key): proven(connection, tree, row.sequence, row.body)
        for row in connection.execute(_KNOWN, {"keys": [request.key for request in requests]}).all()
        if (row.actor, row.key) in wanted
    }
    batch = Batch(connection, tree, accounts, timestamp(clock()), known)
    outcomes = [batch.take(request) for request in requests]
    if batch.rows:
        connection.execute(insert(ENTRY), batch.rows)
        batch.accounts.save(connection)
        tree.save(connection, keys, was=was)
    return outcomes, tree, keys


# Group commit: one thread takes all requests that wait, writes them in one transaction, and answers after its commit.
LARGEST_BATCH = 1_000
LINGER = 0.001
"""Seconds that a batch waits for company at most, and only while requests come in company."""

Ticket = tuple[Request, "Future[Receipt]"]


class Writer:
    """Takes requests from any thread. The thread that writes is started by the first request."""

    def __init__(self, store: Store, *, keys: Keys, clock: Clock) -> None:
        self._store = store
        self.keys = keys
        self._clock = clock
        self._waiting: SimpleQueue[Ticket | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._seen: MerkleTree | None = None
        """The tree as this process wrote or read it last."""

    def submit(self, request: Request) -> Future[Receipt]:
        """Hand in a request; the future gives its receipt when its entry is durable.

        After a StoreError it is not known whether there is an entry: ask again with the same key.
        """
        future: Future[Receipt] = Future()
        with self._starting:
            if self._closed:
                raise UsageError("The ledger is closed.", remedy="Open it again.")
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="discreet-ledger", daemon=True)
                self._thread.start()
            self._waiting.put((request, future))
        return future

    def close(self) -> None:
        """Write what waits, then stop."""
        with self._starting:
            self._closed = True
            thread = self._thread
            self._waiting.put(None)
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        """Take the requests that wait, at least one, write them together and answer; until there are no more."""
        going, expected = True, 1
        while going:
            # Those who were answered a moment ago are likely to ask again: so many are waited for, but not long.
            waiting = [self._waiting.get()]
            until = monotonic() + LINGER
            with suppress(Empty):
                while len(waiting) < LARGEST_BATCH:
                    rest = until - monotonic() if len(waiting) < expected else 0.0
                    waiting.append(self._waiting.get(timeout=rest) if rest > 0 else self._waiting.get_nowait())
            tickets = [ticket for ticket in waiting if ticket is not None]
            going, expected = len(tickets) == len(waiting), len(tickets)
            tickets = [ticket for ticket in tickets if ticket[1].set_running_or_notify_cancel()]
            if not tickets:
                continue
            outcomes = self._outcomes([request for request, _ in tickets])
            for (_, future), outcome in zip(tickets, outcomes, strict=True):
                if isinstance(outcome, Receipt):
                    future.set_result(outcome)
                else:
                    future.set_exception(outcome)

    def _outcomes(self, requests: list[Request]) -> Sequence[Receipt | BaseException]:
        try:
            # Once more if the connection broke: what was committed unseen is recognised by its keys.
            try:
                return self._once(requests)
            except StoreUnreachable:
                return self._once(requests)
        except StoreError as error:
            return [error] * len(requests)
        except BaseException as error:
            if len(requests) == 1:
                return [error]
        return [self._outcomes([request])[0] for request in requests]

    def _once(self, requests: list[Request]) -> list[Outcome]:
        with self._store.writing() as connection:
            outcomes, tree, keys = write(
                connection, requests, keys=self.keys, clock=self._clock, store=self._store, seen=self._seen
            )
        self._seen, self.keys = tree, keys
        return outcomes
