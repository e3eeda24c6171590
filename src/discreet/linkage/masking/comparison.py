"""Comparison of values in its three modes, and pairs of records made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Literal

from discreet.errors import UsageError
from discreet.linkage.masking.icons import Icon
from discreet.linkage.masking.text import ALONE, CROSSED, DIFFERENT, FIRST, REPLACED, SAME, SECOND, SWAPPED, Layout

Mode = Literal["masked", "partial", "full"]
MODES: tuple[Mode, ...] = ("masked", "partial", "full")
"""From the least to the most disclosed."""

STAR, ROW_1, ROW_2, NO_VALUE = "*", "@", "&", "?"
_OTHER = {ROW_1: ROW_2, ROW_2: ROW_1}
_KINDS = {
    SAME: "same",
    REPLACED: "replace",
    ALONE: "indel",
    FIRST: "transpose",
    SECOND: "transpose",
    SWAPPED: "swap",
    CROSSED: "swap",
    DIFFERENT: "different",
}


@dataclass(frozen=True)
class Piece:
    """A run of characters of which the same is true, as a page draws it."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class ValueView:
    """One record's half. Its repr says nothing about the value."""

    value: str | None
    units: Sequence[str]
    """Its characters; those of a date are its digits in the order YYYYMMDD."""
    signs: str
    """What became of each character, by the signs of `discreet.linkage.masking.text`."""
    symbol: str
    layout: Layout | None = None
    at_once: bool = False
    """Masked it shows one sign, so that not even its length is seen (categories)."""

    @property
    def total(self) -> int:
        """How many characters there are to disclose; separators of a date do not count."""
        return len(self.units)

    @property
    def shown(self) -> tuple[tuple[int, str], ...]:
        """What the partial view discloses: places and characters."""
        return tuple((place, self.units[place]) for place, sign in enumerate(self.signs) if sign != SAME)

    def disclosed(self, mode: Mode) -> int:
        """How many characters a mode shows."""
        if mode == "partial":
            return len(self.signs) - self.signs.count(SAME)
        return self.total if mode == "full" else 0

    def share(self, mode: Mode) -> Fraction:
        """The share of the characters that a mode shows (p of the score); nothing of a missing value."""
        return Fraction(self.disclosed(mode), self.total or 1)

    def text(self, mode: Mode) -> str:
        """What is seen in a mode."""
        if self.value is None:
            return NO_VALUE
        if mode == "full":
            return self.value
        if self.at_once:
            return self._masked(self.signs[0])
        signs = [
            self.units[place] if mode == "partial" and sign != SAME else self._masked(sign)
            for place, sign in enumerate(self.signs)
        ]
        return "".join(signs) if self.layout is None else self.layout.written("".join(signs))

    def pieces(self, mode: Mode) -> tuple[Piece, ...]:
        """The same as runs of characters of one kind."""
        if self.value is None:
            return (Piece("missing", NO_VALUE),)
        if self.at_once:
            return (Piece(_KINDS[self.signs[0]], self.text(mode)),)
        places = range(self.total) if self.layout is None else self.layout.places
        drawn = [
            ("separator", place) if isinstance(place, str) else (_KINDS[self.signs[place]], self._sign(place, mode))
            for place in places
        ]
        return tuple(
            Piece(kind, "".join(sign for _, sign in run)) for kind, run in groupby(drawn, key=lambda one: one[0])
        )

    def _sign(self, place: int, mode: Mode) -> str:
        hidden = mode == "masked" or (mode == "partial" and self.signs[place] == SAME)
        return self._masked(self.signs[place]) if hidden else self.units[place]

    def _masked(self, sign: str) -> str:
        if sign == SAME:
            return STAR
        return _OTHER[self.symbol] if sign in (SECOND, CROSSED) else self.symbol

    def __repr__(self) -> str:
        return f"ValueView({self.text('masked')})"


