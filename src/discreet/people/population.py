"""The people of a state as a table: pick columns, draw a sample, write a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from discreet.errors import UsageError
from discreet.people.columns import Column, decoded, frozen, rows_of
from discreet.people.draws import Array, stream
from discreet.people.writing import write_columns

__all__ = ["People"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class People:
    """A table of synthetic people, one row each.

    >>> import numpy as np
    >>> People({"visits": np.array([3, 1, 2])})
    People(3 rows: visits)
    """

    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) != 1:
            raise UsageError(
                "People need at least one column, and all columns the same number of rows.",
                remedy="Build them with generate(state, seed=1).",
            )
        held = {name: frozen(column) for name, column in self.columns.items()}
        object.__setattr__(self, "columns", MappingProxyType(held))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"People({len(self):,} rows: {', '.join(self.columns)})"

    def column(self, name: str) -> Array:
        """The values of one column, one per person."""
        self._require(name)
        return decoded(self.columns[name])

    def select(self, *names: str) -> People:
        """The same people with these columns only, in this order."""
        for name in names:
            self._require(name)
        return People({name: self.columns[name] for name in names})

    def sample(self, size: int | float, *, seed: int) -> People:
        """Some of the people, each at most once and in their old order.

        A whole number is a number of people, a float is a share: 1 is one person, 1.0 is everybody.

        >>> import numpy as np
        >>> len(People({"visits": np.arange(200)}).sample(0.01, seed=1))
        2
        """
        rows = stream(seed, "sample").choice(len(self), self._rows_for(size), replace=False, shuffle=False)
        rows.sort()
        return People({name: rows_of(column, rows) for name, column in self.columns.items()})

    def write(self, path: str | Path) -> Path:
        """Write all rows in their order to a file; its ending (.parquet, .csv or .csv.gz) says the format."""
        return write_columns(self.columns, Path(path))

    def _require(self, name: str) -> None:
        if name not in self.columns:
            raise UsageError(f"These people have no column '{name}'.", remedy=f"They have: {', '.join(self.columns)}.")

    def _rows_for(self, size: int | float) -> int:
        most = 1.0 if isinstance(size, float) else len(self)
        rows = round(size * len(self) / most) if 0 < size <= most else 0
        if rows:
            return rows
        raise UsageError(
            f"A sample of {size} cannot be drawn from {len(self):,} people.",
            remedy=f"Give a whole number from 1 to {len(self):,}, or a share above 0 and up to 1.0.",
        )
