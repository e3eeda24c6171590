"""Rows of an Ibis table: connections, whole columns, and rows brought to this machine."""

from __future__ import annotations

import importlib.util
import operator
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from discreet.errors import ColumnError, DiscreetError, MissingExtra, SourceNotFound, SourceUnreadable, UsageError
from discreet.kernel import Coded
from discreet.policy import Policy
from discreet.sources.duckdb_scratch import DuckDBDesk
from discreet.sources.engine import Engine, Field, Kind, engine_for
from discreet.sources.files.parquet import coded
from discreet.sources.missing_codes import Code, number_patterns, numbers_among
from discreet.sources.server import address

ROWS_AT_ONCE = 100_000
"""Rows of a batch on their way to this machine."""


def kind_of(declared: Any) -> Kind:
    """The kind of a type of Ibis."""
    if declared.is_boolean():
        return "boolean"
    if declared.is_string():
        return "text"
    if declared.is_numeric():
        return "number"
    return "date" if declared.is_date() or declared.is_timestamp() else "other"


def refuse_same_names(names: Sequence[str], source: str) -> None:
    """Stop if names differ in case only: DuckDB would take one for the other."""
    if len({name.casefold() for name in names}) < len(names):
        raise ColumnError(
            f"{source} has two columns whose names differ in case only.",
            remedy="Give every column a name of its own: table.rename(...)",
        )


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Errors of any database as ours. Their text is dropped: it may quote values or a password."""
    try:
        yield
    except DiscreetError:
        raise
    except Exception as error:
        # Each database has exceptions of its own, and Ibis passes them on.
        raise SourceUnreadable(
            f"The database could not answer for {name} ({type(error).__name__}).",
            remedy="Try table.count().execute() with Ibis; its error says more.",
        ) from None


def connected(url: str, *, table: str | None, query: str | None) -> tuple[Any, str]:
    """The table expression that a URL stands for, and what to call it."""
    plain, ours = address(url)
    table, query = table or ours.get("table"), query or ours.get("query")
    scheme = plain.partition(":")[0]
    if (table is None) == (query is None):
        raise UsageError(
            f"Say which table or which query to read from {scheme}.",
            remedy="Add ?table=schema.name to the URL, or ?query=SELECT...",
        )
    if importlib.util.find_spec("ibis") is None:
        raise MissingExtra("ibis", needed_for=f"Reading {scheme}://")
    import ibis

    if scheme == "sqlite":  # it would make an empty database where there is none
        path = Path(unquote(urlsplit(plain).path))
        if not path.is_file():
            raise SourceNotFound(
                f"There is no file {path}.", remedy="An absolute path has three slashes: sqlite:///srv/people.db"
            )
    name = f"table {table}" if table is not None else f"the {scheme} query"
    try:
        backend = ibis.connect(plain)
    except Exception as error:
        package = f"Install what Ibis needs for it: pip install 'ibis-framework[{scheme}]'. "
        raise SourceUnreadable(
            f"The {scheme} database does not answer ({type(error).__name__}).",
            remedy=f"{package if isinstance(error, ImportError) else ''}Check the address, the user and the password.",
        ) from None
    try:
        if query is not None:
            return backend.sql(query.strip().rstrip(";")), name
        *database, last = (table or "").split(".")
        return backend.table(last, database=".".join(database) or None), name
    except Exception as error:
        raise SourceNotFound(
            f"The {scheme} database has no {name} that this user may read ({type(error).__name__}).",
            remedy="Write it as schema.table, in the case it was created with.",
        ) from None


def blanked(table: Any, fields: Sequence[Field], codes: Sequence[Code]) -> Any:
    """The table with some codes as missing values."""
    from ibis import cases, literal, null

    columns = {}
    for column in fields:
        cell = table[column.name]
        if column.kind == "number":
            tests = [cell == literal(float(number)) for number in numbers_among(codes)]
        else:
            written = cell if column.kind == "text" else cell.cast("string")
            tests = [written == literal(code) for code in codes if isinstance(code, str)]
            tests += [written.re_search(pattern) for pattern in number_patterns(codes)]
        if tests:
            cell = cases((reduce(operator.or_, tests).fill_null(False), null(cell.type())), else_=cell)
        columns[column.name] = cell
    return table.select(**columns)


def fetch(table: Any, names: Sequence[str], *, name: str, most: int | None = None) -> dict[str, Coded]:
    """The cells of some columns, as the database sends the rows."""
    from ibis import random

    wanted = table.select(*names)
    with translated(name):
        arrow = (wanted if most is None else wanted.order_by(random()).limit(most)).to_pyarrow()
    return {column: coded(arrow.column(place)) for place, column in enumerate(names)}


@contextmanager
def brought(table: Any, names: Sequence[str], *, name: str) -> Iterator[Engine]:
    """These columns in a private file of this machine, brought batch by batch."""
    from pyarrow.parquet import ParquetWriter

    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        path = Path(folder) / "rows.parquet"
        with translated(name), _batches(table.select(*names)) as batches, ParquetWriter(path, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        yield engine_for(path, Policy())


def _batches(wanted: Any) -> Any:
    """A reader of batches of rows."""
    if wanted.get_backend().name == "duckdb":  # Ibis 12 asks for batches by a method that DuckDB 2 has no longer
        return wanted.to_pyarrow().to_reader(max_chunksize=ROWS_AT_ONCE)
    return wanted.to_pyarrow_batches(chunk_size=ROWS_AT_ONCE)


@contextmanager
def desk(table: Any, names: Sequence[str], *, name: str) -> Iterator[DuckDBDesk]:
    """These columns on a DuckDB connection."""
    with brought(table, names, name=name) as engine, engine.desk(names) as there:
        yield replace(there, name=name)
