"""Open store: transactions to read and to write, on SQLite or PostgreSQL, and their errors in plain words."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from discreet.errors import (
    IntegrityError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    StoreUnreachable,
    UsageError,
)
from discreet.store import connection as store_connection
from discreet.store.connection import Address

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
            if store._format() < store_connection.NEWEST:
                with store.writing() as connection:
                    store_connection.migrate(connection)
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
            return kind, store._format() or None
        finally:
            store.close()

    def _format(self) -> int:
        """The number of the store's last migration; refuses what is not a store, or a newer one.

        SQLite does not queue processes that turn on the write-ahead log at once: the first reading is tried again.
        """
        for attempt in range(ATTEMPTS):
            try:
                first = self._connect(write=False)
                break
            except StoreBusy:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(0.02)
        with translated(self.address), first as connection, connection.begin():
            number, newest = store_connection.revision(connection), store_connection.NEWEST
            if number > newest:
                raise StoreTooNew(
                    f"The store {self.address} has format {number}; this version of Discreet knows formats up to {newest}.",
                    remedy="Update Discreet on this machine.",
                )
            if self.address.embedded and number == 0 and inspect(connection).get_table_names():
                raise UsageError(
                    f"{self.address} is a SQLite file of another program.",
                    remedy="Give the path of a store, or of a file that does not exist yet.",
                )
        return number

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
        # Threads of one process queue for a SQLite file here; SQLite itself would poll its lock.
        queues = self.address.embedded
        if queues and not self._turn.acquire(timeout=store_connection.PATIENCE):
            raise problem(StoreBusy, self.address)
        try:
            with translated(self.address), self._connect(write=True) as connection, connection.begin():
                yield connection
        finally:
            if queues:
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


# Database errors: one class per remedy, never a value of a statement.
SQLITE: dict[str, type[StoreError]] = {
    "SQLITE_FULL": StoreFull,
    "SQLITE_BUSY": StoreBusy,
    "SQLITE_LOCKED": StoreBusy,
    "SQLITE_READONLY": StoreReadOnly,
    "SQLITE_PERM": StoreUnreachable,
    "SQLITE_CANTOPEN": StoreUnreachable,
    "SQLITE_IOERR": StoreUnreachable,
    "SQLITE_AUTH": StoreUnreachable,
}
"""By the beginning of SQLite's own name of the error."""

DAMAGED = ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FORMAT")

POSTGRES: dict[str, type[StoreError]] = {
    "53100": StoreFull,
    "53200": StoreFull,
    "25006": StoreReadOnly,
    "55P03": StoreBusy,
    "40": StoreBusy,
    "57014": StoreBusy,
    "53300": StoreBusy,
    "08": StoreUnreachable,
    "28": StoreUnreachable,
    "3D": StoreUnreachable,
    "42501": StoreReadOnly,
    "57P": StoreUnreachable,
    "25P": StoreUnreachable,
}
"""By the beginning of the SQLSTATE; the longest wins."""

WORDS: dict[type[StoreError], tuple[str, str]] = {
    StoreFull: ("is full: nothing more can be written", "Free space on its disk; nothing that was confirmed is lost."),
    StoreBusy: ("is locked by another program", "Try again; if this continues, find out which program writes to it."),
    StoreReadOnly: ("cannot be written", "Grant this user write access to the file and its folder, or to the tables."),
    StoreUnreachable: (
        "cannot be reached",
        "Check that it exists, that its server runs and that this user may open it.",
    ),
}


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Translate errors of the database into errors of this package."""
    try:
        yield
    except PoolTimeout:
        raise problem(StoreBusy, address) from None
    except DBAPIError as error:
        cause = error.orig
        name = getattr(cause, "sqlite_errorname", None) or ""
        state = getattr(cause, "sqlstate", None) or ""
        if name.startswith(DAMAGED):
            raise IntegrityError(
                f"{address} is not a SQLite file, or it is damaged.", remedy="Check the path, or restore a backup."
            ) from None
        if name.startswith("SQLITE_CONSTRAINT") or state.startswith("23"):
            raise IntegrityError(
                f"The store {address} refused a change that its rules forbid.", remedy="Run: discreet ledger verify"
            ) from None
        kinds = SQLITE if name else POSTGRES
        start = max((start for start in kinds if (name or state).startswith(start)), key=len, default=None)
        if start is not None:
            raise problem(kinds[start], address) from None
        if error.connection_invalidated or not (name or state or isinstance(cause, sqlite3.Error)):
            raise problem(StoreUnreachable, address) from None
        raise StoreError(
            f"The store {address} answered {name or state or type(cause).__name__}.",
            remedy="Run: discreet ledger verify",
        ) from None
    except SQLAlchemyError as error:
        raise StoreUnreachable(
            f"The store {address} gave {type(error).__name__}.", remedy="Check its address."
        ) from None


def problem(kind: type[StoreError], address: Address) -> StoreError:
    """An error of this kind about this store."""
    words, remedy = WORDS[kind]
    return kind(f"The store {address} {words}.", remedy=remedy)
