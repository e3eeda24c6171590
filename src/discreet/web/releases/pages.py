"""Releases: boards of recipients, their pages, traces that are asked for, API; routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast

from fastapi import File, Form, UploadFile
from sqlalchemy import Connection
from starlette.responses import Response

from discreet.ledger import Entry
from discreet.releases.delivery import repository
from discreet.releases.delivery.repository import StoredRelease
from discreet.releases.delivery.service import Registry
from discreet.web import ledger
from discreet.web.datasets.dataset_page import DATASET, frame
from discreet.web.framework.context import Context, Here, go, or_again
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import Problem, not_found
from discreet.web.framework.route import ApiGet, ApiPost, Loads, Page, Route, Submit
from discreet.web.jobs.pages import attachment
from discreet.web.ledger import EntrySearch
from discreet.web.releases import plan_page, plan_workflow, tracing
from discreet.web.releases import store as plans
from discreet.web.releases.plan_page import PlanModel, model_of, names_in
from discreet.web.releases.store import OPEN, MoreRecipients, StoredPlan
from discreet.web.releases.tracing import TraceModel, TraceRequest

CopyState = Literal["planned", "approved", "delivered", "retired"]
STEPS: tuple[CopyState, ...] = ("planned", "approved", "delivered", "retired")
"""The columns, in order."""
MOST_ENTRIES, MOST_HISTORY = 500, 60
ALPHAS = ("0.001", "0.01", "0.0001")


@dataclass(frozen=True)
class CopyStep:
    """When and by whom a copy reached a state."""

    when: str
    who: str


@dataclass(frozen=True)
class RecipientRow:
    """One recipient and the states of their copy."""

    recipient: str
    state: CopyState
    steps: Mapping[str, CopyStep]
    ready: bool = False
    """Is there a packed copy to hand over?"""
    rows: int | None = None
    file: str | None = None


@dataclass(frozen=True)
class ReleaseBoard:
    """One release: recipients as rows, states of their copies as columns."""

    name: str
    kept: StoredRelease | None
    """None before it is sealed."""
    plans: tuple[StoredPlan, ...]
    rows: tuple[RecipientRow, ...]
    traces: int
    history: tuple[Entry, ...] = field(repr=False)

    @property
    def open(self) -> StoredPlan | None:
        """The plan that is not finished, if there is one."""
        return next((plan for plan in self.plans if plan.state in OPEN), None)

    @property
    def touched(self) -> int:
        """The number of the last entry about it, other than that it was read."""
        return next((entry.sequence for entry in self.history if entry.event != "web.shown"), 0)

    def number(self, state: str) -> int:
        """Copies in a state."""
        return sum(row.state == state for row in self.rows)


def boards(connection: Connection) -> list[ReleaseBoard]:
    """All releases, those with an open plan first, then the last changed.

    A withdrawn plan alone is no release.
    """
    kept = {release.name: release for release in repository.every_one(connection)}
    planned: dict[str, list[StoredPlan]] = {}
    for plan in plans.everything(connection):
        planned.setdefault(plan.release, []).append(plan)
    awaited = (*OPEN, "rejected")
    alive = [name for name, listed in planned.items() if any(plan.state in awaited for plan in listed)]
    names = dict.fromkeys((*kept, *alive))
    every = [_board(connection, name, kept.get(name), planned.get(name, [])) for name in names]
    return sorted(every, key=lambda board: (board.open is not None, board.touched), reverse=True)


def board(connection: Connection, name: str) -> ReleaseBoard | None:
    """One release; None if nothing is known of it."""
    kept, planned = repository.find(connection, name), plans.everything(connection, release=name)
    return None if kept is None and not planned else _board(connection, name, kept, planned)


def _board(
    connection: Connection, name: str, kept: StoredRelease | None, planned: Sequence[StoredPlan]
) -> ReleaseBoard:
    history = ledger.newest(connection, EntrySearch(subject=f"release:{name}"), most=MOST_ENTRIES).entries
    packed = plans.packed_copies(connection, kept) if kept else {}
    sealed = next((entry for entry in reversed(history) if entry.event == "releases.sealed"), None)
    rows: dict[str, RecipientRow] = {}
    for copy in kept.copies if kept else ():
        recipient = copy.recipient
        made = (plan for plan in planned if recipient in plan.recipients and plan.state in (*OPEN, "made"))
        plan = next(made, None)
        steps = _of_plan(plan) if plan else {}
        for state in ("delivered", "retired"):
            about = (f"releases.{state}", f"/recipient:{recipient}")
            acts = (entry for entry in history if entry.event == about[0] and entry.subject.endswith(about[1]))
            if (entry := next(acts, None)) is not None:
                steps[state] = CopyStep(entry.time, entry.actor)
        if plan is None and sealed is not None:
            first = "planned" if copy.state == "planned" else "approved"
            steps[first] = CopyStep(sealed.time, sealed.actor)
        ready, state_now = recipient in packed and copy.state != "retired", cast(CopyState, copy.state)
        rows[recipient] = RecipientRow(recipient, state_now, steps, ready, copy.rows, copy.file)
    for plan in planned:
        if plan.state in OPEN:
            awaited: CopyState = "planned" if plan.state == "planned" else "approved"
            for recipient in plan.recipients:
                rows.setdefault(recipient, RecipientRow(recipient, awaited, _of_plan(plan)))
    traces = tracing.number_of(connection, name)
    return ReleaseBoard(name, kept, tuple(planned), tuple(rows.values()), traces, history)


def _of_plan(plan: StoredPlan) -> dict[str, CopyStep]:
    steps = {"planned": CopyStep(plan.changed, plan.planner)}
    if plan.decided and plan.decider and plan.state not in ("planned", "rejected"):
        steps["approved"] = CopyStep(plan.decided, plan.decider)
    return steps


def entry_words(entry: Entry) -> str:
    """An entry about a release in words that follow the actor's name."""
    details, event = entry.details, entry.event
    recipient = entry.subject.rpartition("/recipient:")[2] if "/recipient:" in entry.subject else ""
    if entry.outcome == "refused":
        verb = "approve" if event == "web.approved" else "reject"
        return f"was not allowed to {verb} it ({details.get('why', '')})"
    if event == "releases.planned":
        return "ran the pre-flight" if details.get("act") == "looked ahead" else f"{details.get('act')} it"
    if event == "web.approved" and "planned_by" not in details:
        return "approved it"
    words = {
        "web.approved": f"approved the plan of {details.get('planned_by')}",
        "web.rejected": f"rejected the plan of {details.get('planned_by')}",
        "releases.sealed": f"sealed the manifest for {details.get('recipients')} recipients",
        "releases.made": f"made {details.get('copies')} copies",
        "releases.delivered": f"handed over the copy of {recipient}",
        "releases.retired": f"retired {recipient}",
        "releases.traced": f"traced {details.get('kind')}; accused: {details.get('accused') or 'nobody'}",
        "web.shown": "read the evidence of a trace",
    }
    return words.get(event, event)


