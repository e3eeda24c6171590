"""Staging: write beside the target, verify class by class, then move into place.

Whatever fails, nothing half-written stays behind.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.errors import DataError, EmptySource, IntegrityError, UsageError
from discreet.kernel import Classes, Coded, Histogram, Recoding
from discreet.kernel.arrays import Label
from discreet.policy import Policy
from discreet.policy.schema import Role
from discreet.sources.engine import Target, engine_for, require
from discreet.sources.export.targets import FileTarget, TableTarget, format_of, occupied, unwritable
from discreet.sources.server import SCHEMES, address, connected, quote, quoted, translated

BLOCK = 1 << 20


def local_stage(
    target: str, policy: Policy, *, overwrite: bool
) -> AbstractContextManager[FileTarget] | AbstractContextManager[TableTarget]:
    """For engines that write files of this machine and tables of PostgreSQL."""
    if target.startswith(SCHEMES):
        return staged_table(target, count=policy.count, overwrite=overwrite)
    format_of(target)
    return staged_file(Path(target), delimiter=policy.delimiter or ",", overwrite=overwrite)


@contextmanager
def staged_file(path: Path, *, delimiter: str, overwrite: bool) -> Iterator[FileTarget]:
    """A file in a folder beside the target that only this user opens."""
    _refuse(path, overwrite=overwrite)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".discreet-", dir=path.parent))
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        yield FileTarget(str(folder / path.name), delimiter)
        _refuse(path, overwrite=overwrite)
        try:
            (folder / path.name).replace(path)
        except OSError as error:
            raise unwritable(path, error) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse(path: Path, *, overwrite: bool) -> None:
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
        schema, name = _home(connection, ours["table"])
        if not overwrite and _exists(connection, schema, name):
            raise occupied(f"Table {schema}.{name}")
        stage = f"{schema}.discreet_{secrets.token_hex(6)}"
        yield TableTarget(stage, plain, connection, count)
        table = f"{schema}.{name}"
        if overwrite:
            connection.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
        connection.execute(f"ALTER TABLE {quoted(stage)} RENAME TO {quote(table.partition('.')[2])}")


def _home(connection: Any, table: str) -> tuple[str, str]:
    *schemas, name = table.split(".")
    if len(schemas) > 1 or not all((*schemas, name)):
        raise UsageError("A table is named by its schema and its name.", remedy="Write it as ?table=schema.name.")
    schema = schemas[0] if schemas else connection.execute("SELECT current_schema()").fetchone()[0]
    return schema or "public", name


def _exists(connection: Any, schema: str, name: str) -> bool:
    sql = "SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE nspname = %s AND relname = %s"
    return connection.execute(sql, (schema, name)).fetchone() is not None


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
    """The same for classes that are published in whatever way."""
    names = published.names
    try:
        counted = _counted(target, names, columns=columns, count=count)
    except DataError as error:
        raise IntegrityError(
            f"What was written cannot be read back: {error.problem}", remedy="Nothing was published."
        ) from None
    written, meant = _as_seen(counted, names, target), _as_seen(published, names, target)
    if not _same(written, meant):
        raise IntegrityError(
            f"What was written is not what was decided: {written.records} people in {len(written)} classes "
            f"instead of {meant.records} in {len(meant)}, or in other classes.",
            remedy="Nothing was published. If the source has changed since it was counted, read and anonymise it again.",
        )
    return written


def _counted(target: Target, names: Sequence[str], *, columns: Sequence[str], count: str | None) -> Classes:
    """The classes of a target; of the policy only the names are used."""
    roles: dict[str, Role] = dict.fromkeys(map(target.spell, columns), "other")
    weight = None if count is None else target.spell(count)
    engine = engine_for(target, Policy(roles=MappingProxyType(roles), delimiter=target.delimiter, count=weight))
    spelt = [target.spell(name) for name in names]
    require([field.name for field in engine.fields], [*spelt, *([weight] if weight else [])], engine.name)
    classes = Classes.from_histogram(engine.count(spelt, weight=weight))
    if not classes.records:
        raise EmptySource(f"There is nobody in {engine.name}.", remedy="Give a table with at least one row.")
    return classes


def _as_seen(classes: Classes, names: Sequence[str], target: Target) -> Classes:
    """The same people under the names and values that the target can tell apart."""
    columns = {
        name: Coded.merged([_seen(label, target) for label in column.labels], codes)
        for name, column, codes in zip(names, classes.columns, classes.codes, strict=True)
    }
    return Classes.from_histogram(Histogram(columns, classes.sizes))


def _seen(label: Label, target: Target) -> Label:
    if label is None or (label == "" and target.blank_is_missing):
        return None
    return target.spell(label)


def _same(written: Classes, meant: Classes) -> bool:
    """Values and classes come in one order, so equal tables have equal arrays."""
    if [column.labels for column in written.columns] != [column.labels for column in meant.columns]:
        return False
    return np.array_equal(written.sizes, meant.sizes) and all(map(np.array_equal, written.codes, meant.codes))
