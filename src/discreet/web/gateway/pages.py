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

from discreet.report.charts.axes import Scale, linear
from discreet.report.charts.lines import Axes, Line, line_chart
from discreet.report.toolkit.components import Figure, Table, figure
from discreet.report.toolkit.words import MONTHS, plural
from discreet.store import gateway_limits
from discreet.store.gateway_limits import ACTIONS, EVERYBODY, PARTS, Agreed, Withdrawal
from discreet.web.accounts.second_approver import History
from discreet.web.framework.context import Context, Here, by_number, go
from discreet.web.framework.problems import Problem, page_problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.framework.site import moment, short_moment
from discreet.web.gateway import entry_view, limit_approval, users
from discreet.web.gateway.entry_view import (
    GatewayResult,
    agreed_number,
    explained,
    limit_words,
    outcome_words,
    points,
    reason_words,
)
from discreet.web.gateway.limit_approval import LONGEST_NAME, LONGEST_REASON, NOT_PROPOSED, NewLimit
from discreet.web.gateway.totals import follow
from discreet.web.gateway.users import User

NEWEST = 5
"""Refusals and incidents on the first page."""
STEPS = 400
"""Entries of a user that the chart is made from."""
SHOWN = 50
FIELDS = ("database", "name", "limit", "action", "until", "reason")
Text = Annotated[str, Query(max_length=200)]
Number = Annotated[int | None, Query(ge=0, le=10**17)]
PageNumber = Annotated[int, Query(ge=1, le=10**6)]


def _find_user(context: Context, path: dict[str, str]) -> User | None:
    follow(context.site.store)
    with context.site.store.reading() as connection:
        return users.find(connection, numbered(path["number"]), now=context.site.stamp())


USER = Loads("database user", find=_find_user, may=lambda context, user: context.may(context.route.permission))
LIMIT = by_number("limit", gateway_limits.find)
"""Custodians look after limits together; who may decide on one is checked where it is decided."""


def printable(text: str) -> str:
    """A text that every database accepts; one that cannot be printed occurs in no entry, so nothing matches."""
    return text if text.isprintable() else "\N{REPLACEMENT CHARACTER}"


# -- users, refusals, incidents ---------------------------------------------------------------------------------------


def gateway_page(context: Here, database: Text = "", name: Text = "", page: PageNumber = 1) -> Response:
    """Users by exposure, the most exposed first."""
    complete = follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        shown = users.ranked(connection, now=now, database=printable(database), name=printable(name), page=page)
        return context.page(
            "gateway.html",
            complete=complete,
            watched=users.watched(connection),
            shown=shown,
            wanted={"database": database, "name": name},
            incidents=users.incidents(connection, context.site.now())[:NEWEST],
            refusals=entry_view.refusals(connection, most=NEWEST).refusals,
            waiting=gateway_limits.everything(connection, state="proposed"),
            words=reason_words,
            frame=users.FRAME,
        )


def user_page(context: Here) -> Response:
    """One user: exposure over time, newest results, refusals, incidents and limits."""
    user: User = context.loaded
    with context.site.store.reading() as connection:
        history = entry_view.history(connection, user.subject, most=STEPS)
        exposure = exposure_figure(user, history, context.site.now())
        return context.page(
            "gateway_user.html",
            user=user,
            agreed=agreed_number(user.rule),
            figure=None if exposure is None else figure(exposure, 1),
            history=history[:SHOWN],
            refusals=entry_view.refusals(connection, user=user.id, most=SHOWN),
            incidents=users.incidents(connection, context.site.now(), user=user.id),
            limits=gateway_limits.everything(connection, database=user.database, name=user.name, most=SHOWN),
            words=reason_words,
            outcome=outcome_words,
            amount=limit_words,
            stamp=context.site.stamp(),
        )


def refusals_page(context: Here, database: Text = "", before: Number = None) -> Response:
    """All refusals, newest first, with their reasons."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        return context.page(
            "gateway_refusals.html",
            page=entry_view.refusals(connection, database=printable(database), before=before),
            watched=users.watched(connection),
            database=database,
            paged=before is not None,
            words=reason_words,
        )


def incidents_page(context: Here) -> Response:
    """Days that are worth a look, the worst first."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        incidents = users.incidents(connection, context.site.now())
    return context.page("gateway_incidents.html", incidents=incidents, frame=users.FRAME, most=users.MOST_INCIDENTS)


