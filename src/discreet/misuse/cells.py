"""The cells of one column as they come: coded, as a numpy array or as a list; and a number for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel import Coded
from discreet.kernel.arrays import Ints, Label
from discreet.kernel.hierarchy import text

Cells = Coded | NDArray[Any] | list[Any]
Numbers = NDArray[Any]


def as_cells(column: Any) -> Cells:
    """A column given as Coded, as an array or as any sequence."""
    if isinstance(column, (Coded, list)):
        return column
    if isinstance(column, np.ma.MaskedArray):
        filled: list[Any] = column.tolist()
        return filled if np.ma.is_masked(column) else np.asarray(column.data)
    if isinstance(column, np.ndarray):
        return column.tolist() if column.dtype.kind in "OUS" else column
    return list(column)


def coded(cells: Cells) -> Coded:
    """The same cells as codes into their distinct values."""
    if isinstance(cells, Coded):
        return cells
    if isinstance(cells, list):
        return Coded.of(cells)
    distinct, codes = np.unique(cells, return_inverse=True)
    return Coded.merged(list(distinct), codes.reshape(-1))


def labels(cells: Cells) -> list[Label]:
    """The spelling of every cell."""
    its = coded(cells)
    return [its.values[code] for code in its.codes.tolist()]


def numbered(cells: Cells, number: Callable[[Label], float], dtype: type) -> Numbers:
    """A number per cell, where equal cells have equal numbers; each distinct cell is asked for once."""
    if isinstance(cells, np.ndarray):
        cells = coded(cells)
    if isinstance(cells, Coded):
        return np.array([number(value) for value in cells.values], dtype=dtype)[cells.codes]
    try:
        memo: dict[Any, Any] = dict.fromkeys(cells)
    except TypeError:  # lists and the like cannot be keys
        return numbered(Coded.of(cells), number, dtype)
    if _confused(memo, cells):
        return numbered(Coded.of(cells), number, dtype)
    for cell in memo:
        memo[cell] = number(text(cell))
    return np.fromiter(map(memo.__getitem__, cells), dtype=dtype, count=len(cells))


def _confused(memo: Iterable[Any], cells: Sequence[Any]) -> bool:
    """Whether numbers and truth values are mixed: 1 and True are one key, but not one value."""
    return any(cell == 0 or cell == 1 for cell in memo if isinstance(cell, (bool, int, float))) and any(
        isinstance(cell, bool) for cell in cells
    )


def whole(cells: NDArray[Any]) -> Ints | None:
    """An array of numbers as integers, or None where some are not whole."""
    if cells.dtype.kind == "i":
        return cells.astype(np.int64, copy=False)
    if cells.dtype.kind == "u":
        return cells.astype(np.int64) if not len(cells) or int(cells.max()) < 2**63 else None
    if cells.dtype.kind != "f":
        return None
    with np.errstate(invalid="ignore"):
        rounded = np.rint(cells)
        inside = bool((np.abs(cells) < 2**53).all()) and bool((rounded == cells).all())
    return rounded.astype(np.int64) if inside else None
