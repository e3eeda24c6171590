"""Staging: files, tables and folders written beside the target, verified, then moved into place.

Whatever fails, nothing half-written stays behind.
"""

from __future__ import annotations

import fcntl
import hashlib
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from discreet.errors import DataError, EmptySource, IntegrityError, UsageError
from discreet.kernel import Classes, Coded, Histogram, Recoding
from discreet.policy import Policy
from discreet.policy.schema import Formulas, Role
from discreet.sources.engine import CopyFolders, Target, engine_for, require
from discreet.sources.export.targets import FileTarget, TableTarget, occupied, unwritable
from discreet.sources.server import address, connected, quote, quoted, translated

BLOCK = 1 << 20
WORKSHOP = ".discreet-copies-"
LOCK = "in-use"


@contextmanager
def staged_file(path: Path, *, delimiter: str, formulas: Formulas, overwrite: bool) -> Iterator[FileTarget]:
    """A file in a folder beside the target that only this user opens."""
    refuse_occupied(path, overwrite=overwrite)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".discreet-", dir=path.parent))
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        yield FileTarget(str(folder / path.name), delimiter, formulas)
        refuse_occupied(path, overwrite=overwrite)
        try:
            (folder / path.name).replace(path)
        except OSError as error:
            raise unwritable(path, error) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def refuse_occupied(path: Path, *, overwrite: bool) -> None:
    """Stop if a file cannot go to a place: no folder, or something there that nobody said to replace."""
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent}.", remedy="Create it first, or check the path.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", remedy="Give the name of a file.")
    if path.exists() and not overwrite:
        raise occupied(str(path))


@contextmanager
def staged_table(url: str, *, count: str | None, overwrite: bool) -> Iterator[TableTarget]:
    """A table of another name, invisible to others until the transaction ends."""
    plain, ours = address(url)
    if "table" not in ours or "query" in ours:
        raise UsageError("Say which table to write to PostgreSQL.", remedy="Add ?table=schema.name to the URL.")
    with translated(plain), connected(plain) as connection:
        *schemas, name = ours["table"].split(".")
        if len(schemas) > 1 or not all((*schemas, name)):
            raise UsageError("A table is named by its schema and its name.", remedy="Write it as ?table=schema.name.")
        schema = (schemas[0] if schemas else connection.execute("SELECT current_schema()").fetchone()[0]) or "public"
        known = "SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE nspname = %s AND relname = %s"
        if not overwrite and connection.execute(known, (schema, name)).fetchone() is not None:
            raise occupied(f"Table {schema}.{name}")
        stage, table = f"{schema}.discreet_{secrets.token_hex(6)}", f"{schema}.{name}"
        yield TableTarget(stage, plain, connection, count)
        if overwrite:
            connection.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
        connection.execute(f"ALTER TABLE {quoted(stage)} RENAME TO {quote(table.partition('.')[2])}")


def create(target: TableTarget, columns: Mapping[str, str]) -> None:
    """Make the table, empty."""
    declared = ", ".join(f"{quote(name)} {kind}" for name, kind in columns.items())
    with translated(target.url):
        target.connection.execute(f"CREATE TABLE {quoted(target.name)} ({declared})")


def fill(target: TableTarget, path: Path) -> int:
    """Put the rows of a CSV into the table."""
    into = f"COPY {quoted(target.name)} FROM STDIN (FORMAT csv, HEADER true)"
    with translated(target.url), target.connection.cursor() as cursor:
        with path.open("rb") as file, cursor.copy(into) as copy:
            while block := file.read(BLOCK):
                copy.write(block)
        return int(cursor.rowcount)


# Verification: what was written is counted again and compared class by class.
def check(target: Target, recoding: Recoding, *, columns: Sequence[str], count: str | None) -> Classes:
    """The classes as they were read back; all must be as the recoding says."""
    return agree(target, recoding.published, columns=columns, count=count)


