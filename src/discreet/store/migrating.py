"""Bringing a store to the tables this version knows: under a lock, in one transaction, once."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from discreet.errors import StoreTooNew, UsageError
from discreet.store.address import Address

VERSION_TABLE = "discreet_version"
NEWEST = 13
"""The number of the last migration; a test compares it with the files."""

MIGRATIONS = Path(__file__).parent / "migrations"
ADVISORY_LOCK = 0x64697363726574
"""The PostgreSQL advisory lock that migrations hold: two processes that open a store at once take turns."""


def revision(connection: Connection) -> int:
    """The number of the last migration that this store has seen; 0 for an empty one."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return 0
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 - our constant
    return int(found) if found else 0


def refuse_what_is_not_ours(connection: Connection, address: Address) -> None:
    """A SQLite file with tables of somebody else is most likely the wrong file."""
    if address.embedded and revision(connection) == 0 and inspect(connection).get_table_names():
        raise UsageError(
            f"{address} is a SQLite file of another program.", remedy="Give the path of a store, or of no file yet."
        )


def refuse_newer(found: int, address: Address) -> None:
    """A store that a newer version has changed may mean things this version does not understand."""
    if found > NEWEST:
        raise StoreTooNew(
            f"The store {address} has format {found}; this version of Discreet knows formats up to {NEWEST}.",
            remedy="Update Discreet on this machine.",
        )


def migrate(connection: Connection) -> None:
    """Run what is missing, on a connection that holds a write transaction; does nothing if another was quicker."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})
    if revision(connection) >= NEWEST:
        return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
