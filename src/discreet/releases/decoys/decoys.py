"""The rows of decoys: the columns of the published table other than the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.kernel.arrays import Ints

Cells = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class DecoyRows:
    """Rows that every copy with the decoy holds, each cell typed as in the source."""

    columns: Cells
    """Cells by the name of their column, without the quasi-identifiers, in the order of the table."""
    places: Ints
    """Per row, the place of its mark among all marks."""

    def __len__(self) -> int:
        return len(self.places)

    def only(self, marks: Ints) -> DecoyRows:
        """The rows of some marks."""
        kept = np.flatnonzero(np.isin(self.places, marks))
        columns = {name: [cells[row] for row in kept.tolist()] for name, cells in self.columns.items()}
        return DecoyRows(columns, self.places[kept])

    def __repr__(self) -> str:
        return f"DecoyRows({len(self)} rows of {len(np.unique(self.places))} decoys)"
