"""Traces: drop a file or paste claims, get the evidence; it is written down first, and shows no value of anybody."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from discreet.releases.tracing.result import ALPHA
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.releases import tracing
from discreet.web.releases.pages import release_again, sealed
from discreet.web.releases.tracing import Asked, Evidence
from discreet.web.releasing.typed import renamed_in
from discreet.web.remarks import remark

ALPHAS = ("0.001", "0.01", "0.0001")


def _find(context: Context, path: dict[str, str]) -> Evidence | None:
    with context.site.store.reading() as connection:
        return tracing.find(connection, numbered(path["number"]))


TRACE = Loads("trace", find=_find, may=lambda context, trace: context.may(context.route.permission))
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
