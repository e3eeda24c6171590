"""API and routes of the gateway's users, refusals, incidents and limits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.store import gateway_limits
from discreet.store.gateway_limits import Action, Agreed, Withdrawal
from discreet.web.framework.context import Context, Here
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import not_found
from discreet.web.framework.route import Route
from discreet.web.gateway import entry_view, limit_approval, pages, users
from discreet.web.gateway.entry_view import GatewayResult, decimal, explained, reason_words
from discreet.web.gateway.limit_approval import LONGEST_REASON, NewLimit
from discreet.web.gateway.pages import STEPS, Number, PageNumber, Text, may_see, printable
from discreet.web.gateway.totals import follow
from discreet.web.gateway.users import User


def user_list(context: Here, database: Text = "", name: Text = "", page: PageNumber = 1) -> Users:
    """Users, the most exposed first; `name` finds those whose names contain it."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        now = context.site.stamp()
        ranked = users.ranked(connection, now=now, database=printable(database), name=printable(name), page=page)
    shown = [UserModel.of(user, **_amounts(user)) for user in ranked.users]
    return Users(users=shown, page=ranked.number, pages=ranked.pages, total=ranked.total)


def user(context: Here, number: str) -> UserHistory:
    """One user, with their newest results and refusals."""
    loaded: User = context.loaded
    with context.site.store.reading() as connection:
        results = entry_view.history(connection, loaded.subject, most=STEPS)
    return UserHistory.of(loaded, **_amounts(loaded), history=[_result(result) for result in results])


def refusal_list(context: Here, database: Text = "", before: Number = None) -> Refusals:
    """Refusals, newest first, including those that shadow mode only recorded."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        page = entry_view.refusals(connection, database=printable(database), before=before)
    return Refusals(refusals=[_result(refusal.result) for refusal in page.refusals], older=page.older)


def incident_list(context: Here) -> Incidents:
    """Days that are worth a look, the worst first."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        found = users.incidents(connection, context.site.now())
    shown = [
        IncidentModel.of(incident, exposure=decimal(incident.exposure), reasons=list(incident.reasons))
        for incident in found
    ]
    return Incidents(incidents=shown)


def why(context: Here, reference: Text) -> Explanation:
    """Why something was refused; without `gateway.read` only what was refused to a user of one's own name."""
    with context.site.store.reading() as connection:
        result = may_see(context, connection, reference)
        if result is None:
            raise not_found()
        explanation = explained(connection, result)
    return Explanation(headline=explanation.headline, result=_result(result), advice=list(explanation.advice))


def limit_list(context: Here, database: Text = "", before: Number = None) -> Limits:
    """Limits that are proposed, in force, or ended."""
    with context.site.store.reading() as connection:
        found = gateway_limits.everything(connection, database=printable(database) or None, before=before, most=200)
        pending = gateway_limits.withdrawals(connection, of=[limit.id for limit in found], state="proposed")
    return Limits(limits=[_limit(context, limit, pending) for limit in found])


def limit(context: Here, number: str) -> LimitModel:
    """One limit."""
    return _current(context, context.loaded.id)


def propose(context: Here, wanted: NewLimit) -> LimitModel:
    """Propose a limit, which takes effect once another custodian approves it."""
    return _current(context, limit_approval.propose(context, wanted))


def approve(context: Here, number: str) -> LimitModel:
    """Put it in force; only by a person who has signed in and did not propose it."""
    limit_approval.approve(context, context.loaded)
    return _current(context, context.loaded.id)


def decline(context: Here, number: str, why: Decline) -> LimitModel:
    """Reject it, with a reason."""
    limit_approval.decline(context, context.loaded, reason=why.reason.strip())
    return _current(context, context.loaded.id)


def withdraw(context: Here, number: str) -> LimitModel:
    """Withdraw a proposal; for a limit in force, propose its withdrawal, which another custodian decides on."""
    limit_approval.withdraw(context, context.loaded)
    return _current(context, context.loaded.id)


def approve_withdrawal(context: Here, number: str) -> LimitModel:
    """End the limit; only by a person who has signed in and did not propose the withdrawal."""
    limit_approval.approve_withdrawal(context, context.loaded)
    return _current(context, context.loaded.id)


def decline_withdrawal(context: Here, number: str, why: Decline) -> LimitModel:
    """Keep the limit in force, with a reason."""
    limit_approval.decline_withdrawal(context, context.loaded, reason=why.reason.strip())
    return _current(context, context.loaded.id)


def _current(context: Context, number: int) -> LimitModel:
    with context.site.store.reading() as connection:
        pending = gateway_limits.withdrawals(connection, of=[number], state="proposed")
    return _limit(context, limit_approval.current(context, number), pending)


def _amount(millionths: int | None) -> str | None:
    return None if millionths is None else decimal(millionths)


def _amounts(user: User) -> dict[str, Any]:
    return {"exposure": decimal(user.exposure), "limit": _amount(user.limit), "percent": user.share}


def _result(result: GatewayResult) -> ResultModel:
    return ResultModel.of(
        result,
        entry=result.entry.sequence,
        time=result.entry.time,
        outcome="refused" if result.refused else "would" if result.would else "given",
        columns=list(result.columns),
        before=_amount(result.before),
        after=_amount(result.after),
        limit=_amount(result.limit),
        reason=reason_words(result) if result.is_refusal else "",
    )


def _limit(context: Context, limit: Agreed, pending: Sequence[Withdrawal]) -> LimitModel:
    proposer = next((withdrawal.proposer for withdrawal in pending if withdrawal.limit == limit.id), None)
    holds = limit.holds(context.site.stamp())
    return LimitModel.of(limit, limit=decimal(limit.allowed), holds=holds, withdrawal_by=proposer)


