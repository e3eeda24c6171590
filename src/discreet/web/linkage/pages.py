"""Linkage for managers: projects, thresholds, assignments, export, API; routes. Never a value of a person."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from discreet.errors import DiscreetError
from discreet.linkage.export import PERSONS, export
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.candidate_pairs import load_candidates
from discreet.linkage.progress import Progress, WorkerProgress, progress
from discreet.linkage.project import INITIAL, Project, close_project
from discreet.linkage.review import assignments
from discreet.linkage.review.assignments import Limits
from discreet.linkage.review.decisions import adjudicate, answers_of, disputes, labels_of
from discreet.linkage.review.reveal import display_costs
from discreet.linkage.review.views import CONDITIONS, REPORTED
from discreet.linkage.study import CONSENT, enrol, participants
from discreet.report.linkage import accuracy_figure
from discreet.report.toolkit.page import figure
from discreet.web.accounts import accounts, second_approver
from discreet.web.accounts.accounts import Account
from discreet.web.datasets import dataset_page, inspection
from discreet.web.framework.context import Context, Here, by_number, go, or_again
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import ApiGet, Page, Route, Submit
from discreet.web.linkage import exchange, new_project, review, store, study, thresholds
from discreet.web.linkage.exchange import LIKE, open_project
from discreet.web.linkage.new_project import limit
from discreet.web.linkage.review import label_of, meters, written
from discreet.wording import brief_percent as percent

ENOUGH_LABELS = 20
MOST_PRICED = 200
"""Pairs that are priced in every display when the page of a project is asked for."""

PROJECT = by_number("linkage project", store.find)
"""Managers look after projects together."""


def linkage_page(context: Here) -> Response:
    """The account's own pairs to review, and, for managers, all projects."""
    manages = context.may("linkage.manage")
    with context.site.store.reading() as connection:
        tasks = store.tasks_of(connection, context.owner.name) if context.may("linkage.review") else []
        every = store.everything(connection) if manages else []
        making = store.unfinished(connection) if manages else []
    listed = [progress(context.site.ledger, project) for project in every]
    shown: dict[str, Any] = {"tasks": tasks, "listed": listed, "making": making}
    return context.page("linkage.html", agreement=agreement, written=written, **shown)


def project_page(context: Here) -> Response:
    """The progress of a project, and everything that can be done with it."""
    project: Project = context.loaded
    current = progress(context.site.ledger, project)
    try:  # what was imported, and who decides which candidate pairs, in numbers
        home = ProjectFolder.open(project.folder)
        tables, found = home.about["tables"], load_candidates(home)
        counts = found.counts
        sensitive = sum(len(table["sensitive"]) for table in tables)
        folder = {"problem": "", "tables": tables, "sizes": home.sizes, "counts": counts, "sensitive": sensitive}
        folder |= {
            "sample": int((found.stands > 0).sum()),
            "scored": found.zones is not None,
            "encoded": home.spec.encoded,
        }
        folder |= {"ids": all(table["id"] for table in tables), "model": found.model is not None or home.spec.encoded}
        folder |= {"walked": (home.part("bridge") / PERSONS).exists()}
    except DiscreetError as error:
        folder = {"problem": problem_of(error).problem, "tables": [], "counts": None, "sensitive": 0}
    answers = answers_of(context.site.store, project)
    costs = None
    if project.state == "open" and not folder["problem"] and answers:
        costs = display_costs(project, [answered.records for answered in answers[:MOST_PRICED]])
    with context.site.store.reading() as connection:
        jobs = store.of_project(connection, project.id)
    return context.page(
        "linkage_project.html",
        project=project,
        found=current,
        folder=folder,
        running=[job for job in jobs if job.active],
        failed=next((job for job in jobs[:1] if job.state == "failed"), None),
        reviewers=reviewers(context),
        disputed=disputes(context.site.store, project),
        initial=INITIAL,
        label_of=label_of,
        written=written,
        meters=meters,
        agreement=agreement,
        labels=current.verdicts["same"] + current.verdicts["different"],
        enough=ENOUGH_LABELS,
        participants={one.worker: one for one in participants(context.site.store, project)},
        gold=sum(answered.gold is not None for answered in answers),
        costs=costs,
        priced=min(len(answers), MOST_PRICED),
        reported=REPORTED,
        accuracy_curve=None if costs is None else figure(accuracy_figure(costs), ""),
        conditions=CONDITIONS,
        consent=CONSENT,
        like=LIKE,
        encodings=inspection.ENCODINGS,
    )


