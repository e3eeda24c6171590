"""One record's half of a pair of values: its characters, what became of each, and how much of it a mode shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Literal

from discreet.linkage.dates import Layout
from discreet.linkage.masking.text import ALONE, CROSSED, DIFFERENT, FIRST, REPLACED, SAME, SECOND, SWAPPED

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
class Side:
    """One record's half. Its repr says nothing about the value."""

    value: str | None
    units: Sequence[str]
    """Its characters; those of a date are its digits in the order YYYYMMDD."""
    signs: str
    """What became of each character, as `alignment` says it."""
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
        drawn = self._drawn(mode)
        return tuple(
            Piece(kind, "".join(sign for _, sign in run)) for kind, run in groupby(drawn, key=lambda one: one[0])
        )

    def _drawn(self, mode: Mode) -> list[tuple[str, str]]:
        places = range(self.total) if self.layout is None else self.layout.places
        return [
            ("separator", place) if isinstance(place, str) else (_KINDS[self.signs[place]], self._sign(place, mode))
            for place in places
        ]

    def _sign(self, place: int, mode: Mode) -> str:
        hidden = mode == "masked" or (mode == "partial" and self.signs[place] == SAME)
        return self._masked(self.signs[place]) if hidden else self.units[place]

    def _masked(self, sign: str) -> str:
        if sign == SAME:
            return STAR
        return _OTHER[self.symbol] if sign in (SECOND, CROSSED) else self.symbol

    def __repr__(self) -> str:
        return f"Side({self.text('masked')})"
