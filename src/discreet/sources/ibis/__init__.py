"""Tables of databases that Ibis reaches: Snowflake, BigQuery, SQL Server, MySQL, SQLite and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.sources.engine import Engine

SCHEMES = tuple(
    f"{name}://"
    for name in (
        "bigquery", "clickhouse", "databricks", "exasol", "mssql", "mysql", "oracle", "singlestoredb",
        "snowflake", "sqlite", "trino",
    )
)  # fmt: skip
"""Addresses of databases that no engine of our own reads."""


def opens(source: Any) -> bool:
    """A table expression of Ibis, or the URL of a database that only Ibis reads."""
    if isinstance(source, str):
        return source.startswith(SCHEMES)
    return type(source).__module__.startswith("ibis.") and type(source).__name__ == "Table"


def open_engine(source: Any, policy: Policy, *, table: str | None, query: str | None) -> Engine:
    """The expression, or the table or query that the URL or the arguments name."""
    from discreet.sources.ibis.engine import open_engine

    return open_engine(source, policy, table=table, query=query)