def reviewers(context: Context) -> list[Account]:
    """Accounts that can be given pairs."""
    with context.site.store.reading() as connection:
        everybody = accounts.everybody(connection)
    return [account for account in everybody if account.role == "worker" and not account.disabled]


def agreement(found: Progress) -> str:
    """The agreement of reviewers, in words."""
    if found.agreement is None:
        return "nothing to compare yet" if not found.compared else "all answers are alike"
    return f"{float(found.agreement):.2f}"


# -- what a manager does on the page of a project -----------------------------------------------------------------------


def in_state(error: Exception) -> Problem:
    """A refusal as a conflict with the project's state: no permission is missing."""
    problem = problem_of(error)
    if problem.status != 403:
        return problem
    return Problem(409, problem.problem, remedy=problem.remedy, title="This cannot be done now")


@or_again(project_page, in_state)
def assign(context: Here) -> Response:
    """Assign pairs to reviewers, within limits."""
    project, form = open_project(context), context.form
    chosen = form.choices("worker", [account.name for account in reviewers(context)])
    if not chosen:
        raise Problem(422, "No reviewer is chosen.", remedy="Choose at least one reviewer.")
    most = form.whole("most", least=1, most=10**6) if form.text("most") else None
    overlap = form.whole("overlap", least=1, most=len(chosen)) if form.text("overlap") else 1
    limits = limits_within(context, project, chosen)
    assignments.bring_pairs(context.site.ledger, project)
    if project.study is not None:
        enrolled = enrol(context.site.ledger, project, chosen, actor=context.owner.name, limits=limits)
        return go(f"/linkage/{project.id}", said="assigned" if enrolled else "nothing-assigned")
    given = assignments.assign(
        context.site.ledger, project, chosen, actor=context.owner.name, overlap=overlap, limits=limits, most=most
    )
    return go(f"/linkage/{project.id}", said="assigned" if sum(given.pairs.values()) else "nothing-assigned")


def limits_within(context: Context, project: Project, workers: Sequence[str]) -> Limits:
    """The limits of a form; an empty field leaves what there is. Nobody raises a limit in force alone."""
    asked = {name: limit(context.form, name) for name in ("risk", "characters")}
    for summary in progress(context.site.ledger, project).workers:
        for name, words in (("risk", "privacy risk"), ("characters", "characters shown")):
            held = getattr(summary, name).limit
            if summary.worker not in workers or held is None:
                continue
            wanted = asked[name] = asked[name] or str(held)
            if Fraction(wanted) > held:
                problem = f"{summary.worker} has a limit of {percent(float(held))} for {words}, and a limit in force is not raised by one person."
                remedy = f"Assign with {percent(float(held))} or less; the operator of this server can raise it."
                subject = f"{project.subject}/worker:{summary.worker}"
                about = {"why": "raise of a limit", "limit": wanted}
                raise second_approver.refuse(context, "linkage.assigned", subject, problem, remedy, **about)
    return Limits.of(**asked)


@or_again(project_page, in_state)
def withdraw(context: Here) -> Response:
    """Take back the pairs that a reviewer has not decided."""
    project = open_project(context)
    worker = context.form.text("worker", empty=False)
    assignments.withdraw(context.site.ledger, project, worker, actor=context.owner.name)
    return go(f"/linkage/{project.id}", said="pairs-withdrawn")


