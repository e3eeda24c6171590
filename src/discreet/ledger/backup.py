"""Backup and restore of a store with its ledger: tables, keys and data folder, verified by the ledger's own head.

A backup is taken while programs work on the store: the tables are read in one transaction, into a SQLite file whatever the
store is. Every step ends in one rename, so that whatever stops it, there is a whole backup, a whole store, or none.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from sqlalchemy import Connection, insert, select, text

from discreet.errors import IntegrityError, UsageError
from discreet.ledger.commit import keys_of
from discreet.ledger.entry import timestamp
from discreet.ledger.keys import Keys, kept_in_file, place_of
from discreet.ledger.merkle import MerkleTree
from discreet.ledger.queries import check_store
from discreet.store import Address, Store
from discreet.store.tables import metadata
from discreet.store.tables.ledger import ENTRY
from discreet.wording import reason

FORMAT = "discreet-backup-1"
MANIFEST, TABLES, KEYS, DATA = "backup.json", "store.db", "keys.json", "data"
ROWS = 1_000
"""Rows that are copied at a time."""
PARTIAL = ".partial"
"""The end of the name of what is not finished."""


@dataclass(frozen=True)
class Backup:
    """What a backup holds, as its manifest says."""

    folder: Path
    time: str
    head: Mapping[str, Any]
    """The signed head of the ledger."""
    files: Mapping[str, str]
    """SHA-256 of each file, by its path in the folder."""
    missing: tuple[str, ...] = ()
    """Files of the data folder that were removed while the backup was taken."""

    @property
    def entries(self) -> int:
        """How many entries the ledger has in it."""
        return int(self.head["size"])


def back_up(address: str | None, folder: Path, *, data: Path | None, with_keys: bool = True) -> Backup:
    """Copy a store, its keys and its data folder into a new folder, while programs go on using them."""
    if folder.exists():
        raise UsageError(
            f"{folder} exists already.", remedy="Give a folder that does not exist yet, such as one per day."
        )
    partial = folder.with_name(folder.name + PARTIAL)
    store = Store.open(address, create=False)
    try:
        with store.reading() as connection:
            keys = keys_of(MerkleTree.read(connection), None, store.address)
        try:
            shutil.rmtree(partial, ignore_errors=True)  # of a backup that was stopped
            partial.mkdir(parents=True, mode=0o700)
            # Files before and after the tables: what the tables name was there before, or is there now.
            early = _copy_files(data, partial)
            head = copy_tables(store, partial / TABLES)
            late = _copy_files(data, partial)
            if with_keys:
                _write(partial / KEYS, keys.text().encode())
            names = sorted(path.relative_to(partial).as_posix() for path in partial.rglob("*") if path.is_file())
            files = {name: _digest(partial / name) for name in names}
            content = {"format": FORMAT, "time": timestamp(datetime.now(UTC)), "head": head, "files": files}
            content |= {"public": keys.public, "missing": sorted(early - late)}
            _write(partial / MANIFEST, json.dumps(content, indent=1).encode())
            _sync(partial)
            partial.rename(folder)
            _sync(folder.parent)
        except OSError as error:
            raise UsageError(
                f"The backup cannot be written ({reason(error)}).", remedy="Free some space, or give another folder."
            ) from None
    finally:
        store.close()
    return read_backup(folder)


def read_backup(folder: Path) -> Backup:
    """The manifest of a backup; only of one that was finished."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        if content["format"] != FORMAT:
            raise ValueError
        return Backup(folder, content["time"], content["head"], content["files"], tuple(content["missing"]))
    except (OSError, ValueError, KeyError, TypeError):
        words = f"{folder} is not a backup, or one that was not finished."
        raise UsageError(words, remedy="Give the folder that `discreet backup` wrote.") from None


def verify_backup(backup: Backup, *, heads: list[Mapping[str, Any]] | None = None, keys: Keys | None = None) -> None:
    """Check every file, and the ledger in it against its head, and heads that were saved elsewhere."""
    for name, digest in backup.files.items():
        path = backup.folder.joinpath(*PurePosixPath(name).parts)
        if ".." in PurePosixPath(name).parts or not path.is_file() or _digest(path) != digest:
            raise IntegrityError(f"{name} of the backup is missing or was changed.", remedy="Use another backup.")
    keys = keys or (Keys.load(backup.folder / KEYS) if KEYS in backup.files else None)
    with tempfile.TemporaryDirectory(
        prefix="discreet-backup-"
    ) as folder:  # opening a store of an older version changes it
        store = Store.open(shutil.copyfile(backup.folder / TABLES, Path(folder) / TABLES), create=False)
        try:
            with store.reading() as connection:
                verdict = check_store(connection, heads=[backup.head, *(heads or [])], keys=keys)
        finally:
            store.close()
    if not verdict.holds:
        first = verdict.problems[0] if verdict.problems else "it does not fit its head"
        raise IntegrityError(f"The ledger in the backup is not what was written: {first}", remedy="Use another backup.")


