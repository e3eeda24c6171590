"""Pages of the gateway: users, refusals, incidents, limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import ValidationError
from sqlalchemy import Connection
from starlette.responses import Response

from discreet.report.charts.axes import Axes, Line, Scale, line_chart, linear
from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.page import Figure, Table, figure
from discreet.report.toolkit.words import MONTHS, plural
from discreet.store import gateway_limits
from discreet.store.gateway_limits import ACTIONS, EVERYBODY, PARTS, Agreed, Withdrawal
from discreet.web.accounts.second_approver import History, Second
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import moment, remark, short_moment
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.gateway import incidents, limits, refusals, users
from discreet.web.gateway.entry_view import (
    Told,
    agreed_number,
    explained,
    limit_words,
    outcome_words,
    points,
    reason_words,
)
from discreet.web.gateway.limits import LONGEST_NAME, LONGEST_REASON, NewLimit
from discreet.web.gateway.totals import follow
from discreet.web.gateway.users import User

FIELDS = ("database", "name", "limit", "action", "until", "reason")
PAST = 50
Text = Annotated[str, Query(max_length=200)]
Number = Annotated[int | None, Query(ge=0, le=10**17)]


def _find(context: Context, path: dict[str, str]) -> Agreed | None:
    with context.site.store.reading() as connection:
        return gateway_limits.find(connection, numbered(path["number"]))


LIMIT = Loads("limit", find=_find, may=lambda context, limit: context.may(context.route.permission))
"""Limits belong to the custodians of the store together; who may decide on one is asked where it is decided."""


def limits_page(context: Here, said: str = "", database: Text = "", name: Text = "", before: Number = None) -> Response:
    """What waits, what holds, what was; and the form to propose one."""
    typed = {"database": database, "name": name, "action": "deny"} if (database + name).isprintable() else {}
    return _page(context, typed=typed, said=remark(said), before=before)


def _page(
    context: Context,
    *,
    typed: dict[str, str],
    said: str = "",
    problem: Problem | None = None,
    before: int | None = None,
) -> Response:
    follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        listed = gateway_limits.everything(connection, before=before, most=PAST + 1)
        watched = [one.name for one in users.watched(connection)]
        holding = gateway_limits.in_force(connection, now=now)
        waiting = gateway_limits.everything(connection, state="proposed")
        leaving = {one.limit: one.proposer for one in gateway_limits.withdrawals(connection, state="proposed")}
    return context.page(
        "gateway_limits.html",
        status=problem.status if problem else 200,
        problem=problem,
        said=said,
        typed={**dict.fromkeys(FIELDS, ""), **typed},
        waiting=waiting,
        holding=holding,
        leaving=leaving,
        past=[one for one in listed[:PAST] if one.state != "proposed" and not one.holds(now)],
        older=listed[PAST - 1].id if len(listed) > PAST else None,
        databases=watched,
        actions=ACTIONS,
        everybody=EVERYBODY,
        longest=LONGEST_NAME,
        stamp=now,
        amount=limit_words,
    )


def propose(context: Here) -> Response:
    """Propose a limit."""
    form = context.form
    try:
        typed = {name: form.verbatim(name, most=LONGEST_REASON) for name in FIELDS}
        number = limits.propose(context, _wanted(typed))
    except Exception as error:
        kept = {name: "".join(form.fields.get(name, [""])[:1])[:LONGEST_REASON] for name in FIELDS}
        shown = {name: text for name, text in kept.items() if text.isprintable()}
        return _page(context, typed=shown, problem=_ours(error))
    return go(f"/gateway/limits/{number}", said="limit-proposed")


def _wanted(typed: dict[str, str]) -> NewLimit:
    given: dict[str, Any] = {**typed, "until": typed["until"].strip() or None, "limit": typed["limit"].strip()}
    try:
        return NewLimit(**given)
    except ValidationError as error:
        names = dict.fromkeys(str(one["loc"][0]) for one in error.errors())
        raise Problem(
            422,
            f"These fields are missing or do not fit: {', '.join(names)}.",
            remedy="Name a database and a user (or * for everybody), the limit, and why.",
            title="Nothing is proposed yet",
        ) from None


def limit_page(context: Here, said: str = "") -> Response:
    """One limit, and what is to be decided about it."""
    return _again(context, said=remark(said))


def _again(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
    limit = limits.found(context, context.loaded.id)
    follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        user = users.named(connection, limit.database, limit.name, now=now)
        held = [one for one in gateway_limits.in_force(connection, limit.database, now=now) if one.name == limit.name]
        withdrawals = gateway_limits.withdrawals(connection, of=[limit.id])
        waits = _waits(limit, withdrawals, now)
        second = _second(context, connection, limit, waits) if waits is not None else None
    return context.page(
        "gateway_limit.html",
        status=problem.status if problem else 200,
        problem=problem,
        said=said,
        limit=limit,
        user=user,
        held=held[0] if held and held[0].id != limit.id else None,
        holds=limit.holds(now),
        withdrawals=withdrawals,
        waits=waits,
        second=second,
        over=limit.until is not None and limit.until <= now,
        actions=ACTIONS,
        amount=limit_words,
        everybody=EVERYBODY,
    )


def _waits(limit: Agreed, withdrawals: list[Withdrawal], now: str) -> Agreed | Withdrawal | None:
    """What a second person has to decide on: the limit, its withdrawal, or nothing."""
    if limit.state == "proposed":
        return limit
    return next((one for one in withdrawals if one.state == "proposed" and limit.holds(now)), None)


def _second(context: Context, connection: Connection, limit: Agreed, waits: Agreed | Withdrawal) -> Second:
    asked = limits.asked_of(limit, waits)
    return History.read(connection).view(connection, asked, context.owner.name, "gateway.approve")


def approve(context: Here) -> Response:
    """Put it in force."""
    return _or_say(context, lambda: limits.approve(context, context.loaded), said="limit-approved")


def decline(context: Here) -> Response:
    """Say no, and why."""
    return _or_say(
        context,
        lambda: limits.decline(context, context.loaded, reason=context.form.text("reason", most=LONGEST_REASON)),
        said="limit-declined",
    )


def withdraw(context: Here) -> Response:
    """Nothing shall come of it; or, if it is in force, another person shall decide that it no longer holds."""
    said = "limit-withdrawal-proposed" if context.loaded.state == "approved" else "limit-withdrawn"
    return _or_say(context, lambda: limits.withdraw(context, context.loaded), said=said)


def approve_withdrawal(context: Here) -> Response:
    """The limit no longer holds."""
    return _or_say(context, lambda: limits.approve_withdrawal(context, context.loaded), said="limit-ended")


def decline_withdrawal(context: Here) -> Response:
    """The limit holds on, and why."""
    reason = context.form.text("reason", most=LONGEST_REASON)
    return _or_say(
        context,
        lambda: limits.decline_withdrawal(context, context.loaded, reason=reason),
        said="limit-withdrawal-declined",
    )


def _or_say(context: Context, act: Callable[[], object], *, said: str) -> Response:
    try:
        act()
    except Exception as error:
        return _again(context, problem=_ours(error))
    return go(f"/gateway/limits/{context.loaded.id}", said=said)


def _ours(error: Exception) -> Problem:
    """What to say on the page; what is a bug or ails the store is not for it."""
    problem = problem_of(error)
    if problem.status >= 500:
        raise error
    return problem


# The gateway: users by exposure, one user over time, refusals, incidents, and why something was refused.
NEWEST = 5
"""Refusals and incidents on the first page."""
STEPS = 400
"""Entries of a user that the chart is made from."""
SHOWN = 50
PageNumber = Annotated[int, Query(ge=1, le=10**6)]


def _find_user(context: Context, path: dict[str, str]) -> User | None:
    follow(context.site.store)
    with context.site.store.reading() as connection:
        return users.find(connection, numbered(path["number"]), now=context.site.stamp())


USER = Loads("database user", find=_find_user, may=lambda context, user: context.may(context.route.permission))
"""Database users belong to nobody: whoever may see the gateway may see each."""


def gateway_page(context: Here, said: str = "", database: Text = "", name: Text = "", page: PageNumber = 1) -> Response:
    """Who has seen how much, the most exposed first."""
    complete = follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        shown = users.ranked(connection, now=now, database=printable(database), name=printable(name), page=page)
        return context.page(
            "gateway.html",
            said=remark(said),
            complete=complete,
            watched=users.watched(connection),
            shown=shown,
            wanted={"database": database, "name": name},
            incidents=incidents.incidents(connection, context.site.now())[:NEWEST],
            refusals=refusals.newest(connection, most=NEWEST).refusals,
            waiting=gateway_limits.everything(connection, state="proposed"),
            words=reason_words,
            frame=incidents.FRAME,
        )


def printable(text: str) -> str:
    """What can be asked of every database; what cannot be printed stands in no entry, so nobody fits."""
    return text if text.isprintable() else "\N{REPLACEMENT CHARACTER}"


def user_page(context: Here, said: str = "") -> Response:
    """One user: exposure over time, newest results, refusals, incidents and limits."""
    user: User = context.loaded
    with context.site.store.reading() as connection:
        history = refusals.history(connection, user, most=STEPS)
        drawn = figure_of(user, history, context.site.now())
        return context.page(
            "gateway_user.html",
            said=remark(said),
            user=user,
            agreed=agreed_number(user.rule),
            figure=_drawn(drawn),
            history=history[:SHOWN],
            refusals=refusals.newest(connection, user=user.id, most=SHOWN),
            incidents=incidents.incidents(connection, context.site.now(), user=user.id),
            limits=gateway_limits.everything(connection, database=user.database, name=user.name, most=SHOWN),
            words=reason_words,
            outcome=outcome_words,
            amount=limit_words,
            stamp=context.site.stamp(),
        )


def _drawn(data: Figure | None) -> Markup | None:
    return None if data is None else figure(data, 1)


def refusals_page(context: Here, database: Text = "", before: Number = None) -> Response:
    """All refusals, newest first, with their reasons."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        return context.page(
            "gateway_refusals.html",
            page=refusals.newest(connection, database=printable(database), before=before),
            watched=users.watched(connection),
            database=database,
            paged=before is not None,
            words=reason_words,
        )


