"""PostgreSQL rows: whole columns, chosen classes, onto a DuckDB desk, and their export."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.errors import ColumnError, SourceNotFound, SourceUnreadable
from discreet.kernel import Coded, Recoding
from discreet.kernel.arrays import Label
from discreet.kernel.hierarchy import text
from discreet.sources.duckdb_scratch import (
    DuckDBDesk,
    PrivateDesk,
    bare,
    connect,
    copy,
    literal,
    postgres_csv,
    private_folder,
)
from discreet.sources.duckdb_scratch import translated as duckdb_errors
from discreet.sources.engine import Cells, Kind, Target, columnwise
from discreet.sources.export.recode import PORTABLE, Dialect, Outline, Spell, Tables, duckdb_type, file_cell, prepare
from discreet.sources.export.staging import create
from discreet.sources.export.targets import NUMBER, FileTarget, TableTarget, formula_count_sql, unfit, unwritable
from discreet.sources.missing_codes import Code, blanked_sql
from discreet.sources.server import connected, driver, matches, quote, quoted, translated, unreachable

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), "text"),
    **dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "numeric"), "number"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "date"),
    "bool": "boolean",
}
RANDOM_ORDER = " ORDER BY pg_catalog.gen_random_uuid()"
"""From the server's cryptographic source, row by row: an order that nobody can repeat."""
FAITHFUL = "SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1"
"""However the server is set up, its text loses nothing and DuckDB reads it."""
HASHED = "SET LOCAL enable_nestloop = off"
"""The size of a query is often underrated, and a nested loop over all rows and classes does not end."""


def kind_of(declared: str) -> Kind:
    """The kind of a type, which is shown with its length or scale: numeric(10,2)."""
    return KINDS.get(declared.partition("(")[0], "other")


@dataclass(frozen=True, eq=False)
class PostgresRelation:
    """A table or query behind a URL; a read-only connection is opened per question."""

    url: str = field(repr=False)
    table: str | None = None
    query: str | None = field(default=None, repr=False)
    connection: Any = field(default=None, repr=False)
    """An open transaction to ask instead."""
    missing: tuple[Code, ...] = ()
    """Codes that stand for a missing value."""

    @property
    def name(self) -> str:
        """The table, or that it is a query; never the URL."""
        return f"table {self.table}" if self.table is not None else "the PostgreSQL query"

    @cached_property
    def sql(self) -> str:
        """The table or query, as it is put after FROM, with codes for missing values missing."""
        if not self.missing:
            return self.written
        options: Any = {"literal": literal, "matches": matches, "text": "text"}
        cells = ", ".join(
            f"{blanked_sql(quote(name), kind_of(kind), self.missing, **options)} AS {quote(name)}"
            for name, kind in self.types.items()
        )
        return f"(SELECT {cells} FROM {self.written}) AS blanked"

    @property
    def written(self) -> str:
        """The same as it is in the database."""
        if self.table is not None:
            return quoted(self.table)
        return f"({(self.query or '').strip().rstrip(';')}) AS source"

    @cached_property
    def types(self) -> dict[str, str]:
        """The columns with the types of PostgreSQL, such as numeric(10,2)."""
        with self.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {self.written} LIMIT 0")
            types = [(column.name, column.type_display) for column in cursor.description]
        if len(dict(types)) < len(types):
            raise ColumnError(
                f"{self.name} has two columns of the same name.", remedy="Name them apart in the query (AS)."
            )
        return dict(types)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A cursor that may make temporary tables; everything is undone at the end."""
        with self.translated(), connected(self.url) as connection, connection.transaction(force_rollback=True):
            yield connection.cursor()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Errors of the server as ours. Their text is dropped: it may quote values."""
        try:
            yield
        except driver().Error as error:
            if error.sqlstate is None:
                raise unreachable(self.url) from None
            if error.sqlstate in ("42P01", "3F000"):
                raise SourceNotFound(
                    f"There is no {self.name} in that database.",
                    remedy="Write it as schema.table, in the case it was created with.",
                ) from None
            if error.sqlstate == "42501":
                raise SourceUnreadable(
                    f"This user may not read {self.name}.",
                    remedy="Ask for SELECT on it (to export it, also for TEMPORARY on the database).",
                ) from None
            raise SourceUnreadable(
                f"PostgreSQL could not read {self.name} (SQLSTATE {error.sqlstate}).",
                remedy="Try the statement in psql.",
            ) from None

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """A cursor that only reads."""
        if self.connection is not None:
            with self.translated(), self.connection.cursor() as cursor:
                yield cursor
            return
        with self.translated(), driver().connect(self.url, connect_timeout=10) as connection:
            connection.read_only = True
            yield connection.cursor()


def fetch(source: PostgresRelation, names: Sequence[str], *, most: int | None = None) -> dict[str, Coded]:
    """The cells of some columns, as the server sends the rows."""
    with source.cursor() as cursor:
        chance = "" if most is None else f" ORDER BY pg_catalog.random() LIMIT {most}"
        cursor.execute(f"SELECT {', '.join(map(quote, names))} FROM {source.sql}{chance}")
        columns = columnwise(names, list(cursor))
    return {name: Coded.of(cells) for name, cells in columns.items()}


