"""API of linkage: progress of projects, numbers only."""

from __future__ import annotations

from discreet.linkage import progress as progresses
from discreet.linkage.project import Project
from discreet.linkage.review.views import Gauge
from discreet.web.framework.context import Here
from discreet.web.framework.models import Strict
from discreet.web.linkage import store


class GaugeModel(Strict):
    """How much is used, exactly and in per cent, and of which limit."""

    used: str
    percent: float
    limit: str | None
    limit_percent: float | None


class ReviewerModel(Strict):
    """How far one reviewer is, and what was seen."""

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
    """How far a project is."""

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
        return Projects(projects=[_project(one) for one in store.everything(connection)])


def project(context: Here, number: str) -> ProgressModel:
    """One project and how far it is."""
    found = progresses.progress(context.site.ledger, context.loaded)
    kappa = None if found.agreement is None else str(found.agreement)
    return ProgressModel(
        project=_project(found.project),
        pairs=found.pairs,
        verdicts=dict(found.verdicts),
        unassigned=found.unassigned,
        to_adjudicate=found.to_adjudicate,
        characters=_gauge(found.characters),
        risk=_gauge(found.risk),
        agreement=AgreementModel(fleiss=kappa, pairs=found.compared),
        workers=[
            ReviewerModel(
                worker=one.worker,
                pairs=one.pairs,
                decided=one.decided,
                choices={str(choice): count for choice, count in one.choices.items()},
                characters=_gauge(one.characters),
                risk=_gauge(one.risk),
                seconds=one.seconds,
            )
            for one in found.workers
        ],
    )


def _project(one: Project) -> ProjectModel:
    return ProjectModel(
        number=one.id,
        name=one.name,
        state=one.state,
        attributes=dict(one.kinds),
        records=one.records,
        initial=one.initial,
        kappa=one.kappa,
        strict=one.strict,
        made=one.made,
    )


def _gauge(one: Gauge) -> GaugeModel:
    return GaugeModel(**one.to_dict())
