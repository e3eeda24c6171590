"""Database errors in plain words: one class per remedy, never a value of a statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from discreet.errors import (
    IntegrityError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from discreet.store.connection import Address

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
        raise _of(error, address) from None
    except SQLAlchemyError as error:
        raise StoreUnreachable(
            f"The store {address} gave {type(error).__name__}.", remedy="Check its address."
        ) from None


def problem(kind: type[StoreError], address: Address) -> StoreError:
    """An error of this kind about this store."""
    words, remedy = WORDS[kind]
    return kind(f"The store {address} {words}.", remedy=remedy)


def _of(error: DBAPIError, address: Address) -> StoreError | IntegrityError:
    cause = error.orig
    name = getattr(cause, "sqlite_errorname", None) or ""
    state = getattr(cause, "sqlstate", None) or ""
    if name.startswith(DAMAGED):
        return IntegrityError(
            f"{address} is not a SQLite file, or it is damaged.", remedy="Check the path, or restore a backup."
        )
    if name.startswith("SQLITE_CONSTRAINT") or state.startswith("23"):
        return IntegrityError(
            f"The store {address} refused a change that its rules forbid.", remedy="Run: discreet ledger verify"
        )
    known = {**SQLITE} if name else {**POSTGRES}
    found = max((start for start in known if (name or state).startswith(start)), key=len, default=None)
    if found is not None:
        return problem(known[found], address)
    if error.connection_invalidated or not (name or state or isinstance(cause, sqlite3.Error)):
        return problem(StoreUnreachable, address)
    return StoreError(
        f"The store {address} answered {name or state or type(cause).__name__}.", remedy="Run: discreet ledger verify"
    )