@or_again(project_page, in_state)
def settle(context: Here) -> Response:
    """Give disputed pairs to an adjudicator who has not seen them."""
    project, form = open_project(context), context.form
    chosen = form.choice("worker", [account.name for account in reviewers(context)])
    limits = limits_within(context, project, [chosen])
    asked = limits if limits != Limits() else None
    given = adjudicate(context.site.ledger, project, chosen, actor=context.owner.name, limits=asked)
    return go(f"/linkage/{project.id}", said="to-settle" if given else "nothing-to-settle")


@or_again(project_page, in_state)
def learn(context: Here) -> Response:
    """Train the model on the decisions of reviewers."""
    project = open_project(context)
    labels = labels_of(answers_of(context.site.store, project))
    if len(labels.same) < ENOUGH_LABELS or labels.same.all() or not labels.same.any():
        words = f"{len(labels.same)} pairs are decided so far, which is too few to learn from."
        remedy = f"Decide at least {ENOUGH_LABELS} pairs, some of them the same and some different."
        raise Problem(409, words, remedy=remedy, title="Too early")
    with context.site.store.writing() as connection:
        if not any(job.active for job in store.of_project(connection, project.id)):
            asked = {"once": load_candidates(ProjectFolder.open(project.folder)).once}
            account = context.owner.id
            store.add_work(
                connection, kind="retrain", name=project.name, account=account, asked=asked, project=project.id
            )
    context.site.wake_supervisor()
    return go(f"/linkage/{project.id}", said="learning")


@or_again(project_page, in_state)
def take_away(context: Here) -> Response:
    """Export decisions, clusters, linked table and disclosure log as an archive; recorded first."""
    project, form = context.loaded, context.form
    chosen = {name: form.text(name) == "yes" for name in ("unfinished", "everybody", "keys")}
    folder = Path(tempfile.mkdtemp(prefix="export-", dir=context.site.places.folder.path))
    try:
        export(context.site.ledger, project, folder / "export", actor=context.owner.name, form="csv", **chosen)
        with zipfile.ZipFile(folder / "export.zip", "w", compression=zipfile.ZIP_DEFLATED) as archive:
            for file in sorted((folder / "export").iterdir()):
                archive.write(file, file.name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in project.name).strip("-")
    headers = {"Content-Disposition": f'attachment; filename="{name or "project"}-linked.zip"'}
    swept = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(folder / "export.zip", media_type="application/zip", headers=headers, background=swept)


def close(context: Here) -> Response:
    """Close the project: no further cell is opened and no pair decided in it."""
    project: Project = context.loaded
    if project.state == "open":
        close_project(context.site.ledger, project, actor=context.owner.name)
    return go(f"/linkage/{project.id}", said="project-closed")


# -- API --------------------------------------------------------------------------------------------------------------


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
    current = progress(context.site.ledger, context.loaded)
    kappa = None if current.agreement is None else str(current.agreement)
    return ProgressModel.of(
        current,
        project=_project(current.project),
        verdicts=dict(current.verdicts),
        agreement=AgreementModel(fleiss=kappa, pairs=current.compared),
        workers=[
            ReviewerModel.of(
                summary, choices={str(choice): count for choice, count in summary.choices.items()}, **_gauges(summary)
            )
            for summary in current.workers
        ],
        **_gauges(current),
    )


def _project(project: Project) -> ProjectModel:
    return ProjectModel.of(project, number=project.id, attributes=dict(project.kinds))


def _gauges(row: Progress | WorkerProgress) -> dict[str, GaugeModel]:
    return {name: GaugeModel(**getattr(row, name).to_dict()) for name in ("characters", "risk")}


_WORK_AT = "/linkage/work/{number}"
_AT = "/linkage/{number}"
_PAIR_AT = "/linkage/{number}/pairs/{pair}"