# -- pages ------------------------------------------------------------------------------------------------------------


def _find(context: Context, path: dict[str, str]) -> ReleaseBoard | None:
    name = path["name"]
    if not name.isprintable() or len(name) > 64:
        raise ValueError("not a name")
    with context.site.store.reading() as connection:
        return board(connection, name)


RELEASE = Loads("release", find=_find, may=lambda context, board: context.may(context.route.permission))
"""Custodians look after releases together, and auditors read them."""


def releases_page(context: Here) -> Response:
    """Every release: recipients as rows, states of their copies as columns."""
    with context.site.store.reading() as connection:
        return context.page("releases.html", boards=boards(connection), steps=STEPS)


def releases_tab(context: Here) -> Response:
    """The tab of a data set: releases that are made or planned of it."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "releases")
        names = dict.fromkeys(plan.release for plan in plans.everything(connection, dataset=context.loaded.id))
        found = [release for name in names if (release := board(connection, name)) is not None]
    return context.page("dataset_releases.html", boards=found, steps=STEPS, **around)


def release_page(context: Here) -> Response:
    """One release; after one of its forms with what is wrong there."""
    release: ReleaseBoard = context.loaded
    form = context.route.path.rpartition("/")[2] if context.problem else ""
    with context.site.store.reading() as connection:
        traces = tracing.of_release(connection, release.name)
    return context.page(
        "release.html",
        form=form,
        typed=context.form.verbatim("recipients", most=20_000, lines=True) if form == "recipients" else "",
        board=release,
        steps=STEPS,
        traces=traces,
        history=[(entry, entry_words(entry)) for entry in release.history[:MOST_HISTORY]],
    )


def sealed(context: Context) -> StoredRelease:
    """The newest version of the release; a problem if it is only planned."""
    kept: StoredRelease | None = context.loaded.kept
    if kept is None:
        words = "This release is planned, but none of its copies are made yet."
        raise Problem(409, words, remedy="Have it approved and made first.", title="Not made yet")
    return kept


@or_again(release_page)
def add_recipients(context: Here) -> Response:
    """Plan copies for further recipients; another custodian approves them."""
    names = names_in(context.form.verbatim("recipients", most=20_000, lines=True))
    return go(f"/releases/plans/{plan_workflow.more(context, sealed(context), names)}", said="planned")


def retire(context: Here) -> Response:
    """Give a recipient no further copies."""
    kept = sealed(context)
    recipient = context.form.choice("recipient", kept.recipients)
    Registry(context.site.ledger).retire(kept.name, recipient, actor=context.owner.name)
    plan_workflow.remove_packed(context, kept.name, recipient)
    return go(context.request.url.path.removesuffix("/retire"), said="retired")


def deliver(context: Here) -> Response:
    """Hand over a copy: recorded first, then sent."""
    kept = sealed(context)
    recipient = context.form.choice("recipient", kept.recipients)
    path = plan_workflow.hand_over(context, kept, recipient)
    return attachment(path, f"{kept.name}-{kept.version}-{recipient}.zip", "application/zip")


@or_again(release_page)
def trace_by_form(context: Here) -> Response:
    """Compare claims of re-identified people, or a leaked file, with every recipient's copy."""
    form, family = context.form, context.form.text("family", most=10)
    if family and not (family.isascii() and family.isdigit() and int(family) > 0):
        remedy = "Leave it out if there will be no further recipients."
        raise Problem(422, "The number of recipients must be a whole number.", remedy=remedy)
    columns = {}
    for line in filter(str.strip, form.verbatim("columns", most=5_000, lines=True).splitlines()):
        theirs, sign, ours = line.partition("=")
        if not sign or not theirs.strip() or not ours.strip():
            raise Problem(422, "A renamed column is written as: theirs = ours.", remedy="Write one per line.")
        columns[theirs.strip()] = ours.strip()
    requested = TraceRequest(
        kind=context.route.path.rpartition("/")[2],
        file=form.files.get("file"),
        pasted=form.verbatim("pasted", most=tracing.LONGEST_PASTE, lines=True),
        exclude=form.files.get("exclude"),
        accumulate=form.text("alone") != "yes",
        columns=columns,
        alpha=float(form.choice("alpha", ALPHAS)) if form.text("alpha") else None,
        family=int(family) if family else None,
    )
    return go(f"/releases/traces/{tracing.run(context, sealed(context), requested)}", said="traced")


