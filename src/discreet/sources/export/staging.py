"""Staging: write beside the target, then move into place.

Whatever fails, nothing half-written stays behind.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import UsageError
from discreet.policy import Policy
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
        _put(connection, stage, f"{schema}.{name}", overwrite=overwrite)


def _home(connection: Any, table: str) -> tuple[str, str]:
    *schemas, name = table.split(".")
    if len(schemas) > 1 or not all((*schemas, name)):
        raise UsageError("A table is named by its schema and its name.", remedy="Write it as ?table=schema.name.")
    schema = schemas[0] if schemas else connection.execute("SELECT current_schema()").fetchone()[0]
    return schema or "public", name


def _exists(connection: Any, schema: str, name: str) -> bool:
    sql = "SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE nspname = %s AND relname = %s"
    return connection.execute(sql, (schema, name)).fetchone() is not None


def _put(connection: Any, stage: str, table: str, *, overwrite: bool) -> None:
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
