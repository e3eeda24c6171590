"""The gateway's own connections, on which everything runs that governed users are answered from.

They are read only, find nothing but the server's own functions, and have the client's settings of how values are written.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import MissingExtra, SourceNotFound
from discreet.gateway.protocol.data_rows import DataRows
from discreet.gateway.protocol.framing import ROWS, Framer
from discreet.gateway.protocol.messages import (
    ResultColumn,
    error_of,
    query_message,
    row_description_of,
    statement_messages,
)

COPIED = ("DateStyle", "TimeZone", "IntervalStyle", "extra_float_digits", "bytea_output")
"""Settings of the client's session that decide how values are written."""
SECONDS = 50
"""How long a statement may run; sessions wait a little longer for it."""
ROW = 64
"""What a row takes besides its values."""
CHUNK = 256
RECEIVED = 1 << 18
_BYTES = 17
WAIT = 2.0 * SECONDS
"""Longer than that the server does not stay silent."""
CANCELS = 50
IDLE = 8
"""So many connections are kept open."""
ROLES = """
WITH RECURSIVE member(oid) AS (
  SELECT oid FROM pg_catalog.pg_roles WHERE rolname = %s
  UNION SELECT m.roleid FROM pg_catalog.pg_auth_members m JOIN member ON m.member = member.oid)
SELECT r.rolname::text FROM pg_catalog.pg_roles r JOIN member USING (oid)"""
_BEGIN = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


def described_columns(found: Any, code: int = 0) -> tuple[ResultColumn, ...]:
    """Columns of a result that the library has read."""
    return tuple(
        ResultColumn(
            (found.fname(place) or b"").decode("utf-8", "replace"),
            0,
            0,
            found.ftype(place),
            found.fsize(place),
            found.fmod(place),
            code,
        )
        for place in range(found.nfields)
    )


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


