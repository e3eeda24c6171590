"""Open store: transactions to read and to write, on SQLite or PostgreSQL."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from sqlalchemy import Connection, Engine, text

from discreet.errors import StoreBusy, StoreUnreachable
from discreet.store import connection as store_connection
from discreet.store.connection import Address
from discreet.store.errors import problem, translated

NO_IDLE_TIMEOUT = text("SET LOCAL idle_in_transaction_session_timeout = 0")
"""For readers: a slow reader blocks no writer."""

ATTEMPTS = 50
"""Attempts to turn on the write-ahead log while another process creates the same file."""


class Store:
    """State behind one address; safe to share between threads, and between processes by opening it in each.

    >>> import tempfile, pathlib
    >>> with Store.open(pathlib.Path(tempfile.mkdtemp()) / "store.db") as store, store.reading() as connection:
    ...     connection.exec_driver_sql("SELECT count(*) FROM ledger_entry").scalar()
    0
    """

    def __init__(self, address: Address, engine: Engine) -> None:
        self.address = address
        self.engine = engine
        self._turn = threading.Lock()

    @classmethod
    def open(cls, address: str | os.PathLike[str] | None = None, *, create: bool = True) -> Store:
        """Open and migrate a store; without an address the one in DISCREET_STORE, or the default file."""
        parsed = Address.parse(address)
        if parsed.path is not None:
            if not create and not parsed.path.exists():
                raise StoreUnreachable(
                    f"There is no store at {parsed}.", remedy="Give its address with --store, or in DISCREET_STORE."
                )
            store_connection.make_file(parsed.path)
        store = cls(parsed, store_connection.connect(parsed))
        try:
            store._migrate()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def format_at(cls, address: str | os.PathLike[str] | None = None) -> tuple[str, int | None]:
        """The kind and format of a store, without changing it; None where there is no store yet."""
        parsed = Address.parse(address)
        kind = "SQLite" if parsed.embedded else "PostgreSQL"
        if parsed.path is not None and not parsed.path.exists():
            return kind, None
        store = cls(parsed, store_connection.connect(parsed))
        try:
            with store._first_reading() as connection:
                number = store_connection.revision(connection)
                store_connection.refuse_newer(number, parsed)
                store_connection.refuse_foreign(connection, parsed)
                return kind, number or None
        finally:
            store.close()

    def _migrate(self) -> None:
        with self._first_reading() as connection:
            number = store_connection.revision(connection)
            store_connection.refuse_newer(number, self.address)
            store_connection.refuse_foreign(connection, self.address)
        if number < store_connection.NEWEST:
            with self.writing() as connection:
                store_connection.migrate(connection)

    @contextmanager
    def _first_reading(self) -> Iterator[Connection]:
        """As `reading`, with retries: SQLite does not queue processes that turn on the write-ahead log at once."""
        for attempt in range(ATTEMPTS):
            try:
                connection = self._connect(write=False)
                break
            except StoreBusy:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(0.02)
        with translated(self.address), connection, connection.begin():
            yield connection

    def _connect(self, *, write: bool) -> Connection:
        with translated(self.address):
            return self.engine.connect().execution_options(**{store_connection.WRITING: write})

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the store."""
        options = {} if self.address.embedded else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with translated(self.address), self._connect(write=False) as plain:
            connection = plain.execution_options(**options)
            with connection.begin():
                if not self.address.embedded:
                    connection.execute(NO_IDLE_TIMEOUT)
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is durable when this ends without an error, and undone when it does not."""
        with self._queued(), translated(self.address), self._connect(write=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def _queued(self) -> Iterator[None]:
        """Threads of one process queue for a SQLite file here; SQLite itself would poll its lock."""
        if not self.address.embedded:
            yield
            return
        if not self._turn.acquire(timeout=store_connection.PATIENCE):
            raise problem(StoreBusy, self.address)
        try:
            yield
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.address})"
