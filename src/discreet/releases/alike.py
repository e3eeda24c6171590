"""How like a row is to the row of another class that is most like it: what gives a copied row away.

To share many cells with a single row tells more than to share them with many rows, who then have common values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.hierarchy import Ints

NOBODY = -1
"""The code of a value that no row holds."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """Rows, column by column, in which the one most like another row is looked for."""

    columns: tuple[NDArray[np.int32], ...]
    owners: Ints
    """The class of each row; classes stand together."""

    @classmethod
    def of(cls, columns: Sequence[Ints], owners: Ints) -> Likeness:
        """From the codes of each column; rows are in the order of their classes."""
        return cls(tuple(np.ascontiguousarray(codes, dtype=np.int32) for codes in columns), owners)

    def degree(self, row: Sequence[int], *, but: int | None = None) -> int:
        """Twice the most cells that any row shares with the given codes, one less if several rows share as many.

        Rows of the class `but` are left out.

        >>> rows = Likeness.of([np.array([0, 0, 1]), np.array([5, 6, 7])], np.array([0, 1, 1]))
        >>> rows.degree([0, 6]), rows.degree([0, 7]), rows.degree([0, 6], but=1)
        (4, 1, 2)
        """
        shared = np.zeros(len(self.owners), dtype=np.uint8)
        for codes, code in zip(self.columns, row, strict=True):
            if code != NOBODY:
                shared += codes == code
        if but is not None:
            start, stop = np.searchsorted(self.owners, [but, but + 1])
            shared[start:stop] = 0
        most = int(shared.max()) if len(shared) else 0
        return 2 * most - int(most > 0 and np.count_nonzero(shared == most) > 1)

    def degrees(self, rows: Ints) -> Ints:
        """The same for some of the rows themselves, each compared with other classes."""
        cells = [codes[rows].tolist() for codes in self.columns]
        owners = self.owners[rows].tolist()
        found = [self.degree(row, but=owner) for row, owner in zip(zip(*cells, strict=True), owners, strict=True)]
        return np.array(found, dtype=np.int64)
