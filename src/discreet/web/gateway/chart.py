"""Exposure over time as a figure: a step for every result that told something new, and the limit as a line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from discreet.report.charts.axes import Axes, Line, Scale, line_chart, linear
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import MONTHS, plural
from discreet.store.gateway_limits import PARTS
from discreet.web.framework.format import moment, short_moment
from discreet.web.gateway.entry_view import Told, limit_words, outcome_words, points
from discreet.web.gateway.users import User

MINUTE, HOUR, DAY = 60, 3_600, 86_400
STEPS = (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 30 * DAY, 90 * DAY)
"""Seconds between two ticks."""
MOST_TICKS = 6
ROWS = 60
"""Steps that the table beside the figure lists."""
Points = list[tuple[float, float]]


def figure_of(user: User, history: Sequence[Told], now: datetime) -> Figure | None:
    """The figure; None where nothing is known yet. `history` has the newest first."""
    steps = [told for told in reversed(history) if told.exposure is not None]
    if not steps:
        return None
    begin, end = _seconds(steps[0].entry.time), max(now.timestamp(), _seconds(steps[-1].entry.time) + MINUTE)
    lines = [Line(label, tuple(its)) for label, its in _lines(user, steps, end).items() if its]
    ticks, dated = _ticks(begin, end)
    heights = linear([height for line in lines for _, height in line.points], zero=True)
    about = _about(user, steps)
    axes = Axes(Scale(begin, end, ticks), heights, "time (UTC)", "exposure", dated=dated)
    drawing = line_chart(lines, axes)
    return Figure("exposure-over-time", "Exposure over time", about, (about,), (), _table(steps), drawing)


def _lines(user: User, steps: Sequence[Told], end: float) -> dict[str, Points]:
    exposure = [(_seconds(one.entry.time), (one.exposure or 0) / PARTS) for one in steps]
    limits = [(_seconds(one.entry.time), one.limit / PARTS) for one in steps if one.limit is not None]
    last = [(end, user.limit / PARTS)] if user.limit is not None and limits else []
    return {"exposure": [*exposure, (end, exposure[-1][1])], "limit": [*limits, *last]}


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


def _ticks(begin: float, end: float) -> tuple[tuple[float, ...], Callable[[float], str]]:
    """Round moments, and how they are written."""
    step = next((step for step in STEPS if (end - begin) / step <= MOST_TICKS), 365 * DAY)
    first = math.ceil(begin / step)
    ticks = tuple(float(place * step) for place in range(first, math.floor(end / step) + 1))
    return ticks, _day if step >= DAY else _hour


def _day(at: float) -> str:
    when = datetime.fromtimestamp(at, UTC)
    return f"{when.day} {MONTHS[when.month - 1][:3]}"


def _hour(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M}"


def _about(user: User, steps: Sequence[Told]) -> str:
    first, last = steps[0], steps[-1]
    what = f"From {points(first.before)} on {moment(first.entry.time)} to {points(last.exposure)} on {moment(last.entry.time)}"
    limit = f"; the limit is {limit_words(user.limit)} now" if user.limit is not None else ""
    return f"{what}, in {plural(len(steps), 'step', 'steps')}{limit}."


def _table(steps: Sequence[Told]) -> Table:
    newest = list(reversed(steps))[:ROWS]
    rows = tuple(
        (short_moment(one.entry.time), points(one.before), points(one.exposure), limit_words(one.limit), outcome_words(one))
        for one in newest
    )  # fmt: skip
    head = ("time (UTC)", "before", "after", "limit", "what happened")
    return Table("Exposure after each result, the newest first", head, rows, numeric=(1, 2, 3))