def restore(backup: Backup, address: str | None, *, data: Path, keys: Keys | None = None) -> None:
    """Put a verified backup back where nothing is: data folder, then keys, then the store, which is the last step."""
    target = Address.parse(address)
    place = place_of(target)
    if target.path is not None and target.path.exists():
        raise UsageError(
            f"There is a store at {target} already.", remedy="Give another --store, or move that one away."
        )
    if keys is None and KEYS not in backup.files and Keys.of_store(target) is None:
        raise UsageError("The backup was taken without its keys.", remedy="Say in DISCREET_KEYS where they are.")
    try:
        _restore_data(backup, data)
        if KEYS in backup.files and kept_in_file() and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            partial = place.with_name(place.name + PARTIAL)
            _write(partial, (backup.folder / KEYS).read_bytes())
            partial.rename(place)
        if target.path is not None:
            target.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            partial = target.path.with_name(target.path.name + PARTIAL)
            shutil.copyfile(backup.folder / TABLES, partial)
            partial.chmod(0o600)
            _sync(partial)
            partial.rename(target.path)
            _sync(target.path.parent)
        else:
            fill_empty(backup, address)
    except OSError as error:
        raise UsageError(
            f"The backup cannot be restored ({reason(error)}).", remedy="Free some space, or give other places."
        ) from None


def _restore_data(backup: Backup, data: Path) -> None:
    """Every file under its own name: one that is there already, by an earlier attempt, must be the same."""
    for name, digest in backup.files.items():
        parts = PurePosixPath(name).parts
        if parts[0] != DATA:
            continue
        target = data.joinpath(*parts[1:])
        if target.exists():
            if _digest(target) != digest:
                raise UsageError(f"{target} exists and is another file.", remedy="Give an empty folder with --data.")
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = target.with_name(target.name + PARTIAL)
        shutil.copyfile(backup.folder / name, partial)
        partial.chmod(0o600)
        _sync(partial)
        partial.rename(target)


def copy_tables(store: Store, path: Path) -> dict[str, Any]:
    """All rows of one moment, into a new SQLite file; gives the head of the ledger at that moment."""
    copy = Store.open(path)
    try:
        with store.reading() as source, copy.writing() as target:
            tree = MerkleTree.read(source)
            _copy_rows(source, target)
    finally:
        copy.close()
    _sync(path)
    return tree.head()


def fill_empty(backup: Backup, address: str | None) -> None:
    """Fill an empty PostgreSQL store, in one transaction."""
    copy, store = Store.open(backup.folder / TABLES, create=False), Store.open(address)
    try:
        with copy.reading() as source, store.writing() as target:
            if target.execute(select(ENTRY.c.sequence).limit(1)).first() is not None:
                raise UsageError(
                    f"The store at {store.address} is not empty.", remedy="Give the address of an empty one."
                )
            _copy_rows(source, target)
    finally:
        copy.close()
        store.close()


def _copy_rows(source: Connection, target: Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        if table is not ENTRY:  # has no row yet, and lets none be deleted
            target.execute(table.delete())  # rows that migrations made
    for table in metadata.sorted_tables:
        rows = source.execute(select(table)).mappings()
        while part := rows.fetchmany(ROWS):
            target.execute(insert(table), [dict(row) for row in part])
        if target.dialect.name == "postgresql" and "id" in table.columns:
            number = f"pg_get_serial_sequence('{table.name}', 'id')"
            highest = f"(SELECT COALESCE(MAX(id), 0) + 1 FROM {table.name})"  # noqa: S608 - names of ours
            target.execute(text(f"SELECT setval({number}, {highest}, false) WHERE {number} IS NOT NULL"))


def _copy_files(data: Path | None, partial: Path) -> set[str]:
    """Files of the data folder that are not copied yet; gives the names of all that are there now."""
    there: set[str] = set()
    if data is None:
        return there
    for path in (Path(folder, name) for folder, _, names in os.walk(data) for name in names):
        if path.is_symlink():
            continue
        name = path.relative_to(data).as_posix()
        target = partial / DATA / name
        try:
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                shutil.copyfile(path, target)
            elif target.stat().st_size != path.stat().st_size:  # it was being written when it was copied
                shutil.copyfile(path, target)
            there.add(name)
        except FileNotFoundError:  # removed meanwhile
            target.unlink(missing_ok=True)
    return there


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
