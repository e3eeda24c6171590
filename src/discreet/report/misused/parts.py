"""What both reports share."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from discreet.report.charts.axes import Scale
from discreet.report.components import section
from discreet.report.toolkit.html import element
from discreet.report.toolkit.page import Part, without_password
from discreet.report.toolkit.words import MONTHS

HAREL = (
    "Harel, A., Shabtai, A., Rokach, L. & Elovici, Y. (2012). M-score: a misuseability weight measure. IEEE Transactions "
    "on Dependable and Secure Computing 9(3)."
)
CONFIDENTIAL = "This report names users. It is about people, too: show it to nobody who need not decide about it."
MOST_TICKS = 6


def reproduced(command: str) -> Part:
    """The command that gives the same report."""
    lead = element("p", "The same log gives the same report with this command:")
    shown = element("pre", element("code", without_password(command)))
    return Part("reproduce", "Reproduce", section("reproduce", "Reproduce", lead, shown))


def date(day: datetime.date) -> str:
    """A day in words.

    >>> date(datetime.date(2025, 3, 4))
    '4 March 2025'
    """
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def brief_date(day: datetime.date) -> str:
    """A day where there is little room.

    >>> brief_date(datetime.date(2025, 3, 4))
    '4 Mar'
    """
    return f"{day.day} {MONTHS[day.month - 1][:3]}"


def calendar(days: Sequence[datetime.date]) -> tuple[Scale, list[tuple[float, str]]]:
    """A scale of days, and a few of them with their names."""
    first, last = min(days).toordinal(), max(days).toordinal()
    scale = Scale(first - 0.5, last + 0.5, ())
    step = max(1, -(-(last - first) // (MOST_TICKS - 1)))
    ticks = [datetime.date.fromordinal(day) for day in range(first, last + 1, step)]
    return scale, [(scale.share(day.toordinal()), brief_date(day)) for day in ticks]
