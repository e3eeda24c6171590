"""Address of a store: a path, `sqlite:///path`, `postgresql://...`, or the default."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from discreet.errors import UsageError

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
        return cls._of_url(text)

    @classmethod
    def file(cls, path: Path) -> Address:
        """A SQLite file."""
        if not path.name or str(path) == ":memory:":
            raise UsageError("A store must outlive the program, and this address names no file.", remedy=EXAMPLES)
        place = path.expanduser().absolute()
        return cls(URL.create("sqlite+pysqlite", database=str(place)), place)

    @classmethod
    def _of_url(cls, text: str) -> Address:
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

    @property
    def embedded(self) -> bool:
        """Is it a SQLite file?"""
        return self.path is not None

    def __str__(self) -> str:
        if self.path is not None:
            return str(self.path)
        return self.url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
