"""The gateway's own connections, on which everything runs that governed users are answered from.

They are read only, find nothing but the server's own functions, and have the client's settings of how values are written.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import MissingExtra, SourceNotFound

COPIED = ("DateStyle", "TimeZone", "IntervalStyle", "extra_float_digits", "bytea_output")
"""Settings of the client's session that decide how values are written."""
SECONDS = 60
"""How long a statement may run."""
IDLE = 8
"""So many connections are kept open."""
ROLES = """
WITH RECURSIVE member(oid) AS (
  SELECT oid FROM pg_catalog.pg_roles WHERE rolname = %s
  UNION SELECT m.roleid FROM pg_catalog.pg_auth_members m JOIN member ON m.member = member.oid)
SELECT r.rolname::text FROM pg_catalog.pg_roles r JOIN member USING (oid)"""
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


def driver() -> Any:
    """psycopg, if it is installed."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("gateway", needed_for="The gateway's own connection") from None
    return psycopg


class OwnError(Exception):
    """The server refused a generated statement: its code, and what it says."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class OwnRun:
    """One snapshot on one connection."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def ask(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Rows of a statement; $1 and so on are its values."""
        psycopg = driver()
        try:
            with psycopg.RawCursor(self.connection) as cursor:
                cursor.execute(sql.encode(), values or None, prepare=False)
                return list(cursor.fetchall())
        except psycopg.Error as problem:
            raise self._problem(problem) from None

    def result(self, sql: str, values: tuple[bytes, ...] = (), *, binary: bool = False) -> Any:
        """A result as the server sends it, in one of the two formats."""
        pq = driver().pq
        found = self.connection.pgconn.exec_params(sql.encode(), list(values), result_format=int(binary))
        if found.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            code = (found.error_field(pq.DiagnosticField.SQLSTATE) or b"XX000").decode()
            raise OwnError(
                code, (found.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode("utf-8", "replace")
            )
        return found

    def described(self, sql: str, types: tuple[int, ...] = ()) -> Any:
        """Columns and parameters of a statement, which is not run."""
        pq, link = driver().pq, self.connection.pgconn
        found = link.prepare(b"", sql.encode(), list(types) or None)
        if found.status == pq.ExecStatus.COMMAND_OK:
            found = link.describe_prepared(b"")
        if found.status != pq.ExecStatus.COMMAND_OK:
            code = (found.error_field(pq.DiagnosticField.SQLSTATE) or b"XX000").decode()
            raise OwnError(
                code, (found.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode("utf-8", "replace")
            )
        return found

    @staticmethod
    def _problem(problem: Any) -> OwnError:
        return OwnError(problem.sqlstate or "57P03", str(problem.diag.message_primary or ""))


class OwnConnections:
    """A pool of them; each is used by one statement at a time."""

    def __init__(self, url: str, *, seconds: int = SECONDS) -> None:
        self.url, self._seconds = url, seconds
        self._idle: list[tuple[Any, dict[str, str]]] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def run(self, settings: Mapping[str, str] | None = None, *, snapshot: bool = True) -> Iterator[OwnRun]:
        """A connection with a client's settings; with a snapshot, all its statements see the same data."""
        connection, known = self._take()
        broken = True
        try:
            try:
                wanted = {name: settings[name] for name in COPIED if settings and name in settings}
                changed = {name: value for name, value in wanted.items() if known.get(name) != value}
                if changed:
                    names = ", ".join(
                        f"pg_catalog.set_config('{name}', ${place}, false)" for place, name in enumerate(changed, 1)
                    )
                    OwnRun(connection).ask(f"SELECT {names}", tuple(changed.values()))
                    known.update(changed)
                if snapshot:
                    connection.execute(_BEGIN)
            except driver().Error:
                raise self._unreachable() from None
            yield OwnRun(connection)
            broken = False
        except OwnError:
            broken = False
            raise
        finally:
            self._give(connection, known, broken=broken, snapshot=snapshot)

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """A cursor in a read-only transaction that is thrown away at the end, for the catalog."""
        psycopg = driver()
        connection, known = self._take()
        broken = True
        try:
            with connection.transaction(force_rollback=True), connection.cursor() as cursor:
                yield cursor
            broken = False
        except psycopg.OperationalError:
            raise self._unreachable() from None
        finally:
            self._give(connection, known, broken=broken, snapshot=False)

    def database(self) -> str:
        """The database that they are connected to."""
        with self.cursor() as cursor:
            return str(cursor.execute("SELECT pg_catalog.current_database()").fetchone()[0])

    def roles(self, user: str) -> frozenset[str]:
        """Roles that a user is a member of, also indirectly, and their own."""
        with self.cursor() as cursor:
            return frozenset(name for (name,) in cursor.execute(ROLES, [user]).fetchall()) | {user}

    def _take(self) -> tuple[Any, dict[str, str]]:
        with self._lock:
            if self._closed:
                raise self._unreachable()
            while self._idle:
                connection, known = self._idle.pop()
                if not connection.closed:
                    return connection, known
        return self._open(), {}

    def _open(self) -> Any:
        psycopg = driver()
        try:
            connection = psycopg.connect(
                self.url,
                connect_timeout=10,
                client_encoding="utf8",
                application_name="discreet gateway",
                autocommit=True,
                prepare_threshold=None,
                options=f"-c default_transaction_read_only=on -c search_path=pg_catalog -c statement_timeout={self._seconds * 1000}",
            )
        except psycopg.Error:
            raise self._unreachable() from None
        with suppress(psycopg.Error):  # only superusers may; for others it is set for their role
            connection.execute("SET track_counts = off")
        return connection

    def _give(self, connection: Any, known: dict[str, str], *, broken: bool, snapshot: bool) -> None:
        psycopg = driver()
        with suppress(psycopg.Error):
            if (
                snapshot
                and not connection.closed
                and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
            ):
                connection.execute("ROLLBACK")
        usable = not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if usable and not broken and not self._closed and len(self._idle) < IDLE:
                self._idle.append((connection, known))
                return
        connection.close()

    def _unreachable(self) -> SourceNotFound:
        place = urlsplit(self.url).hostname or "this machine"
        return SourceNotFound(
            f"The gateway's own connection to the server on {place} does not work.",
            remedy="Check --own: host, port, database, user and password (PGPASSWORD or ~/.pgpass keep it out of commands).",
        )

    def close(self) -> None:
        """Give all connections back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()
