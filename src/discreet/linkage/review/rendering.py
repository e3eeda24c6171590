"""Rendering of a pair as far as it is open; only `reveal.py` imports it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.linkage.masking.comparison import Comparison, Mode, Pair, State, ValueView
from discreet.linkage.masking.index import Quote, RevealStep
from discreet.linkage.project import Initial
from discreet.linkage.review.views import CellView, Price, RowView

Pricing = Callable[[RevealStep], Price]


def cells_of(pair: Pair, state: State, quote: Quote, priced: Pricing) -> tuple[CellView, ...]:
    """All cells as far as they are open, with the price of every next step."""
    return tuple(_cell(pair, place, state[place], quote, priced) for place in range(len(pair.cells)))


def _cell(pair: Pair, place: int, mode: Mode, quote: Quote, priced: Pricing) -> CellView:
    cell, name, along = pair.cells[place], pair.attributes[place], pair.along[place]
    step = quote.steps.get(name)
    shown = cell.text(mode)
    pieces, common = cell.pieces(mode), pair.frequencies[place] or (None, None)
    rows = [RowView(shown[row], pieces[row], _words(cell, row, mode), common[row]) for row in (0, 1)]
    return CellView(
        attribute=name,
        kind=cell.kind,
        mode=mode,
        marks=cell.markup,
        rows=(rows[0], rows[1]),
        together=None if along is None else pair.attributes[along],
        next=priced(step) if step is not None and cell.hides else None,
    )


def _words(cell: Comparison, row: int, mode: Mode) -> str:
    """What a person is told who does not see the signs. Holds no character that the signs do not hold."""
    side = cell.sides[row]
    if side.value is None:
        return "missing"
    if mode == "full":
        return side.text(mode)
    if side.at_once:
        return "hidden"
    differing = side.disclosed("partial")
    length = f"{side.total} character{'s' * (side.total != 1)}"
    if mode == "partial" and cell.has_partial and not cell.equal:
        return f"{length}: {' '.join(_spelt(side))}"
    told = "all different" if differing == side.total else f"{differing} different"
    return f"{length}, {told}" if differing else f"{length}, hidden"


def _spelt(side: ValueView) -> list[str]:
    return ["hidden" if sign == "*" else sign for piece in side.pieces("partial") for sign in piece.text]


# -- counting characters ----------------------------------------------------------------------------------------------


def characters_of(pair: Pair) -> int:
    """How many characters there are. A category counts as one: its length would give it away, and is not shown."""
    return sum(_length(side) for cell in pair.cells for side in cell.sides)


def characters_shown(pair: Pair, state: State) -> int:
    """How many of them are open."""
    return sum(
        _length(side) if mode == "full" else side.disclosed(mode)
        for cell, mode in zip(pair.cells, state, strict=True)
        for side in cell.sides
    )


def _length(side: ValueView) -> int:
    return min(side.total, 1) if side.at_once else side.total


# -- what is open from the start --------------------------------------------------------------------------------------


def wanted_at_first(pair: Pair, initial: Initial) -> dict[str, Mode]:
    """What an initial display opens of a pair. Values that agree stay masked unless everything is open."""
    wanted: dict[str, Mode] = {}
    for name, cell in zip(pair.attributes, pair.cells, strict=True):
        mode = _at_first(cell, initial)
        if mode != "masked":
            wanted[name] = mode
    return wanted


def _at_first(cell: Comparison, initial: Initial) -> Mode:
    if initial == "masked" or not cell.hides:
        return "masked"
    if initial == "full":
        return "full"
    if cell.equal:
        return "masked"
    if cell.has_partial:
        return "partial"
    return "full" if initial == "moderate" else "masked"


def share(part: int, whole: int) -> Fraction:
    """A share of characters; 0 of nothing."""
    return Fraction(part, whole or 1)