# -- API --------------------------------------------------------------------------------------------------------------


Table = Annotated[UploadFile | None, File(description="A file with a table, as for data sets.")]
Alpha = Annotated[float | None, Form(gt=0, lt=1)]
Family = Annotated[int | None, Form(ge=1, le=10**6)]


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


def release_list(context: Here) -> Releases:
    """All releases."""
    with context.site.store.reading() as connection:
        every = boards(connection)
    return Releases(releases=[_release(context, release) for release in every])


def release(context: Here, name: str) -> ReleaseModel:
    """One release."""
    return _release(context, context.loaded)


def more(context: Here, name: str, wanted: MoreRecipients) -> PlanModel:
    """Plan copies for further recipients."""
    return model_of(context, plan_workflow.more(context, sealed(context), wanted.recipients))


def trace_claims(
    context: Here,
    name: str,
    file: Table = None,
    exclude: Table = None,
    accumulate: Annotated[bool, Form()] = True,
    alpha: Alpha = None,
    family: Family = None,
) -> TraceModel:
    """Compare claims with every recipient's copy.

    `exclude` are your own audits, `accumulate` counts earlier incidents. `alpha` is fixed by the first trace.
    """
    asked = TraceRequest("claims", file, exclude=exclude, accumulate=accumulate, alpha=alpha, family=family)
    return _traced(context, asked)


