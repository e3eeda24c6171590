"""A result or a source as columns, decoded only where they are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.errors import ColumnError, EmptySource, UsageError
from discreet.kernel import Classes, Coded, Histogram
from discreet.misuse.cells import Cells, as_cells, coded

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table, each decoded when it is first asked for."""

    names: tuple[str, ...]
    rows: int
    decode: Callable[[str], Cells] = field(repr=False)
    _decoded: dict[str, Cells] = field(default_factory=dict, repr=False)

    @classmethod
    def of_rows(cls, rows: Rows) -> Columns:
        """From a list of dictionaries; a key that a row does not have is a missing value."""
        names = dict.fromkeys(name for row in rows for name in row)
        return cls(tuple(names), len(rows), lambda name: [row.get(name) for row in rows])

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Columns:
        """From decoded columns: Coded, numpy arrays or lists of one length."""
        lengths = {len(cells.codes) if isinstance(cells, Coded) else len(cells) for cells in columns.values()}
        if len(lengths) > 1:
            raise ColumnError("The columns differ in length.", remedy="Give one cell per row in every column.")
        return cls(tuple(columns), lengths.pop() if lengths else 0, lambda name: as_cells(columns[name]))

    def cells(self, name: str) -> Cells:
        """The cells of a column."""
        if name not in self._decoded:
            self._decoded[name] = self.decode(name)
        return self._decoded[name]

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        """The classes of these rows, one person each: columns can be counted as tables are."""
        if by is None or sensitive:
            raise UsageError("Say which columns to count by.", remedy="by=[...]")
        if not self.rows:
            raise EmptySource("There is nobody in the source.", remedy="Give a table with at least one row.")
        for name in by:
            if name not in self.names:
                raise ColumnError(f"The source has no column '{name}'.", remedy="Check the names of the columns.")
        counts = np.ones(self.rows, dtype=np.int64)
        return Classes.from_histogram(Histogram({name: coded(self.cells(name)) for name in by}, counts))


def is_rows(table: Any) -> bool:
    """Whether this is a list of dictionaries."""
    return isinstance(table, (list, tuple)) and all(isinstance(row, Mapping) for row in table)
