"""Cells and types: how CSV, Parquet and PostgreSQL want what DuckDB holds."""

from __future__ import annotations

import re
from collections.abc import Callable

from discreet.sources.desk import PLAIN_TYPES, literal
from discreet.sources.engine import Target
from discreet.sources.export.targets import NUMBER, guarded_sql

WIDE = ("HUGEINT", "UHUGEINT")
NUMBERS = (*PLAIN_TYPES, *WIDE, "DECIMAL", "TIMESTAMP WITH TIME ZONE", "TIME")
"""Types whose text no spreadsheet calculates."""
POSTGRES_TYPES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "UTINYINT"), "smallint"),
    **dict.fromkeys(("INTEGER", "USMALLINT"), "integer"),
    **dict.fromkeys(("BIGINT", "UINTEGER"), "bigint"),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT"), "numeric"),
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIME": "time",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "INTERVAL": "interval",
    "UUID": "uuid",
    "BLOB": "bytea",
}
DUCKDB_TYPES = {
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
    "bytea": "BLOB",
}
PORTABLE = re.compile(
    r"(int[248]|float[48]|numeric|bool|date|timestamp(tz)?|time(tz)?|interval|uuid|bytea|jsonb?)(\(.*\))?"
)
"""Types that every server has."""


def file_cell(target: Target) -> Callable[[str, str], str]:
    """How a file wants its cells."""
    return csv_cell if target.blank_is_missing else parquet_cell


def csv_cell(column: str, kind: str) -> str:
    """A column guarded against formulas where it could hold one."""
    if kind in NUMBERS:
        return column
    text = f"CAST({column} AS VARCHAR)"
    return guarded_sql(text, is_number=f"regexp_full_match({text}, {literal(NUMBER)})")


def parquet_cell(column: str, kind: str) -> str:
    """A column as Parquet can hold it: integers beyond 64 bits would become floats.

    Of an ENUM the whole dictionary would be written, values that do not occur as empty texts: their number would show,
    and Arrow's readers of dictionaries trip over texts that are there twice.
    """
    if kind == "ENUM":
        return f"CAST({column} AS VARCHAR)"
    return f"CAST({column} AS DECIMAL(38, 0))" if kind in WIDE else column


def server_cell(column: str, kind: str) -> str:
    """A column as PostgreSQL reads it."""
    return f"'\\x' || HEX({column})" if kind == "BLOB" else column


def postgres_type(kind: str) -> str:
    """The type of PostgreSQL that holds a type of DuckDB, or text.

    >>> postgres_type("DECIMAL(6,2)"), postgres_type("UINTEGER"), postgres_type("INTEGER[]")
    ('numeric(6,2)', 'bigint', 'text')
    """
    if re.fullmatch(r"DECIMAL\(\d+, ?\d+\)", kind):
        return kind.replace("DECIMAL", "numeric")
    return POSTGRES_TYPES.get(kind, "text")


def duckdb_type(kind: str) -> str:
    """The type of DuckDB that holds a type of PostgreSQL, or text.

    >>> duckdb_type("numeric(6,2)"), duckdb_type("numeric"), duckdb_type("int4")
    ('DECIMAL(6,2)', 'VARCHAR', 'INTEGER')
    """
    scaled = re.fullmatch(r"numeric\((\d+), ?(\d+)\)", kind)
    if scaled and int(scaled[2]) <= int(scaled[1]) <= 38:
        return f"DECIMAL({scaled[1]},{scaled[2]})"
    return DUCKDB_TYPES.get(re.sub(r"\(.*", "", kind), "VARCHAR")