LINKAGE_ROUTES: tuple[Route, ...] = (
    Page("/linkage", "linkage.read", linkage_page),
    Page("/linkage/new", "linkage.manage", new_project.new_page),
    Route("POST", "/linkage/new", "linkage.manage", new_project.begin, body="upload"),
    Page(_WORK_AT, "linkage.manage", new_project.work_page, live=True, loads=new_project.WORK),
    Page(f"{_WORK_AT}/state", "linkage.manage", new_project.work_state, kind="fragment", loads=new_project.WORK),
    Submit(_WORK_AT, "linkage.manage", new_project.declare, loads=new_project.WORK),
    Submit(f"{_WORK_AT}/discard", "linkage.manage", new_project.discard, loads=new_project.WORK),
    Page(_AT, "linkage.manage", project_page, live=True, loads=PROJECT),
    Page(f"{_AT}/zones", "linkage.manage", thresholds.zones_page, live=True, loads=PROJECT),
    Page(f"{_AT}/zones/preview", "linkage.manage", thresholds.zones_preview, kind="fragment", loads=PROJECT),
    Submit(f"{_AT}/zones", "linkage.manage", thresholds.cut_zones, loads=PROJECT),
    Submit(f"{_AT}/assign", "linkage.manage", assign, loads=PROJECT),
    Submit(f"{_AT}/withdraw", "linkage.manage", withdraw, loads=PROJECT),
    Submit(f"{_AT}/settle", "linkage.manage", settle, loads=PROJECT),
    Submit(f"{_AT}/sample", "linkage.manage", or_again(project_page, in_state)(exchange.draw_sample), loads=PROJECT),
    Submit(f"{_AT}/labels", "linkage.take", or_again(project_page, in_state)(exchange.labels_out), loads=PROJECT),
    Page(f"{_AT}/changes", "linkage.take", exchange.changes_page, loads=PROJECT),
    Submit(
        f"{_AT}/labelled",
        "linkage.manage",
        or_again(project_page, in_state)(exchange.labels_in),
        loads=PROJECT,
        body="upload",
    ),
    Submit(
        f"{_AT}/add",
        "linkage.manage",
        or_again(project_page, in_state)(exchange.add_records),
        loads=PROJECT,
        body="upload",
    ),
    Submit(f"{_AT}/learn", "linkage.manage", learn, loads=PROJECT),
    Submit(f"{_AT}/export", "linkage.take", take_away, loads=PROJECT),
    Submit(f"{_AT}/study/begin", "linkage.manage", or_again(project_page, in_state)(study.begin), loads=PROJECT),
    Submit(f"{_AT}/study/export", "linkage.take", or_again(project_page, in_state)(study.take_study), loads=PROJECT),
    Submit(f"{_AT}/gold", "linkage.manage", or_again(project_page, in_state)(study.hide), loads=PROJECT, body="upload"),
    Submit(
        f"{_AT}/evaluate",
        "linkage.manage",
        or_again(project_page, in_state)(study.evaluation_page),
        loads=PROJECT,
        body="upload",
    ),
    Page(f"{_AT}/study", "linkage.review", study.study_page, loads=review.TASK),
    Submit(f"{_AT}/study", "linkage.review", study.go_on, loads=review.TASK),
    Submit(f"{_AT}/study/decline", "linkage.review", study.stop, loads=review.TASK),
    Submit(f"{_AT}/close", "linkage.manage", close, loads=PROJECT),
    Submit("/datasets/{number}/lend", "datasets.take", new_project.lend, loads=dataset_page.DATASET),
    Page(f"{_AT}/review", "linkage.review", review.next_pair, loads=review.TASK),
    Page(f"{_AT}/sheet", "linkage.review", review.sheet_page, loads=review.TASK),
    Page(f"{_AT}/done", "linkage.review", review.done_page, loads=review.TASK),
    Page(_PAIR_AT, "linkage.review", review.pair_page, live=True, loads=review.PAIR),
    Submit(f"{_PAIR_AT}/reveal", "linkage.review", review.open_cell, loads=review.PAIR),
    Submit(f"{_PAIR_AT}/decide", "linkage.review", review.decide, loads=review.PAIR),
    Submit(f"{_PAIR_AT}/undo", "linkage.review", review.undo, loads=review.PAIR),
    ApiGet("/api/v1/linkage", "linkage.manage", project_list, returns=Projects),
    ApiGet("/api/v1/linkage/{number}", "linkage.manage", project, returns=ProgressModel, loads=PROJECT),
)
