"""Plans: describe a release, see what would come of it, and have somebody else decide."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web.accounts.second_approver import History, Second
from discreet.web.datasets import store as datasets
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.jobs import queue
from discreet.web.jobs.pages import progress_of
from discreet.web.releases import decisions
from discreet.web.releases import store as plans
from discreet.web.releases.store import Plan
from discreet.web.releasing.content import FORMATS
from discreet.web.releasing.typed import LAWS, START, names_in, offered, shown_of, typed_in, wanted_in
from discreet.web.releasing.words import lines_of
from discreet.web.remarks import remark


def _find(context: Context, path: dict[str, str]) -> Plan | None:
    with context.site.store.reading() as connection:
        return plans.find(connection, numbered(path["number"]))


PLAN = Loads("plan", find=_find, may=lambda context, plan: context.may(context.route.permission))
"""Plans belong to the custodians of the store together; who may decide on one is asked where it is decided."""


def new_page(context: Here, dataset: str = "") -> Response:
    """The form, empty but for a data set that somebody came from."""
    with context.site.store.reading() as connection:
        chosen = datasets.find(connection, numbered(dataset)) if dataset.isascii() and dataset.isdigit() else None
    given = {} if chosen is None else {"dataset": str(chosen.id), "population": str(chosen.population or "")}
    return _form(context, typed={**START, **given})


def begin(context: Here) -> Response:
    """Plan a release."""
    try:
        number = decisions.begin(context, wanted_in(context.form))
    except Exception as error:
        return _form(context, typed=typed_in(context.form), problem=_ours(error))
    return go(f"/releases/plans/{number}", said="planned")


def _form(
    context: Context, *, typed: dict[str, str], problem: Problem | None = None, plan: Plan | None = None
) -> Response:
    with context.site.store.reading() as connection:
        everything = datasets.everything(connection)
    return context.page(
        "release_new.html",
        status=problem.status if problem else 200,
        problem=problem,
        plan=plan,
        typed=typed,
        datasets=offered(everything),
        laws=LAWS,
        formats=FORMATS,
    )


def plan_page(context: Here, said: str = "") -> Response:
    """What is planned, what would come of it, and what is to be decided."""
    return plan_again(context, said=remark(said))


def plan_again(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
    """The same, also with what went wrong."""
    plan = decisions.found(context, context.loaded.id)
    with context.site.store.reading() as connection:
        now, job = queue.moment(connection), decisions.last_job(connection, plan)
        second = _second(context, connection, plan) if plan.state == "planned" else None
    running = progress_of(job, now) if job is not None and job.active else None
    return context.page(
        "release_plan.html",
        status=problem.status if problem else 200,
        problem=problem,
        plan=plan,
        second=second,
        open_to_change=plan.state in plans.CHANGEABLE or decisions.is_stuck(context, plan),
        words=plans.WORDS,
        running=running,
        failed=job if job is not None and job.state in ("failed", "cancelled") else None,
        lines=lines_of(plan.preflight) if plan.preflight else [],
        said=said,
    )


def _second(context: Context, connection: Connection, plan: Plan) -> Second:
    asked = decisions.asked_of(plan)
    return History.read(connection).view(connection, asked, context.owner.name, "releases.approve")


def change_page(context: Here) -> Response:
    """The form again, with what is planned."""
    plan: Plan = context.loaded
    if plan.state not in plans.CHANGEABLE and not decisions.is_stuck(context, plan):
        raise plans.too_late()
    return _form(context, typed=shown_of(plan.content), plan=plan)


def change(context: Here) -> Response:
    """Plan something else instead."""
    plan: Plan = context.loaded
    try:
        version = context.form.whole("version", least=1, most=10**12)
        more = plan.kind == "more"
        names = names_in(context.form.verbatim("recipients", most=40_000, lines=True)) if more else []
        if more and not names:
            raise Problem(422, "Nobody is named.", remedy="Name at least one recipient, or withdraw the plan.")
        decisions.change(context, plan, names if more else wanted_in(context.form), version=version)
    except Exception as error:
        return _form(context, typed=typed_in(context.form), problem=_ours(error), plan=plan)
    return go(f"/releases/plans/{plan.id}", said="plan-changed")


def look(context: Here) -> Response:
    """Look again at what would come of it, after a job that could not be done."""
    return _or_say(context, lambda: _looked(context), said="")


def _looked(context: Context) -> None:
    if context.loaded.state != "planned":
        raise plans.too_late()
    decisions.look(context, context.loaded)


def approve(context: Here) -> Response:
    """Let copies be made."""
    return _or_say(
        context, lambda: decisions.approve(context, context.loaded, seen=context.form.text("seen")), said="approved"
    )


def reject(context: Here) -> Response:
    """Say no, and why."""
    return _or_say(
        context,
        lambda: decisions.reject(
            context,
            context.loaded,
            seen=context.form.text("seen"),
            reason=context.form.text("reason", most=decisions.LONGEST_REASON),
        ),
        said="rejected",
    )


def withdraw(context: Here) -> Response:
    """Nothing shall come of it."""
    return _or_say(context, lambda: decisions.withdraw(context, context.loaded), said="withdrawn")


def make(context: Here) -> Response:
    """Have the copies made."""
    return _or_say(context, lambda: decisions.make(context, context.loaded), said="")


def _or_say(context: Context, act: Callable[[], object], *, said: str) -> Response:
    try:
        act()
    except Exception as error:
        return plan_again(context, problem=_ours(error))
    return go(f"/releases/plans/{context.loaded.id}", said=said)


def _ours(error: Exception) -> Problem:
    """What to say on the page; what is a bug or ails the store is not for it."""
    problem = problem_of(error)
    if problem.status >= 500:
        raise error
    return problem
