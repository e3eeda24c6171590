"""Days of users that are worth a look, the worst first: by what somebody held in the end, since that is what could leak.

What a day added follows from exposures alone: with M in the morning and M' in the evening, (M'^x - M^x)^(1/x) is what the
new results weigh as one table. Days are unusual as `discreet.misuse` finds it: by the user's other days and by her peers.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, select

from discreet.misuse.anomalies import Day as Judged
from discreet.misuse.anomalies import find_anomalies
from discreet.misuse.log import Scored
from discreet.report.toolkit.words import plural
from discreet.store.gateway_limits import PARTS
from discreet.store.tables.gateway import READ
from discreet.web.gateway import users
from discreet.web.gateway.entry_view import points
from discreet.web.gateway.users import Day

FRAME = 30
"""Days that are looked at."""
ROW = 5
"""Refusals in a row from which on somebody is trying."""
MOST = 50
_KNOWN: WeakKeyDictionary[Engine, tuple[tuple[int, str], list[Incident]]] = WeakKeyDictionary()
"""Per store what was found the last time, and up to which entry: days change only with entries."""


@dataclass(frozen=True)
class Incident:
    """A user's day, and what was wrong with it in words."""

    user: int
    database: str
    name: str
    day: str
    exposure: int
    """In the evening, in millionths."""
    reasons: tuple[str, ...]

    @property
    def held(self) -> str:
        """The exposure in words."""
        return points(self.exposure)


def incidents(connection: Connection, now: datetime.datetime, *, user: int | None = None) -> list[Incident]:
    """Those of the last days, the worst first; of everybody or of one user, who is measured by everybody all the same."""
    since = (now - datetime.timedelta(days=FRAME)).date().isoformat()
    key = (connection.execute(select(READ.c.upto)).scalar_one(), since)
    known = _KNOWN.get(connection.engine)
    if known is None or known[0] != key:
        known = (key, _ranked(users.days(connection, since=since)))
        _KNOWN[connection.engine] = known
    return [one for one in known[1] if user in (None, one.user)][:MOST]


def _ranked(days: Sequence[Day]) -> list[Incident]:
    unusual = _unusual(days)
    named = [(day, _reasons(day, unusual.get((day.user, day.day)))) for day in days]
    worst = [_incident(day, reasons) for day, reasons in named if reasons]
    return sorted(worst, key=lambda one: (-one.exposure, one.day, one.user))


def _incident(day: Day, reasons: tuple[str, ...]) -> Incident:
    return Incident(day.user, day.database, day.name, day.day, day.closed, reasons)


def _reasons(day: Day, unusual: Judged | None) -> tuple[str, ...]:
    found = []
    if unusual is not None:
        usual = f"{unusual.usual:.2f}"
        found.append(
            f"The day added {added(day):.2f} to what was known before; {usual} was to be expected of this user and others."
        )
    if day.over:
        what = plural(day.over, "result was", "results were")
        found.append(f"{what} let through although the exposure was above the limit then.")
    if day.streak >= ROW:
        found.append(f"{day.streak:,} refusals in a row, without an answer that told anything new in between.")
    return tuple(found)


def added(day: Day) -> float:
    """What the results of a day weigh as one table.

    >>> added(Day(1, "d", "ann", "2026-05-01", 1, 1, 0, 0, 0, 0, 3_000_000, 5_000_000, "2"))
    4.0
    """
    opened, closed, x = day.opened / PARTS, day.closed / PARTS, float(day.x)
    if closed <= opened:
        return 0.0
    if math.isinf(x):
        return closed
    return float(closed * (1 - (opened / closed) ** x) ** (1 / x))


def _unusual(days: Sequence[Day]) -> dict[tuple[int, str], Judged]:
    """Days that add far more than usual, judged database by database: each has its own exponent and its own peers."""
    found: dict[tuple[int, str], Judged] = {}
    for database in {day.database for day in days}:
        scored = [_scored(day) for day in days if day.database == database and day.answers]
        if scored:
            found |= {(int(one.user), one.day.isoformat()): one for one in find_anomalies(scored).unusual}
    return found


def _scored(day: Day) -> Scored:
    when = datetime.datetime.fromisoformat(day.day).replace(tzinfo=datetime.UTC)
    score = added(day)
    return Scored(f"{day.user}/{day.day}", when, str(day.user), "", score, float(day.x), day.rows, (), "", "")