def why_page(context: Here, reference: Text = "") -> Response:
    """Why something was refused, in plain words."""
    with context.site.store.reading() as connection:
        result = may_see(context, connection, reference) if reference.strip() else None
        explanation = None if result is None else explained(connection, result)
    user = None
    if result is not None and context.may("gateway.read"):
        follow(context.site.store)
        with context.site.store.reading() as connection:
            user = users.named(connection, result.database, result.user, now=context.site.stamp())
    return context.page(
        "gateway_why.html",
        status=404 if reference.strip() and result is None else 200,
        reference=reference.strip()[:20],
        result=result,
        explanation=explanation,
        user=user,
    )


def may_see(context: Context, connection: Connection, reference: str) -> GatewayResult | None:
    """The refusal behind a reference: any for those who read the gateway, for everybody else their own."""
    result = entry_view.refusal_by_reference(connection, reference)
    if result is None or context.may("gateway.read") or result.user == context.owner.name:
        return result
    return None


# -- limits -----------------------------------------------------------------------------------------------------------


def limits_page(context: Here, database: Text = "", name: Text = "", before: Number = None) -> Response:
    """Limits that await approval, are in force or have ended; and the form to propose one."""
    typed = {"database": database, "name": name, "action": "deny"} if (database + name).isprintable() else {}
    return _limits(context, typed=typed, before=before)


