"""Pages of releases: boards, plans with their forms, traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError
from starlette.responses import HTMLResponse, Response

from discreet.releases.delivery.repository import StoredRelease
from discreet.releases.delivery.service import Registry
from discreet.releases.preconditions import AGREEMENT
from discreet.releases.tracing.result import ALPHA
from discreet.web.accounts.second_approver import History
from discreet.web.datasets import store as datasets
from discreet.web.datasets.dataset_page import frame
from discreet.web.framework.context import Context, Here, by_number, go
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem, page_problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.jobs import store as jobs
from discreet.web.jobs.pages import attachment, progress_of
from discreet.web.releases import decisions, tracing, view
from discreet.web.releases import store as plans
from discreet.web.releases.store import FORMATS, LONGEST_AGREEMENT, NewPlan, StoredPlan
from discreet.web.releases.tracing import TraceRecord, TraceRequest
from discreet.web.releases.view import ReleaseBoard, preflight_lines

MOST_HISTORY = 60
ALPHAS = ("0.001", "0.01", "0.0001")


def _find(context: Context, path: dict[str, str]) -> ReleaseBoard | None:
    name = path["name"]
    if not name.isprintable() or len(name) > 64:
        raise ValueError("not a name")
    with context.site.store.reading() as connection:
        return view.board(connection, name)


RELEASE = Loads("release", find=_find, may=lambda context, board: context.may(context.route.permission))
PLAN = by_number("plan", plans.find)
TRACE = by_number("trace", tracing.find)
"""Custodians look after releases together, and auditors read them; who may decide on a plan is checked where it is decided."""


def releases_page(context: Here) -> Response:
    """Every release: recipients as rows, states of their copies as columns."""
    with context.site.store.reading() as connection:
        boards = view.boards(connection)
    return context.page("releases.html", boards=boards, steps=view.STEPS)


def releases_tab(context: Here) -> Response:
    """The tab of a data set: releases that are made or planned of it."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "releases")
        names = dict.fromkeys(plan.release for plan in plans.everything(connection, dataset=context.loaded.id))
        boards = [board for name in names if (board := view.board(connection, name)) is not None]
    return context.page("dataset_releases.html", boards=boards, steps=view.STEPS, **around)


def release_page(context: Here) -> Response:
    """One release."""
    return _release(context)


def _release(context: Context, *, problem: Problem | None = None, form: str = "") -> Response:
    """The page of a release, also with what went wrong in one of its forms."""
    board: ReleaseBoard = context.loaded
    with context.site.store.reading() as connection:
        traces = tracing.of_release(connection, board.name)
    return context.page(
        "release.html",
        problem=problem,
        form=form,
        typed=context.form.verbatim("recipients", most=20_000, lines=True) if form == "more" else "",
        board=board,
        steps=view.STEPS,
        traces=traces,
        history=[(entry, view.entry_words(entry)) for entry in board.history[:MOST_HISTORY]],
    )


def sealed(context: Context) -> StoredRelease:
    """The newest version of the release; a problem if it is only planned."""
    kept: StoredRelease | None = context.loaded.kept
    if kept is None:
        raise Problem(
            409,
            "This release is planned, but none of its copies are made yet.",
            remedy="Have it approved and made first.",
            title="Not made yet",
        )
    return kept


def add_recipients(context: Here) -> Response:
    """Plan copies for further recipients; another custodian approves them."""
    try:
        names = names_in(context.form.verbatim("recipients", most=20_000, lines=True))
        number = decisions.more(context, sealed(context), names)
    except Exception as error:
        return _release(context, problem=page_problem(error), form="more")
    return go(f"/releases/plans/{number}", said="planned")


def retire(context: Here) -> Response:
    """Give a recipient no further copies."""
    kept = sealed(context)
    recipient = context.form.choice("recipient", kept.recipients)
    Registry(context.site.ledger).retire(kept.name, recipient, actor=context.owner.name)
    decisions.remove_packed(context, kept.name, recipient)
    return go(context.request.url.path.removesuffix("/retire"), said="retired")


def deliver(context: Here) -> Response:
    """Hand over a copy: recorded first, then sent."""
    kept = sealed(context)
    recipient = context.form.choice("recipient", kept.recipients)
    path = decisions.hand_over(context, kept, recipient)
    return attachment(path, f"{kept.name}-{kept.version}-{recipient}.zip", "application/zip")


# -- traces: recorded before they are shown, and without a value of any person ------------------------------------------


def trace_claims(context: Here) -> Response:
    """Compare claims of re-identified people with every recipient's copy."""
    return _trace(context, "claims")


def trace_leak(context: Here) -> Response:
    """Compare a leaked file with every recipient's copy."""
    return _trace(context, "leak")


