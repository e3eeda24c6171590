"""Releases for programs: plan, look, trace. Approving needs a person who has signed in."""

from __future__ import annotations

from typing import Annotated

from fastapi import File, Form, UploadFile

from discreet.releases.tracing.result import ALPHA
from discreet.web.api.release_models import CopyModel, PlanModel, ReleaseModel, Releases, TraceModel
from discreet.web.framework.context import Context, Here
from discreet.web.framework.problems import not_found
from discreet.web.pages.traces import written_down
from discreet.web.releases import decisions, tracing, view
from discreet.web.releases.pages import sealed
from discreet.web.releases.tracing import Asked, Evidence
from discreet.web.releases.view import Board
from discreet.web.releasing.content import MoreRecipients, NewPlan

Table = Annotated[UploadFile | None, File(description="A .csv, .csv.gz or .parquet file.")]
Alpha = Annotated[float, Form(gt=0, lt=1)]
Family = Annotated[int | None, Form(ge=1, le=10**6)]


def release_list(context: Here) -> Releases:
    """All releases."""
    with context.site.store.reading() as connection:
        found = view.boards(connection)
    return Releases(releases=[_model(context, board) for board in found])


def release(context: Here, name: str) -> ReleaseModel:
    """One release."""
    return _model(context, context.loaded)


def begin(context: Here, wanted: NewPlan) -> PlanModel:
    """Plan a release; a job looks at what would come of it."""
    return _plan(context, decisions.begin(context, wanted))


def more(context: Here, name: str, wanted: MoreRecipients) -> PlanModel:
    """Plan copies for recipients who come later."""
    return _plan(context, decisions.more(context, sealed(context), wanted.recipients))


def plan(context: Here, number: str) -> PlanModel:
    """One plan."""
    return _plan(context, context.loaded.id)


def trace_claims(
    context: Here,
    name: str,
    file: Table = None,
    exclude: Table = None,
    accumulate: Annotated[bool, Form()] = True,
    alpha: Alpha = ALPHA,
    family: Family = None,
) -> TraceModel:
    """Hold claims against every recipient; `exclude` are your own audits, earlier incidents count unless not wanted."""
    asked = Asked("claims", file, exclude=exclude, accumulate=accumulate, alpha=alpha, family=family)
    return _traced(context, asked)


def trace_leak(context: Here, name: str, file: Table = None, alpha: Alpha = ALPHA, family: Family = None) -> TraceModel:
    """Hold a leaked file against every recipient."""
    return _traced(context, Asked("leak", file, alpha=alpha, family=family))


def trace(context: Here, number: str) -> TraceModel:
    """The evidence of a trace; that it was read is written down first, once a day for each reader."""
    found: Evidence = context.loaded
    written_down(context, found, "read", key=f"trace:{found.id}:{context.site.stamp()[:10]}")
    return _evidence(found)


def _traced(context: Context, asked: Asked) -> TraceModel:
    number = tracing.run(context, sealed(context), asked)
    with context.site.store.reading() as connection:
        found = tracing.find(connection, number)
    if found is None:
        raise not_found()
    return _evidence(found)


def _model(context: Context, board: Board) -> ReleaseModel:
    with context.site.store.reading() as connection:
        traces = [one.id for one in tracing.of_release(connection, board.name)]
    copies = [
        CopyModel(recipient=row.recipient, state=row.state, ready=row.ready, rows=row.rows, file=row.file)
        for row in board.rows
    ]
    return ReleaseModel(
        name=board.name,
        version=board.kept.version if board.kept else None,
        manifest=board.kept.digest if board.kept else None,
        copies=copies,
        plans=[one.id for one in board.plans],
        traces=traces,
    )


def _plan(context: Context, number: int) -> PlanModel:
    found = decisions.found(context, number)
    with context.site.store.reading() as connection:
        job = decisions.last_job(connection, found)
    plain = (
        "id",
        "release",
        "kind",
        "state",
        "version",
        "planner",
        "changed",
        "decider",
        "decided",
        "reason",
        "digest",
    )
    return PlanModel(
        **{name: getattr(found, name) for name in plain},
        recipients=list(found.recipients),
        preflight={name: value for name, value in found.preflight.items() if name != "of"} if found.preflight else None,
        job=job.id if job else None,
    )


def _evidence(found: Evidence) -> TraceModel:
    plain = ("id", "release", "version", "kind", "source", "tracer", "made", "accused", "numbers")
    return TraceModel(**{name: getattr(found, name) for name in plain})
