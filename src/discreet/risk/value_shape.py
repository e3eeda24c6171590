"""What the values of a column look like: numbers, dates, codes, addresses; and the hierarchy that fits them."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from discreet.kernel.arrays import Floats
from discreet.kernel.rules import DAY, STYLES, date_style

Content = Literal["number", "date", "boolean", "code", "text", "empty"]
BOOLEAN = frozenset(
    {"true", "false", "yes", "no", "0", "1", "t", "f", "y", "n", "0.0", "1.0", "ja", "nein", "oui", "non", "si", "nee"}
)
PATTERNS = {
    "an e-mail address": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "a web address": r"https?://\S+",
    "a UUID": r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "an account number (IBAN)": r"[A-Z]{2}\d{2} ?([A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}",
    "an IP address": r"\d{1,3}(\.\d{1,3}){3}",
    "a telephone number": r"(\+|00)\d[\d ()/-]{6,17}|0\d{1,5}[ /-]\d[\d -]{3,11}|\(\d{2,5}\) ?\d[\d -]{4,10}",
    "a social security number": r"\d{3}-\d{2}-\d{4}",
}
"""Ways to write what names one person."""
ICD, ATC = r"[A-TV-Z]\d[0-9AB](\.?[0-9A-Z]{1,4})?", r"[A-DGHJ-NPRSV]\d\d[A-Z]{2}\d\d"
POSTCODES = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{4} ?[A-Z]{2}|\d{2}-\d{3}|\d{4}-\d{3}|\d{3} \d{2}"
"""Postcodes that cannot be taken for numbers: British, Dutch, Polish, Portuguese, Swedish."""
FARTHEST = 1e300
"""Numbers beyond are taken for this."""
LONG = 6
"""Digits from which on a number that nobody shares is that of a record."""
MANY, NEARLY_EACH = 150, 0.8
"""Numbers, and the share of those up to the largest, from which on they count people and not what is measured."""
WORDS = 6
"""Words from which on a text is rather a sentence."""
SAMPLE = 2_000
"""Values that are looked at for patterns."""


@dataclass(frozen=True)
class Shape:
    """The distinct values of a column, and what they have in common."""

    values: Sequence[str]
    complete: bool = True
    """Whether these are all values of the column, and not only some to look at."""
    decimal: str = "."
    """What separates the decimals of numbers."""
    odd: int = 0
    """Values that were left out, because nearly all others are of one kind."""

    @cached_property
    def looks(self) -> Content:
        """The kind of the values.

        >>> [Shape(values).looks for values in (["1964-08-09"], ["09.08.1964"], ["39", "50"], ["00123"], ["yes", "no"])]
        ['date', 'date', 'number', 'code', 'boolean']
        """
        if not self.values:
            return "empty"
        if len(self.values) <= 4 and {value.lower() for value in self.values} <= BOOLEAN:
            return "boolean"
        if self.date_style is not None:
            return "date"
        # Digits of one length, some with leading zeros: a number would lose them.
        lengths = {len(value) for value in self.values}
        digits = lengths != {1} and len(lengths) == 1 and all(map(str.isdigit, self.values))
        if digits and any(value[0] == "0" for value in self.values):
            return "code"
        return "text" if self.numbers is None else "number"

    @cached_property
    def date_style(self) -> str | None:
        """How all values are written as dates: empty for YYYY-MM-DD, None if they are no dates."""
        return date_style(self.values)

    def year(self, value: str) -> int:
        """The year of one of its dates."""
        style = self.date_style
        return datetime.datetime.strptime(value, style).year if style else int(value[:4])

    @cached_property
    def numbers(self) -> Floats | None:
        """The values as numbers, if there are any and all are."""
        if not self.values:
            return None
        spelt = [plain_number(value, self.decimal) for value in self.values]
        try:
            numbers = np.array([float(value) for value in spelt])
        except ValueError:
            return None
        # Beyond what a float holds there are numbers, too; NaN and infinity are none.
        if not np.isfinite(numbers).all() and not _all(spelt, lambda value: Decimal(value).is_finite()):
            return None
        clipped: Floats = np.clip(numbers, -FARTHEST, FARTHEST)
        return clipped

    @cached_property
    def whole(self) -> bool:
        """Whether all are whole numbers."""
        return self.numbers is not None and bool((np.mod(self.numbers, 1) == 0).all())

    @cached_property
    def years(self) -> bool:
        """Whether all are years of our time."""
        return bool(self.values) and all(re.fullmatch(r"(18|19|20)\d\d(\.0)?", value) for value in self.values)

    @cached_property
    def running(self) -> bool:
        """Whether the numbers are those that count or number records."""
        if self.numbers is None or not self.whole:
            return False
        span = self.numbers.max() - self.numbers.min() + 1
        lengths = {len(value) for value in self.values}
        return bool(span <= 2 * len(self.values)) or (len(lengths) <= 2 and min(lengths) >= LONG)

    @cached_property
    def numbered(self) -> bool:
        """Whether nearly all whole numbers from 1 to a large one are there: what is measured has gaps."""
        if self.numbers is None or not self.whole or len(self.values) < MANY:
            return False
        least, most = float(self.numbers.min()), float(self.numbers.max())
        return least in (0, 1) and len(self.values) >= NEARLY_EACH * most

    def written_as(self, pattern: str) -> bool:
        """Whether the values are written in this way, as far as they are looked at."""
        fits = re.compile(pattern)
        return bool(self.values) and all(fits.fullmatch(value.strip()) for value in self.values[:SAMPLE])

    @cached_property
    def prose(self) -> bool:
        """Whether most values are sentences: several words, more than names and addresses have."""
        if self.looks != "text":
            return False
        some = self.values[:: max(1, len(self.values) // SAMPLE)]
        return sum(len(value.split()) >= WORDS for value in some) * 2 > len(some)

    @cached_property
    def lengths(self) -> set[int]:
        """Characters of the values."""
        return {len(value) for value in self.values}


def plain_number(value: str, decimal: str) -> str:
    """A number as programs write it; with a decimal comma, what has a point is no number."""
    return value if decimal == "." else value.replace(".", " ").replace(decimal, ".")


CODES = frozenset(
    [
        *(
            "na",
            "n/a",
            "#n/a",
            "n.a.",
            "n.a",
            "nan",
            "null",
            "#null!",
            "nil",
            "none",
            "<na>",
            ".",
            "..",
            "...",
            "?",
            "??",
            "-",
            "--",
        ),
        *(
            "---",
            "*",
            "**",
            "***",
            "x",
            "xx",
            "xxx",
            "unknown",
            "unk",
            "missing",
            "refused",
            "not stated",
            "not known",
            "blank",
        ),
        *("not available", "not applicable", "no answer", "don't know", "dk", "#value!", "#div/0!", "#ref!"),
        *(
            "k.a.",
            "k. a.",
            "k.a",
            "k. a",
            "ka",
            "keine angabe",
            "keine angaben",
            "o.a.",
            "unbekannt",
            "nicht bekannt",
            "fehlt",
        ),
        *(
            "entfällt",
            "inconnu",
            "inconnue",
            "non renseigné",
            "non renseigne",
            "nsp",
            "nr",
            "nd",
            "n.d.",
            "desconocido",
            "ns/nc",
        ),
        *(
            "sin dato",
            "sin datos",
            "no consta",
            "ignoto",
            "sconosciuto",
            "non noto",
            "onbekend",
            "niet bekend",
            "nieznany",
            "brak",
        ),
        *(
            "brak danych",
            "desconhecido",
            "sem dados",
            "okänd",
            "okänt",
            "uppgift saknas",
            "ukendt",
            "ukjent",
            "inf",
            "+inf",
            "-inf",
        ),
        *("infinity", "+infinity", "-infinity"),
    ]
)
"""What programs and people write where a value is missing, in small letters."""
FILLER = re.compile(r"[09]{1,4}([-./])[09]{1,4}\1[09]{1,4}")
"""A day that is none: 99.99.9999, 0000-00-00."""
LARGE, LARGE_OF = 0.98, 50
"""The share of so many values, or more, that must be numbers or dates for a column to be one of them."""


def is_code(value: str) -> bool:
    """Whether a value is what people or programs write where one is missing.

    >>> [is_code(value) for value in ("k.A.", "NA", "99.99.9999", "-inf", "09.09.1990", "90+")]
    [True, True, True, True, False, False]
    """
    if "1" <= value[:1] <= "8":  # nearly all numbers, at once
        return False
    return value.strip().lower() in CODES or FILLER.fullmatch(value) is not None


def majority(shape: Shape) -> Shape:
    """The shape of the values of one kind, if nearly all are numbers, or dates of one style.

    >>> days = [f"{day:02}.{month:02}.1970" for day in range(1, 29) for month in (1, 2)]
    >>> (mostly := majority(Shape([*days, "31.02.1970"]))).looks, mostly.date_style, mostly.odd
    ('date', '%d.%m.%Y', 1)
    """
    values = shape.values
    if len(values) < LARGE_OF or shape.looks != "text":
        return shape
    least = LARGE * len(values)

    def fitting(pattern: str, reads: Callable[[str], object]) -> list[str]:
        fits = re.compile(pattern)
        some = values[:: max(1, len(values) // LARGE_OF)]
        if sum(fits.fullmatch(value) is not None for value in some) < LARGE * len(some) - 2:
            return []
        return [value for value in values if fits.fullmatch(value) and _all([value], reads)]

    readers: list[tuple[str, Callable[[str], object]]] = [
        (NUMBER_TEXT, lambda value: Decimal(plain_number(value, shape.decimal)).is_finite()),
        (DAY.pattern, lambda value: datetime.date.fromisoformat(value[:10])),
    ]
    readers += [
        (pattern, functools.partial(lambda style, value: datetime.datetime.strptime(value, style), style))
        for style, pattern in STYLES.items()
    ]
    for pattern, reads in readers:
        kept = fitting(pattern, reads)
        if len(kept) >= least:
            return replace(shape, values=kept, odd=len(values) - len(kept))
    return shape


NUMBER_TEXT = r"[-+]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?"
COMMA = re.compile(r"[+-]?\d+(,(\d+))?")


def decimal_mark(columns: Iterable[Sequence[str]]) -> str | None:
    """A comma where columns of numbers have it before their decimals and none has a point; None where nothing says so.

    Three digits after each comma may be thousands. Codes for a missing value are no numbers, and a few wrong values count little.

    >>> decimal_mark([["1,5", "2"], ["a"]]), decimal_mark([["1,500"]]), decimal_mark([["1,5"], ["2.5"]])
    (',', None, None)
    """
    comma = False
    for values in columns:
        if not any("," in value or "." in value for value in values):
            continue
        spelt = [value.strip() for value in values if not is_code(value)]
        matches = [match for value in spelt if (match := COMMA.fullmatch(value))]
        if matches and (len(matches) == len(spelt) or len(matches) >= LARGE * max(len(spelt), LARGE_OF)):
            comma |= any(len(match[2] or "123") != 3 for match in matches)
        elif majority(Shape(spelt)).looks == "number":
            return None
    return "," if comma else None


class Written(Protocol):
    """The values of a column."""

    @property
    def values(self) -> Sequence[str]:
        """All of them, or some to look at."""


def missing_codes(columns: Iterable[Written], *, decimal: str = ".") -> tuple[str, ...]:
    """Codes for a missing value in columns whose other values are nearly all numbers or dates.

    >>> class Cells:
    ...     def __init__(self, *values: str) -> None: self.values = values
    >>> missing_codes([Cells("1", "NA", "2.5"), Cells("x", "?"), Cells("NA")])
    ('NA',)
    """
    found: set[str] = set()
    for values in (column.values for column in columns):
        codes = {value for value in values if is_code(value)}
        known = [value for value in values if value not in codes]
        if codes and majority(Shape(known, decimal=decimal)).looks in ("number", "date"):
            found |= codes
    return tuple(sorted(found))


def _all(values: Sequence[str], reads: Callable[[str], object]) -> bool:
    """Whether a reader takes every value."""
    try:
        return all(reads(value) for value in values)
    except (ValueError, InvalidOperation):
        return False
