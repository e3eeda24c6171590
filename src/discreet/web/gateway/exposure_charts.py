"""Charts of exposure over time: one user's steps, all users' days."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, select

from discreet.report.charts.axes import Scale, linear
from discreet.report.charts.lines import Axes, Line, line_chart
from discreet.report.toolkit.html import element
from discreet.report.toolkit.page import Cell, Figure, Table
from discreet.report.toolkit.words import MONTHS, plural
from discreet.store.gateway_limits import PARTS
from discreet.store.tables.gateway import DAY as USER_DAY
from discreet.web.framework.shared_state import moment, short_moment
from discreet.web.gateway.entry_view import GatewayResult, limit_words, outcome_words, points
from discreet.web.gateway.users import User

FRAMES = ("7", "30", "90", "365")
"""Days that the chart of all users can show."""
LINES = 6
"""Users whose lines are drawn; all are in the table."""

MINUTE, HOUR, DAY = 60, 3_600, 86_400
TICK_STEPS = (60, 300, 900, HOUR, 3 * HOUR, 6 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 30 * DAY, 90 * DAY)
"""Seconds between two ticks."""
MOST_TICKS = 6
ROWS = 60
"""Steps that the table beside the figure lists."""


def exposure_figure(user: User, history: Sequence[GatewayResult], now: datetime) -> Figure | None:
    """Exposure of one user over time; None without results. `history` has the newest first."""
    steps = [result for result in reversed(history) if result.exposure is not None]
    if not steps:
        return None
    first, last = steps[0], steps[-1]
    times = [datetime.fromisoformat(step.entry.time).timestamp() for step in steps]
    begin, end = times[0], max(now.timestamp(), times[-1] + MINUTE)
    exposure = [(time, (step.exposure or 0) / PARTS) for time, step in zip(times, steps, strict=True)]
    limit = [(time, step.limit / PARTS) for time, step in zip(times, steps, strict=True) if step.limit is not None]
    if limit and user.limit is not None:
        limit.append((end, user.limit / PARTS))
    drawn = {"exposure": [*exposure, (end, exposure[-1][1])], "limit": limit}
    lines = [Line(label, tuple(corners)) for label, corners in drawn.items() if corners]
    dated, ticks = _dates(begin, end)
    heights = linear([height for line in lines for _, height in line.points], zero=True)
    drawing = line_chart(lines, Axes(Scale(begin, end, ticks), heights, "time (UTC)", "exposure", dated=dated))

    growth = f"From {points(first.before)} on {moment(first.entry.time)} to {points(last.exposure)} on {moment(last.entry.time)}"
    ceiling = f"; the limit is {limit_words(user.limit)} now" if user.limit is not None else ""
    about = f"{growth}, in {plural(len(steps), 'step', 'steps')}{ceiling}."
    rows = tuple(
        (short_moment(step.entry.time), points(step.before), points(step.exposure), limit_words(step.limit), outcome_words(step))
        for step in steps[: -ROWS - 1 : -1]
    )  # fmt: skip
    columns = ("time (UTC)", "before", "after", "limit", "what happened")
    table = Table("Exposure after each result, newest first", columns, rows, numeric=(1, 2, 3))
    return Figure("exposure-over-time", "Exposure over time", about, (about,), drawing, table)


def exposures_figure(connection: Connection, users: Sequence[User], now: datetime, *, days: int) -> Figure | None:
    """Exposure of users over the last days, as shares of their limits."""
    limited = [user for user in users if user.limit]
    if not limited:
        return None
    begin, end = (now - timedelta(days=days)).timestamp(), now.timestamp()
    query = select(USER_DAY.c.user, USER_DAY.c.day, USER_DAY.c.opened, USER_DAY.c.closed)
    rows = connection.execute(
        query.where(USER_DAY.c.user.in_([user.id for user in limited])).order_by(USER_DAY.c.day)
    ).all()
    lines: list[Line] = []
    table: list[tuple[Cell, ...]] = []
    for user in limited:
        limit = user.limit or 1
        held = [(_evening(row.day), row.opened / limit, row.closed / limit) for row in rows if row.user == user.id]
        before = next((closed for time, _, closed in reversed(held) if time < begin), held[0][1] if held else 0.0)
        within = [(min(time, end), 100 * closed) for time, _, closed in held if time >= begin]
        corners = [(begin, 100 * before), *within, (end, 100 * user.exposure / limit)]
        if len(lines) < LINES:
            lines.append(Line(user.name, tuple(corners)))
        name: Cell = element("a", user.name, href=f"/gateway/users/{user.id}")
        table.append((name, user.database, f"{100 * before:.0f} %", f"{user.share} %", limit_words(user.limit)))
    dated, ticks = _dates(begin, end)
    heights = linear([100.0, *(height for line in lines for _, height in line.points)], zero=True)
    drawn = [*lines, Line("limit", ((begin, 100.0), (end, 100.0)))]
    drawing = line_chart(drawn, Axes(Scale(begin, end, ticks), heights, "time (UTC)", "% of the limit", dated=dated))
    above = sum((user.share or 0) > 100 for user in limited)
    about = f"{plural(above, 'user is', 'users are') if above else 'No user is'} above the limit, of {len(limited)} here; {days} days, the {len(lines)} most exposed drawn."
    columns = ("user", "database", f"{days} days ago", "now", "limit")
    shown = Table("Exposure as a share of the limit", columns, tuple(table), numeric=(2, 3, 4))
    return Figure("exposures", "Exposure over time", about, (about,), drawing, shown)


def _evening(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() + DAY


def _dates(begin: float, end: float) -> tuple[Callable[[float], str], tuple[float, ...]]:
    """How a moment is written on the axis, and where."""
    interval = next((seconds for seconds in TICK_STEPS if (end - begin) / seconds <= MOST_TICKS), 365 * DAY)

    def dated(at: float) -> str:
        when = datetime.fromtimestamp(at, UTC)
        return f"{when.day} {MONTHS[when.month - 1][:3]}" if interval >= DAY else f"{when:%H:%M}"

    return dated, tuple(
        float(tick * interval) for tick in range(math.ceil(begin / interval), math.floor(end / interval) + 1)
    )