def _limits(
    context: Context, *, typed: dict[str, str], problem: Problem | None = None, before: int | None = None
) -> Response:
    follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        listed = gateway_limits.everything(connection, before=before, most=SHOWN + 1)
        watched = [database.name for database in users.watched(connection)]
        in_force = gateway_limits.in_force(connection, now=now)
        waiting = gateway_limits.everything(connection, state="proposed")
        withdrawals = gateway_limits.withdrawals(connection, state="proposed")
    return context.page(
        "gateway_limits.html",
        problem=problem,
        typed={**dict.fromkeys(FIELDS, ""), **typed},
        waiting=waiting,
        holding=in_force,
        leaving={withdrawal.limit: withdrawal.proposer for withdrawal in withdrawals},
        past=[limit for limit in listed[:SHOWN] if limit.state != "proposed" and not limit.holds(now)],
        older=listed[SHOWN - 1].id if len(listed) > SHOWN else None,
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
        number = limit_approval.propose(context, _wanted(typed))
    except Exception as error:
        sent = {name: "".join(form.fields.get(name, [""])[:1])[:LONGEST_REASON] for name in FIELDS}
        shown = {name: text for name, text in sent.items() if text.isprintable()}
        return _limits(context, typed=shown, problem=page_problem(error))
    return go(f"/gateway/limits/{number}", said="limit-proposed")


def _wanted(typed: dict[str, str]) -> NewLimit:
    given: dict[str, Any] = {**typed, "until": typed["until"].strip() or None, "limit": typed["limit"].strip()}
    try:
        return NewLimit(**given)
    except ValidationError as error:
        names = dict.fromkeys(str(one["loc"][0]) for one in error.errors())
        raise Problem(
            422,
            f"These fields are missing or not valid: {', '.join(names)}.",
            remedy="Name a database and a user (or * for all users), the limit, and the reason.",
            title=NOT_PROPOSED,
        ) from None


def limit_page(context: Here) -> Response:
    """One limit, and what is to be decided about it."""
    return _limit(context)


def _limit(context: Context, *, problem: Problem | None = None) -> Response:
    limit = limit_approval.current(context, context.loaded.id)
    follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        user = users.named(connection, limit.database, limit.name, now=now)
        in_force = gateway_limits.in_force(connection, limit.database, now=now)
        withdrawals = gateway_limits.withdrawals(connection, of=[limit.id])
        undecided = _undecided(limit, withdrawals, now)
        second = None
        if undecided is not None:
            asked, name = limit_approval.asked_of(limit, undecided), context.owner.name
            second = History.read(connection).view(connection, asked, name, "gateway.approve")
    return context.page(
        "gateway_limit.html",
        problem=problem,
        limit=limit,
        user=user,
        held=next((other for other in in_force if other.name == limit.name and other.id != limit.id), None),
        holds=limit.holds(now),
        withdrawals=withdrawals,
        waits=undecided,
        second=second,
        over=limit.until is not None and limit.until <= now,
        actions=ACTIONS,
        amount=limit_words,
        everybody=EVERYBODY,
    )


def _undecided(limit: Agreed, withdrawals: list[Withdrawal], now: str) -> Agreed | Withdrawal | None:
    """What a second person has to decide on: the limit, its withdrawal, or nothing."""
    if limit.state == "proposed":
        return limit
    return next((one for one in withdrawals if one.state == "proposed" and limit.holds(now)), None)


def approve(context: Here) -> Response:
    """Put it in force."""
    return _or_say(context, lambda: limit_approval.approve(context, context.loaded), said="limit-approved")


def decline(context: Here) -> Response:
    """Reject it, with a reason."""
    return _or_say(
        context,
        lambda: limit_approval.decline(
            context, context.loaded, reason=context.form.text("reason", most=LONGEST_REASON)
        ),
        said="limit-declined",
    )


def withdraw(context: Here) -> Response:
    """Withdraw a proposal, or propose to withdraw a limit in force."""
    said = "limit-withdrawal-proposed" if context.loaded.state == "approved" else "limit-withdrawn"
    return _or_say(context, lambda: limit_approval.withdraw(context, context.loaded), said=said)


def approve_withdrawal(context: Here) -> Response:
    """End the limit."""
    return _or_say(context, lambda: limit_approval.approve_withdrawal(context, context.loaded), said="limit-ended")


def decline_withdrawal(context: Here) -> Response:
    """Keep the limit in force, with a reason."""
    reason = context.form.text("reason", most=LONGEST_REASON)
    return _or_say(
        context,
        lambda: limit_approval.decline_withdrawal(context, context.loaded, reason=reason),
        said="limit-withdrawal-declined",
    )


def _or_say(context: Context, act: Callable[[], object], *, said: str) -> Response:
    """Back to the limit after an act, or its page with what went wrong."""
    try:
        act()
    except Exception as error:
        return _limit(context, problem=page_problem(error))
    return go(f"/gateway/limits/{context.loaded.id}", said=said)


# -- exposure over time: a step for every result with something new, and the limit as a line ----------------------------

MINUTE, HOUR, DAY = 60, 3_600, 86_400
TICK_STEPS = (
    *(MINUTE * step for step in (1, 5, 15)),
    *(HOUR * step for step in (1, 3, 6)),
    *(DAY * step for step in (1, 2, 5, 10, 30, 90)),
)
"""Seconds between two ticks."""
MOST_TICKS = 6
ROWS = 60
"""Steps that the table beside the figure lists."""


def exposure_figure(user: User, history: Sequence[GatewayResult], now: datetime) -> Figure | None:
    """The figure of one user; None where nothing is known yet. `history` has the newest first."""
    steps = [result for result in reversed(history) if result.exposure is not None]
    if not steps:
        return None
    begin, end = _seconds(steps[0]), max(now.timestamp(), _seconds(steps[-1]) + MINUTE)
    exposure = [(_seconds(step), (step.exposure or 0) / PARTS) for step in steps]
    limit = [(_seconds(step), step.limit / PARTS) for step in steps if step.limit is not None]
    if limit and user.limit is not None:
        limit.append((end, user.limit / PARTS))
    drawn = {"exposure": [*exposure, (end, exposure[-1][1])], "limit": limit}
    lines = [Line(label, tuple(corners)) for label, corners in drawn.items() if corners]
    ticks, dated = _ticks(begin, end)
    heights = linear([height for line in lines for _, height in line.points], zero=True)
    axes = Axes(Scale(begin, end, ticks), heights, "time (UTC)", "exposure", dated=dated)
    about = _about(user, steps)
    drawing = line_chart(lines, axes)
    return Figure("exposure-over-time", "Exposure over time", about, (about,), drawing, _table(steps))


def _seconds(result: GatewayResult) -> float:
    return datetime.fromisoformat(result.entry.time).timestamp()


def _ticks(begin: float, end: float) -> tuple[tuple[float, ...], Callable[[float], str]]:
    """Round moments, and how they are written."""
    step = next((step for step in TICK_STEPS if (end - begin) / step <= MOST_TICKS), 365 * DAY)
    places = range(math.ceil(begin / step), math.floor(end / step) + 1)
    return tuple(float(place * step) for place in places), _day if step >= DAY else _hour


def _day(at: float) -> str:
    when = datetime.fromtimestamp(at, UTC)
    return f"{when.day} {MONTHS[when.month - 1][:3]}"


def _hour(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M}"


def _about(user: User, steps: Sequence[GatewayResult]) -> str:
    first, last = steps[0], steps[-1]
    what = f"From {points(first.before)} on {moment(first.entry.time)} to {points(last.exposure)} on {moment(last.entry.time)}"
    limit = f"; the limit is {limit_words(user.limit)} now" if user.limit is not None else ""
    return f"{what}, in {plural(len(steps), 'step', 'steps')}{limit}."


def _table(steps: Sequence[GatewayResult]) -> Table:
    newest = list(reversed(steps))[:ROWS]
    rows = tuple(
        (short_moment(step.entry.time), points(step.before), points(step.exposure), limit_words(step.limit), outcome_words(step))
        for step in newest
    )  # fmt: skip
    head = ("time (UTC)", "before", "after", "limit", "what happened")
    return Table("Exposure after each result, newest first", head, rows, numeric=(1, 2, 3))