# A pair of values in its three modes.
Kind = Literal["string", "fixed", "date", "category"]
KINDS: tuple[Kind, ...] = ("string", "fixed", "date", "category")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A pair of values. Only `partial`, `text` and `pieces` hold characters of them; the repr does not."""

    kind: Kind
    left: ValueView
    right: ValueView
    equal: bool
    """Both are there and the same."""
    markup: tuple[Icon, ...]
    """The icons, with words."""
    has_partial: bool
    """Whether there is something between masked and full."""

    @property
    def masked(self) -> tuple[str, str]:
        """What is seen before anything is opened."""
        return self.text("masked")

    @property
    def partial(self) -> tuple[str, str] | None:
        """The differing characters in clear, the others as stars; None where there is no partial mode."""
        return self.text("partial") if self.has_partial else None

    @property
    def full(self) -> tuple[str, str]:
        """Both values; a missing one is '?'."""
        return self.text("full")

    @property
    def hides(self) -> bool:
        """Whether opening it in full would show anything."""
        return self.left.value is not None or self.right.value is not None

    @property
    def sides(self) -> tuple[ValueView, ValueView]:
        """The halves of both records."""
        return self.left, self.right

    def text(self, mode: Mode) -> tuple[str, str]:
        """What is seen of both in a mode; in part no more than masked where there is no partial mode."""
        seen = self._seen(mode)
        return self.left.text(seen), self.right.text(seen)

    def pieces(self, mode: Mode) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """What is seen of both in a mode, as runs of characters of one kind."""
        seen = self._seen(mode)
        return self.left.pieces(seen), self.right.pieces(seen)

    def takes(self, mode: Mode) -> bool:
        """Whether it can be opened so; in part also where the values agree, which shows that they are not unique."""
        return mode != "partial" or self.has_partial or self.equal

    def next_mode(self, mode: Mode) -> Mode | None:
        """What the next step opens. Where values agree the partial view shows nothing, so that step is skipped."""
        if mode == "masked" and self.has_partial and not self.equal:
            return "partial"
        return None if mode == "full" else "full"

    def _seen(self, mode: Mode) -> Mode:
        return "masked" if mode == "partial" and not self.has_partial else mode

    def __repr__(self) -> str:
        return f"Comparison({self.kind}, {', '.join(mark.name for mark in self.markup)})"


# Two records side by side: their cells, the state in which each cell is, and what can be opened next.
State = tuple[Mode, ...]
"""The mode of each cell, in the order of the attributes."""


@dataclass(frozen=True)
class Pair:
    """The cells of two base records. The repr holds no value."""

    records: tuple[int, int]
    attributes: tuple[str, ...]
    cells: tuple[Comparison, ...]
    along: tuple[int | None, ...]
    """For each cell the place of the one that opens along with it: names that changed places."""
    frequencies: tuple[tuple[Icon, Icon] | None, ...]
    """For each cell how common the values of both records are, where that is shown and they are there."""

    @property
    def masked(self) -> State:
        """The state in which nothing is open."""
        return tuple(MODES[0] for _ in self.cells)

    def place(self, attribute: str) -> int:
        """The place of an attribute."""
        if attribute not in self.attributes:
            raise UsageError(
                f"No attribute '{attribute}' is shown.", remedy=f"There are: {', '.join(self.attributes)}."
            )
        return self.attributes.index(attribute)

    def cell(self, attribute: str) -> Comparison:
        """The cell of an attribute."""
        return self.cells[self.place(attribute)]

    def next_mode(self, state: State, attribute: str) -> Mode | None:
        """What the next step opens: partial, full or nothing more."""
        place = self.place(attribute)
        return self.cells[place].next_mode(state[place])

    def opened(self, state: State, attribute: str, mode: Mode) -> State:
        """The state after opening a cell so. What was seen stays seen: opening less than is open changes nothing."""
        place = self.place(attribute)
        check_mode(mode)
        if not self.cells[place].takes(mode):
            raise UsageError(
                f"Attribute '{attribute}' has no partial mode in this pair.", remedy="Open it in full, or not at all."
            )
        return self._with(state, place, mode)

    def all_opened(self, state: State, mode: Mode) -> State:
        """The state after opening every cell so; cells without a partial mode stay as they are."""
        check_mode(mode)
        for place, cell in enumerate(self.cells):
            if mode != "partial" or cell.has_partial:
                state = self._with(state, place, mode)
        return state

    def check(self, state: State) -> None:
        """Stop if this is no state of these cells."""
        for place, mode in enumerate(state):
            check_mode(mode)
            along = self.along[place]
            if not self.cells[place].takes(mode) or (along is not None and state[along] != mode):
                raise UsageError("A cell cannot be in that mode.", remedy="Make states with `opened`.")
        if len(state) != len(self.cells):
            raise UsageError("A state has one mode per attribute.", remedy="Make states with `opened`.")

    def disclosed(self, state: State) -> int:
        """How many characters of both records are shown."""
        return sum(side.disclosed(mode) for cell, mode in zip(self.cells, state, strict=True) for side in cell.sides)

    @property
    def characters(self) -> int:
        """How many characters both records have."""
        return sum(side.total for cell in self.cells for side in cell.sides)

    def shares(self, state: State) -> tuple[Fraction, Fraction]:
        """For each record the sum over its attributes of the share of characters shown."""
        first, second = Fraction(0), Fraction(0)
        for cell, mode in zip(self.cells, state, strict=True):
            if mode != "masked":
                first += cell.left.share(mode)
                second += cell.right.share(mode)
        return first, second

    def _with(self, state: State, place: int, mode: Mode) -> State:
        changed = list(state)
        for one in (place, self.along[place]):
            if one is not None and MODES.index(mode) > MODES.index(changed[one]):
                changed[one] = mode
        return tuple(changed)


def check_mode(mode: str) -> None:
    """Stop with advice if there is no such mode."""
    if mode not in MODES:
        raise UsageError(f"No mode is called '{mode}'.", remedy=f"There are: {', '.join(MODES)}.")
