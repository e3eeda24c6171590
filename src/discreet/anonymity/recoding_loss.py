"""Information loss of a recoding, column by column, whether along hierarchies or into intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.classes import Recoding
from discreet.kernel.hierarchy import as_numbers


def loss_of(recoding: Recoding) -> float:
    """The share of detail that is lost, over all columns by their weights: `prod(1 + w v)**(1/m) - 1`.

    Where intervals are published, the hierarchy does not say what is in them: there the share of a value is that of
    the values in the data which its interval holds.

    >>> from discreet.kernel import Classes
    >>> people = Classes.of(["sex"], [("F",), ("M",)], [5, 1])
    >>> loss_of(Recoding.of_levels(people, {"sex": 0}, kept=np.array([True, True])))
    0.0
    """
    factors = [
        1.0 + column.weight * column_loss(recoding, place) for place, column in enumerate(recoding.classes.columns)
    ]
    return float(np.prod(factors) ** (1 / max(len(factors), 1))) - 1.0


def column_loss(recoding: Recoding, place: int) -> float:
    """v = max(0, (sum of shares + suppressed - N/n) / (N - N/n)), with N people and n leaves."""
    column, labels = recoding.classes.columns[place], recoding.labels[place]
    # The distinct pairs of a value and what it is published as, and the share of the column behind the latter.
    pairs = np.unique((recoding.classes.codes[place] * len(labels) + recoding.codes[place])[recoding.kept])
    values, codes = pairs // len(labels), pairs % len(labels)
    index, share = {label: code for code, label in enumerate(labels)}, np.full(len(values), -1.0)
    hierarchy = column.hierarchy
    for level in range(hierarchy.height - 1, column.level - 1, -1):
        above = hierarchy.map(column.level, level)[values]
        shown = np.array([index.get(label, -1) for label in hierarchy.labels[level]], dtype=np.int64)[above]
        share = np.where(shown == codes, hierarchy.leaves[level][above] / hierarchy.size, share)
    leaves, whole = hierarchy.size, _most(codes, share, len(labels))
    if (share < 0).any():
        # Intervals: the share of the values between the least and the greatest with each published value.
        numbers, leaves = as_numbers(column.labels), len(column.labels)
        ranks = np.arange(leaves) if numbers is None else np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
        low, high = -_most(codes, -ranks[values], len(labels)), _most(codes, ranks[values], len(labels))
        whole = (high - low + 1) / leaves
    rows, kept = recoding.classes.rows, recoding.kept
    shares, people = float((whole[recoding.codes[place][kept]] * rows[kept]).sum()), int(rows.sum())
    least = people / leaves
    return max(0.0, (shares + recoding.suppressed_rows - least) / (people - least)) if leaves > 1 and people else 0.0


def _most(codes: Ints, numbers: NDArray[np.generic], shown: int) -> Floats:
    """The greatest number with each code."""
    most = np.full(shown, -np.inf)
    np.maximum.at(most, codes, numbers)
    return most
