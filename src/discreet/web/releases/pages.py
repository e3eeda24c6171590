"""Pages of releases and traces."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from discreet.releases.delivery.repository import Kept
from discreet.releases.delivery.service import Registry
from discreet.releases.tracing.result import ALPHA
from discreet.web.datasets.dataset_page import frame
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem, page_problem
from discreet.web.framework.route import Loads, by_number
from discreet.web.jobs.pages import attachment
from discreet.web.releases import decisions, tracing, view
from discreet.web.releases import store as plans
from discreet.web.releases.plan_pages import names_in, renamed_in
from discreet.web.releases.tracing import TraceRecord, TraceRequest
from discreet.web.releases.view import ReleaseBoard

MOST_HISTORY = 60
ALPHAS = ("0.001", "0.01", "0.0001")


def _find(context: Context, path: dict[str, str]) -> ReleaseBoard | None:
    name = path["name"]
    if not name.isprintable() or len(name) > 64:
        raise ValueError("not a name")
    with context.site.store.reading() as connection:
        return view.board(connection, name)


RELEASE = Loads("release", find=_find, may=lambda context, board: context.may(context.route.permission))
TRACE = by_number("trace", tracing.find)
"""Custodians look after releases together, and auditors read them; the evidence of a trace holds no value of a person."""


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


def sealed(context: Context) -> Kept:
    """The newest version of the release; a problem if it is only planned."""
    kept: Kept | None = context.loaded.kept
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
        number = tracing.run(context, sealed(context), _requested(context, kind))
    except Exception as error:
        return _release(context, problem=page_problem(error), form=kind)
    return go(f"/releases/traces/{number}", said="traced")


def _requested(context: Context, kind: str) -> TraceRequest:
    form = context.form
    family = form.text("family", most=10)
    if family and not (family.isascii() and family.isdigit() and int(family) > 0):
        remedy = "Leave it out if there will be no further recipients."
        raise Problem(422, "The number of recipients must be a whole number.", remedy=remedy)
    return TraceRequest(
        kind=kind,
        file=form.files.get("file"),
        pasted=form.verbatim("pasted", most=tracing.LONGEST_PASTE, lines=True),
        exclude=form.files.get("exclude"),
        accumulate=form.text("alone") != "yes",
        columns=renamed_in(form.verbatim("columns", most=5_000, lines=True)),
        alpha=float(form.choice("alpha", ALPHAS)) if form.text("alpha") else ALPHA,
        family=int(family) if family else None,
    )


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
