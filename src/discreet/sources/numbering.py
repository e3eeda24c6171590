"""Numbers of people: whether those of a column repeat, and whose row a row is.

Two spellings of one number are one person. What counts as the same number is decided in `kernel.members`, and here
in SQL, where a column is searched for numbers that repeat.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from discreet.errors import ColumnError
from discreet.kernel import Coded
from discreet.kernel.arrays import Ints, Label, group, pack, total
from discreet.kernel.members import DASHES, FRACTION, SEPARATORS, SIGNS, people_of

# Numbers of people: a text of letters and digits that repeats means several rows for one person.
DIGIT = "[0-9\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\uff10-\uff19]"
DAY, MONTH, YEAR = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])", "(1[89]|20)[0-9][0-9]"
NAMED = "(JAN|FEB|M[AÄ]R|A[PV]R|MA[IY]|JUN|JUL|AUG|SEP|O[CK]T|NOV|DE[CZ])[A-Z]*"
DATE = (
    f"^({YEAR}[-./]{MONTH}([-./]{DAY}([ T][0-9]?[0-9]:.*)?)?|({DAY}[-./]{MONTH}|{MONTH}[-./]{DAY})[-./]({YEAR}|[0-9][0-9])|"
    f"{DAY}[-. ]*{NAMED}[-. ]*({YEAR}|[0-9][0-9])|{NAMED}[. ]*{DAY},? *{YEAR}|"
    f"{YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])|(0[1-9]|[12][0-9]|3[01])(0[1-9]|1[0-2]){YEAR}|"
    "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9].*)?)$"
)
"""Days, months and times as people write them; a year alone may as well be a number."""
WORDS = "( .*[^0-9 .,:;/()#&'+-]{3,}|[^0-9 .,:;/()#&'+-]{3,}.* )"
"""A space and a word of three letters or more, as in an address."""
NEARLY_ALL = 0.8
"""Share of the different values from which on a column is one of dates or addresses; the others may be missing codes."""
MOST_PREFIXES = 3
"""Different words beside numbers that are still a way of numbering, such as PATIENT 17 and CONTROL 4."""


@dataclass(frozen=True)
class Numbering:
    """How the values of a column number the rows of a table.

    Values without a digit are no numbers. All but `sharing` count different values, so that one code for missing
    numbers on many rows changes nothing.
    """

    values: int
    numbers: int
    """Values that have a digit in them,"""
    dates: int
    """of these, dates,"""
    worded: int
    """and values that have words beside their digits, as addresses have."""
    stems: int
    """What is left of the worded ones without digits: one for PATIENT 1, PATIENT 2 ..., many for addresses."""
    repeated: int
    """Numbers that several rows share,"""
    sharing: int
    """and how many rows these are."""

    @classmethod
    def of(cls, column: Coded, rows: Ints) -> Numbering:
        """What `numbering_sql` finds, from how many rows have each distinct value.

        >>> Numbering.of(Coded.of(["A-7", "a7", "B8"]), np.array([1, 1, 1])).repeated
        1
        """
        spelt: dict[str, list[tuple[str, int]]] = {}
        labels = [
            (label, int(n))
            for label, n in zip(column.values, total(column.codes, rows, len(column.values)), strict=True)
            if n
        ]
        known = [(label, n) for label, n in labels if label is not None]
        for (label, n), number in zip(known, people_of([label for label, _ in known]), strict=True):
            if number:  # nothing but zeros is no number
                spelt.setdefault(number, []).append((label.strip(" ").upper(), n))
        values = [(min(label for label, _ in found), sum(n for _, n in found)) for found in spelt.values()]
        digits = [(value, n) for value, n in values if re.search(DIGIT, value)]
        worded = [value for value, _ in digits if re.search(WORDS, value)]
        shared = [n for _, n in digits if n > 1]
        return cls(
            values=len(values),
            numbers=len(digits),
            dates=sum(bool(re.search(DATE, value)) for value, _ in digits),
            worded=len(worded),
            stems=len({re.sub("[0-9]", "", value) for value in worded}),
            repeated=len(shared),
            sharing=sum(shared),
        )

    @property
    def repeats(self) -> bool:
        """Whether the column holds numbers or codes, some of them on several rows.

        Names, dates and addresses repeat by nature and do not count.
        """
        if 2 * self.numbers <= self.values or self.dates >= NEARLY_ALL * self.numbers:
            return False
        addresses = self.stems > MOST_PREFIXES and 2 * self.worded > self.numbers
        return self.repeated > 0 and not addresses


def numbering_sql(
    column: str,
    *,
    relation: str,
    quote: Callable[[str], str],
    matches: Callable[[str, str], str],
    text: str = "VARCHAR",
    groups: str = r"'\1\2', 'g'",
) -> str:
    """The statement that finds a `Numbering`, its fields as s0, s1, ...

    `matches` compares a text with a pattern, and `groups` is how all matches of two groups are put together. Two values are the same number where `people_of` says so, for what is
    written in ASCII. Nothing but zeros is a missing number.
    """
    raw = f"UPPER(TRIM(CAST({quote(column)} AS {text})))"
    # A fraction of nothing is left out: as long as all its digits are zeros, so are those without its mark.
    plain = f"TRIM(BOTH '{SIGNS}' FROM v)"
    fraction = f"TRIM(TRAILING '.,' FROM TRIM(TRAILING '0' FROM {plain}))"
    whole = f"CASE WHEN {matches('v', FRACTION.pattern)} THEN {fraction} ELSE {plain} END"
    number = f"TRIM(LEADING '0' FROM TRANSLATE({whole}, '{SEPARATORS}', '{DASHES}'))"
    number = f"REGEXP_REPLACE({number}, '([A-Z])0+([0-9])', {groups})"
    cells = f"SELECT {raw} AS v, COUNT(*) AS n FROM {relation} WHERE {quote(column)} IS NOT NULL GROUP BY {raw}"
    spelt = f"SELECT v, n, {number} AS spelt FROM ({cells}) AS cells"
    joined = "REPLACE(spelt, '-', '')"
    # What is written without separators somewhere is that number with them, too.
    closed = f"MAX(CASE WHEN spelt = {joined} THEN 1 ELSE 0 END) OVER (PARTITION BY {joined})"
    closed_up = f"SELECT v, n, CASE WHEN {closed} = 1 THEN {joined} ELSE spelt END AS number FROM ({spelt}) AS spelt"
    values = f"SELECT MIN(v) AS v, number, SUM(n) AS n FROM ({closed_up}) AS numbers GROUP BY number"
    flags = {"d": matches("v", DIGIT), "t": matches("v", DATE), "w": matches("v", WORDS)}
    flagged = ", ".join(f"CASE WHEN {test} THEN 1 ELSE 0 END AS {name}" for name, test in flags.items())
    rated = f"SELECT v, n, {flagged} FROM ({values}) AS counted WHERE number <> ''"
    twice = "CASE WHEN n > 1 THEN d ELSE 0 END"
    stems = "COUNT(DISTINCT CASE WHEN d * w = 1 THEN TRANSLATE(v, '0123456789', '') END)"
    sums = [f"COALESCE(SUM({term}), 0)" for term in ("1", "d", "d * t", "d * w", twice, f"n * {twice}")]
    totals = [*sums[:4], stems, *sums[4:]]
    named = ", ".join(f"CAST({total} AS BIGINT) AS s{place}" for place, total in enumerate(totals))
    return f"SELECT {named} FROM ({rated}) AS rated"


def number_people(
    columns: Mapping[str, Coded], counts: Ints, *, source: str, known: dict[str, dict[Label, int]] | None = None
) -> Ints:
    """A number per tuple, the same for all tuples of one person.

    `columns` say whose row it is, and `counts` how many rows a tuple stands for. A row of nobody is refused. What values
    spell is `known` from an earlier count of the same table, and remembered for the next.
    """
    codes, sizes = [], []
    nobody = np.zeros(len(counts), dtype=bool)
    for name, coded in columns.items():
        places = {} if known is None else known.setdefault(name, {})
        if not all(map(places.__contains__, coded.values)):
            numbers = people_of(coded.values)
            order = {number: place for place, number in enumerate(dict.fromkeys(numbers))}
            nowhere = order.get(None)
            places.clear()
            places.update(
                (value, -1 if order[number] == nowhere else order[number])
                for value, number in zip(coded.values, numbers, strict=True)
            )
        place = np.fromiter(map(places.__getitem__, coded.values), np.int64, len(coded.values))[coded.codes]
        nobody |= place < 0
        codes.append(place)
        sizes.append(int(place.max(initial=0)) + 1)
    if rows := int(counts[nobody].sum()):
        raise ColumnError(
            f"{', '.join(columns)} should say whose row it is, but {rows:,} of {int(counts.sum()):,} rows of {source} say "
            "nothing there.",
            remedy="Fill these cells or leave the rows out; a row of nobody cannot be counted. If each row is a person all the "
            'same, the policy says so: [data] person = "row"',
        )
    return group(*pack(codes, sizes, len(counts)))[1]
