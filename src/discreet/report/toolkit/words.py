"""Numbers in words: separators, plurals, people, risks, moments."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence

from discreet.wording import percent

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""In words of our own: strftime would follow the locale."""


def agree(number: int, one: str, many: str) -> str:
    """The word that goes with a number.

    >>> agree(1, "is", "are"), agree(3, "is", "are")
    ('is', 'are')
    """
    return one if number == 1 else many


def plural(number: int, one: str, many: str = "") -> str:
    """A number with its noun; several take an s unless `many` says otherwise.

    >>> plural(1, "person", "people"), plural(1204, "person", "people"), plural(2, "column")
    ('1 person', '1,204 people', '2 columns')
    """
    return f"{number:,} {agree(number, one, many or f'{one}s')}"


def people(number: int) -> str:
    """So many people.

    >>> people(0), people(1), people(32561)
    ('nobody', '1 person', '32,561 people')
    """
    return plural(number, "person", "people") if number else "nobody"


def part(number: int, whole: int, *, where: str = "") -> str:
    """Some of the people, and which share that is; `where` follows the word people.

    >>> part(1204, 32561), part(7, 7, where=" in a.csv"), part(1, 1), part(0, 7)
    ('1,204 of 32,561 people (3.7 %)', 'All 7 people in a.csv (100 %)', 'The only person', 'None of the 7 people')
    """
    if number == whole == 1:
        return f"The only person{where}"
    if number == whole:
        return f"All {people(whole)}{where} (100 %)"
    if not number:
        return f"None of the {people(whole)}{where}"
    return f"{number:,} of {people(whole)}{where} ({percent(number / whole)})"


def listed(names: Sequence[str], *, most: int = 6) -> str:
    """Names in a row; beyond `most` the rest is counted.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed("abcdefgh")
    ('a', 'a, b and c', 'a, b, c, d, e and 3 more')
    """
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def every(names: Sequence[str]) -> str:
    """All names in a row, however many.

    >>> every("abcdefgh"), every([])
    ('a, b, c, d, e, f, g and h', 'none')
    """
    return listed(names, most=len(names) + 1) or "none"


def points(text: str) -> tuple[str, ...]:
    """Points of a text that is written as a list, each after a hyphen.

    >>> points('''
    ... - One point
    ...   in two lines.
    ... - Another.''')
    ('One point in two lines.', 'Another.')
    """
    return tuple(re.sub(r"\s*\n\s*", " ", point).strip() for point in text.split("\n- ")[1:])


def columns(names: Sequence[str]) -> str:
    """Columns in a sentence, also when there are none.

    >>> columns([]), columns(["age"]), columns("abcdefgh")
    ('no column at all', 'age', 'a, b, c, d, e and 3 more columns')
    """
    if not names:
        return "no column at all"
    return listed(names) + (" columns" if len(names) > 6 else "")


def one_in(risk: float) -> str:
    """A risk as odds where they are whole, else as a percentage.

    >>> one_in(0.2), one_in(0.09), one_in(0.3), one_in(1.0)
    ('1 in 5', '9 %', '30 %', '1 in 1')
    """
    inverse = 1 / risk
    return f"1 in {round(inverse):,}" if abs(inverse - round(inverse)) < 1e-6 else percent(risk, below="less than ")


def attempts(chance: float) -> str:
    """A chance as so many of a round number of attempts.

    >>> attempts(0.647), attempts(0.0123), attempts(1.0), attempts(1e-9)
    ('65 of 100 attempts', '12 of 1,000 attempts', 'every attempt', 'fewer than 1 of 1,000,000 attempts')
    """
    if chance >= 1:
        return "every attempt"
    if chance > 0.99:
        return "more than 99 of 100 attempts"
    whole = next((scale for scale in (100, 1_000, 10_000, 100_000, 1_000_000) if chance * scale >= 9.5), 1_000_000)
    number = round(chance * whole)
    return f"{number:,} of {whole:,} attempts" if number else f"fewer than 1 of {whole:,} attempts"


def about(number: float) -> str:
    """An estimate, to three digits.

    >>> about(75113.0), about(0.3), about(7.2), about(0.0)
    ('about 75,100', 'fewer than 1', 'about 7', '0')
    """
    if 0 < number < 1:
        return "fewer than 1"
    digits = max(0, len(str(round(number))) - 3)
    return f"about {int(round(number, -digits)):,}" if number else "0"


def decimal(number: float, *, digits: int = 3) -> str:
    """A measure between 0 and a few; tiny is not nothing.

    >>> decimal(0.75232), decimal(0.0), decimal(0.00001), decimal(3.0)
    ('0.752', '0', 'below 0.001', '3')
    """
    if 0 < number < 10**-digits:
        return f"below {10**-digits:g}"
    return f"{number:,.{digits}f}".rstrip("0").rstrip(".")


def amount(number: float) -> str:
    """Money, or anything counted like it.

    >>> amount(36_194_400.0), amount(12.5), amount(-3.0)
    ('36,194,400', '12.50', '-3')
    """
    return f"{number:,.0f}" if number == round(number) or abs(number) >= 1_000 else f"{number:,.2f}"


def crowd(threshold: float) -> int:
    """The least class size whose risk is not above the threshold.

    >>> crowd(0.2), crowd(0.33), crowd(1.0)
    (5, 4, 1)
    """
    size = max(1, math.floor(1 / threshold))
    return size if 1 / size <= threshold else size + 1


def lowered(text: str) -> str:
    """A phrase moved into the middle of a sentence.

    >>> lowered("All 7 people")
    'all 7 people'
    """
    return text[:1].lower() + text[1:]


def clip(text: str, most: int) -> str:
    """What fits; the table under a chart has the whole.

    >>> clip("native-country", 8), clip("age", 8)
    ('native-…', 'age')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def moment(when: datetime.datetime) -> str:
    """A date and time in words.

    >>> moment(datetime.datetime(2025, 3, 4, 9, 5, tzinfo=datetime.timezone.utc))
    '4 March 2025, 09:05 UTC'
    """
    zone = when.tzname()
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}, {when:%H:%M}" + (f" {zone}" if zone else "")
