"""Tables and queries in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.sources.export.targets import TableTarget
from discreet.sources.server import SCHEMES

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.sources.engine import Engine


def opens(source: Any) -> bool:
    """A URL of PostgreSQL, or a table that was written there."""
    return isinstance(source, TableTarget) or (isinstance(source, str) and source.startswith(SCHEMES))


def open_engine(source: Any, policy: Policy, *, table: str | None, query: str | None) -> Engine:
    """The table or query that the URL or the arguments name."""
    from discreet.sources.postgres.engine import open_engine

    return open_engine(source, table=table, query=query, missing=policy.missing)
