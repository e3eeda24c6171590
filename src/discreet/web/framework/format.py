"""Moments and names as people read them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet.ledger.entry import timestamp
from discreet.report.toolkit.page import prose
from discreet.report.toolkit.words import MONTHS, plural
from discreet.wording import percent

MOST_DIGITS = 6
UNITS = ((86_400, "day", "days"), (3_600, "hour", "hours"), (60, "minute", "minutes"))


def moment(stamp: str) -> str:
    """A stored moment, to the minute.

    >>> moment("2026-01-31T12:05:00.000000Z")
    '31 January 2026, 12:05 UTC'
    """
    when = datetime.fromisoformat(stamp)
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}, {when:%H:%M} UTC"


def day(text: str) -> str:
    """A day.

    >>> day("2026-01-31")
    '31 January 2026'
    """
    when = date.fromisoformat(text)
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def short_moment(stamp: str) -> str:
    """The same for tables, to the second.

    >>> short_moment("2026-01-31T12:05:07.000000Z")
    '2026-01-31 12:05:07'
    """
    return stamp[:19].replace("T", " ")


def ago(stamp: str, now: datetime) -> str:
    """How long ago it was.

    >>> from datetime import UTC
    >>> ago("2026-01-31T12:00:00.000000Z", datetime(2026, 1, 31, 12, 3, tzinfo=UTC))
    '3 minutes ago'
    """
    return f"{span(now - datetime.fromisoformat(stamp))} ago" if _seconds(stamp, now) >= 60 else "just now"


def ahead(stamp: str, now: datetime) -> str:
    """How far ahead it is.

    >>> from datetime import UTC
    >>> ahead("2026-01-31T12:00:00.000000Z", datetime(2026, 1, 30, 12, 0, tzinfo=UTC))
    'in 1 day'
    """
    return f"in {span(datetime.fromisoformat(stamp) - now + timedelta(seconds=59))}"


def span(length: timedelta) -> str:
    """A length of time in its largest whole unit.

    >>> span(timedelta(hours=26)), span(timedelta(seconds=20))
    ('1 day', 'less than a minute')
    """
    seconds = int(length.total_seconds())
    for size, one, many in UNITS:
        if seconds >= size:
            return plural(seconds // size, one, many)
    return "less than a minute"


def share(part: Fraction, whole: Fraction) -> str:
    """A share in per cent.

    >>> share(Fraction(9), Fraction(10))
    '90 %'
    """
    return percent(float(part / whole)) if whole else percent(0.0)


def amount(value: Fraction) -> str:
    """An exact amount: as a decimal number where few digits say all of it, else as a fraction.

    >>> amount(Fraction(23, 2)), amount(Fraction(1, 3)), amount(Fraction(12345))
    ('11.5', '1/3', '12,345')
    """
    for digits in range(MOST_DIGITS + 1):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            whole, rest = divmod(abs(scaled.numerator), 10**digits)
            sign = "-" if value < 0 else ""
            return f"{sign}{whole:,}.{rest:0{digits}}" if digits else f"{sign}{whole:,}"
    return str(value)


def _seconds(stamp: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(stamp)).total_seconds()


FILTERS: dict[str, Callable[..., Any]] = {
    "moment": moment,
    "day": day,
    "short_moment": short_moment,
    "ago": ago,
    "ahead": ahead,
    "span": span,
    "plural": plural,
    "number": lambda value: f"{value:,}",
    "share": lambda value: percent(float(value)),
    "stamp": lambda moment: timestamp(datetime.fromtimestamp(moment / 1000, UTC)),
    "named": lambda one: (one.id, one.name),
    "pair": lambda value: (value, value),
    "anonymised": lambda table: (table[0], f"anonymised: {table[1]}"),
    "parts": lambda number, parts: amount(Fraction(number, parts)),
    "amount": amount,
    "prose": prose,
}
"""What templates may use."""
