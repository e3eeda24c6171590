"""What the cells of a column weigh, all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.arrays import Floats
from discreet.kernel.hierarchy import text
from discreet.misuse.cells import Cells, numbered
from discreet.misuse.sensitivity import Weights


def weigh(cells: Cells, weights: Weights) -> Floats:
    """The weight of each cell.

    >>> from discreet.misuse import Sensitivity
    >>> f = Sensitivity.from_dict({"bill": {"values": {"7": 0.9}, "bins": [[100, 0.1]], "otherwise": 1.0}})
    >>> weigh(np.array([7.0, 100.0, 101.0, np.nan]), f.weights["bill"]).tolist()
    [0.9, 0.1, 1.0, 0.0]
    """
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
        return _weigh_numbers(cells, weights)
    return numbered(cells, weights, np.float64)


def _weigh_numbers(cells: NDArray[Any], weights: Weights) -> Floats:
    steps = np.array([*weights.weights, weights.otherwise])
    found = steps[np.searchsorted(weights.bounds, cells)] if weights.bounds else np.full(len(cells), steps[-1])
    for label, weight in weights.values.items():
        number = _number(label or "")
        if number is not None:
            found[cells == number] = weight
    if cells.dtype.kind == "f":
        found[np.isnan(cells)] = 0.0
    return found


def _number(label: str) -> float | int | None:
    """The number that is spelt like this, if one is."""
    try:
        number = int(label) if label.removeprefix("-").isdigit() else float(label)
    except ValueError:
        return None
    return number if text(number) == label else None
