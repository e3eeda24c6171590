"""Lists for the custodian alone: columns written row by row, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.sources.duckdb_scratch import connect, copy
from discreet.sources.export.staging import refuse_occupied, staged_file
from discreet.sources.export.targets import format_of


def refuse_listing(path: Path, *, overwrite: bool) -> None:
    """Stop if a list cannot go to a place, before it is made."""
    format_of(path.name)
    refuse_occupied(path, overwrite=overwrite)


def write_listing(columns: Mapping[str, Any], path: Path, *, overwrite: bool) -> None:
    """Write columns row by row to a file that only this user opens: its name says whether CSV or Parquet."""
    refuse_listing(path, overwrite=overwrite)
    with staged_file(path, delimiter=",", formulas="keep", overwrite=overwrite) as target, connect() as own:
        own.execute("SET preserve_insertion_order = true")
        own.register("listing", dict(columns))
        copy(own.execute, "SELECT * FROM listing", target)
        target.path.chmod(0o600)
