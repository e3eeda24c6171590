"""API of releases: plan, read, trace."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import File, Form, UploadFile

from discreet.releases.tracing.result import ALPHA
from discreet.web.framework.context import Context, Here
from discreet.web.framework.models import Strict
from discreet.web.framework.problems import not_found
from discreet.web.releases import decisions, tracing, view
from discreet.web.releases.pages import sealed, written_down
from discreet.web.releases.store import MoreRecipients, NewPlan
from discreet.web.releases.tracing import Asked, Evidence
from discreet.web.releases.view import Board, CopyState

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


# What the API takes and gives about releases, plans and traces.
PlanState = Literal["planned", "approved", "rejected", "withdrawn", "making", "made"]


class CopyModel(Strict):
    """One recipient's copy."""

    recipient: str
    state: CopyState
    ready: bool
    """Does it lie ready to be handed over?"""
    rows: int | None
    file: str | None
    """The SHA-256 of its data."""


class ReleaseModel(Strict):
    """A release. What is in its manifest is given to nobody."""

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
    """All releases, what waits for somebody first, then what was touched last."""

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
    """What would come of it; null while a job looks, or where it was refused."""
    job: int | None
    """The last job that looked at it or made it; poll it under jobs."""


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