class ResultRoom:
    """Memory that one result may take, and all results at a time."""

    def __init__(self, largest: int = 64 << 20, together: int = 512 << 20) -> None:
        self.largest, self._together = largest, together
        self.taken = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Take so much more, if it is there."""
        with self._lock:
            fits = self.taken + size <= self._together
            self.taken += size if fits else 0
        return fits

    def give(self, size: int) -> None:
        """Give it back."""
        with self._lock:
            self.taken -= size


class OwnRun:
    """One snapshot on one connection."""

    def __init__(
        self,
        connection: Any,
        room: ResultRoom,
        settings: Mapping[str, str] | None = None,
        *,
        lost: Callable[[], SourceNotFound],
        snapshot: bool = False,
    ) -> None:
        self.connection, self._room, self._lost = connection, room, lost
        self._begins = snapshot
        """Whether a transaction begins with the next statement."""
        self.began = False
        self._over, self._cancelling = threading.Event(), threading.Lock()
        self.taken = 0
        """Memory that its results take."""
        self._settings = settings

    @cached_property
    def settings(self) -> str:
        """How values are written here, on which depends what expressions mean."""
        if self._settings is None:
            shown = ", ".join(f"pg_catalog.current_setting('{name}')" for name in COPIED)
            return repr(self.ask(f"SELECT {shown}")[0])
        return repr(tuple(self._settings.get(name) for name in COPIED))

    def ask(self, sql: str, values: tuple[Any, ...] = (), *, binary: bool = False) -> list[tuple[Any, ...]]:
        """Rows of a statement; $1 and so on are its values."""
        psycopg = driver()
        self._begin()
        try:
            with psycopg.RawCursor(self.connection) as cursor:
                cursor.execute(sql.encode(), values or None, prepare=False, binary=binary)
                return list(cursor.fetchall())
        except psycopg.Error as problem:
            raise self._problem(problem) from None

    def marks(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows in binary format: people as bytes take half the room."""
        return self.ask(sql, binary=True)

    def _begin(self) -> None:
        if self._takes_snapshot() and self.connection.pgconn.exec_(_BEGIN).status != driver().pq.ExecStatus.COMMAND_OK:
            raise self._lost()

    def _takes_snapshot(self) -> bool:
        """Whether the transaction is still to be begun; whoever asks begins it."""
        begins, self._begins = self._begins, False
        self.began = self.began or begins
        return begins

    def rows(
        self, sql: str, values: tuple[bytes, ...] = (), formats: Sequence[int] = (), *, hidden: int = 0
    ) -> tuple[tuple[ResultColumn, ...], DataRows]:
        """Columns and rows as the server sends them; OwnError if they are too large.

        Before the columns in the client's `formats` come hidden ones, which are text.
        """
        link = self.connection.pgconn
        encrypted = link.ssl_in_use or link.used_gssapi
        codes = [0] * hidden + [*formats] if any(formats) else []
        return (self._by_library if encrypted else self._exchanged)(sql, values, codes)

    def _exchanged(
        self, sql: str, values: Sequence[bytes], formats: Sequence[int]
    ) -> tuple[tuple[ResultColumn, ...], DataRows]:
        """By the library's socket, which it leaves alone between its own statements: rows are never cut into cells."""
        columns: tuple[ResultColumn, ...] = ()
        problem: OwnError | None = None
        rows: list[bytes] = []
        size, framer = 0, Framer(runs=ROWS)
        with socket.socket(fileno=os.dup(self.connection.pgconn.socket)) as wire:
            wire.settimeout(WAIT)
            first = query_message(_BEGIN.decode()) if self._takes_snapshot() else b""
            waiting = 2 if first else 1
            wire.sendall(first + statement_messages(sql, values, formats))
            while True:
                framer.feed(self._received(wire, problem))
                while (frame := framer.next()) is not None:
                    if frame.kind == ord("Z"):
                        waiting -= 1
                        if waiting:
                            continue
                        if problem is not None:
                            raise problem
                        return columns, DataRows(b"".join(rows))
                    if frame.kind == ord("T"):
                        columns = row_description_of(frame.body)
                    elif frame.kind == ord("E"):
                        code, text = error_of(frame.body)
                        problem = problem or OwnError(code, text)
                    elif frame.kind == ord("D") and problem is None:
                        rows.append(frame.raw)
                        size += len(frame.raw)
                        problem = self._fitting(len(frame.raw), size)

    def _received(self, wire: socket.socket, problem: OwnError | None) -> bytes:
        try:
            data = wire.recv(RECEIVED)
        except OSError:
            data = b""
        if not data:
            self.connection.close()
            raise problem or self._lost()
        return data

    def _fitting(self, more: int, size: int) -> OwnError | None:
        """Take room for what has come; where there is none, the statement ends."""
        if size > self._room.largest:
            problem = OwnError("54000", f"the result is larger than {self._room.largest >> 20} MiB")
        elif not self._room.take(more):
            problem = OwnError("54000", "the gateway reads as many large results as it may")
        else:
            self.taken += more
            return None
        with suppress(driver().Error):
            self.connection.cancel_safe(timeout=5.0)
        return problem

    def _by_library(
        self, sql: str, values: Sequence[bytes], formats: Sequence[int]
    ) -> tuple[tuple[ResultColumn, ...], DataRows]:
        """Where the library encrypts, only it can read, and in one format at a time."""
        self._begin()
        found = {code: self._in_format(sql, values, code) for code in sorted(set(formats)) or [0]}
        if len(found) < 2:
            ((columns, rows),) = found.values()
            return columns, DataRows.of(rows)
        columns = tuple(replace(one, format=code) for one, code in zip(found[0][0], formats, strict=True))
        both = (zip(formats, *pair, strict=True) for pair in zip(found[0][1], found[1][1], strict=True))
        return columns, DataRows.of([binary if code else text for code, text, binary in row] for row in both)

    def _in_format(
        self, sql: str, values: Sequence[bytes], code: int
    ) -> tuple[tuple[ResultColumn, ...], list[tuple[bytes | None, ...]]]:
        pq, link = driver().pq, self.connection.pgconn
        link.send_query_params(sql.encode(), list(values), result_format=code)
        if pq.version() >= 170000:
            link.set_chunked_rows_mode(CHUNK)
        else:
            link.set_single_row_mode()
        loader = driver().adapt.Transformer(self.connection)
        rows: list[tuple[bytes | None, ...]] = []
        size, last, problem = 0, None, None
        for found in self._arriving():
            if found.status == pq.ExecStatus.FATAL_ERROR:
                problem = problem or self._error(found)
                continue
            last = found
            if problem is None and found.ntuples:
                loader.set_pgresult(found, set_loaders=False)
                loader.set_loader_types([_BYTES] * found.nfields, pq.Format.BINARY)
                some = loader.load_rows(0, found.ntuples, tuple)
                more = len(b"".join(filter(None, chain.from_iterable(some)))) + ROW * len(some)
                rows += some
                size += more
                problem = self._fitting(more, size)
        if problem is not None:
            raise problem
        return described_columns(last, code), rows

    def _arriving(self) -> Iterator[Any]:
        """Results as they come, without holding up other threads."""
        link = self.connection.pgconn
        with selectors.DefaultSelector() as selector:
            selector.register(link.socket, selectors.EVENT_READ | selectors.EVENT_WRITE)
            while link.flush():
                selector.select()
                link.consume_input()
            selector.modify(link.socket, selectors.EVENT_READ)
            while True:
                while link.is_busy():
                    selector.select()
                    link.consume_input()
                found = link.get_result()
                if found is None:
                    return
                yield found

    def cancel(self) -> None:
        """Stop what runs; a server that has not begun yet, or is busy, is asked again."""
        for _ in range(CANCELS):
            with self._cancelling:
                if self._over.is_set():
                    return
                with suppress(driver().Error):
                    self.connection.cancel_safe(timeout=5.0)
            self._over.wait(0.2)

    def over(self) -> None:
        """Nothing runs any more: whoever has the connection next is not cancelled."""
        with self._cancelling:
            self._over.set()

    def described(self, sql: str, types: tuple[int, ...] = ()) -> Any:
        """Columns and parameters of a statement, which is not run."""
        self._begin()
        pq, link = driver().pq, self.connection.pgconn
        found = link.prepare(b"", sql.encode(), list(types) or None)
        if found.status == pq.ExecStatus.COMMAND_OK:
            found = link.describe_prepared(b"")
        if found.status != pq.ExecStatus.COMMAND_OK:
            raise self._error(found)
        return found

    @staticmethod
    def _error(found: Any) -> OwnError:
        field = driver().pq.DiagnosticField
        code = (found.error_field(field.SQLSTATE) or b"57P03").decode()
        return OwnError(code, (found.error_field(field.MESSAGE_PRIMARY) or b"").decode("utf-8", "replace"))

    @staticmethod
    def _problem(problem: Any) -> OwnError:
        return OwnError(problem.sqlstate or "57P03", str(problem.diag.message_primary or ""))


