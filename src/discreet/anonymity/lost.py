"""What a recoding loses, column by column, whether values were generalised along hierarchies or into intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Floats, Ints, Label
from discreet.kernel.classes import Recoding


def loss_of(recoding: Recoding) -> float:
    """The share of detail that is lost, over all columns: `prod(1 + v)**(1/m) - 1`.

    Where intervals are published, the hierarchy does not say what lies in them: there the share of a value is that of
    the values in the data which its interval holds.

    >>> from discreet.kernel import Classes
    >>> people = Classes.of(["sex"], [("F",), ("M",)], [5, 1])
    >>> loss_of(Recoding.of_levels(people, {"sex": 0}, kept=np.array([True, True])))
    0.0
    """
    factors = [1.0 + column_loss(recoding, place) for place in range(len(recoding.names))]
    return float(np.prod(factors) ** (1 / max(len(factors), 1))) - 1.0


def column_loss(recoding: Recoding, place: int) -> float:
    """v = max(0, (sum of shares + suppressed - N/n) / (N - N/n)), with N people and n leaves."""
    share, leaves = _shares(recoding, place)
    people, kept = recoding.classes.records, recoding.kept
    shares = float((share[recoding.codes[place]] * recoding.classes.sizes)[kept].sum())
    least = people / leaves
    return max(0.0, (shares + recoding.suppressed - least) / (people - least)) if leaves > 1 and people else 0.0


def _shares(recoding: Recoding, place: int) -> tuple[Floats, int]:
    """The share of the column that each published value stands for, and the number of leaves."""
    column, labels = recoding.classes.columns[place], recoding.labels[place]
    values, codes = _pairs(recoding.classes.codes[place], recoding.codes[place], len(labels))
    index, share = {label: code for code, label in enumerate(labels)}, np.full(len(values), -1.0)
    hierarchy = column.hierarchy
    for level in range(hierarchy.height - 1, column.level - 1, -1):
        above = hierarchy.map(column.level, level)[values]
        shown = np.array([index.get(label, -1) for label in hierarchy.labels[level]], dtype=np.int64)[above]
        share = np.where(shown == codes, hierarchy.leaves[level][above] / hierarchy.size, share)
    if (share < 0).any():
        return _interval_shares(column.labels, values, codes, len(labels)), len(column.labels)
    return _most(codes, share, len(labels)), hierarchy.size


def _interval_shares(labels: Sequence[Label], values: Ints, codes: Ints, shown: int) -> Floats:
    """The share of the values that lie between the least and the greatest with each published value."""
    numbers = as_numbers(labels)
    rank = np.arange(len(labels)) if numbers is None else np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
    low, high = -_most(codes, -rank[values], shown), _most(codes, rank[values], shown)
    return (high - low + 1) / len(labels)


def _pairs(values: Ints, codes: Ints, shown: int) -> tuple[Ints, Ints]:
    """The distinct pairs of a value and what it is published as."""
    pairs = np.unique(values * shown + codes)
    return pairs // shown, pairs % shown


def _most(codes: Ints, numbers: NDArray[np.generic], shown: int) -> Floats:
    """The greatest number with each code."""
    most = np.full(shown, -np.inf)
    np.maximum.at(most, codes, numbers)
    return most


def as_numbers(labels: Sequence[Label]) -> Floats | None:
    """The labels as numbers, if all of them are.

    >>> as_numbers(["1", "2.5"]), as_numbers(["1", "x"]), as_numbers(["1", None])
    (array([1. , 2.5]), None, None)
    """
    try:
        numbers = np.array([float(label) for label in labels if label is not None])
    except ValueError:
        return None
    return numbers if len(numbers) == len(labels) and np.isfinite(numbers).all() else None
