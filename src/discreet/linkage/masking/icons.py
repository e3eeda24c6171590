"""Icons beside a pair of values, each with the words for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Icon:
    """An icon: its name, and what it means in words."""

    name: str
    words: str


Mark = Icon
"""The public name, from when icons were called marks."""

EQUAL = Icon("equal", "the same in both records")
DIFFERENT = Icon("different", "different as a whole")
INSERTED = Icon("indel", "characters inserted or left out")
REPLACED = Icon("replace", "characters replaced")
TRANSPOSED = Icon("transpose", "two neighbouring characters exchanged")
NAMES_SWAPPED = Icon("name-swap", "the two names exchanged")
DATE_SWAPPED = Icon("date-swap", "day and month exchanged")
MISSING = Icon("missing", "missing")

UNIQUE = Icon("unique", "nobody else has this name")
RARE = Icon("rare", "2 to 5 records have this name")
COMMON = Icon("common", "6 to 100 records have this name")
VERY_COMMON = Icon("very-common", "more than 100 records have this name")

MARKS = (
    *(EQUAL, DIFFERENT, INSERTED, REPLACED, TRANSPOSED, NAMES_SWAPPED, DATE_SWAPPED, MISSING),
    *(UNIQUE, RARE, COMMON, VERY_COMMON),
)
"""All of them, for a legend."""


def frequency(records: int) -> Icon:
    """How common a name is that so many base records have.

    >>> [frequency(records).name for records in (1, 2, 5, 6, 100, 101)]
    ['unique', 'rare', 'rare', 'common', 'common', 'very-common']
    """
    if records <= 1:
        return UNIQUE
    if records <= 5:
        return RARE
    return COMMON if records <= 100 else VERY_COMMON
