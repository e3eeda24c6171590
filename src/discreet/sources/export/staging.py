"""Staging: write beside the target, verify class by class, then move into place."""

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

from discreet.errors import DataError, DiscreetError, IntegrityError, UsageError
from discreet.kernel import Classes, Coded, Column, Histogram, Recoding
from discreet.kernel.arrays import Label
from discreet.policy import Policy
from discreet.policy.schema import Role
from discreet.sources.engine import Engine
from discreet.sources.export.targets import FileTarget, TableTarget, Target, format_of, occupied, unfit
from discreet.sources.postgres.engine import SCHEMES, address, connected, driver, quote, quoted, unreachable
from discreet.sources.spark.engine import SparkEngine


# Writing beside the place, then putting into place: whatever fails, nothing half-written stays behind.
def staged(
    target: str | Path, engine: Engine, policy: Policy, *, overwrite: bool = False
) -> AbstractContextManager[Target]:
    """A private place to write to, which becomes the target when the block ends well and vanishes when it does not."""
    if str(target).startswith(SCHEMES):
        url = str(target)
        if isinstance(engine, SparkEngine):
            raise unfit(
                engine.name, remedy="Write Parquet on the cluster, read it back with discreet, and export that."
            )
        return staged_table(url, count=policy.count, overwrite=overwrite)
    format_of(str(target))
    mark = policy.delimiter or ","
    if isinstance(engine, SparkEngine):
        from discreet.sources.spark.export import staged_folder

        return staged_folder(engine.frame.sparkSession, str(target), delimiter=mark, overwrite=overwrite)
    return staged_file(Path(target), delimiter=mark, overwrite=overwrite)


@contextmanager
def staged_file(path: Path, *, delimiter: str, overwrite: bool) -> Iterator[Target]:
    """A file of the same name in a folder beside it that only this user can open."""
    _refuse(path, overwrite=overwrite)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".discreet-", dir=path.parent))
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        yield FileTarget(str(folder / path.name), delimiter)
        _refuse(path, overwrite=overwrite)
        _put_in_place(folder / path.name, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse(path: Path, *, overwrite: bool) -> None:
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent}.", remedy="Create it first, or check the path.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", remedy="Give the name of a file.")
    if path.exists() and not overwrite:
        raise occupied(str(path))


def _put_in_place(written: Path, path: Path) -> None:
    try:
        written.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: str | Path, error: Exception) -> UsageError:
    """What went wrong, without what was being written."""
    return UsageError(
        f"{path} cannot be written ({type(error).__name__}).",
        remedy="Is the folder yours to write to, and is there space on the disk?",
    )


# What was written, counted again and compared with what was meant, class by class.
def check(target: Target, recoding: Recoding, *, columns: Sequence[str], count: str | None) -> Classes:
    """The classes as they were read back; stops unless every class and every count is as the recoding says."""
    return agree(target, recoding.published, columns=columns, count=count)


def agree(target: Target, published: Classes, *, columns: Sequence[str], count: str | None) -> Classes:
    """The same for classes that are published in whatever way."""
    names = published.names
    try:
        # Nothing but the names is taken from the policy: the check leans on as little as it can.
        roles: dict[str, Role] = dict.fromkeys(map(target.spell, columns), "other")
        policy = Policy(
            roles=MappingProxyType(roles),
            delimiter=target.delimiter,
            count=None if count is None else target.spell(count),
        )
        found = target.table(policy).classes([target.spell(name) for name in names])
    except DataError as error:
        raise IntegrityError(
            f"What was written cannot be read back: {error.problem}", remedy="Nothing was published."
        ) from None
    found, meant = _as_seen(found, names, target), _as_seen(published, names, target)
    if not _same(found, meant):
        raise IntegrityError(
            f"What was written is not what was decided: {found.records} people in {len(found)} classes "
            f"instead of {meant.records} in {len(meant)}, or in other classes.",
            remedy="Nothing was published. If the source has changed since it was counted, read and anonymise it again.",
        )
    return found


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


def _same(one: Classes, other: Classes) -> bool:
    """Values and classes come in one order, so equal tables have equal arrays."""
    if len(one) != len(other) or any(map(_differ, one.columns, other.columns)):
        return False
    return np.array_equal(one.sizes, other.sizes) and all(map(np.array_equal, one.codes, other.codes))


def _differ(mine: Column, theirs: Column) -> bool:
    return mine.labels != theirs.labels


BLOCK = 1 << 20
REFUSALS = {
    "3F000": ("There is no such schema in that database.", "Create it first, or check ?table=schema.name."),
    "42501": (
        "This user may not do that in that database.",
        "Ask for CREATE on the schema and TEMPORARY on the database.",
    ),
    "2BP01": ("The table is there already, and views or others depend on it.", "Choose another name."),
    "42809": ("Something is there already that is no table.", "Choose another name."),
    "42P07": ("The table was made by somebody else meanwhile.", "Choose another name."),
}
"""By SQLSTATE, what happened and what to do."""


@contextmanager
def staged_table(url: str, *, count: str | None, overwrite: bool) -> Iterator[Target]:
    """A table of another name in the same schema, that nobody else sees before the transaction ends."""
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


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Errors of the server as ours. Their text is dropped: it may quote values."""
    try:
        yield
    except driver().Error as error:
        raise _refusal(error.sqlstate, url) from None


def _refusal(state: str | None, url: str) -> DiscreetError:
    if state is None:
        return unreachable(url)
    if state in REFUSALS:
        problem, remedy = REFUSALS[state]
        return UsageError(problem, remedy=remedy)
    if state.startswith("22"):
        return DataError(
            f"PostgreSQL cannot hold some of the values (SQLSTATE {state}).", remedy="Write Parquet instead."
        )
    return UsageError(f"PostgreSQL could not write the table (SQLSTATE {state}).", remedy="Its log says more.")
