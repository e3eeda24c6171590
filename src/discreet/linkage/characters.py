"""A value as the characters a person sees, and what may be done to it before: only what was declared."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discreet.errors import UsageError
from discreet.kernel.hierarchy import text

MISSING = ("", "?")
"""Texts that stand for a missing value, besides None and what is not a number."""

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
    found = tuple(names)
    for name in found:
        if name not in NORMALISATIONS:
            raise UsageError(f"No normalisation is called '{name}'.", remedy=f"There are: {', '.join(NORMALISATIONS)}.")
    return found


def characters(value: str) -> tuple[str, ...]:
    """The characters of a text; an accent that is written apart belongs to its letter.

    >>> len(characters("Zoe\\u0308")), len(characters("Zo\\u00eb"))
    (3, 3)
    """
    if value.isascii():
        return tuple(value)
    found: list[str] = []
    for sign in value:
        if found and (_attaches(sign) or found[-1][-1] == "\u200d"):
            found[-1] += sign
        else:
            found.append(sign)
    return tuple(found)


def _attaches(sign: str) -> bool:
    return sign in _JOINERS or unicodedata.category(sign) in ("Mn", "Me", "Mc")
