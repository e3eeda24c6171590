"""API and routes of linkage projects and reviews."""

from __future__ import annotations

from functools import partial
from typing import Any

from discreet.linkage import progress as progresses
from discreet.linkage.progress import WorkerProgress
from discreet.linkage.project import Project
from discreet.linkage.review.views import Gauge
from discreet.web.datasets import dataset_page
from discreet.web.framework.context import Here
from discreet.web.framework.forms import Strict
from discreet.web.framework.route import Route
from discreet.web.linkage import new_project, pages, review, store


class GaugeModel(Strict):
    """The share that is used, exactly and in per cent, and its limit."""

    used: str
    percent: float
    limit: str | None
    limit_percent: float | None


class ReviewerModel(Strict):
    """One reviewer's progress, and what they were shown."""

    worker: str
    pairs: int
    decided: int
    choices: dict[str, int]
    characters: GaugeModel
    risk: GaugeModel
    seconds: int


class AgreementModel(Strict):
    """Fleiss' kappa over the pairs with the most answers."""

    fleiss: str | None
    pairs: int


class ProjectModel(Strict):
    """One project."""

    number: int
    name: str
    state: str
    attributes: dict[str, str]
    records: int
    initial: str
    kappa: int
    strict: bool
    made: str


class Projects(Strict):
    """All projects, the newest first."""

    projects: list[ProjectModel]


class ProgressModel(Strict):
    """The progress of a project."""

    project: ProjectModel
    pairs: int
    verdicts: dict[str, int]
    unassigned: int
    to_adjudicate: int
    characters: GaugeModel
    risk: GaugeModel
    agreement: AgreementModel
    workers: list[ReviewerModel]


def project_list(context: Here) -> Projects:
    """All projects."""
    with context.site.store.reading() as connection:
        return Projects(projects=[_project(project) for project in store.everything(connection)])


def project(context: Here, number: str) -> ProgressModel:
    """One project and its progress."""
    current = progresses.progress(context.site.ledger, context.loaded)
    kappa = None if current.agreement is None else str(current.agreement)
    return ProgressModel.of(
        current,
        project=_project(current.project),
        verdicts=dict(current.verdicts),
        characters=_gauge(current.characters),
        risk=_gauge(current.risk),
        agreement=AgreementModel(fleiss=kappa, pairs=current.compared),
        workers=[_reviewer(summary) for summary in current.workers],
    )


def _reviewer(summary: WorkerProgress) -> ReviewerModel:
    choices = {str(choice): count for choice, count in summary.choices.items()}
    return ReviewerModel.of(summary, choices=choices, characters=_gauge(summary.characters), risk=_gauge(summary.risk))


def _project(project: Project) -> ProjectModel:
    return ProjectModel.of(project, number=project.id, attributes=dict(project.kinds))


def _gauge(gauge: Gauge) -> GaugeModel:
    return GaugeModel(**gauge.to_dict())


# Routes of linkage.
Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")
Ask = partial(Route, "GET", kind="api")

_WORK: dict[str, Any] = {"loads": new_project.WORK}
_PROJECT: dict[str, Any] = {"loads": pages.PROJECT}
_TASK: dict[str, Any] = {"loads": review.TASK}
_PAIR: dict[str, Any] = {"loads": review.PAIR}
_WORK_AT = "/linkage/work/{number}"
_AT = "/linkage/{number}"
_PAIR_AT = "/linkage/{number}/pairs/{pair}"

LINKAGE_ROUTES: tuple[Route, ...] = (
    Read("/linkage", "linkage.read", pages.linkage_page),
    Read("/linkage/new", "linkage.manage", new_project.new_page),
    Route("POST", "/linkage/new", "linkage.manage", new_project.begin, body="upload"),
    Read(_WORK_AT, "linkage.manage", new_project.work_page, live=True, **_WORK),
    Read(f"{_WORK_AT}/state", "linkage.manage", new_project.work_state, kind="fragment", **_WORK),
    Send(_WORK_AT, "linkage.manage", new_project.declare, **_WORK),
    Send(f"{_WORK_AT}/discard", "linkage.manage", new_project.discard, **_WORK),
    Read(_AT, "linkage.manage", pages.project_page, live=True, **_PROJECT),
    Read(f"{_AT}/zones", "linkage.manage", pages.zones_page, **_PROJECT),
    Send(f"{_AT}/zones", "linkage.manage", pages.cut_zones, **_PROJECT),
    Send(f"{_AT}/assign", "linkage.manage", pages.assign, **_PROJECT),
    Send(f"{_AT}/withdraw", "linkage.manage", pages.withdraw, **_PROJECT),
    Send(f"{_AT}/settle", "linkage.manage", pages.settle, **_PROJECT),
    Send(f"{_AT}/learn", "linkage.manage", pages.learn, **_PROJECT),
    Send(f"{_AT}/export", "linkage.take", pages.take_away, **_PROJECT),
    Send(f"{_AT}/close", "linkage.manage", pages.close, **_PROJECT),
    Send("/datasets/{number}/lend", "datasets.take", new_project.lend, loads=dataset_page.DATASET),
    Read(f"{_AT}/review", "linkage.review", review.next_pair, **_TASK),
    Read(f"{_AT}/done", "linkage.review", review.done_page, **_TASK),
    Read(_PAIR_AT, "linkage.review", review.pair_page, live=True, **_PAIR),
    Send(f"{_PAIR_AT}/reveal", "linkage.review", review.open_cell, **_PAIR),
    Send(f"{_PAIR_AT}/decide", "linkage.review", review.decide, **_PAIR),
    Send(f"{_PAIR_AT}/undo", "linkage.review", review.undo, **_PAIR),
    Ask("/api/v1/linkage", "linkage.manage", project_list, returns=Projects),
    Ask("/api/v1/linkage/{number}", "linkage.manage", project, returns=ProgressModel, **_PROJECT),
)
