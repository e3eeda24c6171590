"""Group commit: one thread takes all requests that wait, writes them in one transaction, and answers after its commit."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from time import monotonic

from discreet.errors import StoreError, StoreUnreachable, UsageError
from discreet.ledger.commit import Clock, Outcome, write
from discreet.ledger.keys import Keys
from discreet.ledger.receipt import Receipt
from discreet.ledger.request import Request
from discreet.ledger.tree import Tree
from discreet.store import Store

LARGEST_BATCH = 1_000
LINGER = 0.001
"""Seconds that a batch waits for company at most, and only while requests come in company."""

Ticket = tuple[Request, "Future[Receipt]"]


class Writer:
    """Takes requests from any thread. The thread that writes is started by the first request."""

    def __init__(self, store: Store, *, keys: Keys, clock: Clock) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._waiting: SimpleQueue[Ticket | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._seen: Tree | None = None
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
        going, size = True, 1
        while going:
            tickets, going = self._gather(size)
            size = len(tickets)
            if awaited := [ticket for ticket in tickets if ticket[1].set_running_or_notify_cancel()]:
                self._answer(awaited)

    def _gather(self, expected: int) -> tuple[list[Ticket], bool]:
        """The requests that wait, at least one; and whether to go on after them.

        Those who were answered a moment ago are likely to ask again: as many as there were are waited for, but not long.
        """
        tickets = [self._waiting.get()]
        until = monotonic() + LINGER
        try:
            while len(tickets) < LARGEST_BATCH:
                rest = until - monotonic() if len(tickets) < expected else 0.0
                tickets.append(self._waiting.get(timeout=rest) if rest > 0 else self._waiting.get_nowait())
        except Empty:
            pass
        real = [ticket for ticket in tickets if ticket is not None]
        return real, len(real) == len(tickets)

    def _answer(self, group: Sequence[Ticket]) -> None:
        outcomes = self._outcomes([request for request, _ in group])
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Receipt):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)

    def _outcomes(self, requests: list[Request]) -> Sequence[Receipt | BaseException]:
        try:
            return self._persistently(requests)
        except StoreError as error:
            return [error] * len(requests)
        except BaseException as error:
            if len(requests) == 1:
                return [error]
        return [self._outcomes([request])[0] for request in requests]

    def _persistently(self, requests: list[Request]) -> list[Outcome]:
        """Once more if the connection broke: what was committed unseen is recognised by its keys."""
        try:
            return self._once(requests)
        except StoreUnreachable:
            return self._once(requests)

    def _once(self, requests: list[Request]) -> list[Outcome]:
        with self._store.writing() as connection:
            outcomes, tree = write(connection, requests, keys=self._keys, clock=self._clock, seen=self._seen)
        self._seen = tree
        return outcomes
