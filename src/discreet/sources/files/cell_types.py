"""Types of columns whose cells are Python values: each gets the one that loses nothing."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.hierarchy import text

EXACT = 2**53
"""Whole numbers up to which a float holds each one."""


@dataclass(frozen=True)
class TypedColumn:
    """Cells as DuckDB takes them over, and the type that it gives them."""

    cells: NDArray[Any]
    kind: str

    @classmethod
    def of(cls, cells: Sequence[Any]) -> TypedColumn:
        """Numbers, days, times and truth values stay what they are; a mixture becomes text.

        >>> [TypedColumn.of(cells).kind for cells in ([1.0, None, 2], [1.5], [datetime.date(2001, 1, 2)], [1, "x"], [True])]
        ['BIGINT', 'DOUBLE', 'DATE', 'VARCHAR', 'BOOLEAN']
        """
        kinds = {type(cell) for cell in cells} - {type(None)}
        if kinds and kinds <= {int, float}:
            numbers = np.array(cells, dtype=np.float64)
            there = numbers[~np.isnan(numbers)]
            if not len(there) or np.abs(there).max() < EXACT:
                whole = bool((there == np.floor(there)).all())
                return cls(numbers, "BIGINT" if whole else "DOUBLE")
        kind = "VARCHAR"
        if kinds == {bool}:
            kind = "BOOLEAN"
        elif kinds and kinds <= {datetime.date, datetime.datetime}:
            timed = any(isinstance(cell, datetime.datetime) and cell.time() != datetime.time() for cell in cells)
            kind = "TIMESTAMP" if timed else "DATE"
        return cls(np.array([spelt(cell) for cell in cells], dtype=object), kind)

    def select(self, column: str) -> str:
        """The cell in SQL, missing where there is none."""
        if self.cells.dtype == np.float64:
            return f"CASE WHEN isnan({column}) THEN NULL ELSE CAST({column} AS {self.kind}) END"
        return f"CAST({column} AS {self.kind})"


def spelt(cell: Any) -> str | None:
    """A cell as text, as values are spelt everywhere; an empty text is a missing value.

    >>> [spelt(cell) for cell in (3.0, 2.5, True, "", datetime.datetime(2001, 1, 2), datetime.time(8, 30))]
    ['3', '2.5', 'true', None, '2001-01-02', '08:30:00']
    """
    return text(cell) or None
