"""Admin connection of the gateway: definitions, plans and counts of people.

Counting goes on beside the sessions: until a new count is there, the old one holds. A tuple that the count does not
know is a crowd of one, so rows that came since are taken for recognisable.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import (
    DataError,
    DiscreetError,
    EmptySource,
    MissingExtra,
    SourceNotFound,
    SourceUnreadable,
    UsageError,
)
from discreet.kernel import Classes
from discreet.misuse import Prepared, prepare
from discreet.policy.gateway_section import GatewayPolicy, GovernedTable
from discreet.sources.postgres.engine import PostgresEngine
from discreet.sources.postgres.rows import PostgresRelation
from discreet.sources.server import quote, quoted

# The gateway's own connection to the database: for definitions, plans and counts, never for what users ask.
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


@dataclass(frozen=True)
class Counted:
    """A table, counted."""

    prepared: Prepared | None
    """None for an empty table, or one without quasi-identifiers."""
    rows: int
    at: float
    """When, on the monotonic clock."""
    changes: int
    """How many rows had been changed by then."""


class Histograms:
    """The counts of all governed tables."""

    def __init__(self, own: Own, policy: GatewayPolicy) -> None:
        self._own = own
        self._policy = policy
        self._counted: Mapping[str, Counted] = {}
        self.unique: frozenset[str] = frozenset()
        """Tables in which nobody has two rows."""

    def of(self, table: str) -> Counted:
        """The count of a table that holds now."""
        return self._counted[table]

    def count_all(self, tables: Mapping[str, GovernedTable], oids: Mapping[str, list[int]]) -> None:
        """Count every table; at the start."""
        self._counted = {name: self._count(table, oids[name]) for name, table in tables.items()}

    def refresh(self, tables: Mapping[str, GovernedTable], oids: Mapping[str, list[int]]) -> list[str]:
        """Count those again that are old or have changed much; the names of these."""
        due = [name for name in tables if self._is_due(name, oids[name])]
        for name in due:
            self._counted = {**self._counted, name: self._count(tables[name], oids[name])}
        return due

    def _is_due(self, name: str, oids: list[int]) -> bool:
        counted = self._counted.get(name)
        if counted is None or time.monotonic() - counted.at >= self._policy.refresh_seconds:
            return True
        changed = self._own.changes(oids) - counted.changes
        return changed >= self._policy.refresh_changes or changed < 0  # the server's statistics were reset

    def _count(self, table: GovernedTable, oids: list[int]) -> Counted:
        began, changes = time.monotonic(), self._own.changes(oids)
        self._refuse_too_many(table)
        # People, not rows: where a person may have several rows, each of their tuples counts once.
        if table.name in self.unique or not table.key:
            relation = PostgresRelation(self._own.url, table=full(table.name))
        else:
            columns = ", ".join(quote(name) for name in (*table.key, *table.quasi))
            people = f"SELECT DISTINCT {columns} FROM {quoted(full(table.name))}"  # noqa: S608 - quoted
            relation = PostgresRelation(self._own.url, query=people)
        try:
            histogram = PostgresEngine(relation).count([*table.quasi])
        except EmptySource:
            return Counted(None, 0, began, changes)
        except DataError:
            raise may_not_read(table.name) from None
        rows = int(histogram.counts.sum())
        if not rows or not table.quasi:
            return Counted(None, rows, began, changes)
        return Counted(prepare(Classes.from_histogram(histogram), table.quasi), rows, began, changes)

    def _refuse_too_many(self, table: GovernedTable) -> None:
        most = self._policy.largest_histogram
        columns = ", ".join(quote(name) for name in table.quasi)
        if not columns:
            return
        ask = f"SELECT count(*) FROM (SELECT 1 FROM {quoted(full(table.name))} GROUP BY {columns} LIMIT {most + 1}) AS alike"  # noqa: S608 - quoted
        with self._own.cursor() as cursor:
            try:
                (found,) = cursor.execute(ask).fetchone()
            except DiscreetError:
                raise
            except Exception:
                raise may_not_read(table.name) from None
        if found > most:
            raise UsageError(
                f"Table '{table.name}' has more than {most:,} distinct tuples of quasi-identifiers.",
                remedy="Raise largest_histogram in [gateway], or list fewer quasi-identifiers for it.",
            )


def full(name: str) -> str:
    """The name with its schema.

    >>> full("patients"), full("clinic.patients")
    ('public.patients', 'clinic.patients')
    """
    return name if "." in name else f"public.{name}"
