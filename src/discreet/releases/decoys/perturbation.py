"""Perturbation of near-unique numbers and dates, rounded as the column is.

Such a value is replaced by another one between its neighbours, on the same grid: hundreds stay hundreds, days stay days.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np

from discreet.kernel.arrays import Flags, Ints
from discreet.releases.decoys.donors import DonorColumn

ALONE = 0.5
"""The share of values held by one row only from which on a column counts as telling."""
FEW = 30
"""Different values up to which a column is left alone: ratings, months, rooms."""
REACH = 4
"""Neighbouring values on each side between which a new one is drawn."""
ATTEMPTS = 8
MOST_DECIMALS = 9
_EPOCH = datetime(1970, 1, 1)


def alone(column: DonorColumn) -> float:
    """The share of the cells whose value no other row holds."""
    held = [cell for cell in column.cells if cell is not None]
    if not held:
        return 0.0
    counts = np.bincount(column.codes)
    return float((counts[column.codes] == 1).sum() / len(held))


def telling(column: DonorColumn) -> bool:
    """Whether most values are held by one row only."""
    return len(column.cells) > 1 and alone(column) >= ALONE


@dataclass(frozen=True)
class Grid:
    """Values as whole numbers of steps, and back."""

    steps: Callable[[Any], int]
    value: Callable[[int], Any]


def grid_of(cells: Sequence[Any]) -> Grid | None:
    """The grid on which all values lie; None where they are neither numbers nor dates, or are codes with leading zeros."""
    held = [cell for cell in cells if cell is not None]
    kinds = {type(cell) for cell in held}
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is int:
        return _whole(held)
    if kind is float:
        return _decimal(held, float, repr) if all(math.isfinite(cell) for cell in held) else None
    if kind is Decimal:
        return _decimal(held, Decimal, str) if all(cell.is_finite() for cell in held) else None
    if kind is date:
        return Grid(date.toordinal, date.fromordinal)
    if kind is datetime:
        return _moments(held)
    return _spelt(held) if kind is str else None


def _whole(held: Sequence[int]) -> Grid:
    start = min(held)
    unit = reduce(math.gcd, (cell - start for cell in held)) or 1
    return Grid(lambda cell: (cell - start) // unit, lambda step: start + unit * step)


def _decimal(held: Sequence[Any], back: Callable[[str], Any], spell: Callable[[Any], str]) -> Grid:
    places = min(MOST_DECIMALS, max(_places(spell(cell)) for cell in held))
    whole = _whole([_scaled(spell(cell), places) for cell in held])
    return Grid(
        lambda cell: whole.steps(_scaled(spell(cell), places)),
        lambda step: back(_written(whole.value(step), places)),
    )


def _spelt(held: Sequence[str]) -> Grid | None:
    """Cells of a CSV are text; they are numbers if all of them are spelt as one way of writing numbers spells them."""
    places = _places(held[0])
    try:
        same = all(_written(_scaled(cell, places), places) == cell for cell in held)
    except (ArithmeticError, ValueError):
        return None
    return _decimal(held, str, str) if same else None


def _moments(held: Sequence[datetime]) -> Grid | None:
    if any(cell.tzinfo is not None for cell in held):
        return None
    whole = _whole([(cell - _EPOCH) // timedelta(microseconds=1) for cell in held])
    return Grid(
        lambda cell: whole.steps((cell - _EPOCH) // timedelta(microseconds=1)),
        lambda step: _EPOCH + timedelta(microseconds=whole.value(step)),
    )


def _places(text: str) -> int:
    return max(0, -int(Decimal(text).as_tuple().exponent)) if _is_number(text) else 0


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except ArithmeticError:
        return False


def _scaled(text: str, places: int) -> int:
    return int(Decimal(text).scaleb(places).to_integral_value())


def _written(number: int, places: int) -> str:
    return f"{Decimal(number).scaleb(-places):.{places}f}"


def nudged(column: DonorColumn, rows: Ints, fresh: Flags, generator: np.random.Generator) -> list[Any]:
    """The cells of some rows, those marked fresh moved a little to a value that nobody holds."""
    cells = [column.cells[row] for row in rows.tolist()]
    grid = grid_of(column.cells) if fresh.any() else None
    if grid is None:
        return cells
    known = sorted({grid.steps(cell) for cell in column.cells if cell is not None})
    taken, places = set(known), {step: place for place, step in enumerate(known)}
    for row in np.flatnonzero(fresh).tolist():
        if cells[row] is None:
            continue
        place = places[grid.steps(cells[row])]
        step = _drawn(known[max(place - REACH, 0)], known[min(place + REACH, len(known) - 1)], taken, generator)
        taken.add(step)
        cells[row] = grid.value(step)
    return cells


def _drawn(low: int, high: int, taken: set[int], generator: np.random.Generator) -> int:
    """A step between two others that nobody holds, if one is found soon."""
    step = low
    for _ in range(ATTEMPTS):
        step = low + int(generator.random() * (high - low + 1))
        if step not in taken:
            break
    return step


def movable(column: DonorColumn) -> bool:
    """Whether values can be moved: numbers and dates, of which there are many."""
    return column.numbers is not None and column.distinct > FEW and grid_of(column.cells) is not None


def repeated(columns: Sequence[DonorColumn]) -> list[str]:
    """Columns whose values lead to one row each and cannot be made up, such as free text."""
    return [column.name for column in columns if telling(column) and grid_of(column.cells) is None]
