"""Rows in memory: whole columns, chosen classes, onto a DuckDB desk, and handed to an engine that writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow

from discreet.kernel import Coded, Recoding
from discreet.kernel.hierarchy import text
from discreet.policy import Policy
from discreet.sources.duckdb_scratch import DuckDBDesk
from discreet.sources.engine import Cells, Engine, Kind, Target, engine_for
from discreet.sources.export.recode import Outline, base_codes, kept_codes
from discreet.sources.missing_codes import Code, number_patterns, numbers_among

TYPES = {"text": pyarrow.string(), "date": pyarrow.date32(), "boolean": pyarrow.bool_()}


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """A table as lists, column by column."""

    columns: dict[str, list[Any]]
    kinds: dict[str, Kind]

    @classmethod
    def of(cls, table: pyarrow.Table) -> MemoryRows:
        """The cells of an Arrow table as Python values."""
        kinds = {field.name: _kind(field.type) for field in table.schema}
        return cls({name: table.column(name).to_pylist() for name in kinds}, kinds)

    def blanked(self, codes: Sequence[Code]) -> MemoryRows:
        """The same with some codes as missing values."""
        patterns, numbers = number_patterns(codes), numbers_among(codes)

        def missing(cell: Any, kind: Kind) -> bool:
            label = text(cell)
            if label is None or kind == "number":
                return label in numbers
            return label in codes or any(re.search(pattern, label) for pattern in patterns)

        columns = {
            name: [None if missing(cell, self.kinds[name]) else cell for cell in cells]
            for name, cells in self.columns.items()
        }
        return MemoryRows(columns, self.kinds)


def _kind(kind: pyarrow.DataType) -> Kind:
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_decimal(kind) or pyarrow.types.is_floating(kind):
        return "number"
    if pyarrow.types.is_date(kind):
        return "date"
    return "boolean" if pyarrow.types.is_boolean(kind) else "text"


def fetch(source: MemoryRows, names: Sequence[str]) -> dict[str, Coded]:
    """The cells of some columns, in order."""
    return {name: Coded.of(source.columns[name]) for name in names}


def chosen(source: MemoryRows, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
    """Row by row: which class it is in, and how that class is published."""
    outline, kept = Outline.of(tuple(source.columns), recoding, drop=drop), kept_codes(recoding)
    places = range(len(recoding.names))
    published = {
        tuple(kept[f"b{place}"][row] for place in places): [
            recoding.labels[place][kept[f"p{place}"][row]] for place in places
        ]
        for row in range(len(kept["id"]))
    }
    codes = [
        base_codes(column, [text(cell) for cell in source.columns[column.name]]).tolist()
        for column in recoding.classes.columns
    ]
    cells: Cells = {name: [] for name in outline.columns}
    for row, key in enumerate(zip(*codes, strict=True)):
        if key not in published:
            continue
        labels = dict(zip(recoding.names, published[key], strict=True))
        for name, column in cells.items():
            column.append(labels[name] if name in labels else source.columns[name][row])
    return cells


def handed_over(source: MemoryRows, names: Sequence[str]) -> Engine:
    """The engine that takes an Arrow table, for what is not done here."""
    arrays = {name: _array(source.columns[name], source.kinds[name]) for name in names}
    return engine_for(pyarrow.table(arrays), Policy())


def _array(cells: list[Any], kind: Kind) -> pyarrow.Array:
    if kind == "number" and any(cell is not None for cell in cells):
        return pyarrow.array(cells)  # of whatever width or scale they have
    return pyarrow.array(cells, type=TYPES.get(kind, pyarrow.int64()))


@contextmanager
def desk(source: MemoryRows, names: Sequence[str], *, name: str) -> Iterator[DuckDBDesk]:
    """These columns on a DuckDB connection."""
    with handed_over(source, names).desk(names) as there:
        yield replace(there, name=name)


def export(source: MemoryRows, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool) -> int:
    """All columns, since the one that writes decides which are left out."""
    there = handed_over(source, tuple(source.columns))
    return there.export(recoding, target, drop=drop, shuffled=shuffled)