def incidents_page(context: Here) -> Response:
    """Days that are worth a look, the worst first."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        found = incidents.incidents(connection, context.site.now())
    return context.page("gateway_incidents.html", incidents=found, frame=incidents.FRAME, most=incidents.MOST)


def why_page(context: Here, reference: Text = "") -> Response:
    """Why something was refused, in plain words."""
    with context.site.store.reading() as connection:
        told = may_see(context, connection, reference) if reference.strip() else None
        explanation = None if told is None else explained(connection, told)
    user = None
    if told is not None and context.may("gateway.read"):
        follow(context.site.store)
        with context.site.store.reading() as connection:
            user = users.named(connection, told.database, told.user, now=context.site.stamp())
    return context.page(
        "gateway_why.html",
        status=404 if reference.strip() and told is None else 200,
        reference=reference.strip()[:20],
        told=told,
        explanation=explanation,
        user=user,
    )


def may_see(context: Context, connection: Connection, reference: str) -> Told | None:
    """The refusal behind a reference: any for those who watch the gateway, for everybody else their own."""
    told = refusals.by_reference(connection, reference)
    if told is None or context.may("gateway.read") or told.user == context.owner.name:
        return told
    return None


# Exposure over time as a figure: a step for every result that told something new, and the limit as a line.
MINUTE, HOUR, DAY = 60, 3_600, 86_400
CHART_STEPS = (
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    DAY,
    2 * DAY,
    5 * DAY,
    10 * DAY,
    30 * DAY,
    90 * DAY,
)
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
    step = next((step for step in CHART_STEPS if (end - begin) / step <= MOST_TICKS), 365 * DAY)
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
