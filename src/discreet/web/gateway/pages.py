"""Gateway in the browser and the API: users, refusals, incidents, why something was refused; routes."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.report.toolkit.page import figure
from discreet.store import gateway_answers, gateway_limits
from discreet.web import ledger
from discreet.web.framework.context import Context, Here
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import not_found
from discreet.web.framework.route import ApiGet, Loads, Page, Route, numbered
from discreet.web.gateway import entry_view, users
from discreet.web.gateway.entry_view import GatewayResult, decimal, limit_words, outcome_words, reason_words
from discreet.web.gateway.exposure_charts import FRAMES, exposure_figure, exposures_figure
from discreet.web.gateway.limits import LIMIT_ROUTES
from discreet.web.gateway.users import Number, PageNumber, Text, User, follow, printable

NEWEST = 5
"""Refusals and incidents on the first page."""
STEPS = 400
"""Entries of a user that the chart is made from."""
SHOWN = 50


def _find_user(context: Context, path: dict[str, str]) -> User | None:
    follow(context.site.store)
    with context.site.store.reading() as connection:
        return users.find(connection, numbered(path["number"]), now=context.site.stamp())


USER = Loads("database user", find=_find_user, may=lambda context, user: context.may(context.route.permission))


# -- pages ------------------------------------------------------------------------------------------------------------


def gateway_page(
    context: Here, database: Text = "", name: Text = "", page: PageNumber = 1, days: Text = ""
) -> Response:
    """Users by exposure, the most exposed first."""
    complete = follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        shown = users.ranked(connection, now=now, database=printable(database), name=printable(name), page=page)
        frame = int(days) if days in FRAMES else int(FRAMES[1])
        exposures = exposures_figure(connection, shown.users, context.site.now(), days=frame)
        return context.page(
            "gateway.html",
            days=str(frame),
            frames=FRAMES,
            exposures=None if exposures is None else figure(exposures, 1),
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
            agreed=entry_view.agreed_number(user.rule),
            why=entry_view.rule_words(user.rule),
            figure=None if exposure is None else figure(exposure, 1),
            history=history[:SHOWN],
            refusals=entry_view.refusals(connection, user=user.id, most=SHOWN),
            incidents=users.incidents(connection, context.site.now(), user=user.id),
            limits=gateway_limits.everything(connection, database=user.database, name=user.name, most=SHOWN),
            statistics=_statistics(connection, user),
            words=reason_words,
            outcome=outcome_words,
            amount=limit_words,
            stamp=context.site.stamp(),
        )


def _statistics(connection: Connection, user: User) -> list[gateway_answers.AnswersTotal]:
    """What the user was answered in statistics, on their own account or on a project's that they have used."""
    used = entry_view.accounts(connection, user.subject)
    return [total for name in used for total in gateway_answers.totals(connection, user.database, name)]


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
    if context.may("gateway.read"):
        follow(context.site.store)
    with context.site.store.reading() as connection:
        result = _refusal(context, connection, reference) if reference.strip() else None
        explanation = None if result is None else entry_view.explained(connection, result)
        user = None
        if result is not None and context.may("gateway.read"):
            user = users.named(connection, result.database, result.user, now=context.site.stamp())
    return context.page(
        "gateway_why.html",
        status=404 if reference.strip() and result is None else 200,
        reference=reference.strip()[:20],
        result=result,
        explanation=explanation,
        user=user,
    )


def _refusal(context: Context, connection: Connection, reference: str) -> GatewayResult | None:
    """The refusal behind a reference; without `gateway.read` only one's own."""
    number = entry_view.number_of(reference)
    entry = ledger.find(connection, number) if number is not None else None
    result = entry_view.result_of(entry) if entry is not None else None
    if result is None or not result.is_refusal:
        return None
    return result if context.may("gateway.read") or result.user == context.owner.name else None


# -- API --------------------------------------------------------------------------------------------------------------


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
    """A result or a refusal, without a value of any person or a statement."""

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


class StatisticsModel(Strict):
    """What an account was answered in statistics about one sensitive column."""

    account: str
    """`user:NAME`, or `project:NAME` where several users share it."""
    column: str
    answers: int
    """Answers counted against the budget."""
    left: int
    """Answers that were left after the last one."""
    reduction: float
    """Largest share of the uncertainty about any one person that all answers together have removed."""
    limit: float
    """Largest share that the policy allowed then."""


class UserHistory(UserModel):
    """A database user, with their newest results and refusals."""

    history: list[ResultModel]
    statistics: list[StatisticsModel]


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
        totals = _statistics(connection, loaded)
    statistics = [
        StatisticsModel.of(total, column=total.attribute, answers=total.used, limit=total.ceiling) for total in totals
    ]
    return UserHistory.of(
        loaded, **_amounts(loaded), history=[_result(result) for result in results], statistics=statistics
    )


def refusal_list(context: Here, database: Text = "", before: Number = None) -> Refusals:
    """Refusals, newest first, including those that shadow mode only recorded."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        page = entry_view.refusals(connection, database=printable(database), before=before)
    return Refusals(refusals=[_result(result) for result, _ in page.refusals], older=page.older)


def incident_list(context: Here) -> Incidents:
    """Days that are worth a look, the worst first."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        days = users.incidents(connection, context.site.now())
    models = [IncidentModel.of(day, exposure=decimal(day.exposure), reasons=list(day.reasons)) for day in days]
    return Incidents(incidents=models)


def why(context: Here, reference: Text) -> Explanation:
    """Why something was refused; without `gateway.read` only to a user of one's own name."""
    with context.site.store.reading() as connection:
        result = _refusal(context, connection, reference)
        if result is None:
            raise not_found()
        explanation = entry_view.explained(connection, result)
    return Explanation(headline=explanation.headline, result=_result(result), advice=list(explanation.advice))


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


_API = "/api/v1/gateway"

GATEWAY_ROUTES: tuple[Route, ...] = (
    Page("/gateway", "gateway.read", gateway_page),
    Page("/gateway/users/{number}", "gateway.read", user_page, loads=USER),
    Page("/gateway/refusals", "gateway.read", refusals_page),
    Page("/gateway/incidents", "gateway.read", incidents_page),
    Page("/gateway/why", "gateway.explain", why_page),
    ApiGet(f"{_API}/users", "gateway.read", user_list, returns=Users),
    ApiGet(f"{_API}/users/{{number}}", "gateway.read", user, returns=UserHistory, loads=USER),
    ApiGet(f"{_API}/refusals", "gateway.read", refusal_list, returns=Refusals),
    ApiGet(f"{_API}/incidents", "gateway.read", incident_list, returns=Incidents),
    ApiGet(f"{_API}/why", "gateway.explain", why, returns=Explanation),
    *LIMIT_ROUTES,
)
