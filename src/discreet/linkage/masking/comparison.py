"""Comparison of two values of an attribute in three modes: masked, partial, full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, Literal

from discreet.errors import UsageError
from discreet.linkage.masking.text import (
    ALONE,
    CROSSED,
    DAY,
    DIFFERENT,
    FIRST,
    FORMATS,
    ICONS,
    LONGEST,
    MONTH,
    REPLACED,
    SAME,
    SECOND,
    SWAPPED,
    YEAR,
    Icon,
    Layout,
    align,
    characters,
    check_formats,
    check_name,
    check_normalisations,
    distance,
    read_date,
    value_of,
)

Kind = Literal["string", "fixed", "date", "category"]
KINDS: tuple[Kind, ...] = ("string", "fixed", "date", "category")
DateSwap = Literal["digits", "whole"]
MOST_EDITS = 4
"""Identifiers further apart are different."""

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
    """One record's value beside that of the other. The repr does not say it."""

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
        signs = "".join(self._sign(place, mode) for place in range(self.total))
        return signs if self.layout is None else self.layout.written(signs)

    def pieces(self, mode: Mode) -> tuple[Piece, ...]:
        """What is seen in a mode, as runs of characters of one kind."""
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
            Piece(kind, "".join(sign for _, sign in run)) for kind, run in groupby(drawn, key=lambda piece: piece[0])
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
        """What is seen of both in a mode; masked where there is no partial mode."""
        seen = self._seen(mode)
        return self.left.text(seen), self.right.text(seen)

    def pieces(self, mode: Mode) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """What is seen of both in a mode, as runs of characters of one kind."""
        seen = self._seen(mode)
        return self.left.pieces(seen), self.right.pieces(seen)

    def takes(self, mode: Mode) -> bool:
        """Whether it has this mode; equal values have a partial one, which shows they recur."""
        return mode != "partial" or self.has_partial or self.equal

    def next_mode(self, mode: Mode) -> Mode | None:
        """What the next step opens. Where values agree the partial view shows nothing, so that step is skipped."""
        if mode == "masked" and self.has_partial and not self.equal:
            return "partial"
        return None if mode == "full" else "full"

    def first_mode(self, initial: str) -> Mode:
        """What an initial display opens. Values that agree stay masked unless everything is open."""
        if initial == "full" and self.hides:
            return "full"
        if initial in ("masked", "full") or self.equal or not self.hides:
            return "masked"
        return "partial" if self.has_partial else "full" if initial == "moderate" else "masked"

    def _seen(self, mode: Mode) -> Mode:
        return "masked" if mode == "partial" and not self.has_partial else mode

    def __repr__(self) -> str:
        return f"Comparison({self.kind}, {', '.join(mark.name for mark in self.markup)})"


_ICONS = {SWAPPED: "date-swap", FIRST: "transpose", ALONE: "indel", REPLACED: "replace", DIFFERENT: "different"}


def compare(
    kind: Kind,
    a: Any,
    b: Any,
    *,
    formats: str | Iterable[str] = FORMATS,
    date_swap: DateSwap = "digits",
    normalise: Iterable[str] = (),
) -> Comparison:
    """Compare two values of an attribute. Nothing is normalised unless it is declared.

    >>> pair = compare("fixed", "1742682819", "1742668281")
    >>> pair.masked, pair.partial
    (('*********@', '****&*****'), ('*********9', '****6*****'))
    >>> compare("date", "08/09/1964", "09/08/1964").partial
    ('*8/*9/****', '*9/*8/****')
    >>> compare("string", "Smith", "Jones")
    Comparison(string, different)
    """
    check_name("kind of attribute", kind, KINDS)
    check_date_swap(date_swap)
    steps, declared = check_normalisations(normalise), check_formats(formats)
    return compare_values(kind, value_of(a, steps), value_of(b, steps), declared, date_swap)


def compare_values(
    kind: Kind, a: str | None, b: str | None, formats: tuple[str, ...] = FORMATS, date_swap: DateSwap = "digits"
) -> Comparison:
    """Compare texts that are ready, with settings that were checked."""
    (left, layout), (right, other_layout) = units_of(kind, a or "", formats), units_of(kind, b or "", formats)
    missing = a is None or b is None
    equal = not missing and left == right
    signs: tuple[str, str] | None = None  # different as a whole
    if missing or equal:
        signs = SAME * len(left), SAME * len(right)
    elif kind == "date" and layout and other_layout:
        signs = _date_signs("".join(left), "".join(right), layout, date_swap)
    elif kind == "fixed" and len(left) == len(right) <= LONGEST and distance(left, right) <= MOST_EDITS:
        signs = align(left, right, per_edit=1)
    elif kind == "string" and max(len(left), len(right)) <= LONGEST:
        signs = _string_signs(left, right)
    if missing or equal or signs is None:
        icons = [ICONS["missing" if missing else "equal" if equal else "different"]]
    else:
        icons = [ICONS[name] for sign, name in _ICONS.items() if sign in signs[0] + signs[1]]
    has_partial = signs is not None and not missing and kind != "category"
    left_signs, right_signs = signs or (DIFFERENT * len(left), DIFFERENT * len(right))
    at_once = kind == "category"
    return Comparison(
        kind,
        ValueView(a, left, left_signs, ROW_1, layout, at_once),
        ValueView(b, right, right_signs, ROW_2, other_layout, at_once),
        equal,
        tuple(icons),
        has_partial,
    )