def trace_leak(context: Here, name: str, file: Table = None, alpha: Alpha = None, family: Family = None) -> TraceModel:
    """Compare a leaked file with every recipient's copy."""
    return _traced(context, TraceRequest("leak", file, alpha=alpha, family=family))


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


_NEW_PLAN: dict[str, Any] = {"returns": PlanModel, "status": 201}
_NEW_TRACE: dict[str, Any] = {"body": "upload", "returns": TraceModel, "status": 201, "loads": RELEASE}
_AT = "/releases/plans/{number}"
_NAMED = "/releases/named/{name}"
_API = "/api/v1/releases"

RELEASE_ROUTES: tuple[Route, ...] = (
    Page("/releases", "releases.read", releases_page),
    Page("/releases/new", "releases.change", plan_page.new_page),
    Submit("/releases/new", "releases.change", plan_page.begin_by_form),
    Page(_AT, "releases.read", plan_page.plan_page, live=True, loads=plan_page.PLAN),
    Page(f"{_AT}/change", "releases.change", plan_page.change_page, loads=plan_page.PLAN),
    Submit(f"{_AT}/change", "releases.change", plan_page.change, loads=plan_page.PLAN),
    Submit(f"{_AT}/look", "releases.change", plan_page.look, loads=plan_page.PLAN),
    Submit(f"{_AT}/approve", "releases.approve", plan_page.approve, loads=plan_page.PLAN),
    Submit(f"{_AT}/reject", "releases.approve", plan_page.reject, loads=plan_page.PLAN),
    Submit(f"{_AT}/withdraw", "releases.change", plan_page.withdraw, loads=plan_page.PLAN),
    Submit(f"{_AT}/make", "releases.change", plan_page.make, loads=plan_page.PLAN),
    Page(_NAMED, "releases.read", release_page, loads=RELEASE),
    Submit(f"{_NAMED}/recipients", "releases.change", add_recipients, loads=RELEASE),
    Submit(f"{_NAMED}/retire", "releases.change", retire, loads=RELEASE),
    Submit(f"{_NAMED}/deliver", "releases.take", deliver, loads=RELEASE),
    Submit(f"{_NAMED}/claims", "releases.trace", trace_by_form, body="upload", loads=RELEASE),
    Submit(f"{_NAMED}/leak", "releases.trace", trace_by_form, body="upload", loads=RELEASE),
    Page("/releases/traces/{number}", "releases.read", tracing.trace_page, records=True, loads=tracing.STORED_TRACE),
    Submit("/releases/traces/{number}/file", "releases.read", tracing.take_report, loads=tracing.STORED_TRACE),
    Page("/datasets/{number}/releases", "datasets.read", releases_tab, live=True, loads=DATASET),
    ApiGet(_API, "releases.read", release_list, returns=Releases),
    ApiPost(_API, "releases.change", plan_page.begin, **_NEW_PLAN),
    ApiGet(f"{_API}/{{name}}", "releases.read", release, returns=ReleaseModel, loads=RELEASE),
    ApiPost(f"{_API}/{{name}}/recipients", "releases.change", more, **_NEW_PLAN, loads=RELEASE),
    ApiPost(f"{_API}/{{name}}/claims", "releases.trace", trace_claims, **_NEW_TRACE),
    ApiPost(f"{_API}/{{name}}/leak", "releases.trace", trace_leak, **_NEW_TRACE),
    ApiGet("/api/v1/plans/{number}", "releases.read", plan_page.plan, returns=PlanModel, loads=plan_page.PLAN),
    ApiPost(
        "/api/v1/traces/{number}",
        "releases.read",
        tracing.trace,
        body="none",
        returns=TraceModel,
        loads=tracing.STORED_TRACE,
    ),
)
