"""New stores at little cost: what migrations ran for the first one is run again for the others, and statements are
compiled once for all SQLite files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, event, text

from discreet.store import connection as store_connection

READS = ("SELECT", "PRAGMA", "SHOW")
_RAN: dict[str, list[tuple[str, Any]]] = {}
"""Per kind of database, what bringing an empty store up to date runs."""
_FIRST: dict[str, Engine] = {}


def recorded(real: Callable[[Connection], None]) -> Callable[[Connection], None]:
    """Migrations that are run for the first empty store of a kind, and repeated for the others."""

    def migrate(connection: Connection) -> None:
        kind = connection.dialect.name
        if kind == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": store_connection.ADVISORY_LOCK})
        if store_connection.revision(connection) != 0:
            real(connection)
        elif kind in _RAN:
            for statement, values in _RAN[kind]:
                connection.exec_driver_sql(statement, values)
        else:
            _RAN[kind] = _watched(real, connection)

    return migrate


def _watched(real: Callable[[Connection], None], connection: Connection) -> list[tuple[str, Any]]:
    ran: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, values: Any, ___: Any, many: bool) -> None:
        if not statement.lstrip().upper().startswith(READS):
            assert not many, statement
            ran.append((statement, values or None))

    event.listen(connection, "before_cursor_execute", note)
    try:
        real(connection)
    finally:
        event.remove(connection, "before_cursor_execute", note)
    return ran


def alike(real: Callable[..., Engine]) -> Callable[..., Engine]:
    """Engines that share what they have compiled with the first of their kind."""

    def create(url: str, **options: Any) -> Engine:
        engine = real(url, **options)
        if engine.dialect.name == "sqlite":
            first = _FIRST.setdefault("sqlite", engine)
            engine.dialect, engine._compiled_cache = first.dialect, first._compiled_cache
        return engine

    return create
