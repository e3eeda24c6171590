"""`discreet.read`: one entry for every kind of table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.policy import Policy
from discreet.sources.engine import engine_for
from discreet.sources.table import Table


def read(
    source: Any, policy: Policy | str | Path | None = None, *, table: str | None = None, query: str | None = None
) -> Table:
    """A table from a file, a frame, a DuckDB relation, PostgreSQL, or Spark.

    PostgreSQL is a URL with the table or query given by name or in the URL:
    `read("postgresql://host/db", table="public.people")` or `read("postgresql://host/db?table=public.people")`.
    """
    if policy is not None and not isinstance(policy, Policy):
        policy = Policy.load(policy)
    result = Table(engine_for(source, policy or Policy(), table=table, query=query), policy)
    if policy is not None:
        result.require([*policy.quasi, *policy.sensitive, *([policy.count] if policy.count else [])])
    return result
