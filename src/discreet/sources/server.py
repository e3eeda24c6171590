"""PostgreSQL server: addresses, quoting, connections, and its errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from discreet.errors import DataError, MissingExtra, SourceNotFound, UsageError

SCHEMES = ("postgresql://", "postgres://")
OURS: tuple[str, ...] = ("table", "query")
"""Options of a URL that are not for the server."""
REFUSALS = {
    "3F000": ("There is no such schema in that database.", "Create it first, or check ?table=schema.name."),
    "42501": (
        "This user may not do that in that database.",
        "Ask for CREATE on the schema and TEMPORARY on the database.",
    ),
    "2BP01": ("The table is there already, and views or others depend on it.", "Choose another name."),
    "42809": ("Something is there already that is no table.", "Choose another name."),
    "42P07": ("Another session has made the table meanwhile.", "Choose another name."),
}
"""By SQLSTATE, what happened and what to do."""


def quote(name: str) -> str:
    """A name as PostgreSQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def quoted(table: str) -> str:
    """The name of a table with its schema, quoted."""
    return ".".join(quote(part) for part in table.split("."))


def matches(text: str, pattern: str) -> str:
    """Whether a text matches a pattern, in SQL."""
    escaped = pattern.replace("'", "''")
    return f"{text} ~ '{escaped}'"


def address(url: str) -> tuple[str, dict[str, str]]:
    """A URL as the server takes it, and its own `table` and `query`.

    >>> address("postgresql:///db?host=%2Frun&table=people")
    ('postgresql:///db?host=%2Frun', {'table': 'people'})
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    ours = {name: options.pop(name) for name in OURS if name in options}
    plain = urlunsplit(parts._replace(query=urlencode(options), fragment=""))
    scheme, _, rest = plain.partition(":")
    return f"{scheme}:{rest if rest.startswith('//') else f'//{rest}'}", ours  # urlunsplit drops an empty host


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A connection whose statements all see one state of the database.

    It is committed at the end if all went well.
    """
    psycopg = driver()
    with psycopg.connect(url, connect_timeout=10, client_encoding="utf8") as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        yield connection


def unreachable(url: str) -> SourceNotFound:
    """The server did not answer; the URL is not repeated."""
    server = urlsplit(url).hostname or "localhost"
    return SourceNotFound(
        f"The PostgreSQL server at {server} cannot be reached or refused the login.",
        remedy="Check host, port, user and password (PGPASSWORD or ~/.pgpass keep it out of commands).",
    )


def driver() -> Any:
    """psycopg, if it is installed."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("postgres", needed_for="PostgreSQL") from None
    return psycopg


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Errors of a server that is written to, as ours, without their text.

    It may quote values.
    """
    try:
        yield
    except driver().Error as error:
        state = error.sqlstate
        if state is None:
            raise unreachable(url) from None
        if state in REFUSALS:
            problem, remedy = REFUSALS[state]
            raise UsageError(problem, remedy=remedy) from None
        if state.startswith("22"):
            raise DataError(
                f"PostgreSQL cannot hold some of the values (SQLSTATE {state}).", remedy="Write Parquet instead."
            ) from None
        raise UsageError(
            f"PostgreSQL could not write the table (SQLSTATE {state}).", remedy="Its log says more."
        ) from None
