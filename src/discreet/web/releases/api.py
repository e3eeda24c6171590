"""API of releases: plan, read, trace."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import File, Form, UploadFile

from discreet.releases.tracing.result import ALPHA
from discreet.web.framework.context import Context, Here
from discreet.web.framework.models import Strict
from discreet.web.framework.problems import not_found
from discreet.web.releases import decisions, tracing, view
from discreet.web.releases.pages import record_reading, sealed
from discreet.web.releases.store import MoreRecipients, NewPlan
from discreet.web.releases.tracing import TraceRequest
from discreet.web.releases.view import CopyState, ReleaseBoard

Table = Annotated[UploadFile | None, File(description="A .csv, .csv.gz or .parquet file.")]
Alpha = Annotated[float, Form(gt=0, lt=1)]
Family = Annotated[int | None, Form(ge=1, le=10**6)]


def release_list(context: Here) -> Releases:
    """All releases."""
    with context.site.store.reading() as connection:
        boards = view.boards(connection)
    return Releases(releases=[_release(context, board) for board in boards])


def release(context: Here, name: str) -> ReleaseModel:
    """One release."""
    return _release(context, context.loaded)


def begin(context: Here, wanted: NewPlan) -> PlanModel:
    """Plan a release; a job runs its pre-flight."""
    return _plan(context, decisions.begin(context, wanted))


def more(context: Here, name: str, wanted: MoreRecipients) -> PlanModel:
    """Plan copies for further recipients."""
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
    """Compare claims with every recipient's copy; `exclude` are your own audits, `accumulate` counts earlier incidents."""
    asked = TraceRequest("claims", file, exclude=exclude, accumulate=accumulate, alpha=alpha, family=family)
    return _traced(context, asked)


def trace_leak(context: Here, name: str, file: Table = None, alpha: Alpha = ALPHA, family: Family = None) -> TraceModel:
    """Compare a leaked file with every recipient's copy."""
    return _traced(context, TraceRequest("leak", file, alpha=alpha, family=family))


def trace(context: Here, number: str) -> TraceModel:
    """The evidence of a trace; reading it is recorded first, once a day for each reader."""
    record_reading(context, context.loaded)
    return TraceModel.of(context.loaded)


def _traced(context: Context, asked: TraceRequest) -> TraceModel:
    number = tracing.run(context, sealed(context), asked)
    with context.site.store.reading() as connection:
        record = tracing.find(connection, number)
    if record is None:
        raise not_found()
    return TraceModel.of(record)


def _release(context: Context, board: ReleaseBoard) -> ReleaseModel:
    with context.site.store.reading() as connection:
        traces = [record.id for record in tracing.of_release(connection, board.name)]
    return ReleaseModel(
        name=board.name,
        version=board.kept.version if board.kept else None,
        manifest=board.kept.digest if board.kept else None,
        copies=[CopyModel.of(row) for row in board.rows],
        plans=[plan.id for plan in board.plans],
        traces=traces,
    )


def _plan(context: Context, number: int) -> PlanModel:
    plan = decisions.current(context, number)
    with context.site.store.reading() as connection:
        job = decisions.last_job(connection, plan)
    preflight = {name: value for name, value in plan.preflight.items() if name != "of"} if plan.preflight else None
    recipients = list(plan.recipients)
    return PlanModel.of(plan, recipients=recipients, preflight=preflight, job=job.id if job else None)


# -- models -----------------------------------------------------------------------------------------------------------

PlanState = Literal["planned", "approved", "rejected", "withdrawn", "making", "made"]


class CopyModel(Strict):
    """One recipient's copy."""

    recipient: str
    state: CopyState
    ready: bool
    """Is it packed and ready to be handed over?"""
    rows: int | None
    file: str | None
    """The SHA-256 of its data."""


class ReleaseModel(Strict):
    """A release. The content of its manifest is never given out."""

    name: str
    version: int | None
    """Null before it is sealed."""
    manifest: str | None
    """The SHA-256 of the sealed manifest, as the ledger has it."""
    copies: list[CopyModel]
    plans: list[int]
    """Numbers of its plans, newest first."""
    traces: list[int]
    """Numbers of its traces, newest first."""


class Releases(Strict):
    """All releases, those with an open plan first, then the last changed."""

    releases: list[ReleaseModel]


class PlanModel(Strict):
    """A plan. It is approved by another custodian, who has signed in; never by a token."""

    id: int
    release: str
    kind: Literal["new", "more"]
    state: PlanState
    version: int
    planner: str
    changed: str
    decider: str | None
    decided: str | None
    reason: str | None
    recipients: list[str]
    digest: str
    preflight: dict[str, Any] | None
    """The pre-flight; null while its job runs, or where it was refused."""
    job: int | None
    """The last job of its pre-flight or its copies; poll it under jobs."""


class TraceModel(Strict):
    """The evidence; `numbers` has the keys of the command's JSON. It holds no value of any person."""

    id: int
    release: str
    version: int
    kind: Literal["claims", "leak"]
    source: str
    tracer: str
    made: str
    accused: list[str]
    numbers: dict[str, Any]
