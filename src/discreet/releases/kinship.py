"""Which classes of two copies stem from the same people, though the copies were generalised differently.

Both are generalised to the coarser of their levels, column by column, and compared there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.kernel import Classes, Column


def joined_levels(mine: Classes, theirs: Classes) -> dict[str, int]:
    """The per-column maximum of the levels: the finest node at which both can be compared."""
    others = theirs.levels
    return {name: max(level, others[name]) for name, level in mine.levels.items()}


def same_origin(mine: Classes, theirs: Classes) -> NDArray[np.bool_]:
    """For each class of mine, whether some class of theirs may hold the same people.

    >>> from discreet.kernel import Mask
    >>> fine = Classes.of(["zip"], [("11",), ("12",), ("21",)], rules={"zip": Mask(2)})
    >>> same_origin(fine, fine.keep(np.array([True, False, False])).at({"zip": 1})).tolist()
    [True, True, False]
    """
    levels = joined_levels(mine, theirs)
    columns = tuple(Column(column.name, column.hierarchy, levels[column.name]) for column in mine.columns)
    codes = tuple(
        column.hierarchy.map(column.level, levels[column.name])[each]
        for column, each in zip(mine.columns, mine.codes, strict=True)
    )
    # Not regrouped: one entry for each class of mine, also where two of them become one.
    return np.asarray(Classes(columns, codes, mine.sizes).link(theirs) > 0)
