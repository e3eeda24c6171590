"""Engines as a ledger needs them: a commit that returned is on the disk, and a writer waits for its turn."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event

from discreet.errors import MissingExtra, StoreUnreachable
from discreet.store.address import Address

PATIENCE = 30
"""Seconds to wait for a lock."""

WRITING = "discreet_writing"
"""Execution option of a connection that will write, so that SQLite takes its lock at the beginning."""

SQLITE_PRAGMAS = (
    f"PRAGMA busy_timeout = {PATIENCE * 1000}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a commit that returned survives a power cut
    "PRAGMA fullfsync = ON",  # so that it does on macOS, too; nothing elsewhere
    "PRAGMA foreign_keys = ON",
)

POSTGRES_SETTINGS = (
    f"SET lock_timeout = '{PATIENCE}s'",
    "SET idle_in_transaction_session_timeout = '60s'",  # a frozen writer does not hold everybody up
)


def connect(address: Address) -> Engine:
    """An engine for this address; nothing is opened yet."""
    return _sqlite(address) if address.embedded else _postgres(address)


def make_file(path: Path) -> None:
    """An empty file that only its owner reads, in a folder of its own if there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreUnreachable(
            f"The store {path} cannot be made or opened ({type(error).__name__}).",
            remedy="Give a path in a folder you may write to, with --store or DISCREET_STORE.",
        ) from None


def _sqlite(address: Address) -> Engine:
    options = {"isolation_level": None, "timeout": PATIENCE}  # we say BEGIN ourselves
    engine = create_engine(address.url, hide_parameters=True, connect_args=options, pool_size=8, max_overflow=56)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        for pragma in SQLITE_PRAGMAS:
            connection.execute(pragma)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITING)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres(address: Address) -> Engine:
    try:
        import psycopg  # noqa: F401 - asked for here, so that its absence is said in words
    except ImportError:
        raise MissingExtra("postgres", needed_for="A store in PostgreSQL") from None
    options = {"connect_timeout": 10}
    engine = create_engine(
        address.url, hide_parameters=True, connect_args=options, pool_pre_ping=True, pool_size=8, max_overflow=24
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            for setting in POSTGRES_SETTINGS:
                cursor.execute(setting)
            cursor.execute("SHOW synchronous_commit")
            if cursor.fetchone()[0] == "off":
                cursor.execute("SET synchronous_commit = on")
        connection.commit()

    return engine
