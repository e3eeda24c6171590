"""Limits of database users under four eyes: propose, look, approve or reject, withdraw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query
from pydantic import ValidationError
from sqlalchemy import Connection
from starlette.responses import Response

from discreet.store import gateway_limits
from discreet.store.gateway_limits import ACTIONS, EVERYBODY, Agreed, Withdrawal
from discreet.web.accounts.second_approver import History, Second
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.gateway import limits, users
from discreet.web.gateway.entry_view import limit_words
from discreet.web.gateway.limits import LONGEST_NAME, LONGEST_REASON, NewLimit
from discreet.web.gateway.totals import follow
from discreet.web.remarks import remark

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
