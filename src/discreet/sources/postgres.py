"""Tables and queries in PostgreSQL, counted by the database: only the histogram crosses the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import ColumnError, CountError, MissingExtra, SourceNotFound, SourceUnreadable
from discreet.kernel import Histogram
from discreet.sources.engine import Field, Kind, bad_weight_sql, count_sql, refuse_bad_weights

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), "text"),
    **dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "numeric"), "number"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "date"),
    "bool": "boolean",
}
CHUNK = 20_000


def quote(name: str) -> str:
    """A name as PostgreSQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, eq=False)
class PostgresEngine:
    """A table or query behind a URL; a read-only connection is opened per question."""

    url: str = field(repr=False)
    table: str | None = None
    query: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The table, or that it is a query; never the URL, which may hold a password."""
        return f"table {self.table}" if self.table is not None else "the PostgreSQL query"

    @property
    def _relation(self) -> str:
        if self.table is not None:
            return ".".join(quote(part) for part in self.table.split("."))
        return f"({(self.query or '').strip().rstrip(';')}) AS source"

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return self._fields

    @cached_property
    def _fields(self) -> tuple[Field, ...]:
        with self._cursor() as cursor:
            cursor.execute(f"SELECT * FROM {self._relation} LIMIT 0")
            found = tuple(
                Field(column.name, KINDS.get(column.type_display, _kind(column))) for column in cursor.description
            )
        if len({column.name for column in found}) < len(found):
            raise ColumnError(
                f"{self.name} has two columns of the same name.", remedy="Name them apart in the query (AS)."
            )
        return found

    def count(self, by: Sequence[str], *, weight: str | None = None) -> Histogram:
        """People per distinct tuple."""
        if weight is not None:
            self._check_weight(weight)
        sql = count_sql(by, weight=weight, relation=self._relation, quote=quote)
        with self._cursor() as cursor:
            cursor.execute(sql)
            return Histogram.from_rows(by, [(*row[:-1], row[-1] or 0) for row in cursor])

    def _check_weight(self, weight: str) -> None:
        kinds = {column.name: column.kind for column in self.fields}
        if kinds.get(weight, "number") != "number":
            raise CountError(
                f"Column '{weight}' says how many people a row stands for, but it is not of a number type.",
                remedy="Cast it in a query: ?query=SELECT ..., n::int AS n FROM ...",
            )
        with self._cursor() as cursor:
            cursor.execute(bad_weight_sql(weight, relation=self._relation, quote=quote, cast="CAST"))
            refuse_bad_weights(cursor.fetchone()[0], weight)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        psycopg = _driver()
        try:
            with psycopg.connect(self.url, connect_timeout=10) as connection:
                connection.read_only = True
                yield connection.cursor()
        except psycopg.Error as error:
            raise self._translated(error) from None

    def _translated(self, error: Any) -> SourceNotFound | SourceUnreadable:
        """Errors of the server as ours. Their text is dropped: it may quote values."""
        state = error.sqlstate
        server = urlsplit(self.url).hostname or "localhost"
        if state is None:
            return SourceNotFound(
                f"The PostgreSQL server at {server} cannot be reached or refused the login.",
                remedy="Check host, port, user and password (PGPASSWORD or ~/.pgpass keep it out of commands).",
            )
        if state in ("42P01", "3F000"):
            return SourceNotFound(
                f"There is no {self.name} in that database.",
                remedy="Write it as schema.table, in the case it was created with.",
            )
        if state == "42501":
            return SourceUnreadable(f"This user may not read {self.name}.", remedy="Ask for SELECT on it.")
        return SourceUnreadable(
            f"PostgreSQL could not read {self.name} (SQLSTATE {state}).", remedy="Try the statement in psql."
        )


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("postgres", needed_for="Reading from PostgreSQL") from None
    return psycopg


def _kind(column: Any) -> Kind:
    """Types with a length or scale are shown with it: numeric(10,2)."""
    return KINDS.get(column.type_display.partition("(")[0], "other")