def chosen(source: PostgresRelation, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
    """The rows that the recoding publishes, in no particular order, as Python values."""
    outline = Outline.of(tuple(source.types), recoding, drop=drop)
    with source.transaction() as cursor:
        cursor.execute(recoded(source, outline, cursor, str))
        return columnwise(outline.columns, list(cursor))


def formula_cells(source: PostgresRelation, recoding: Recoding, *, drop: Sequence[str]) -> int:
    """Cells of the published rows that a spreadsheet would run."""
    outline = Outline.of(tuple(source.types), recoding, drop=drop)
    texts = outline.texts({name: bare(duckdb_type(kind)) for name, kind in source.types.items()})
    if not texts:
        return 0
    with source.transaction() as cursor:
        select = recoded(source, replace(outline, columns=texts), cursor, str)
        counted = formula_count_sql(
            select, texts, quote=quote, text="text", is_number=lambda cell: matches(cell, f"^({NUMBER})$")
        )
        return int(cursor.execute(counted).fetchone()[0])


@contextmanager
def desk(source: PostgresRelation, names: Sequence[str]) -> Iterator[DuckDBDesk]:
    """These columns on a DuckDB connection, by way of a CSV."""
    types = {name: duckdb_type(source.types[name]).replace("BLOB", "VARCHAR") for name in names}
    with private_folder() as folder, connect() as own:
        path = folder / "rows.csv"
        with source.transaction() as cursor:
            cursor.execute(FAITHFUL)
            save(cursor, f"SELECT {', '.join(map(quote, names))} FROM {source.sql}", path)
        yield PrivateDesk.on(own, f"SELECT * FROM {postgres_csv(path, types)}", source.name)


def save(cursor: Any, select: str, path: Path) -> None:
    """Let the server write the rows of a statement to a CSV."""
    with path.open("wb") as file, cursor.copy(f"COPY ({select}) TO STDOUT (FORMAT csv)") as blocks:
        for block in blocks:
            file.write(block)


def recoded(source: PostgresRelation, outline: Outline, cursor: Any, spell: Spell) -> str:
    """The statement that recodes, after its temporary tables are made."""
    tables = Tables()
    cursor.execute(f"{FAITHFUL}; {HASHED}")
    prepare(_Transaction(source.sql, cursor), outline.recoding, table=tables, quote=quote, spell=spell)
    return outline.select(Dialect(quote, fence=" OFFSET 0"), relation=source.sql, table=tables, title=str)


@dataclass(frozen=True)
class _Transaction:
    """A transaction that may make temporary tables; they end with it."""

    relation: str
    cursor: Any = field(repr=False)

    def keep(self, table: str, select: str) -> None:
        self.cursor.execute(f"CREATE TEMP TABLE {table} ON COMMIT DROP AS {select}")
        self.cursor.execute(f"ANALYZE {table}")

    def load(self, table: str, columns: Mapping[str, Any]) -> None:
        kinds = [f"{name} {'text' if array.dtype == object else 'integer'}" for name, array in columns.items()]
        self.cursor.execute(f"CREATE TEMP TABLE {table} ({', '.join(kinds)}) ON COMMIT DROP")
        with self.cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in zip(*(array.tolist() for array in columns.values()), strict=True):
                copy.write_row(row)

    def labels(self, table: str, column: str) -> Sequence[Label]:
        return [text(value) for (value,) in self.cursor.execute(f"SELECT value FROM {table} ORDER BY id")]


def export(source: PostgresRelation, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool) -> int:
    """Write the rows as the recoding publishes them."""
    outline, order = Outline.of(tuple(source.types), recoding, drop=drop), RANDOM_ORDER if shuffled else ""
    types = {name: "text" if name in recoding.names else source.types[name] for name in outline.columns}
    if isinstance(target, TableTarget) and target.url == source.url:
        # Rows stay in the database.
        with target.connection.cursor() as cursor:
            with source.translated():
                select = recoded(source, outline, cursor, target.spell)
            with translated(target.url):
                cursor.execute(f"CREATE TABLE {quoted(target.name)} AS {select}{order}")
            return int(cursor.rowcount)
    with source.transaction() as cursor:
        select = recoded(source, outline, cursor, target.spell) + order
        if isinstance(target, TableTarget):
            # From one database to another.
            create(target, {name: kind if PORTABLE.fullmatch(kind) else "text" for name, kind in types.items()})
            with target.connection.cursor() as over:
                with (
                    translated(target.url),
                    cursor.copy(f"COPY ({select}) TO STDOUT") as rows,
                    over.copy(f"COPY {quoted(target.name)} FROM STDIN") as into,
                ):
                    for block in rows:
                        into.write(block)
                return int(over.rowcount)
        if isinstance(target, FileTarget):
            # By way of a CSV, so that Python touches no row. The server writes bytes as \x and hexadecimal digits.
            kinds = {name: duckdb_type(kind) for name, kind in types.items()}
            read = {name: "VARCHAR" if kind == "BLOB" else kind for name, kind in kinds.items()}
            bytewise = {name: f"unhex({quote(name)}[3:])" for name, kind in kinds.items() if kind == "BLOB"}
            spelt = file_cell(target)
            cells = ", ".join(
                f"{spelt(bytewise.get(name, quote(name)), kind)} AS {quote(target.spell(name))}"
                for name, kind in kinds.items()
            )
            with tempfile.TemporaryDirectory(dir=target.path.parent, prefix=".discreet-") as folder:
                csv = Path(folder) / "rows.csv"
                try:
                    save(cursor, select, csv)
                except OSError as error:
                    raise unwritable(target.path.name, error) from None
                with duckdb_errors(source.name), connect() as own:
                    return copy(own.execute, f"SELECT {cells} FROM {postgres_csv(csv, read)}", target)
    raise unfit(source.name, remedy="Give a file name or a PostgreSQL URL.")
