"""Tables that come to be in a PostgreSQL database, in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import DataError, DiscreetError, UsageError
from discreet.sources.export.targets import TableTarget, Target, occupied
from discreet.sources.postgres.engine import address, connected, driver, quote, quoted, unreachable

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
