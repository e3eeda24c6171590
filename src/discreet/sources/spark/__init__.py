"""Frames on a Spark cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.sources.export.targets import FolderTarget

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.sources.engine import Engine


def opens(source: Any) -> bool:
    """A frame of PySpark, classic or Connect, or a folder that the cluster wrote."""
    return isinstance(source, FolderTarget) or type(source).__module__.startswith("pyspark.")


def open_engine(source: Any, policy: Policy, *, table: str | None, query: str | None) -> Engine:
    """The frame, or the parts of the folder."""
    from discreet.sources.spark.engine import open_engine

    return open_engine(source, policy, table=table, query=query)
