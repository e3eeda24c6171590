"""Engine: the seam between a table and what holds it; numbered people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from discreet.errors import CountError, TooManyColumns
from discreet.kernel import Histogram, Recoding

if TYPE_CHECKING:
    from discreet.sources.export.targets import Target

Kind = Literal["text", "number", "date", "boolean", "other"]
MOST_COLUMNS = 4_096
"""Columns of a table; one of many more is most likely turned on its side."""


@dataclass(frozen=True)
class Field:
    """A column as its engine declares it."""

    name: str
    kind: Kind


class Engine(Protocol):
    """Counts people where their rows live."""

    @property
    def name(self) -> str:
        """What to call the source in words; never a password."""
        ...

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        ...

    def count(self, by: Sequence[str], *, weight: str | None = None) -> Histogram:
        """People per distinct tuple of `by`; a row stands for `weight` people where that column is given."""
        ...

    def count_each(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Histogram]:
        """People per distinct value of each column alone, one column after the other."""
        ...

    def numbering(self, column: str) -> Numbering:
        """Whether the numbers of a column are on one row each."""
        ...

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write every row as its class is published, without the columns in `drop`, and say how many rows.

        Rows of classes that are not published are left out, the other columns stay as they are, and columns keep
        their order. Rows are `shuffled`: the order of the source, or of its values, would give hidden values back.
        """
        ...


def one_by_one(engine: Engine, names: Sequence[str], weight: str | None) -> Iterator[Histogram]:
    """Columns counted each by itself, for engines to which the number of the other columns does not matter."""
    return (engine.count([name], weight=weight) for name in names)


def refuse_wide(columns: int, source: str) -> None:
    """Stop if a table has too many columns, before work is done for each of them."""
    if columns > MOST_COLUMNS:
        raise TooManyColumns(
            f"{source} has {columns:,} columns; a table has at most {MOST_COLUMNS:,}.",
            remedy="Leave out columns that are not needed. If the table is turned on its side, put people into rows.",
            columns=columns,
        )


def count_sql(by: Sequence[str], *, weight: str | None, relation: str, quote: Callable[[str], str]) -> str:
    """The one statement that counts, for engines that speak SQL; columns come back as c0, c1, ... and n.

    >>> count_sql(["sex"], weight=None, relation="people", quote=lambda name: f'"{name}"')
    'SELECT "sex" AS c0, COUNT(*) AS n FROM people GROUP BY "sex"'
    """
    people = "COUNT(*)" if weight is None else f"SUM(CAST({quote(weight)} AS DECIMAL(38, 0)))"
    columns = ", ".join(f"{quote(name)} AS c{place}" for place, name in enumerate(by))
    groups = ", ".join(quote(name) for name in by)
    head = f"SELECT {columns + ', ' if columns else ''}{people} AS n FROM {relation}"
    return f"{head} GROUP BY {groups}" if groups else head


def bad_weight_sql(weight: str, *, relation: str, quote: Callable[[str], str], cast: str = "TRY_CAST") -> str:
    """How many rows have a count that is no whole number of people."""
    number = f"{cast}({quote(weight)} AS DECIMAL(38, 6))"
    return (
        f"SELECT COUNT(*) AS bad FROM {relation} WHERE {number} IS NULL OR {number} < 0 OR {number} <> FLOOR({number})"
    )


def refuse_bad_weights(bad: int, weight: str) -> None:
    """Stop if any row's count is no whole number of people."""
    if bad:
        raise CountError(
            f"Column '{weight}' says how many people a row stands for, but {bad} rows hold no whole number from 0 up.",
            remedy="Correct those rows, or remove `count` from [data] in the policy if each row is one person.",
        )


# Does a column number people, and is every number on one row? Numbers that repeat mean several rows for one person.
DIGIT = "[0-9\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\uff10-\uff19]"
DAY, MONTH, YEAR = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])", "(1[89]|20)[0-9][0-9]"
NAMED = "(JAN|FEB|M[AÄ]R|A[PV]R|MA[IY]|JUN|JUL|AUG|SEP|O[CK]T|NOV|DE[CZ])[A-Z]*"
DATE = (
    f"^({YEAR}([-./]{MONTH}([-./]{DAY}([ T][0-9]?[0-9]:.*)?)?)?|({DAY}[-./]{MONTH}|{MONTH}[-./]{DAY})[-./]({YEAR}|[0-9][0-9])|"
    f"{DAY}[-. ]*{NAMED}[-. ]*({YEAR}|[0-9][0-9])|{NAMED}[. ]*{DAY},? *{YEAR}|"
    f"{YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])|(0[1-9]|[12][0-9]|3[01])(0[1-9]|1[0-2]){YEAR}|"
    "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9].*)?)$"
)
"""Days, months, years and times as people write them."""
WORDS = "( .*[^0-9 .,:;/()#&'+-]{3,}|[^0-9 .,:;/()#&'+-]{3,}.* )"
"""A space and a word of three letters or more, as in an address."""
NEARLY_ALL = 0.8
"""Share of the different values from which on a column is one of dates or addresses; the others may be missing codes."""
MOST_PREFIXES = 3
"""Different words beside numbers that are still a way of numbering, such as PATIENT 17 and CONTROL 4."""


@dataclass(frozen=True)
class Numbering:
    """How the values of a column number the rows of a table; values without a digit are no numbers.

    All but `sharing` count different values, so that one code for missing numbers on many rows changes nothing.
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
) -> str:
    """The statement that finds a `Numbering`, its fields in order as s0, s1, ...; `matches` compares with a pattern.

    Case, spaces around a number, the kind of its separators and leading zeros do not make it another one. Nothing but zeros
    is a missing number.
    """
    raw = f"UPPER(TRIM(CAST({quote(column)} AS {text})))"
    number = f"TRIM(LEADING '0' FROM TRANSLATE({raw}, ' ./_', '----'))"
    values = (
        f"SELECT MIN({raw}) AS v, {number} AS number, COUNT(*) AS n FROM {relation} "
        f"WHERE {quote(column)} IS NOT NULL GROUP BY {number}"
    )
    flags = {"d": matches("v", DIGIT), "t": matches("v", DATE), "w": matches("v", WORDS)}
    flagged = ", ".join(f"CASE WHEN {test} THEN 1 ELSE 0 END AS {name}" for name, test in flags.items())
    found = f"SELECT v, n, {flagged} FROM ({values}) AS counted WHERE number <> ''"
    twice = "CASE WHEN n > 1 THEN d ELSE 0 END"
    stems = "COUNT(DISTINCT CASE WHEN d * w = 1 THEN TRANSLATE(v, '0123456789', '') END)"
    sums = [f"COALESCE(SUM({term}), 0)" for term in ("1", "d", "d * t", "d * w", twice, f"n * {twice}")]
    totals = [*sums[:4], stems, *sums[4:]]
    named = ", ".join(f"CAST({total} AS BIGINT) AS s{place}" for place, total in enumerate(totals))
    return f"SELECT {named} FROM ({found}) AS found"
