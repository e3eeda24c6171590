"""Files and frames, on DuckDB inside this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.sources.engine import Engine


def opens(source: Any) -> bool:
    """Everything: what DuckDB cannot read it refuses in words when it is opened."""
    del source
    return True


def open_engine(source: Any, policy: Policy, *, table: str | None, query: str | None) -> Engine:
    """A file, a relation of DuckDB, or a frame."""
    from discreet.sources.duckdb.engine import open_engine

    return open_engine(source, policy, table=table, query=query)
