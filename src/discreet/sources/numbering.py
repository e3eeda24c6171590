"""Does a column number people, and is every number on one row? Numbers that repeat mean several rows for one person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

DIGIT = "[0-9\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\uff10-\uff19]"
DAY, MONTH, YEAR = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])", "(1[89]|20)[0-9][0-9]"
DATE = (
    f"^({YEAR}[-./]{MONTH}[-./]{DAY}([ T].*)?|({DAY}[-./]{MONTH}|{MONTH}[-./]{DAY})[-./]({YEAR}|[0-9][0-9])|"
    f"{YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01]))$"
)
WORDS = "( .*[^0-9 .,:;/()#&'+-]{3,}|[^0-9 .,:;/()#&'+-]{3,}.* )"
"""A space and a word of three letters or more, as in an address."""
NEARLY_ALL = 0.95
MOST_PREFIXES = 2
"""Different words in front of numbers that are still a way of numbering, such as PATIENT 17 and CONTROL 4."""


@dataclass(frozen=True)
class Numbering:
    """How the values of a column number the rows of a table; values without a digit are no numbers."""

    rows: int
    """Rows that have a value."""
    numbered: int
    """Rows whose value has a digit in it,"""
    dated: int
    """of these, rows whose value is a date,"""
    worded: int
    """and rows whose value has words beside its digits, as an address has."""
    repeated: int
    """Different numbers that several rows share,"""
    sharing: int
    """and how many rows these are."""
    worded_values: int
    """Different values with words,"""
    stems: int
    """and how many are left of them without digits: one for PATIENT 1, PATIENT 2 ..., many for addresses."""

    @property
    def repeats(self) -> bool:
        """Whether the column holds numbers or codes, some of them on several rows.

        Names, dates and addresses repeat by nature and do not count.
        """
        if 2 * self.numbered <= self.rows or self.dated >= NEARLY_ALL * self.numbered:
            return False
        addresses = self.stems > max(MOST_PREFIXES, self.worded_values // 5)
        return self.repeated > 0 and not (addresses and 2 * self.worded > self.numbered)


def numbering_sql(
    column: str,
    *,
    relation: str,
    quote: Callable[[str], str],
    matches: Callable[[str, str], str],
    text: str = "VARCHAR",
) -> str:
    """The statement that finds a `Numbering`, its fields in order as s0, s1, ...; `matches` compares with a pattern.

    Spaces around a number and the case of its letters do not make it another one.
    """
    number = f"UPPER(TRIM(CAST({quote(column)} AS {text})))"
    values = f"SELECT {number} AS v, COUNT(*) AS n FROM {relation} WHERE {quote(column)} IS NOT NULL GROUP BY {number}"
    flags = {"d": matches("v", DIGIT), "t": matches("v", DATE), "w": matches("v", WORDS)}
    flagged = ", ".join(f"CASE WHEN {test} THEN 1 ELSE 0 END AS {name}" for name, test in flags.items())
    told = f"SELECT v, n, {flagged} FROM ({values}) AS counted WHERE v <> ''"
    twice, worded = "CASE WHEN n > 1 THEN d ELSE 0 END", "d * w"
    sums = ["n", "n * d", "n * d * t", f"n * {worded}", twice, f"n * {twice}", worded]
    totals = [f"COALESCE(SUM({term}), 0)" for term in sums]
    totals.append(f"COUNT(DISTINCT CASE WHEN {worded} = 1 THEN TRANSLATE(v, '0123456789', '') END)")
    named = ", ".join(f"CAST({total} AS BIGINT) AS s{place}" for place, total in enumerate(totals))
    return f"SELECT {named} FROM ({told}) AS told"
