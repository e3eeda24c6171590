"""What a column probably is to an attacker, by its name and its values, for a person to confirm."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.policy import Role
from discreet.risk.column_words import Word, cut, known_word
from discreet.risk.value_shape import ATC, ICD, PATTERNS, POSTCODES, Shape
from discreet.wording import percent

NEARLY_ALL = 0.95
FEW = 20
"""So many distinct values are categories, whatever they are."""
RECORD_NUMBER = re.compile(r"(?i)(^|[a-z_ .-])(id|nr|no|num|number|nummer|numero|numer|key|code)[_ .-]?\d*$")
LONGEST_MASK, SHORTEST_CODE = 64, 3
"""Characters of codes that are hidden one by one."""
OLDEST, TOP_CODE = 120, 90
LARGEST = 1e30
"""Numbers beyond get no intervals."""
AGES = frozenset(
    ("age", "ages", "agegroup", "alter", "lebensalter", "edad", "eta", "leeftijd", "wiek", "idade", "alder")
)
HOUSEHOLD = frozenset(
    ("household", "hh", "hhid", "hid", "family", "familyid", "householdid", "haushalt", "menage", "hogar")
)
POSTAL = frozenset(
    [
        *("zip", "zipcode", "postcode", "postal", "postalcode", "plz", "postleitzahl", "codepostal", "codigopostal"),
        *("kodpocztowy", "cep", "postnummer", "postnr"),
    ]
)
LIGHTEST, HEAVIEST = 2.0, 5_000.0
"""Between these is the middle one of body weights, of grown people and newborns, in any unit."""
FEWEST_ROWS, ENOUGH_ROWS = 10, 100
"""In a table smaller than the first any numbers differ; in one larger than the second, measurements repeat."""


@dataclass(frozen=True)
class Guess:
    """A role, why, and a built-in hierarchy where one fits."""

    role: Role
    reason: str
    hierarchy: str = ""
    named: bool = False
    """Whether a word of its name decided."""
    open: bool = False
    """Whether nothing decided: categories of an unknown name."""
    numbered: bool = False
    """Whether it numbers people; names repeat by nature, numbers only where a person has several rows."""


def guess(name: str, shape: Shape, *, share_unique: float, records: int, distinct: int | None = None) -> Guess:
    """What a column probably is to an attacker; in doubt what needs more care.

    `distinct` is the number of values where the shape has only some of them.
    """
    distinct = len(shape.values) if distinct is None else distinct
    word = known_word(name)
    if word is None and re.match(r"(?i)age[a-z]{0,5}\d*$", name) and _ages(shape):
        word = known_word("age")
    guessed = _role(name, word, shape, share_unique=share_unique, records=records, distinct=distinct)
    if guessed.role == "quasi":
        return replace(guessed, hierarchy=_hierarchy(word, shape))
    if guessed.role == "identifier":
        households = HOUSEHOLD & set(cut(name))
        return replace(guessed, numbered=not households and shape.written_as(r"(?s).*\d.*"))
    coded = guessed.role == "sensitive" and shape.looks == "text" and shape.written_as(ICD)
    return replace(guessed, hierarchy=PREFIXES) if coded else guessed


def in_context(guesses: Sequence[Guess]) -> list[Guess]:
    """The same, where what a name does not say follows from the other columns of the table.

    In a table that mostly measures (health, money, opinions) an unknown column is probably one more measurement.
    """
    sensitive = sum(guess.named and guess.role == "sensitive" for guess in guesses)
    quasi = sum(guess.named and guess.role == "quasi" for guess in guesses)
    if sensitive < max(quasi, 1):
        return list(guesses)
    measured = Guess("sensitive", "most columns of this table are what an attacker would learn")
    return [measured if guess.open else guess for guess in guesses]


def _role(name: str, word: Word | None, shape: Shape, *, share_unique: float, records: int, distinct: int) -> Guess:
    """The role and the reason; the first of these rules that fits."""
    many = distinct > FEW
    for what, pattern in PATTERNS.items():
        if shape.looks == "text" and shape.written_as(pattern):
            return Guess("identifier", f"each value looks like {what}")
    if word is not None and word.sure:
        return _by_name(word, shape, records=records)
    if shape.looks == "text" and (shape.written_as(ICD) or shape.written_as(ATC)):
        return Guess("sensitive", "each value looks like a code of a disease or a drug")
    if shape.looks == "date" or shape.years:
        return Guess("quasi", "dates are often known from elsewhere")
    numbered = RECORD_NUMBER.search(name) is not None or (word is not None and word.role == "identifier")
    if numbered and many and distinct >= records / 50 and (shape.whole or shape.numbers is None):
        return Guess("identifier", "its name and its many values are those of numbers or names of records")
    if share_unique >= NEARLY_ALL and records > 1 and _alone(shape, share_unique=share_unique, records=records):
        return Guess("identifier", f"{percent(share_unique)} of people have a value of their own")
    if len(shape.values) <= 1:
        return Guess("other", "nobody differs from the others in it")
    if shape.looks == "number" and (many or (not shape.whole and len(shape.values) > 2)):
        return Guess("sensitive", "measurements of a person are what an attacker would learn")
    return Guess("quasi", "categories may be known from elsewhere", open=word is None)


def _by_name(word: Word, shape: Shape, *, records: int) -> Guess:
    """What the name says, unless the values are of another kind."""
    few = shape.looks == "number" and len(shape.values) <= FEWEST_ROWS < records
    if word.role == "identifier" and (shape.looks == "boolean" or few):
        return Guess("quasi", f"its name says '{word.text}', but few different values are in it")
    # Weights of a survey are near 1 or very large.
    if word.text == "weight" and shape.numbers is not None and not LIGHTEST < np.median(shape.numbers) < HEAVIEST:
        return Guess("other", "its name says 'weight', and its numbers are not those of bodies")
    return Guess(word.role, f"its name says '{word.text}'", named=True)


def _alone(shape: Shape, *, share_unique: float, records: int) -> bool:
    """Whether values that nobody shares are those of records, and no exact measurements."""
    if shape.looks in ("text", "code"):
        return True
    return (shape.running and records >= FEWEST_ROWS) or (shape.whole and share_unique == 1 and records >= ENOUGH_ROWS)


def _ages(shape: Shape) -> bool:
    """Whether the numbers may be ages in years."""
    return shape.numbers is not None and float(shape.numbers.min()) >= 0 and float(shape.numbers.max()) <= OLDEST


PREFIXES, WHOLE = "{ prefix = [3, 1] }", '{ any = "*" }'


def _hierarchy(word: Word | None, shape: Shape) -> str:
    """The built-in rule that fits the values, in TOML; codes are no numbers."""
    longest = max(shape.lengths, default=0)
    if shape.looks == "date":
        style = f', format = "{shape.date_style}"' if shape.date_style else ""
        return f'{{ dates = ["month", "year", "decade"]{style} }}'
    postal = word is not None and word.text.replace(" ", "") in POSTAL
    digits = shape.looks == "number" and len(shape.values) > FEW and all(map(str.isdigit, shape.values))
    code = digits and not shape.years and len(shape.lengths) == 1 and longest >= SHORTEST_CODE
    category = word is not None and not word.quantity
    if 1 <= longest <= LONGEST_MASK and (
        postal or shape.written_as(POSTCODES) or shape.looks == "code" or (code and category)
    ):
        # A value that was not looked at may be longer.
        same = len(shape.lengths) == 1 and shape.complete
        return f"{{ mask = {longest} }}" if same else '{ mask = "auto" }'
    if shape.looks == "text" and shape.written_as(ICD):
        return PREFIXES
    if shape.looks != "number" or shape.numbers is None or not np.abs(shape.numbers).max() < LARGEST:
        return WHOLE
    if shape.years:
        return "{ widths = [2, 4, 8, 16] }"
    if category and word is not None and word.sure:
        return WHOLE
    if word is not None and word.text in AGES and _ages(shape):
        return f"{{ top = {TOP_CODE}, widths = [5, 10, 20] }}"
    return _intervals(float(shape.numbers.max() - shape.numbers.min())) if word is not None else WHOLE


def _intervals(span: float) -> str:
    """Three widths, the widest about a third of the span, each with round ends."""
    if span < 4:
        return WHOLE
    power = 10 ** math.floor(math.log10(span / 12)) if span >= 12 else 1
    width = next((digit * power for digit in (1, 2, 5) if digit * power >= span / 12), 10 * power)
    return f"{{ widths = [{max(2, width)}, {2 * max(2, width)}, {4 * max(2, width)}] }}"