def compare_names(
    first: tuple[Any, Any], second: tuple[Any, Any], *, kind: Kind = "string", normalise: Iterable[str] = ()
) -> tuple[Comparison, Comparison]:
    """Compare two columns that may have been exchanged: (both of row 1), (both of row 2).

    If they were, both cells are one: shown crosswise, without partial mode, and to be opened together.

    >>> [cell.masked for cell in compare_names(("Ann", "Miller"), ("Miller", "Ann"))]
    [('@@@', '&&&&&&'), ('&&&&&&', '@@@')]
    """
    check_name("kind of attribute", kind, KINDS)
    steps = check_normalisations(normalise)
    (a, b), (c, d) = ((value_of(row[0], steps), value_of(row[1], steps)) for row in (first, second))
    return exchanged(kind, (a, b), (c, d)) or (compare_values(kind, a, c), compare_values(kind, b, d))


def exchanged(
    kind: Kind, first: tuple[str | None, str | None], second: tuple[str | None, str | None]
) -> tuple[Comparison, Comparison] | None:
    """Both cells of two columns if row 2 has the values of row 1 exchanged; else None."""
    a, b = first
    if a is None or b is None or a == b or second != (b, a):
        return None
    left, right = characters(a), characters(b)
    views = ValueView(a, left, SWAPPED * len(left), ROW_1), ValueView(b, right, SWAPPED * len(right), ROW_2)
    markup = (ICONS["name-swap"],)
    return (
        Comparison(kind, *views, equal=False, markup=markup, has_partial=False),
        Comparison(kind, *views[::-1], equal=False, markup=markup, has_partial=False),
    )


def check_date_swap(rule: str) -> None:
    """Stop with advice if there is no such rule."""
    if rule not in ("digits", "whole"):
        raise UsageError(
            f"No rule for exchanged days and months is called '{rule}'.",
            remedy="digits: only differing digits are shown; whole: both parts are.",
        )


def units_of(kind: Kind, value: str, formats: tuple[str, ...]) -> tuple[Sequence[str], Layout | None]:
    """The characters of a value that count, and how a date is written."""
    found = read_date(value, formats) if kind == "date" else None
    return (characters(value), None) if found is None else found


def _string_signs(left: Sequence[str], right: Sequence[str]) -> tuple[str, str] | None:
    """What becomes of the characters of two different strings; None where they are different as a whole."""
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    gap = len(longer) - len(shorter)
    begins, ends = longer[: len(shorter)] == shorter, longer[gap:] == shorter
    if gap and (begins or ends):
        # One value is the beginning or the end of the other. With too little in common to speak of an alignment the
        # partial view shows both whole.
        found, rest = (DIFFERENT, DIFFERENT) if 2 * gap > len(longer) else (SAME, ALONE)
        signs = (
            found * len(shorter),
            (found * len(shorter) + rest * gap if begins else rest * gap + found * len(shorter)),
        )
        return signs if len(left) < len(right) else signs[::-1]
    if 2 * distance(left, right) > len(longer):
        return None
    return align(left, right)


def _date_signs(left: str, right: str, layout: Layout, date_swap: DateSwap) -> tuple[str, str] | None:
    """What becomes of the digits of two different dates; None where year, month and day all differ."""
    if left[MONTH] == right[DAY] and left[DAY] == right[MONTH] and left[MONTH] != left[DAY]:
        # Month and day changed places: the digits that differ, or all four, crosswise as the first row writes them.
        both = zip(left[MONTH] + left[DAY], right[MONTH] + right[DAY], strict=True)
        month_first = layout.places.index(MONTH.start) < layout.places.index(DAY.start)
        crossed = (SWAPPED, SWAPPED, CROSSED, CROSSED) if month_first else (CROSSED, CROSSED, SWAPPED, SWAPPED)
        swap_signs = "".join(
            SAME if x == y and date_swap == "digits" else sign for (x, y), sign in zip(both, crossed, strict=True)
        )
        signs = _digit_signs(left[YEAR], right[YEAR]) + swap_signs
    elif all(left[part] != right[part] for part in (YEAR, MONTH, DAY)):
        return None
    else:
        signs = "".join(_digit_signs(left[part], right[part]) for part in (YEAR, MONTH, DAY))
    return signs, signs


def _digit_signs(left: str, right: str) -> str:
    """Digit by digit; two neighbours that changed places are a transposition."""
    signs, place = "", 0
    while place < len(left):
        if left[place] == right[place]:
            signs += SAME
        elif left[place : place + 2] == right[place : place + 2][::-1] and place + 1 < len(left):
            signs += FIRST + SECOND
        else:
            signs += REPLACED
        place = len(signs)
    return signs
