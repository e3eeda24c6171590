"""Text of a value: characters, dates as written, alignment of two, icons for what differs.

The alignment is a dynamic programme over prefixes. Equal characters take the diagonal at no cost; otherwise the cheapest
of, in this order where they tie: transposition, gap in b, gap in a, substitution. Ties therefore go to the same edit on
every machine, and what a partial view discloses is determined by the two values alone.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import takewhile
from typing import Any

from discreet.errors import UsageError
from discreet.kernel.hierarchy import text

SAME, REPLACED, ALONE, FIRST, SECOND, SWAPPED, CROSSED, DIFFERENT = "=", "r", "a", "f", "s", "w", "x", "d"
"""What became of a character: found in the other value; replaced; without counterpart; the first or the second of two
neighbours that changed places; in the first or the second of two parts that did; in a value that is different as a whole."""

_TRANSPOSED, _GAP_IN_B, _GAP_IN_A, _SUBSTITUTED, _EQUAL = range(5)
_DRAWN = {
    _TRANSPOSED: (SECOND + FIRST, SECOND + FIRST),
    _GAP_IN_B: (ALONE, ""),
    _GAP_IN_A: ("", ALONE),
    _SUBSTITUTED: (REPLACED, REPLACED),
    _EQUAL: (SAME, SAME),
}
"""What a step makes of the characters of both values, the last one first."""
_NEVER = 1 << 30


def distance(a: Sequence[str], b: Sequence[str]) -> int:
    """The least number of insertions, deletions, substitutions and exchanges of neighbours, none edited twice.

    >>> distance("Mary", "Mark"), distance("ca", "abc"), distance("1742682819", "1742668281")
    (1, 3, 2)
    """
    tail = _common_start(a[::-1], b[::-1])
    a, b = a[: len(a) - tail], b[: len(b) - tail]
    start = _common_start(a, b)
    a, b = a[start:], b[start:]
    if not a or not b:
        return len(a) + len(b)
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, sign in enumerate(a, start=1):
        row = [i]
        for j, other in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (sign != other))
            if i > 1 and j > 1 and sign == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def align(a: Sequence[str], b: Sequence[str], *, per_edit: int = 0) -> tuple[str, str]:
    """What became of each character of `a` and of `b`.

    A transposition costs nothing, a gap or a substitution 1; `per_edit` (1 for identifiers) is added to each edit inside
    both values, which prefers few edits. Gaps before the first character of the other value cost 1 in either case.

    >>> align("Mary", "Mark"), align("Brain", "Brian")
    (('===r', '===r'), ('==fs=', '==fs='))
    >>> align("1742682819", "1742668281", per_edit=1)
    ('=========a', '====a=====')
    """
    tail = _common_start(a[::-1], b[::-1])  # equal characters take the diagonal, so a common end is aligned as it is
    a, b = a[: len(a) - tail], b[: len(b) - tail]
    # For each pair of prefixes the cost of the alignment, and its last step.
    costs = [list(range(len(b) + 1))]
    moves = [[_GAP_IN_A] * (len(b) + 1)]
    for i, sign in enumerate(a, start=1):
        row, steps, above = [i], [_GAP_IN_B], costs[i - 1]
        for j, other in enumerate(b, start=1):
            if sign == other:
                row.append(above[j - 1])
                steps.append(_EQUAL)
                continue
            crossed = i > 1 and j > 1 and sign == b[j - 2] and a[i - 2] == other
            choices = (costs[i - 2][j - 2] if crossed else _NEVER, above[j] + 1, row[j - 1] + 1, above[j - 1] + 1)
            least = min(choices)
            row.append(least + per_edit)
            steps.append(choices.index(least))
        costs.append(row)
        moves.append(steps)
    # The steps are read from the end to the beginning.
    signs_a, signs_b = [SAME] * tail, [SAME] * tail
    i, j = len(a), len(b)
    while i or j:
        move = moves[i][j] if i and j else (_GAP_IN_B if i else _GAP_IN_A)
        drawn_a, drawn_b = _DRAWN[move]
        signs_a += drawn_a
        signs_b += drawn_b
        i, j = i - len(drawn_a), j - len(drawn_b)
    return "".join(reversed(signs_a)), "".join(reversed(signs_b))


def _common_start(a: Sequence[str], b: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda signs: signs[0] == signs[1], zip(a, b, strict=False)))


# A value as the characters a person sees, and what may be done to it before: only what was declared.
MISSING = ("", "?")
"""Texts that mean a missing value, besides None and what is not a number."""

LONGEST = 128
"""Values of more characters are not aligned: they are equal or different."""

NORMALISATIONS: Mapping[str, Callable[[str], str]] = {
    "nfc": lambda value: unicodedata.normalize("NFC", value),
    "strip": str.strip,
    "spaces": lambda value: " ".join(value.split()),
    "casefold": str.casefold,
}
"""What can be declared: one spelling per accented letter, no space around, single spaces, no upper case."""

_JOINERS = ("\u200c", "\u200d")


def value_of(cell: Any, normalise: Iterable[str] = ()) -> str | None:
    """The text of a cell after the declared normalisations, in their order; None if it is missing.

    >>> value_of(" Ann "), value_of(" Ann ", ["strip", "casefold"]), value_of("?"), value_of(float("nan"))
    (' Ann ', 'ann', None, None)
    """
    value = text(cell)
    if value is None:
        return None
    for name in normalise:
        value = NORMALISATIONS[name](value)
    return None if value in MISSING else value


def check_normalisations(names: Iterable[str]) -> tuple[str, ...]:
    """The names, if all of them are known."""
    steps = tuple(names)
    for name in steps:
        check_name("normalisation", name, NORMALISATIONS)
    return steps


def check_name(what: str, name: str, names: Collection[str]) -> None:
    """Stop with advice if nothing has that name."""
    if name not in names:
        raise UsageError(f"No {what} is called '{name}'.", remedy=f"There are: {', '.join(names)}.")


def characters(value: str) -> tuple[str, ...]:
    """The characters of a text; an accent that is written apart belongs to its letter.

    >>> len(characters("Zoe\\u0308")), len(characters("Zo\\u00eb"))
    (3, 3)
    """
    if value.isascii():
        return tuple(value)
    found: list[str] = []
    for sign in value:
        attaches = sign in _JOINERS or unicodedata.category(sign) in ("Mn", "Me", "Mc")
        if found and (attaches or found[-1][-1] == "\u200d"):
            found[-1] += sign
        else:
            found.append(sign)
    return tuple(found)


# Dates as written: declared formats, eight digits, and the separators that are always shown.
FORMATS = ("YYYY-MM-DD", "MM/DD/YYYY")
"""How dates may be written unless something else is declared."""

YEAR, MONTH, DAY = slice(0, 4), slice(4, 6), slice(6, 8)
"""Places of the parts in YYYYMMDD, the order in which digits are counted and compared."""

_PLACES = {"YYYY": range(4), "MM": range(4, 6), "DD": range(6, 8)}
_FIELD = re.compile("YYYY|MM|DD")


@dataclass(frozen=True)
class Layout:
    """One way to write a date: YYYY, MM and DD once each, with signs between them.

    >>> Layout("MM/DD/YYYY").digits("08/09/1964"), Layout("MM/DD/YYYY").written("****0**9")
    ('19640809', '0*/*9/****')
    """

    pattern: str

    def __post_init__(self) -> None:
        between = "".join(_FIELD.split(self.pattern))
        if sorted(_FIELD.findall(self.pattern)) != ["DD", "MM", "YYYY"] or re.search(r"[\w*@&?]", between):
            raise UsageError(
                f"'{self.pattern}' does not say how dates are written.",
                remedy="Give YYYY, MM and DD once each, with signs between them: DD.MM.YYYY",
            )

    @cached_property
    def places(self) -> tuple[int | str, ...]:
        """Per character the place of its digit in YYYYMMDD, or the separator."""
        pieces = re.split("(YYYY|MM|DD)", self.pattern)
        return tuple(place for piece in pieces for place in _PLACES.get(piece, piece))

    @cached_property
    def shape(self) -> re.Pattern[str]:
        """Texts that are so written."""
        pieces = re.split("(YYYY|MM|DD)", self.pattern)
        written = (f"(?P<{piece}>[0-9]{{{len(piece)}}})" if piece in _PLACES else re.escape(piece) for piece in pieces)
        return re.compile("".join(written))

    def digits(self, value: str) -> str | None:
        """The digits in the order YYYYMMDD; None if it is written otherwise.

        Whether the calendar has such a day is not asked: with day and month exchanged it may not.
        """
        found = self.shape.fullmatch(value)
        return None if found is None else found["YYYY"] + found["MM"] + found["DD"]

    def written(self, signs: str) -> str:
        """Eight signs in the order YYYYMMDD as this layout writes them."""
        return "".join(signs[place] if isinstance(place, int) else place for place in self.places)


@cache
def layouts(formats: tuple[str, ...]) -> tuple[Layout, ...]:
    """Layouts of the declared formats, if no text can be read in two ways."""
    written = tuple(Layout(pattern) for pattern in formats)
    if not written:
        raise UsageError("No format of dates is declared.", remedy="formats=['MM/DD/YYYY']")
    if len({re.sub("[YMD]", "0", pattern) for pattern in formats}) < len(written):
        raise UsageError(
            "Two declared formats cannot be distinguished.", remedy="Declare the one in which the column is written."
        )
    return written


def check_formats(formats: str | Iterable[str]) -> tuple[str, ...]:
    """The formats as a tuple, if they can be used together."""
    found = (formats,) if isinstance(formats, str) else tuple(formats)
    layouts(found)
    return found


def read_date(value: str, formats: tuple[str, ...]) -> tuple[str, Layout] | None:
    """The digits of a date and how it is written; None if it is in no declared format.

    >>> read_date("1964-08-09", FORMATS)
    ('19640809', Layout(pattern='YYYY-MM-DD'))
    """
    for layout in layouts(formats):
        digits = layout.digits(value)
        if digits is not None:
            return digits, layout
    return None


# Icons beside a pair of values, each with the words for it.
@dataclass(frozen=True)
class Icon:
    """An icon: its name, and what it means in words."""

    name: str
    words: str


Mark = Icon
"""The public name, from when icons were called marks."""

MARKS = (
    Icon("equal", "the same in both records"),
    Icon("different", "different as a whole"),
    Icon("indel", "characters inserted or left out"),
    Icon("replace", "characters replaced"),
    Icon("transpose", "two neighbouring characters exchanged"),
    Icon("name-swap", "the two names exchanged"),
    Icon("date-swap", "day and month exchanged"),
    Icon("missing", "missing"),
    Icon("unique", "nobody else has this name"),
    Icon("rare", "2 to 5 records have this name"),
    Icon("common", "6 to 100 records have this name"),
    Icon("very-common", "more than 100 records have this name"),
)
"""All of them, for a legend."""
ICONS = {icon.name: icon for icon in MARKS}


def frequency(records: int) -> Icon:
    """How common a name is that so many base records have.

    >>> [frequency(records).name for records in (1, 2, 5, 6, 100, 101)]
    ['unique', 'rare', 'rare', 'common', 'common', 'very-common']
    """
    return ICONS[("unique", "rare", "common", "very-common")[bisect_left((1, 5, 100), records)]]
