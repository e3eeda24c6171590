"""PostgreSQL engine: tables and queries counted by the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from discreet.errors import ColumnError, CountError, MissingExtra, SourceNotFound, SourceUnreadable
from discreet.kernel import Histogram, Recoding
from discreet.sources.engine import (
    Field,
    Kind,
    Numbering,
    bad_weight_sql,
    count_sql,
    numbering_sql,
    one_by_one,
    refuse_bad_weights,
)

if TYPE_CHECKING:
    from discreet.sources.export.targets import Target

SCHEMES = ("postgresql://", "postgres://")
OURS: tuple[str, ...] = ("table", "query")
"""Options of a URL that are not for the server."""

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), "text"),
    **dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "numeric"), "number"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "date"),
    "bool": "boolean",
}


def quote(name: str) -> str:
    """A name as PostgreSQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def quoted(table: str) -> str:
    """The name of a table with its schema, quoted."""
    return ".".join(quote(part) for part in table.split("."))


def address(url: str) -> tuple[str, dict[str, str]]:
    """A URL as the server takes it, and the `table` and `query` that were written into it.

    >>> address("postgresql:///db?host=%2Frun&table=people")
    ('postgresql:///db?host=%2Frun', {'table': 'people'})
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    ours = {name: options.pop(name) for name in OURS if name in options}
    plain = urlunsplit(parts._replace(query=urlencode(options), fragment=""))
    scheme, _, rest = plain.partition(":")
    return f"{scheme}:{rest if rest.startswith('//') else f'//{rest}'}", ours  # urlunsplit drops an empty host


def _matches(text: str, pattern: str) -> str:
    escaped = pattern.replace("'", "''")
    return f"{text} ~ '{escaped}'"


@dataclass(frozen=True, eq=False)
class PostgresEngine:
    """A table or query behind a URL; a read-only connection is opened per question."""

    url: str = field(repr=False)
    table: str | None = None
    query: str | None = field(default=None, repr=False)
    connection: Any = field(default=None, repr=False)
    """An open transaction to ask instead."""

    @property
    def name(self) -> str:
        """The table, or that it is a query; never the URL, which may hold a password."""
        return f"table {self.table}" if self.table is not None else "the PostgreSQL query"

    @property
    def relation(self) -> str:
        """The table or query, as it stands after FROM."""
        if self.table is not None:
            return quoted(self.table)
        return f"({(self.query or '').strip().rstrip(';')}) AS source"

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return tuple(Field(name, _kind(kind)) for name, kind in self.types.items())

    @cached_property
    def types(self) -> dict[str, str]:
        """The columns with the types of PostgreSQL, such as numeric(10,2)."""
        with self._cursor() as cursor:
            cursor.execute(f"SELECT * FROM {self.relation} LIMIT 0")
            found = [(column.name, column.type_display) for column in cursor.description]
        if len(dict(found)) < len(found):
            raise ColumnError(
                f"{self.name} has two columns of the same name.", remedy="Name them apart in the query (AS)."
            )
        return dict(found)

    def count(self, by: Sequence[str], *, weight: str | None = None) -> Histogram:
        """People per distinct tuple."""
        if weight is not None:
            self._check_weight(weight)
        sql = count_sql(by, weight=weight, relation=self.relation, quote=quote)
        with self._cursor() as cursor:
            cursor.execute(sql)
            return Histogram.from_rows(by, [(*row[:-1], row[-1] or 0) for row in cursor])

    def count_each(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Histogram]:
        """People per distinct value of each column alone."""
        return one_by_one(self, names, weight)

    def rows(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """The rows as they are, for results small enough to be looked at row by row."""
        with self._cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(map(quote, names))} FROM {self.relation}")
            return list(cursor)

    def _check_weight(self, weight: str) -> None:
        kinds = {column.name: column.kind for column in self.fields}
        if kinds.get(weight, "number") != "number":
            raise CountError(
                f"Column '{weight}' says how many people a row stands for, but it is not of a number type.",
                remedy="Cast it in a query: ?query=SELECT ..., n::int AS n FROM ...",
            )
        with self._cursor() as cursor:
            cursor.execute(bad_weight_sql(weight, relation=self.relation, quote=quote, cast="CAST"))
            refuse_bad_weights(cursor.fetchone()[0], weight)

    def numbering(self, column: str) -> Numbering:
        """Whether the numbers of a column are on one row each."""
        sql = numbering_sql(column, relation=self.relation, quote=quote, matches=_matches, text="text")
        with self._cursor() as cursor:
            return Numbering(*cursor.execute(sql).fetchone())

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write the rows as the recoding publishes them, in a random order.

        Only here the connection is not read-only: the recoding needs temporary tables.
        """
        from discreet.sources.postgres.export import export

        return export(self, recoding, target, drop=drop, shuffled=shuffled)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A cursor that may make temporary tables; all it does is undone at the end."""
        with self.translated(), connected(self.url) as connection, connection.transaction(force_rollback=True):
            yield connection.cursor()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Errors of the server as ours."""
        try:
            yield
        except driver().Error as error:
            raise self._translated(error) from None

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        if self.connection is not None:
            with self.translated(), self.connection.cursor() as cursor:
                yield cursor
            return
        with self.translated(), driver().connect(self.url, connect_timeout=10) as connection:
            connection.read_only = True
            yield connection.cursor()

    def _translated(self, error: Any) -> SourceNotFound | SourceUnreadable:
        """Errors of the server as ours. Their text is dropped: it may quote values."""
        state = error.sqlstate
        if state is None:
            return unreachable(self.url)
        if state in ("42P01", "3F000"):
            return SourceNotFound(
                f"There is no {self.name} in that database.",
                remedy="Write it as schema.table, in the case it was created with.",
            )
        if state == "42501":
            return SourceUnreadable(
                f"This user may not read {self.name}.",
                remedy="Ask for SELECT on it (to export it, also for TEMPORARY on the database).",
            )
        return SourceUnreadable(
            f"PostgreSQL could not read {self.name} (SQLSTATE {state}).", remedy="Try the statement in psql."
        )


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A connection all of whose statements see one state of the database; committed at the end if all went well."""
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


def _kind(shown: str) -> Kind:
    """Types with a length or scale are shown with it: numeric(10,2)."""
    return KINDS.get(shown.partition("(")[0], "other")
