"""Columns of people into Parquet or CSV, through DuckDB and without a Python object per cell."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from duckdb import ColumnExpression, ConstantExpression, FunctionExpression

from discreet.errors import UsageError
from discreet.people.columns import Coded, Column, trimmed
from discreet.people.draws import Array

__all__ = ["write_columns"]

FORMATS = (".parquet", ".csv", ".csv.gz")


def write_columns(columns: Mapping[str, Column], path: Path) -> Path:
    """Write the columns to the path, rows in their order; return the path."""
    ending = _ending(path)
    lean = {name: trimmed(column) for name, column in columns.items()}
    with duckdb.connect() as connection:
        connection.register("people", {name: _scannable(column) for name, column in lean.items()})
        rows = connection.view("people").select(*(_expression(name, column) for name, column in lean.items()))
        _copy(rows, path, ending)
    return path


def _ending(path: Path) -> str:
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder '{path.parent}'.", remedy="Make it first.")
    for ending in FORMATS:
        if path.name.endswith(ending):
            return ending
    raise UsageError(f"No format is known for '{path.name}'.", remedy=f"End the name in {' or '.join(FORMATS)}.")


def _scannable(column: Column) -> Array:
    if isinstance(column, Coded):
        return column.codes
    # DuckDB scans numbers, but no arrays of days.
    return column.astype(np.int32) if column.dtype.kind == "M" else column


def _expression(name: str, column: Column) -> Any:
    cells = ColumnExpression(name)
    if isinstance(column, Coded):
        # A look-up in a constant list keeps the rows in order, which a join would not; lists count from one,
        # and a code of eight bits has no room for one more.
        places = cells.cast("BIGINT") + ConstantExpression(1)
        cells = FunctionExpression("list_extract", ConstantExpression(column.labels.tolist()), places)
    elif column.dtype.kind == "M":
        cells = ConstantExpression(date(1970, 1, 1)) + cells
    return cells.alias(name)


def _copy(rows: Any, path: Path, ending: str) -> None:
    if ending == ".parquet":
        rows.write_parquet(str(path), compression="zstd")
    else:
        rows.write_csv(str(path), header=True, compression="gzip" if ending == ".csv.gz" else "none")