def agree(target: Target, published: Classes, *, columns: Sequence[str], count: str | None) -> Classes:
    """Classes as they were read back; all must be as published."""
    # Of the policy only the names are used.
    roles: dict[str, Role] = dict.fromkeys(map(target.spell, columns), "other")
    weight = None if count is None else target.spell(count)
    names = [target.spell(name) for name in published.names]
    try:
        engine = engine_for(target, Policy(roles=MappingProxyType(roles), delimiter=target.delimiter, count=weight))
        require([field.name for field in engine.fields], [*names, *([weight] if weight else [])], engine.name)
        counted = Classes.from_histogram(engine.count(names, weight=weight))
        if not counted.records:
            raise EmptySource(f"There is nobody in {engine.name}.", remedy="Give a table with at least one row.")
    except DataError as error:
        raise IntegrityError(
            f"What was written cannot be read back: {error.problem}", remedy="Nothing was published."
        ) from None
    written, meant = _as_seen(counted, published.names, target), _as_seen(published, published.names, target)
    # Values and classes come in one order, so equal tables have equal arrays.
    same_values = [column.labels for column in written.columns] == [column.labels for column in meant.columns]
    if not (
        same_values
        and np.array_equal(written.sizes, meant.sizes)
        and all(map(np.array_equal, written.codes, meant.codes))
    ):
        raise IntegrityError(
            f"What was written is not what was decided: {written.records} counted in {len(written)} classes "
            f"instead of {meant.records} in {len(meant)}, or in other classes.",
            remedy="Nothing was published. If the source has changed since it was counted, read and anonymise it again.",
        )
    return written


def _as_seen(classes: Classes, names: Sequence[str], target: Target) -> Classes:
    """The same rows under the names and values that the target can tell apart."""
    columns = {}
    for name, column, codes in zip(names, classes.columns, classes.codes, strict=True):
        seen = [
            None if label is None or (label == "" and target.blank_is_missing) else target.spell(label)
            for label in column.labels
        ]
        columns[name] = Coded.merged(seen, codes)
    return Classes.from_histogram(Histogram(columns, classes.rows))


# Folders of copies: each appears whole or not at all.
@contextmanager
def local_folders(out: Path, *, delimiter: str, formulas: Formulas = "quote") -> Iterator[CopyFolders]:
    """On this machine, in a folder inside `out` that only this user opens."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for left in out.glob(f"{WORKSHOP}*"):
            # What a process that was killed left behind: its lock ended with it.
            with suppress(OSError), (left / LOCK).open("r", encoding="ascii") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
        aside = Path(tempfile.mkdtemp(prefix=WORKSHOP, dir=out))
    except OSError as error:
        raise unwritable(out, error) from None
    try:
        with (aside / LOCK).open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield LocalFolders(out, aside, delimiter, formulas)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@dataclass(frozen=True)
class LocalFolders:
    """Folders of copies on a disk of this machine."""

    out: Path
    aside: Path
    delimiter: str
    formulas: Formulas

    @property
    def scratch(self) -> Path:
        return self.aside

    def present(self, folder: str, name: str) -> str | None:
        place = self.out / folder
        if not place.exists():
            return None
        return _digest(place / name) if (place / name).is_file() else ""

    def make(self, folder: str) -> LocalFolder:
        stage = self.aside / "copy"
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir()
        return LocalFolder(stage, self.out / folder, self.delimiter, self.formulas)


@dataclass(frozen=True)
class LocalFolder:
    """Folder of one copy on its way, on a disk of this machine."""

    stage: Path
    place: Path
    delimiter: str
    formulas: Formulas

    def target(self, name: str) -> FileTarget:
        return FileTarget(str(self.stage / name), self.delimiter, self.formulas)

    def write_text(self, name: str, text: str) -> None:
        (self.stage / name).write_text(text, encoding="utf-8", newline="\n")

    def digest(self, name: str) -> str:
        return _digest(self.stage / name)

    def put(self) -> None:
        if self.place.exists():
            raise occupied(str(self.place))
        try:
            self.stage.rename(self.place)
        except OSError as error:
            raise unwritable(self.place, error) from None

    def discard(self) -> None:
        shutil.rmtree(self.stage, ignore_errors=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
