"""API of linkage: progress of projects, numbers only."""

from __future__ import annotations

from discreet.linkage import progress as progresses
from discreet.linkage.progress import WorkerProgress
from discreet.linkage.project import Project
from discreet.linkage.review.views import Gauge
from discreet.web.framework.context import Here
from discreet.web.framework.models import Strict
from discreet.web.linkage import store


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
