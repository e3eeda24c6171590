"""The gateway's own connection to the database: for definitions, plans and counts, never for what users ask."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import MissingExtra, SourceNotFound, SourceUnreadable

ROLES = """
WITH RECURSIVE member(oid) AS (
  SELECT oid FROM pg_catalog.pg_roles WHERE rolname = %s
  UNION SELECT m.roleid FROM pg_catalog.pg_auth_members m JOIN member ON m.member = member.oid)
SELECT r.rolname::text FROM pg_catalog.pg_roles r JOIN member USING (oid)"""
CHANGES = """
SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::int8 FROM pg_catalog.pg_stat_user_tables
 WHERE relid = ANY(%s::oid[])"""


class Own:
    """One connection, opened when it is needed and opened again when it broke; one question at a time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._connection: Any = None
        self._closed = False

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """A cursor in a read-only transaction that is thrown away at the end."""
        with self._lock:
            connection = self._open()
            try:
                with connection.transaction(force_rollback=True), connection.cursor() as cursor:
                    yield cursor
            except driver().OperationalError:
                self._drop()
                raise self._unreachable() from None

    def _open(self) -> Any:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        if self._closed:  # somebody was still looking when the gateway ended
            raise self._unreachable()
        try:
            self._connection = driver().connect(
                self.url, connect_timeout=10, client_encoding="utf8", application_name="discreet gateway"
            )
            self._connection.read_only = True
            self._connection.autocommit = True
        except driver().Error:
            raise self._unreachable() from None
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _unreachable(self) -> SourceNotFound:
        place = urlsplit(self.url).hostname or "this machine"
        return SourceNotFound(
            f"The gateway's own connection to the server on {place} does not work.",
            remedy="Check --own: host, port, database, user and password (PGPASSWORD or ~/.pgpass keep it out of commands).",
        )

    def database(self) -> str:
        """The database that it is connected to."""
        with self.cursor() as cursor:
            (found,) = cursor.execute("SELECT pg_catalog.current_database()").fetchone()
            return str(found)

    def roles(self, user: str) -> frozenset[str]:
        """The roles that a user is a member of, by whichever way, and her own."""
        with self.cursor() as cursor:
            return frozenset(name for (name,) in cursor.execute(ROLES, [user]).fetchall()) | {user}

    def changes(self, oids: list[int]) -> int:
        """How many rows of some tables were ever changed, as far as the server has counted."""
        with self.cursor() as cursor:
            (found,) = cursor.execute(CHANGES, [oids]).fetchone()
            return int(found)

    def close(self) -> None:
        """Give the connection back."""
        with self._lock:
            self._closed = True
            self._drop()


def driver() -> Any:
    """psycopg, if it is installed."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("gateway", needed_for="The gateway's own connection") from None
    return psycopg


def may_not_read(table: str) -> SourceUnreadable:
    """The gateway's own user lacks a privilege."""
    return SourceUnreadable(
        f"The gateway's own user cannot count the rows of table '{table}'.",
        remedy=f"GRANT SELECT ON {table} TO it; row security must let it see all rows.",
    )
