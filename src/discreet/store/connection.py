"""Connections to the store, and the addresses they are opened from."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from discreet.errors import MissingExtra, StoreUnreachable, UsageError
from discreet.wording import reason

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
    "SET idle_in_transaction_session_timeout = '60s'",  # a frozen writer does not block the others
)


def connect(address: Address) -> Engine:
    """An engine for this address; nothing is opened yet."""
    if address.embedded:
        options: dict[str, Any] = {"isolation_level": None, "timeout": PATIENCE}  # BEGIN is sent by the listener below
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
    try:
        import psycopg  # noqa: F401 - asked for here, so that its absence is said in words
    except ImportError:
        raise MissingExtra("postgres", needed_for="A store in PostgreSQL") from None
    options = {"connect_timeout": 10}
    engine = create_engine(
        address.url, hide_parameters=True, connect_args=options, pool_pre_ping=True, pool_size=8, max_overflow=24
    )

    @event.listens_for(engine, "connect")
    def prepare_session(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            for setting in POSTGRES_SETTINGS:
                cursor.execute(setting)
            cursor.execute("SHOW synchronous_commit")
            if cursor.fetchone()[0] == "off":
                cursor.execute("SET synchronous_commit = on")
        connection.commit()

    return engine


def make_file(path: Path) -> None:
    """Make an empty file that only its owner can read, and its folder if there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreUnreachable(
            f"The store {path} cannot be created or opened ({reason(error)}).",
            remedy="Give a path in a folder you may write to, with --store or DISCREET_STORE.",
        ) from None


# -- migrations: under a lock, in one transaction -------------------------------------------------------------------------

VERSION_TABLE = "discreet_version"
NEWEST = 19
"""The number of the last migration; a test compares it with the files."""

MIGRATIONS = Path(__file__).parent / "migrations"
ADVISORY_LOCK = 0x64697363726574
"""The PostgreSQL advisory lock of migrations: two processes that open a store at once take turns."""


def revision(connection: Connection) -> int:
    """The number of the store's last migration; 0 for an empty one."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return 0
    number = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 - our constant
    return int(number) if number else 0


def migrate(connection: Connection) -> None:
    """Run missing migrations, in a write transaction; does nothing if another process was quicker."""
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


# Address of a store: a path, `sqlite:///path`, `postgresql://...`, or the default.
VARIABLE = "DISCREET_STORE"
"""The environment variable that names the store."""

EXAMPLES = "Give a path such as ledger.db, sqlite:///ledger.db, or postgresql://user@host/database."


def default_folder() -> Path:
    """The default folder of state: `$XDG_DATA_HOME/discreet`, or `~/.local/share/discreet`."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "discreet"


@dataclass(frozen=True)
class Address:
    """The address of a store; its text never contains a password.

    >>> str(Address.parse("postgres://ann:secret@db.example/discreet"))
    'postgresql://ann:***@db.example/discreet'
    """

    url: URL = field(repr=False)
    path: Path | None = None
    """The file, if it is one."""

    @classmethod
    def parse(cls, given: str | os.PathLike[str] | None = None) -> Address:
        """The address that was given, else the one in DISCREET_STORE, else the default file."""
        text = os.fspath(given) if given is not None else os.environ.get(VARIABLE, "")
        if not text and given is None:
            return cls.file(default_folder() / "store.db")
        if "://" not in text:
            return cls.file(Path(text))
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise UsageError("The address of the store is not a URL.", remedy=EXAMPLES) from None
        kind = url.drivername.partition("+")[0]
        if kind == "sqlite":
            return cls.file(Path(url.database or ""))
        if kind in ("postgresql", "postgres"):
            return cls(url.set(drivername="postgresql+psycopg"))
        raise UsageError(f"'{kind}' cannot be used as a store.", remedy=EXAMPLES)

    @classmethod
    def file(cls, path: Path) -> Address:
        """A SQLite file."""
        if not path.name or str(path) == ":memory:":
            raise UsageError("A store must outlive the program, and this address names no file.", remedy=EXAMPLES)
        place = path.expanduser().absolute()
        return cls(URL.create("sqlite+pysqlite", database=str(place)), place)

    @property
    def embedded(self) -> bool:
        """Is it a SQLite file?"""
        return self.path is not None

    def __str__(self) -> str:
        if self.path is not None:
            return str(self.path)
        return self.url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
