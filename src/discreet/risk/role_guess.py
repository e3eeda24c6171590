"""What a column probably is to an attacker, by its name and its values, for a person to confirm."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from discreet.policy import Role
from discreet.risk.column_words import Word, known_word
from discreet.risk.value_shape import ATC, ICD, PATTERNS, Shape
from discreet.wording import percent

NEARLY_ALL = 0.95
FEW = 20
"""So many distinct values are categories, whatever they are."""
RECORD_NUMBER = re.compile(r"(?i)(^|[a-z_ .-])(id|nr|no|num|number|nummer|numero|numer|key|code)[_ .-]?\d*$")
LONGEST_MASK = 64
POSTAL = frozenset(
    [
        *("zip", "zipcode", "postcode", "postal", "postalcode", "plz", "postleitzahl", "codepostal", "codigopostal"),
        *("kodpocztowy", "cep", "postnummer", "postnr"),
    ]
)
LIGHTEST, HEAVIEST = 2.0, 5_000.0
"""Between these is the middle one of body weights, of grown people and newborns, in any unit."""
FEWEST_ROWS = 10
"""In a smaller table any numbers differ."""


@dataclass(frozen=True)
class Guess:
    """A role, why, and a built-in hierarchy where one fits."""

    role: Role
    reason: str
    hierarchy: str = ""


def guess(name: str, shape: Shape, *, share_unique: float, records: int) -> Guess:
    """What a column probably is to an attacker; in doubt what needs more care."""
    word = known_word(name)
    role, reason = _role(name, word, shape, share_unique=share_unique, records=records)
    return Guess(role, reason, _hierarchy(word, shape) if role == "quasi" else "")


def _role(name: str, word: Word | None, shape: Shape, *, share_unique: float, records: int) -> tuple[Role, str]:
    """The role and the reason; the first of these rules that fits."""
    many = len(shape.values) > FEW
    for what, pattern in PATTERNS.items():
        if shape.looks == "text" and shape.written_as(pattern):
            return "identifier", f"each value looks like {what}"
    if word is not None and word.sure:
        # A yes or no about a telephone names nobody.
        if word.role == "identifier" and (
            shape.looks == "boolean" or (shape.looks == "number" and len(shape.values) <= 10 < records)
        ):
            return "quasi", f"its name says '{word.text}', and few values are in it"
        if word.text == "weight" and shape.numbers is not None and not _of_bodies(shape):
            return "other", "its name says 'weight', and its numbers are not those of bodies"
        return word.role, f"its name says '{word.text}'"
    if shape.looks == "text" and (shape.written_as(ICD) or shape.written_as(ATC)):
        return "sensitive", "each value looks like a code of a disease or a drug"
    if shape.looks == "date" or shape.years:
        return "quasi", "dates are often known from elsewhere"
    numbered = RECORD_NUMBER.search(name) is not None or (word is not None and word.role == "identifier")
    if numbered and many and len(shape.values) >= records / 50 and (shape.whole or shape.numbers is None):
        return "identifier", "its name and its many values are those of numbers or names of records"
    if (
        share_unique >= NEARLY_ALL
        and records > 1
        and (shape.looks in ("text", "code") or (shape.running and records >= FEWEST_ROWS))
    ):
        return "identifier", f"{percent(share_unique)} of people have a value of their own"
    if len(shape.values) <= 1:
        return "other", "nobody differs from the others in it"
    if shape.looks == "number" and not shape.whole and len(shape.values) > 2:
        return "sensitive", "measurements of a person are what an attacker would learn"
    if not many or shape.looks in ("text", "code"):
        return "quasi", "categories may be known from elsewhere"
    return "sensitive", "measurements of a person are what an attacker would learn"


def _of_bodies(shape: Shape) -> bool:
    """Whether the numbers may be weights of people; those of a survey are near 1 or very large."""
    return shape.numbers is not None and LIGHTEST < float(np.median(shape.numbers)) < HEAVIEST


def _hierarchy(word: Word | None, shape: Shape) -> str:
    """The built-in rule that fits the values, in TOML."""
    postal = word is not None and word.text.replace(" ", "") in POSTAL
    if shape.looks == "date":
        style = f', format = "{shape.date_style}"' if shape.date_style else ""
        return f'{{ dates = ["month", "year", "decade"]{style} }}'
    if (postal or shape.looks == "code") and len(shape.lengths) == 1 and 1 <= min(shape.lengths) <= LONGEST_MASK:
        return f"{{ mask = {min(shape.lengths)} }}"
    if shape.years:
        return "{ widths = [2, 4, 8, 16] }"
    if shape.looks == "number" and word is not None and word.quantity:
        return "{ widths = [5, 10, 20, 40] }"
    return '{ any = "*" }'
