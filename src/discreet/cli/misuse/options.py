"""Options shared by the commands on logs: a period."""

from __future__ import annotations

import datetime

from discreet.errors import EmptySource, UsageError
from discreet.misuse.log import Scored


def between(results: list[Scored], since: str | None, until: str | None) -> list[Scored]:
    """The results of a period, both days included."""
    first, last = _day(since), _day(until)
    found = [
        one
        for one in results
        if (first is None or one.time.date() >= first) and (last is None or one.time.date() <= last)
    ]
    if not found:
        raise EmptySource("There is no result in that period.", remedy="Choose other days for --since and --until.")
    return found


def _day(given: str | None) -> datetime.date | None:
    if given is None:
        return None
    try:
        return datetime.date.fromisoformat(given)
    except ValueError:
        raise UsageError("A day is written like 2025-03-31.", remedy="Correct --since or --until.") from None
