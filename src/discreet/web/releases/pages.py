"""Pages of releases and traces."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from discreet.releases.delivery.repository import Kept
from discreet.releases.delivery.service import Registry
from discreet.releases.tracing.result import ALPHA
from discreet.web.datasets.dataset_page import frame
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import remark
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.jobs.pages import attachment
from discreet.web.releases import decisions, delivery, tracing, view
from discreet.web.releases import store as plans
from discreet.web.releases import view as release_view
from discreet.web.releases.plan_pages import names_in, renamed_in
from discreet.web.releases.tracing import Asked, Evidence
from discreet.web.releases.view import Board

MOST_TOLD = 60


def _find(context: Context, path: dict[str, str]) -> Board | None:
    name = path["name"]
    if not name.isprintable() or len(name) > 64:
        raise ValueError("not a name")
    with context.site.store.reading() as connection:
        return view.board(connection, name)


RELEASE = Loads("release", find=_find, may=lambda context, board: context.may(context.route.permission))
"""Releases belong to the custodians of the store, who look after them together; auditors read them."""


def releases_page(context: Here, said: str = "") -> Response:
    """Every release: recipients as rows, how far their copies are as columns."""
    with context.site.store.reading() as connection:
        found = view.boards(connection)
    return context.page("releases.html", boards=found, steps=view.STEPS, said=remark(said))


def release_page(context: Here, said: str = "") -> Response:
    """One release."""
    return release_again(context, said=remark(said))


def release_again(context: Context, *, said: str = "", problem: Problem | None = None, form: str = "") -> Response:
    """The same, also with what went wrong in one of its forms."""
    board: Board = context.loaded
    with context.site.store.reading() as connection:
        traces = tracing.of_release(connection, board.name)
    return context.page(
        "release.html",
        status=problem.status if problem else 200,
        problem=problem,
        form=form,
        typed=context.form.verbatim("recipients", most=20_000, lines=True) if form == "more" else "",
        board=board,
        steps=view.STEPS,
        traces=traces,
        history=[(entry, view.told(entry)) for entry in board.history[:MOST_TOLD]],
        said=said,
    )


def sealed(context: Context) -> Kept:
    """The newest version of the release; a problem if it is only planned."""
    kept = context.loaded.kept
    if kept is None:
        raise Problem(
            409,
            "This release is planned, but nothing of it is made yet.",
            remedy="Have it approved and made first.",
            title="Nothing is made yet",
        )
    found: Kept = kept
    return found


def add_recipients(context: Here) -> Response:
    """Plan copies for recipients who come later; somebody else approves them."""
    try:
        names = names_in(context.form.verbatim("recipients", most=20_000, lines=True))
        number = decisions.more(context, sealed(context), names)
    except Exception as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        return release_again(context, problem=problem, form="more")
    return go(f"/releases/plans/{number}", said="planned")


def retire(context: Here) -> Response:
    """Give a recipient no further copies."""
    kept = sealed(context)
    recipient = context.form.choice("recipient", kept.recipients)
    Registry(context.site.ledger).retire(kept.name, recipient, actor=context.owner.name)
    delivery.throw_away(context, kept.name, recipient)
    return go(context.request.url.path.removesuffix("/retire"), said="retired")


def deliver(context: Here) -> Response:
    """Hand over a copy: written down first, then sent."""
    kept = sealed(context)
    recipient = context.form.choice("recipient", kept.recipients)
    path = delivery.hand_over(context, kept, recipient)
    return attachment(path, f"{kept.name}-{kept.version}-{recipient}.zip", "application/zip")


# Traces: drop a file or paste claims, get the evidence; it is written down first, and shows no value of anybody.
ALPHAS = ("0.001", "0.01", "0.0001")


def _find_trace(context: Context, path: dict[str, str]) -> Evidence | None:
    with context.site.store.reading() as connection:
        return tracing.find(connection, numbered(path["number"]))


TRACE = Loads("trace", find=_find_trace, may=lambda context, trace: context.may(context.route.permission))
"""Evidence belongs to nobody: whoever may read releases may read it. It holds no value of any person."""


def trace_claims(context: Here) -> Response:
    """Hold claims of re-identified people against every recipient."""
    return _traced(context, "claims")


def trace_leak(context: Here) -> Response:
    """Hold a leaked file against every recipient."""
    return _traced(context, "leak")


def _traced(context: Context, kind: str) -> Response:
    try:
        number = tracing.run(context, sealed(context), _asked(context, kind))
    except Exception as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        return release_again(context, problem=problem, form=kind)
    return go(f"/releases/traces/{number}", said="traced")


def _asked(context: Context, kind: str) -> Asked:
    form = context.form
    family = form.text("family", most=10)
    if family and not (family.isascii() and family.isdigit() and int(family) > 0):
        raise Problem(422, "The number of recipients is a whole number.", remedy="Leave it out if nobody else comes.")
    return Asked(
        kind=kind,
        file=form.files.get("file"),
        pasted=form.verbatim("pasted", most=tracing.LONGEST_PASTE, lines=True),
        exclude=form.files.get("exclude"),
        accumulate=form.text("alone") != "yes",
        columns=renamed_in(form.verbatim("columns", most=5_000, lines=True)),
        alpha=float(form.choice("alpha", ALPHAS)) if form.text("alpha") else ALPHA,
        family=int(family) if family else None,
    )


def trace_page(context: Here, said: str = "") -> Response:
    """The evidence; that it was looked at is written down, once a day for each reader."""
    trace: Evidence = context.loaded
    written_down(context, trace, "read", key=f"trace:{trace.id}:{context.site.stamp()[:10]}")
    return context.page("trace.html", trace=trace, said=remark(said))


def take_report(context: Here) -> Response:
    """The evidence as one file that opens offline."""
    trace: Evidence = context.loaded
    written_down(context, trace, "taken")
    name = quote(f"{trace.release}-trace-{trace.id}.html", safe="")
    disposition = f"attachment; filename=\"trace-{trace.id}.html\"; filename*=UTF-8''{name}"
    return HTMLResponse(trace.report, headers={"Content-Disposition": disposition})


def written_down(context: Context, trace: Evidence, act: str, *, key: str | None = None) -> None:
    """That somebody has seen the evidence."""
    context.act("web.shown", trace.subject, key=key, act=act, what="trace", kind=trace.kind)


# The tab of a data set that shows what was released of it.
def releases_tab(context: Here) -> Response:
    """Releases that are made of this data set, or planned."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "releases")
        names = dict.fromkeys(plan.release for plan in plans.everything(connection, dataset=context.loaded.id))
        boards = [board for name in names if (board := release_view.board(connection, name)) is not None]
    return context.page("dataset_releases.html", boards=boards, steps=release_view.STEPS, **around)
