"""Dates as written: declared formats, eight digits, and the separators that are always shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

from discreet.errors import UsageError

FORMATS = ("YYYY-MM-DD", "MM/DD/YYYY")
"""How dates may be written unless something else is declared."""

DIGITS = 8
YEAR, MONTH, DAY = slice(0, 4), slice(4, 6), slice(6, 8)
"""Where the parts stand in YYYYMMDD, the order in which digits are counted and compared."""

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
        """What stands where: the place of a digit in YYYYMMDD, or a separator."""
        found: list[int | str] = []
        for piece in re.split("(YYYY|MM|DD)", self.pattern):
            found += _PLACES.get(piece, piece)
        return tuple(found)

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
    """The layouts of the declared formats, if no text can be read in two ways."""
    found = tuple(Layout(pattern) for pattern in formats)
    if not found:
        raise UsageError("No format of dates is declared.", remedy="formats=['MM/DD/YYYY']")
    shapes = {re.sub("[YMD]", "0", layout.pattern) for layout in found}
    if len(shapes) < len(found):
        raise UsageError(
            "Two declared formats cannot be told apart.", remedy="Declare the one in which the column is written."
        )
    return found


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
