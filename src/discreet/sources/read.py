"""`discreet.read`: one entry for every kind of table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import SourceNotFound, UsageError
from discreet.policy import Policy
from discreet.sources.engine import Engine
from discreet.sources.postgres.engine import SCHEMES, PostgresEngine, address
from discreet.sources.table import Table


def read(
    source: Any, policy: Policy | str | Path | None = None, *, table: str | None = None, query: str | None = None
) -> Table:
    """A table from a CSV or Parquet file, a frame, a DuckDB relation, PostgreSQL, or Spark.

    PostgreSQL is a URL with the table or query given by name or in the URL:
    `read("postgresql://host/db", table="public.people")` or `read("postgresql://host/db?table=public.people")`.
    """
    if policy is not None and not isinstance(policy, Policy):
        policy = Policy.load(policy)
    result = Table(_engine(source, policy or Policy(), table=table, query=query), policy)
    if policy is not None:
        result.require([*policy.quasi, *policy.sensitive, *([policy.count] if policy.count else [])])
    return result


def _engine(source: Any, policy: Policy, *, table: str | None, query: str | None) -> Engine:
    if isinstance(source, str) and source.startswith(SCHEMES):
        return _postgres(source, table=table, query=query)
    if table is not None or query is not None:
        raise UsageError(
            "table= and query= go with a PostgreSQL URL.",
            remedy='For example: read("postgresql://host/db", table="people")',
        )
    if isinstance(source, (str, Path)):
        return _file(Path(source), policy)
    if type(source).__module__.startswith("pyspark."):
        from discreet.sources.spark.engine import SparkEngine

        return SparkEngine(source)
    from discreet.sources.duckdb.engine import DuckDBEngine, RelationEngine

    if type(source).__name__ == "DuckDBPyRelation":
        return RelationEngine(source)
    return DuckDBEngine.from_frame(source)


def _file(path: Path, policy: Policy) -> Engine:
    from discreet.sources.duckdb.engine import DuckDBEngine

    name = path.name.lower()
    if path.is_dir() or name.endswith((".parquet", ".pq")):
        return DuckDBEngine.from_parquet(path)
    if not path.exists():
        raise SourceNotFound(
            f"There is no file {path}.", remedy="Check the path; relative paths start at the current folder."
        )
    return DuckDBEngine.from_csv(
        path, delimiter=policy.delimiter, encoding=policy.encoding, declared=tuple(policy.roles)
    )


def _postgres(url: str, *, table: str | None, query: str | None) -> Engine:
    plain, ours = address(url)
    table, query = table or ours.get("table"), query or ours.get("query")
    if (table is None) == (query is None):
        raise UsageError(
            "Say which table or which query to read from PostgreSQL.",
            remedy="Add ?table=schema.name to the URL, or ?query=SELECT...",
        )
    return PostgresEngine(plain, table=table, query=query)