# -- models -----------------------------------------------------------------------------------------------------------


class UserModel(Strict):
    """A database user as the ledger records them."""

    id: int
    database: str
    name: str
    exposure: str
    """After the last result."""
    limit: str | None
    rule: str
    """The rule that set the limit: `misuse.limit`, `gateway.limits 2`, `agreed 7`; empty where none is known."""
    percent: int | None
    """How much of the limit is used, rounded up."""
    answers: int
    repeated: int
    """Results that contained nothing new."""
    refused: int
    would: int
    """In shadow mode: how often a result would have been refused or reduced."""
    over: int
    """Results that were let through above the limit."""
    seen: str


class Users(Strict):
    """Some users, the most exposed first."""

    users: list[UserModel]
    page: int
    pages: int
    total: int


class ResultModel(Strict):
    """A result or a refusal. It holds no value of any person and no text of a statement."""

    reference: str
    entry: int
    time: str
    database: str
    user: str
    outcome: Literal["given", "refused", "would"]
    decision: str
    rows: int
    columns: list[str]
    before: str | None
    after: str | None
    limit: str | None
    rule: str
    reason: str
    """In words; empty for what was given out."""


class UserHistory(UserModel):
    """The same, with their newest results and refusals."""

    history: list[ResultModel]


class Refusals(Strict):
    """Some refusals, newest first; `older` is what to ask for next, as `before`."""

    refusals: list[ResultModel]
    older: int | None


class IncidentModel(Strict):
    """A day of a user that is worth a look."""

    user: int
    database: str
    name: str
    day: str
    exposure: str
    reasons: list[str]


class Incidents(Strict):
    """The worst first, of the last 30 days."""

    incidents: list[IncidentModel]


class Explanation(Strict):
    """Why something was refused."""

    headline: str
    result: ResultModel
    advice: list[str]


class LimitModel(Strict):
    """A limit. It is approved by another custodian, who has signed in; never by a token."""

    id: int
    database: str
    name: str
    """`*` for all users of the database."""
    limit: str
    action: Action
    until: str | None
    """The moment at which it ends."""
    reason: str
    state: Literal["proposed", "approved", "declined", "withdrawn", "replaced"]
    holds: bool
    proposer: str
    made: str
    decider: str | None
    decided: str | None
    answer: str | None
    """Why it was rejected."""
    withdrawal_by: str | None
    """The custodian whose proposal to withdraw it awaits another custodian; it holds until then."""


class Limits(Strict):
    """Limits, the newest first."""

    limits: list[LimitModel]


class Decline(Strict):
    """Why a limit is rejected."""

    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""


# Routes of database users behind a gateway.
Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")
Ask = partial(Route, "GET", kind="api")
Tell = partial(Route, "POST", kind="api")

_USER: dict[str, Any] = {"loads": pages.USER}
_LIMIT: dict[str, Any] = {"loads": pages.LIMIT}
_LIMIT_API: dict[str, Any] = {"loads": pages.LIMIT, "returns": LimitModel}
_AT = "/gateway/limits/{number}"
_API = "/api/v1/gateway"
_API_AT = f"{_API}/limits/{{number}}"

GATEWAY_ROUTES: tuple[Route, ...] = (
    Read("/gateway", "gateway.read", pages.gateway_page),
    Read("/gateway/users/{number}", "gateway.read", pages.user_page, **_USER),
    Read("/gateway/refusals", "gateway.read", pages.refusals_page),
    Read("/gateway/incidents", "gateway.read", pages.incidents_page),
    Read("/gateway/why", "gateway.explain", pages.why_page),
    Read("/gateway/limits", "gateway.read", pages.limits_page),
    Send("/gateway/limits", "gateway.limit", pages.propose),
    Read(_AT, "gateway.read", pages.limit_page, **_LIMIT),
    Send(f"{_AT}/approve", "gateway.approve", pages.approve, **_LIMIT),
    Send(f"{_AT}/decline", "gateway.approve", pages.decline, **_LIMIT),
    Send(f"{_AT}/withdraw", "gateway.limit", pages.withdraw, **_LIMIT),
    Send(f"{_AT}/withdrawal/approve", "gateway.approve", pages.approve_withdrawal, **_LIMIT),
    Send(f"{_AT}/withdrawal/decline", "gateway.approve", pages.decline_withdrawal, **_LIMIT),
    Ask(f"{_API}/users", "gateway.read", user_list, returns=Users),
    Ask(f"{_API}/users/{{number}}", "gateway.read", user, returns=UserHistory, **_USER),
    Ask(f"{_API}/refusals", "gateway.read", refusal_list, returns=Refusals),
    Ask(f"{_API}/incidents", "gateway.read", incident_list, returns=Incidents),
    Ask(f"{_API}/why", "gateway.explain", why, returns=Explanation),
    Ask(f"{_API}/limits", "gateway.read", limit_list, returns=Limits),
    Tell(f"{_API}/limits", "gateway.limit", propose, body="json", returns=LimitModel, status=201),
    Ask(_API_AT, "gateway.read", limit, **_LIMIT_API),
    Tell(f"{_API_AT}/approve", "gateway.approve", approve, **_LIMIT_API),
    Tell(f"{_API_AT}/decline", "gateway.approve", decline, body="json", **_LIMIT_API),
    Tell(f"{_API_AT}/withdraw", "gateway.limit", withdraw, **_LIMIT_API),
    Tell(f"{_API_AT}/withdrawal/approve", "gateway.approve", approve_withdrawal, **_LIMIT_API),
    Tell(f"{_API_AT}/withdrawal/decline", "gateway.approve", decline_withdrawal, body="json", **_LIMIT_API),
)
"""Method, path, permission, handler; then kind, body and what is loaded."""