class OwnConnections:
    """A pool of them; each is used by one statement at a time."""

    def __init__(self, url: str, *, seconds: int = SECONDS, room: ResultRoom | None = None) -> None:
        self.url, self._seconds, self._room = url, seconds, room or ResultRoom()
        self._idle: list[tuple[Any, dict[str, str]]] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def run(self, settings: Mapping[str, str] | None = None, *, snapshot: bool = True) -> Iterator[OwnRun]:
        """A connection with a client's settings, in one snapshot if wanted."""
        connection, known = self._take()
        broken, run = True, None
        try:
            try:
                wanted = {name: settings[name] for name in COPIED if settings and name in settings}
                changed = {name: value for name, value in wanted.items() if known.get(name) != value}
                if changed:
                    names = ", ".join(
                        f"pg_catalog.set_config('{name}', ${place}, false)" for place, name in enumerate(changed, 1)
                    )
                    asked = OwnRun(connection, self._room, lost=self._unreachable)
                    asked.ask(f"SELECT {names}", tuple(changed.values()))
                    known.update(changed)
            except driver().Error:
                raise self._unreachable() from None
            said = wanted if len(wanted) == len(COPIED) else None
            run = OwnRun(connection, self._room, said, lost=self._unreachable, snapshot=snapshot)
            yield run
            broken = False
        except OwnError:
            broken = False
            raise
        finally:
            if run is not None:
                run.over()
                self._room.give(run.taken)
            self._give(connection, known, broken=broken, began=run is not None and run.began)

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
            self._give(connection, known, broken=broken)

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
                with suppress(driver().Error):
                    while connection.pgconn.get_result() is not None:  # of the ROLLBACK
                        pass
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

    def _give(self, connection: Any, known: dict[str, str], *, broken: bool, began: bool = False) -> None:
        psycopg, ended = driver(), False
        if began and not broken and not connection.closed:
            with suppress(psycopg.Error):  # nobody waits for that; it is over when the connection is taken again
                connection.pgconn.send_query(b"ROLLBACK")
                connection.pgconn.flush()
                ended = True
        idle = not began and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if (ended or idle) and not broken and not self._closed and len(self._idle) < IDLE:
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