def _trace(context: Context, kind: str) -> Response:
    try:
        form = context.form
        family = form.text("family", most=10)
        if family and not (family.isascii() and family.isdigit() and int(family) > 0):
            remedy = "Leave it out if there will be no further recipients."
            raise Problem(422, "The number of recipients must be a whole number.", remedy=remedy)
        requested = TraceRequest(
            kind=kind,
            file=form.files.get("file"),
            pasted=form.verbatim("pasted", most=tracing.LONGEST_PASTE, lines=True),
            exclude=form.files.get("exclude"),
            accumulate=form.text("alone") != "yes",
            columns=renamed_in(form.verbatim("columns", most=5_000, lines=True)),
            alpha=float(form.choice("alpha", ALPHAS)) if form.text("alpha") else ALPHA,
            family=int(family) if family else None,
        )
        number = tracing.run(context, sealed(context), requested)
    except Exception as error:
        return _release(context, problem=page_problem(error), form=kind)
    return go(f"/releases/traces/{number}", said="traced")


def trace_page(context: Here) -> Response:
    """The evidence of a trace; reading it is recorded, once a day for each reader."""
    trace: TraceRecord = context.loaded
    record_reading(context, trace)
    return context.page("trace.html", trace=trace)


def take_report(context: Here) -> Response:
    """The evidence as one file that opens offline."""
    trace: TraceRecord = context.loaded
    context.act("web.shown", trace.subject, act="taken", what="trace", kind=trace.kind)
    name = quote(f"{trace.release}-trace-{trace.id}.html", safe="")
    disposition = f"attachment; filename=\"trace-{trace.id}.html\"; filename*=UTF-8''{name}"
    return HTMLResponse(trace.report, headers={"Content-Disposition": disposition})


def record_reading(context: Context, trace: TraceRecord) -> None:
    """Record that the evidence was read."""
    key = f"trace:{trace.id}:{context.site.stamp()[:10]}"
    context.act("web.shown", trace.subject, key=key, act="read", what="trace", kind=trace.kind)


# -- plans ------------------------------------------------------------------------------------------------------------


def new_page(context: Here, dataset: str = "") -> Response:
    """The form of a new plan, empty but for the data set whose page led here."""
    with context.site.store.reading() as connection:
        chosen = datasets.find(connection, numbered(dataset)) if dataset.isascii() and dataset.isdigit() else None
    given = {} if chosen is None else {"dataset": str(chosen.id), "population": str(chosen.population or "")}
    return _form(context, typed={**START, **given})


def begin(context: Here) -> Response:
    """Plan a release."""
    try:
        number = decisions.begin(context, wanted_in(context.form))
    except Exception as error:
        return _form(context, typed=typed_in(context.form), problem=page_problem(error))
    return go(f"/releases/plans/{number}", said="planned")


def _form(
    context: Context, *, typed: dict[str, str], problem: Problem | None = None, plan: StoredPlan | None = None
) -> Response:
    with context.site.store.reading() as connection:
        offered = [("", "choose one"), *((str(one.id), one.name) for one in datasets.everything(connection))]
    return context.page(
        "release_new.html", problem=problem, plan=plan, typed=typed, datasets=offered, laws=LAWS, formats=FORMATS
    )


def plan_page(context: Here) -> Response:
    """The plan, its pre-flight, and what is to be decided."""
    return _plan(context)


def _plan(context: Context, *, problem: Problem | None = None) -> Response:
    plan = decisions.current(context, context.loaded.id)
    second = None
    with context.site.store.reading() as connection:
        now, job = jobs.moment(connection), decisions.last_job(connection, plan)
        if plan.state == "planned":
            asked, name = decisions.asked_of(plan), context.owner.name
            second = History.read(connection).view(connection, asked, name, "releases.approve")
    return context.page(
        "release_plan.html",
        problem=problem,
        plan=plan,
        second=second,
        open_to_change=_is_changeable(context, plan),
        words=plans.WORDS,
        running=progress_of(job, now) if job is not None and job.active else None,
        failed=job if job is not None and job.state in ("failed", "cancelled") else None,
        lines=preflight_lines(plan.preflight) if plan.preflight else [],
    )


def _is_changeable(context: Context, plan: StoredPlan) -> bool:
    return plan.state in plans.CHANGEABLE or decisions.is_stuck(context, plan)


def change_page(context: Here) -> Response:
    """The form with what is planned."""
    plan: StoredPlan = context.loaded
    if not _is_changeable(context, plan):
        raise plans.too_late()
    return _form(context, typed=shown_of(plan.content), plan=plan)


def change(context: Here) -> Response:
    """Plan something else instead."""
    plan, form = context.loaded, context.form
    try:
        version = form.whole("version", least=1, most=10**12)
        if plan.kind == "more":
            wanted: NewPlan | list[str] = names_in(form.verbatim("recipients", most=LONG["recipients"], lines=True))
        else:
            wanted = wanted_in(form)
        if not wanted:
            raise Problem(422, "No recipient is named.", remedy="Name at least one recipient, or withdraw the plan.")
        decisions.change(context, plan, wanted, version=version)
    except Exception as error:
        return _form(context, typed=typed_in(form), problem=page_problem(error), plan=plan)
    return go(f"/releases/plans/{plan.id}", said="plan-changed")


