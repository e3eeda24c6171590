"""Numbers of people and households: what counts as the same number, however it is spelled."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from discreet.kernel.arrays import Label

SEPARATORS = " ./_"
"""What separates the parts of a number, whichever of them or a dash is written."""
DASHES = "-" * len(SEPARATORS)
ALIKE = str.maketrans(SEPARATORS, DASHES)
FRACTION = re.compile(r"^(\W*[0-9]+)[.,]0+$")
EDGES = re.compile(r"^[+#,;:\s]+|[+#,;:\s]+$")
SIGNS = "+#,;: "
INNER_ZEROS = re.compile(r"(?<=[A-Z])0+(?=[0-9])")


def same_number(value: Label) -> str | None:
    """The number that a value spells; None if it is blank.

    Case, blanks, the width and script of characters, the kind of separators, leading zeros, signs around it and a
    fraction of nothing do not make it another one: it is better to take two people for one than one for two.

    >>> same_number("ab 0.1 "), same_number("AB-0-1"), same_number("007"), same_number("0"), same_number(" ")
    ('AB-0-1', 'AB-0-1', '7', '', None)
    >>> {same_number(text) for text in ("7", "7.0", "+7", "#7,", "\t7", "7\u00a0", "\uff17", "\u0667", "\u200b07")}
    {'7'}
    >>> same_number("P07") == same_number("p7"), same_number("P07") == same_number("P70")
    (True, False)
    """
    if value is None:
        return None
    plain = value
    if not plain.isascii():
        wide = unicodedata.normalize("NFKC", plain)
        plain = "".join(str(unicodedata.digit(sign, sign)) for sign in wide if unicodedata.category(sign) != "Cf")
    plain = " ".join(plain.upper().split())
    if not plain:
        return None
    spelt = EDGES.sub("", FRACTION.sub(r"\1", plain))
    return INNER_ZEROS.sub("", spelt.translate(ALIKE).lstrip("0")) if spelt else plain


def people_of(values: Sequence[Label]) -> list[str | None]:
    """The person that each value of a column stands for; None where it stands for nobody.

    Beyond what one value says, a number with separators is the same as one without, where both are in the column:
    12-34 and 1234 are one person, while 1-12 and 11-2 by themselves are two.

    >>> people_of(["12-34", "1234", "1-12", "11-2", None])
    ['1234', '1234', '1-12', '11-2', None]
    """
    numbers = [same_number(value) for value in values]
    known = {number for number in numbers if number is not None}
    joined = {number: number.replace("-", "") for number in known}
    return [number if number is None or joined[number] not in known else joined[number] for number in numbers]
