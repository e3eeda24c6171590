"""What a column probably is to an attacker, by its name and its values, for a person to confirm."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.kernel.arrays import Floats
from discreet.policy import Role
from discreet.risk.column_words import CALENDAR, SURVEY_WEIGHTS, Word, cut, known_word, own_words
from discreet.risk.value_shape import ATC, ICD, PATTERNS, POSTCODES, Shape
from discreet.wording import percent

NEARLY_ALL = 0.95
FEW = 20
"""So many distinct values are categories, whatever they are."""
RECORD_NUMBER = re.compile(r"(?i)(^|[a-z_ .-])(id|nr|no|num|number|nummer|numero|numer|key|code)[_ .-]?\d*$")
CALLED_CODE = re.compile(r"(?i)(key|code)[_ .-]?\d*$")
LONGEST_MASK, SHORTEST_CODE = 64, 3
"""Characters of codes that are hidden one by one."""
OLDEST, TOP_CODE = 120, 90
LARGEST = 1e30
"""Numbers beyond get no intervals."""
AGES = frozenset(
    ("age", "ages", "agegroup", "alter", "lebensalter", "edad", "eta", "leeftijd", "wiek", "idade", "alder")
)
AGE = re.compile(r"(?i)(age[a-z]{0,5}|[a-z]{2,5}age)\d*")
NO_AGES = frozenset(
    [
        *("damage", "image", "storage", "average", "coverage", "passage", "package", "message", "mileage", "shortage"),
        *("voyage", "manage", "leakage", "drainage", "voltage", "acreage", "agency", "agenda", "agent", "agents"),
    ]
)
"""Other words that begin or end so."""
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
"""Between these is the middle one of body weights, of grown people and newborns, in any unit;"""
HEAVY = 6
"""nobody weighs so many times as much."""
WEIGHTS = frozenset(("weight", "weights", "wgt", "wght", "wt", "gewicht", "poids", "peso", "gewichten", "waga", "vikt"))
SURVEY, TIMES = frozenset(SURVEY_WEIGHTS.split()), frozenset(CALENDAR.split())
SCHOOL = 9
"""From this class on, grades are those of a school."""
ALIKE = 3
"""Columns that belong together by their names or their values;"""
ANSWERS = 11
"""so many answers has a question at most: 0 to 10."""
FEWEST_ROWS, ENOUGH_ROWS = 10, 100
"""In a table smaller than the first any numbers differ; in one larger than the second, measurements repeat."""


NUMBERED = "nearly all whole numbers from 1 on are in it, as where people are numbered"


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
    weight: bool = False
    """Whether it says how many people of the population each of a survey stands for."""
    household: bool = False
    """Whether it numbers households."""
    numbered: bool = False
    """Whether it numbers people; names repeat by nature, numbers only where a person has several rows."""


def guess(name: str, shape: Shape, *, share_unique: float, records: int, distinct: int | None = None) -> Guess:
    """What a column probably is to an attacker; in doubt what needs more care.

    `distinct` is the number of values where the shape has only some of them.
    """
    distinct = len(shape.values) if distinct is None else distinct
    word = known_word(name)
    if word is None and (called := AGE.fullmatch(name)) and called[1].lower() not in NO_AGES and _ages(shape):
        word = known_word("age")
    guessed = _role(name, word, shape, share_unique=share_unique, records=records, distinct=distinct)
    if shape.odd:
        kind = {"date": "dates", "number": "numbers"}.get(shape.looks, "of that kind")
        reason = f"{guessed.reason}; {shape.odd:,} of its values are no {kind}, though all others are: mend them"
        return replace(guessed, reason=reason, hierarchy=WHOLE if guessed.role == "quasi" else "")
    if guessed.role == "quasi":
        return replace(guessed, hierarchy=_hierarchy(word, shape))
    if guessed.role == "identifier":
        households, digits = bool(HOUSEHOLD & set(cut(name))), shape.written_as(r"(?s).*\d.*")
        return replace(guessed, household=households and digits, numbered=not households and digits)
    coded = guessed.role == "sensitive" and shape.looks == "text" and shape.written_as(ICD)
    return replace(guessed, hierarchy=PREFIXES) if coded else guessed


def in_context(guesses: Sequence[Guess], columns: Sequence[tuple[str, Shape]]) -> list[Guess]:
    """The same, where what a name does not say follows from the other columns of the table.

    What others may know of a person is a short list everywhere, and nearly all its words are known; what a study asks
    has no end. So answers and amounts of an unknown name are rather what an attacker would learn, and what spells out one
    category in several columns is what the category is.
    """
    if sum(one.reason == NUMBERED for one in guesses) > 1:  # people have one number: these are points or amounts
        unknown = Guess("sensitive", "numbers of an unknown meaning may be what an attacker would learn")
        guesses = [unknown if one.reason == NUMBERED else one for one in guesses]
    same = _computed([shape for _, shape in columns])
    numbered = Counter(_numbered(name) for (name, shape), one in zip(columns, guesses, strict=True) if one.open)
    answers = Counter(_answers(shape) for (_, shape), one in zip(columns, guesses, strict=True) if one.open)
    sensitive = sum(one.named and one.role == "sensitive" for one in guesses)
    measuring = sensitive >= max(1, sum(one.named and one.role == "quasi" for one in guesses))
    kin = _kin([name for name, _ in columns])
    found = []
    for place, ((name, shape), one) in enumerate(zip(columns, guesses, strict=True)):
        origin = same.get(place)
        if origin is not None and not one.named and guesses[origin].role != one.role and guesses[origin].named:
            reason = "its values are squares or logarithms of those of another column"
            one = replace(one, role=guesses[origin].role, reason=reason, hierarchy=guesses[origin].hierarchy and WHOLE)
        elif not one.open:
            pass
        elif shape.looks == "boolean" and _numbered(name) and numbered[_numbered(name)] >= ALIKE:
            one = replace(one, reason="one of several columns that spell out categories")
        elif _answers(shape) and answers[_answers(shape)] >= ALIKE:
            one = Guess("sensitive", "one of several columns with the same answers")
        elif shape.looks == "number" and len(shape.values) > 2:
            one = Guess("sensitive", "numbers of an unknown meaning may be what an attacker would learn")
        elif {guesses[other].role for other in kin[place] if not guesses[other].open} == {"sensitive"}:
            one = Guess("sensitive", "by its name it belongs to a column that an attacker would learn")
        elif measuring or _between(guesses, place):
            one = Guess("sensitive", "the columns around it are what an attacker would learn")
        found.append(one)
    return found


def _kin(names: Sequence[str]) -> list[set[int]]:
    """Per column, the places of others whose names share a word that few columns have."""
    words = [own_words(name) for name in names]
    times = Counter(itertools.chain.from_iterable(words))
    having: dict[str, set[int]] = {word: set() for word, number in times.items() if 1 < number <= ALIKE}
    for place, own in enumerate(words):
        for word in own & having.keys():
            having[word].add(place)
    return [set().union(*(having[word] for word in own & having.keys())) - {place} for place, own in enumerate(words)]


def _numbered(name: str) -> str:
    """What columns share that are numbered, as in d81, d82; empty without a number."""
    found = re.fullmatch(r"(.*?[A-Za-z_ .-])\d{1,4}", name)
    return found[1] if found else ""


def _answers(shape: Shape) -> frozenset[str]:
    """The values of a question with a scale of answers; empty for all else."""
    return frozenset(shape.values) if 2 < len(shape.values) <= ANSWERS else frozenset()


def _between(guesses: Sequence[Guess], place: int) -> bool:
    """Whether the next named columns on both sides are what an attacker would learn."""
    before = next((one.role for one in reversed(guesses[:place]) if one.named), None)
    after = next((one.role for one in guesses[place + 1 :] if one.named), None)
    return before == after == "sensitive"


def _computed(shapes: Sequence[Shape]) -> dict[int, int]:
    """Places of columns whose values are the squares or logarithms of those of another, and of that column."""
    numbers = {
        place: np.sort(shape.numbers)
        for place, shape in enumerate(shapes)
        if shape.looks == "number" and shape.complete and len(shape.values) >= FEWEST_ROWS and shape.numbers is not None
    }
    found: dict[int, int] = {}
    for origin, values in numbers.items():
        if values[0] < 0 or values[-1] > LARGEST:
            continue
        for place, others in numbers.items():
            if place == origin or len(others) != len(values):
                continue
            # The ends are compared first: of hundreds of columns hardly any go together. Tables keep some decimals only.
            powers = [values**2] if math.isclose(others[-1], values[-1] ** 2, rel_tol=1e-3) else []
            if values[0] > 0 and math.isclose(others[-1], math.log(values[-1]), rel_tol=1e-3, abs_tol=1e-3):
                powers.append(np.log(values))
            if any(np.allclose(others, power, rtol=1e-3, atol=1e-3) for power in powers):
                found[place] = origin
    return found


def _role(name: str, word: Word | None, shape: Shape, *, share_unique: float, records: int, distinct: int) -> Guess:
    """The role and the reason; the first of these rules that fits."""
    many = distinct > FEW
    for what, pattern in PATTERNS.items():
        if shape.looks == "text" and shape.written_as(pattern):
            return Guess("identifier", f"each value looks like {what}")
    if word is not None and word.role in ("quasi", "sensitive") and shape.looks == "date":
        return Guess("quasi", "dates are often known from elsewhere", named=True)
    if (word is None or word.role != "identifier") and shape.prose and many and distinct >= records / 50:
        return Guess(
            "drop", "free text: it may name people, or say anything else about them; read it before you publish it"
        )
    # Texts that are each a person's own name people, whatever they are about.
    own = shape.looks == "text" and share_unique >= NEARLY_ALL and records >= ENOUGH_ROWS
    if word is not None and word.sure and not (own and word.role == "sensitive"):
        return _by_name(word, shape, records=records)
    numbered = RECORD_NUMBER.search(name) is not None or (word is not None and word.role == "identifier")
    numbered = numbered and many and distinct >= records / 50 and (shape.whole or shape.numbers is None)
    # Record numbers such as P0001 are written like codes of diseases, which repeat, and are called codes themselves.
    record = own or (numbered and CALLED_CODE.search(name) is None)
    if shape.looks == "text" and not record and (shape.written_as(ICD) or shape.written_as(ATC)):
        return Guess("sensitive", "each value looks like a code of a disease or a drug")
    if shape.looks == "date" or shape.years:
        return Guess("quasi", "dates are often known from elsewhere")
    if numbered:
        return Guess("identifier", "its name and its many values are those of numbers or names of records")
    if share_unique >= NEARLY_ALL and records > 1 and _alone(shape, share_unique=share_unique, records=records):
        return Guess("identifier", f"{percent(share_unique)} of people have a value of their own")
    if (
        word is None
        and shape.numbered
        and shape.complete
        and not {part.removesuffix("s") for part in cut(name)} & TIMES
    ):
        return Guess("identifier", NUMBERED)
    if len(shape.values) <= 1:
        return Guess("quasi", "nobody differs from the others in it, so hiding it costs nothing")
    if shape.looks == "number" and (many or (not shape.whole and len(shape.values) > 2)):
        return Guess("sensitive", "measurements of a person are what an attacker would learn")
    return Guess("quasi", "categories may be known from elsewhere", open=word is None)


def _by_name(word: Word, shape: Shape, *, records: int) -> Guess:
    """What the name says, unless the values are of another kind."""
    few = shape.looks == "number" and len(shape.values) <= FEWEST_ROWS < records
    if word.text.replace(" ", "") in SURVEY and shape.numbers is not None and float(shape.numbers.min()) > 0:
        return Guess("other", f"its name says '{word.text}'", weight=True)
    if word.role == "identifier" and (shape.looks == "boolean" or few):
        return Guess("quasi", f"its name says '{word.text}', but few different values are in it", open=True)
    if word.text in WEIGHTS and shape.numbers is not None and not _of_bodies(shape.numbers):
        least = float(shape.numbers.min())
        if least < 0:
            return Guess("sensitive", f"its name says '{word.text}', and its numbers are changes", named=True)
        return Guess("other", f"its name says '{word.text}', and its numbers are not those of bodies", weight=least > 0)
    # Classes of a school are numbered; marks and tumours have fewer grades.
    if word.text == "grade" and shape.whole and shape.numbers is not None and SCHOOL <= shape.numbers.max() <= OLDEST:
        return Guess("quasi", "its name says 'grade', and its numbers are those of classes at school", named=True)
    return Guess(word.role, f"its name says '{word.text}'", named=True)


def _of_bodies(numbers: Floats) -> bool:
    """Whether weights may be those of bodies; survey weights are near 1, very large, or far from each other."""
    middle = float(np.median(numbers))
    return LIGHTEST < middle < HEAVIEST and float(numbers.min()) > 0 and float(numbers.max()) < HEAVY * middle


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