def look(context: Here) -> Response:
    """Repeat the pre-flight, after a job that failed or was cancelled."""

    def act() -> None:
        if context.loaded.state != "planned":
            raise plans.too_late()
        decisions.look(context, context.loaded)

    return _or_say(context, act)


def approve(context: Here) -> Response:
    """Allow the copies to be made."""
    return _or_say(
        context, lambda: decisions.approve(context, context.loaded, seen=context.form.text("seen")), said="approved"
    )


def reject(context: Here) -> Response:
    """Reject it, with a reason."""

    def act() -> None:
        seen, reason = context.form.text("seen"), context.form.text("reason", most=decisions.LONGEST_REASON)
        decisions.reject(context, context.loaded, seen=seen, reason=reason)

    return _or_say(context, act, said="rejected")


def withdraw(context: Here) -> Response:
    """Withdraw the plan."""
    return _or_say(context, lambda: decisions.withdraw(context, context.loaded), said="withdrawn")


def make(context: Here) -> Response:
    """Start making the copies."""
    return _or_say(context, lambda: decisions.make(context, context.loaded))


def _or_say(context: Context, act: Callable[[], object], *, said: str = "") -> Response:
    """Back to the plan after an act, or its page with what went wrong."""
    try:
        act()
    except Exception as error:
        return _plan(context, problem=page_problem(error))
    return go(f"/releases/plans/{context.loaded.id}", said=said)


# -- what is typed into the forms -------------------------------------------------------------------------------------

LAWS = (
    ("0.2/0.5", "0.2 and 0.5, the default: few claims identify a leaker"),
    ("0.5", "0.5 for all: simplest"),
    ("nuida:2", "against two colluding recipients"),
    ("nuida:3", "against three colluding recipients"),
)
START: dict[str, str] = {
    "name": "",
    "dataset": "",
    "population": "",
    "recipients": "",
    "k": "5",
    "suppression": "10",
    "law": "0.2/0.5",
    "format": "parquet",
    "population_source": "",
    "population_licence": "",
    "counts_only": "",
    "sign_off": "",
    "agreement": AGREEMENT,
    "force": "",
}
"""The fields of an empty form."""
LONG = {"recipients": 40_000, "agreement": LONGEST_AGREEMENT}


def names_in(text: str) -> list[str]:
    """Names, one per line or separated by commas.

    >>> names_in("north\\n south, west \\n\\n")
    ['north', 'south', 'west']
    """
    parts = [part.strip() for line in text.splitlines() for part in line.split(",")]
    return [part for part in parts if part]


def typed_in(form: Form) -> dict[str, str]:
    """Every field as it was sent, to be shown again."""
    return {name: form.verbatim(name, most=LONG.get(name, 600), lines=name in LONG) for name in START}


def wanted_in(form: Form) -> NewPlan:
    """The plan that a form describes, as the API takes it."""
    typed = {name: value.strip() for name, value in typed_in(form).items()}
    given: dict[str, Any] = {**typed, "recipients": names_in(typed["recipients"])}
    for name, words in (("dataset", "data"), ("population", "population")):
        if not typed[name]:
            raise Problem(422, f"The {words} is not chosen yet.", remedy="Choose a data set from the list.")
        given[name] = form.whole(name, least=0, most=10**17)
    given["k"] = form.whole("k", least=2, most=10**6)
    given["suppression"] = _percent(typed["suppression"])
    given["counts_only"], given["force"] = typed["counts_only"] == "yes", typed["force"] == "yes"
    given["agreement"] = typed["agreement"].replace("\r\n", "\n")
    try:
        return NewPlan.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0]).replace("_", " ") if first["loc"] else "form"
        raise Problem(422, f"{field}: {first['msg']}.", remedy="Correct it and send the form again.") from None


def shown_of(content: dict[str, Any]) -> dict[str, str]:
    """What was planned, as the form shows it."""
    shown = {name: str(content.get(name, "")) for name in START}
    shown["name"], shown["recipients"] = content["release"], "\n".join(content["recipients"])
    if "suppression" in content:
        shown["suppression"] = f"{100 * content['suppression']:g}"
    for name in ("counts_only", "force"):
        shown[name] = "yes" if content.get(name) else ""
    return shown


def renamed_in(text: str) -> dict[str, str]:
    """Columns with other names in the file: theirs = ours, one per line.

    >>> renamed_in("plz = zip\\ngeschlecht=sex")
    {'plz': 'zip', 'geschlecht': 'sex'}
    """
    pairs = {}
    for line in filter(str.strip, text.splitlines()):
        theirs, sign, ours = line.partition("=")
        if not sign or not theirs.strip() or not ours.strip():
            raise Problem(422, "A renamed column is written as: theirs = ours.", remedy="Write one per line.")
        pairs[theirs.strip()] = ours.strip()
    return pairs


def _percent(text: str) -> float:
    try:
        return float(text.replace(",", ".")) / 100
    except ValueError:
        problem = "The share of people who may be left out is not a number."
        raise Problem(422, problem, remedy="Write it as 5 or 2.5, in per cent.") from None
