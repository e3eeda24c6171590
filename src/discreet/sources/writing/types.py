"""Types of DuckDB and PostgreSQL, from one to the other."""

from __future__ import annotations

import re

FROM_DUCKDB = {
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
TO_DUCKDB = {
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


def type_for(kind: str) -> str:
    """The type of PostgreSQL that holds a type of DuckDB; text where there is none.

    >>> type_for("DECIMAL(6,2)"), type_for("UINTEGER"), type_for("INTEGER[]")
    ('numeric(6,2)', 'bigint', 'text')
    """
    if re.fullmatch(r"DECIMAL\(\d+, ?\d+\)", kind):
        return kind.replace("DECIMAL", "numeric")
    return FROM_DUCKDB.get(kind, "text")


def duckdb_type(kind: str) -> str:
    """The type of DuckDB that holds a type of PostgreSQL without loss; text where there is none.

    >>> duckdb_type("numeric(6,2)"), duckdb_type("numeric"), duckdb_type("int4")
    ('DECIMAL(6,2)', 'VARCHAR', 'INTEGER')
    """
    scaled = re.fullmatch(r"numeric\((\d+), ?(\d+)\)", kind)
    if scaled and int(scaled[2]) <= int(scaled[1]) <= 38:
        return f"DECIMAL({scaled[1]},{scaled[2]})"
    return TO_DUCKDB.get(re.sub(r"\(.*", "", kind), "VARCHAR")
