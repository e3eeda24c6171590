"""API and routes of release plans, copies and traces."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import File, Form, UploadFile

from discreet.releases.tracing.result import ALPHA
from discreet.web.datasets.dataset_page import DATASET
from discreet.web.framework.context import Context, Here
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import not_found
from discreet.web.framework.route import Route
from discreet.web.releases import decisions, pages, tracing, view
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


# Routes of releases and traces.
Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")
Upload = partial(Route, "POST", body="upload")
Ask = partial(Route, "GET", kind="api")
Tell = partial(Route, "POST", kind="api")

_PLAN: dict[str, Any] = {"loads": pages.PLAN}
_RELEASE: dict[str, Any] = {"loads": pages.RELEASE}
_TRACE: dict[str, Any] = {"loads": pages.TRACE}
_NEW_PLAN: dict[str, Any] = {"body": "json", "returns": PlanModel, "status": 201}
_NEW_TRACE: dict[str, Any] = {"body": "upload", "returns": TraceModel, "status": 201, **_RELEASE}
_AT = "/releases/plans/{number}"
_NAMED = "/releases/named/{name}"
_API = "/api/v1/releases"

RELEASE_ROUTES: tuple[Route, ...] = (
    Read("/releases", "releases.read", pages.releases_page),
    Read("/releases/new", "releases.change", pages.new_page),
    Send("/releases/new", "releases.change", pages.begin),
    Read(_AT, "releases.read", pages.plan_page, live=True, **_PLAN),
    Read(f"{_AT}/change", "releases.change", pages.change_page, **_PLAN),
    Send(f"{_AT}/change", "releases.change", pages.change, **_PLAN),
    Send(f"{_AT}/look", "releases.change", pages.look, **_PLAN),
    Send(f"{_AT}/approve", "releases.approve", pages.approve, **_PLAN),
    Send(f"{_AT}/reject", "releases.approve", pages.reject, **_PLAN),
    Send(f"{_AT}/withdraw", "releases.change", pages.withdraw, **_PLAN),
    Send(f"{_AT}/make", "releases.change", pages.make, **_PLAN),
    Read(_NAMED, "releases.read", pages.release_page, **_RELEASE),
    Send(f"{_NAMED}/recipients", "releases.change", pages.add_recipients, **_RELEASE),
    Send(f"{_NAMED}/retire", "releases.change", pages.retire, **_RELEASE),
    Send(f"{_NAMED}/deliver", "releases.take", pages.deliver, **_RELEASE),
    Upload(f"{_NAMED}/claims", "releases.trace", pages.trace_claims, **_RELEASE),
    Upload(f"{_NAMED}/leak", "releases.trace", pages.trace_leak, **_RELEASE),
    Read("/releases/traces/{number}", "releases.read", pages.trace_page, records=True, **_TRACE),
    Send("/releases/traces/{number}/file", "releases.read", pages.take_report, **_TRACE),
    Read("/datasets/{number}/releases", "datasets.read", pages.releases_tab, live=True, loads=DATASET),
    Ask(_API, "releases.read", release_list, returns=Releases),
    Tell(_API, "releases.change", begin, **_NEW_PLAN),
    Ask(f"{_API}/{{name}}", "releases.read", release, returns=ReleaseModel, **_RELEASE),
    Tell(f"{_API}/{{name}}/recipients", "releases.change", more, **_NEW_PLAN, **_RELEASE),
    Tell(f"{_API}/{{name}}/claims", "releases.trace", trace_claims, **_NEW_TRACE),
    Tell(f"{_API}/{{name}}/leak", "releases.trace", trace_leak, **_NEW_TRACE),
    Ask("/api/v1/plans/{number}", "releases.read", plan, returns=PlanModel, **_PLAN),
    Tell("/api/v1/traces/{number}", "releases.read", trace, returns=TraceModel, **_TRACE),
)
