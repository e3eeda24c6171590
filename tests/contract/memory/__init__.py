"""An engine that is not in the product: rows held as Python lists. One folder is all that it takes."""

from __future__ import annotations

from typing import Any

from discreet.policy import Policy
from discreet.sources.engine import Engine, refuse_selection
from tests.contract.memory.engine import MemoryEngine
from tests.contract.memory.rows import MemoryRows


def opens(source: Any) -> bool:
    """Lists that were put into `MemoryRows`."""
    return isinstance(source, MemoryRows)


def open_engine(source: MemoryRows, policy: Policy, *, table: str | None, query: str | None) -> Engine:
    """The engine on these lists."""
    refuse_selection(table, query)
    return MemoryEngine(source.blanked(policy.missing))
