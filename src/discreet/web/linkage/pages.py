"""Pages for linkage managers: projects, thresholds, assignments, export. Numbers and column names, never a value."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from discreet.errors import DiscreetError, UsageError
from discreet.linkage.export import export
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.candidate_pairs import Candidates, cut, divided, load_candidates
from discreet.linkage.matching.thresholds import Zones, distribution, zones_at
from discreet.linkage.progress import Progress, progress
from discreet.linkage.project import INITIAL, Project, close_project
from discreet.linkage.review import assignments
from discreet.linkage.review.assignments import Limits
from discreet.linkage.review.decisions import adjudicate, answers_of, disputes, labels_of
from discreet.report.linkage import errors_figure, pairs_findings, zones_figure
from discreet.report.toolkit.components import figure
from discreet.web.accounts import accounts
from discreet.web.accounts.accounts import Account
from discreet.web.framework.context import Context, Here, by_number, go
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem, page_problem, problem_of
from discreet.web.linkage import jobs as works
from discreet.web.linkage import store as linkage_store
from discreet.web.linkage.review import ShownMeter, label_of, written

CUTS = {
    "errors": "by the errors that the machine may make",
    "capacity": "by how many pairs people can review",
    "weights": "at two weights of the chart",
}
FURTHEST = 1_000
ENOUGH_LABELS = 20

PROJECT = by_number("linkage project", linkage_store.find)
"""Managers look after projects together."""


def linkage_page(context: Here) -> Response:
    """The account's own pairs to review, and, for managers, all projects."""
    manages = context.may("linkage.manage")
    with context.site.store.reading() as connection:
        tasks = linkage_store.tasks_of(connection, context.owner.name) if context.may("linkage.review") else []
        every = linkage_store.everything(connection) if manages else []
        making = works.unfinished(connection) if manages else []
    listed = [progress(context.site.ledger, project) for project in every]
    shown: dict[str, Any] = {"tasks": tasks, "listed": listed, "making": making}
    return context.page("linkage.html", agreement=agreement, written=written, **shown)


def project_page(context: Here) -> Response:
    """The progress of a project, and everything that can be done with it."""
    return _project(context)


def _project(context: Context, *, problem: Problem | None = None) -> Response:
    """The page of a project, also with what went wrong in one of its forms."""
    project: Project = context.loaded
    current = progress(context.site.ledger, project)
    with context.site.store.reading() as connection:
        jobs = works.of_project(connection, project.id)
    return context.page(
        "linkage_project.html",
        problem=problem,
        project=project,
        found=current,
        folder=_folder(project),
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
    )


def reviewers(context: Context) -> list[Account]:
    """Accounts that can be given pairs."""
    with context.site.store.reading() as connection:
        everybody = accounts.everybody(connection)
    return [account for account in everybody if account.role == "worker" and not account.disabled]


def meters(row: Any) -> tuple[ShownMeter, ShownMeter]:
    """The two meters of a reviewer or a project."""
    return ShownMeter("characters", "Characters shown", row.characters), ShownMeter("risk", "Privacy risk", row.risk)


def agreement(found: Progress) -> str:
    """The agreement of reviewers, in words."""
    if found.agreement is None:
        return "nothing to compare yet" if not found.compared else "all answers are alike"
    return f"{float(found.agreement):.2f}"


def _folder(project: Project) -> dict[str, Any]:
    """What was imported, and who decides which candidate pairs, in numbers."""
    try:
        home = ProjectFolder.open(project.folder)
        counts = load_candidates(home).counts
    except DiscreetError as error:
        return {"problem": problem_of(error).problem, "tables": [], "counts": None, "sensitive": 0}
    tables = home.about["tables"]
    sensitive = sum(len(table["sensitive"]) for table in tables)
    return {"problem": "", "tables": tables, "sizes": home.sizes, "counts": counts, "sensitive": sensitive}


# -- thresholds: which pairs the machine decides, and which people do ---------------------------------------------------


def zones_page(context: Here) -> Response:
    """The chart of candidate pairs, and the form that divides them."""
    return _zones(context)


def _zones(context: Context, *, problem: Problem | None = None) -> Response:
    project: Project = context.loaded
    candidates = load_candidates(ProjectFolder.open(project.folder))
    figures = []
    if candidates.zones is not None and len(candidates.pairs):
        weights = distribution(candidates.pairs, candidates.zones)
        figures = [figure(zones_figure(weights), 1), figure(errors_figure(weights), 2)]
    return context.page(
        "linkage_zones.html",
        problem=problem,
        project=project,
        found=candidates,
        zones=candidates.zones,
        figures=figures,
        cuts=CUTS,
        findings=pairs_findings(candidates)[:3],
    )


def cut_zones(context: Here) -> Response:
    """Divide the candidate pairs again. Pairs that are assigned stay with their reviewers."""
    project: Project = context.loaded
    home = ProjectFolder.open(project.folder)
    try:
        candidates = load_candidates(home)
        changed = divided(home, candidates, _cut(context.form, candidates))
    except (UsageError, Problem) as error:
        return _zones(context, problem=page_problem(error))
    counts: dict[str, Any] = changed.counts
    context.act("linkage.project", project.subject, act="zones", **counts)
    changed.save(home)
    return go(f"/linkage/{project.id}/zones", said="zones")


def _cut(form: Form, candidates: Candidates) -> Zones:
    how = form.choice("how", tuple(CUTS))
    if how == "errors":
        shares = {name: _number(form, name) / 100 for name in ("false_same", "missed")}
        return cut(candidates.pairs, review=None, **shares)
    if how == "capacity":
        return cut(candidates.pairs, review=form.whole("review", least=0, most=10**9))
    return zones_at(candidates.pairs, lower=_number(form, "lower"), upper=_number(form, "upper"))


def _number(form: Form, name: str) -> float:
    try:
        number = float(form.text(name, most=20).replace(",", "."))
    except ValueError:
        number = float("nan")
    if not -FURTHEST <= number <= FURTHEST:
        raise Problem(422, f"The field '{name}' must be a number.", remedy="Correct it and send the form again.")
    return number


# -- what a manager does on the page of a project -----------------------------------------------------------------------


def on_project_page(act: Callable[[Context], Response]) -> Callable[[Context], Response]:
    """A handler that shows the page of the project again, with what is wrong, if the act fails."""

    @wraps(act)
    def handler(context: Here) -> Response:
        try:
            return act(context)
        except DiscreetError as error:
            problem = page_problem(error)
            if problem.status == 403:  # no permission is missing; the act does not fit the state of the project
                problem = Problem(409, problem.problem, remedy=problem.remedy, title="This cannot be done now")
            return _project(context, problem=problem)

    return handler


@on_project_page
def assign(context: Here) -> Response:
    """Assign pairs to reviewers, within limits."""
    project, form = _open(context), context.form
    chosen = form.choices("worker", [account.name for account in reviewers(context)])
    if not chosen:
        raise Problem(422, "No reviewer is chosen.", remedy="Choose at least one reviewer.")
    most = form.whole("most", least=1, most=10**6) if form.text("most") else None
    overlap = form.whole("overlap", least=1, most=len(chosen)) if form.text("overlap") else 1
    limits = Limits.of(limit(form, "risk"), limit(form, "characters"))
    assignments.bring_pairs(context.site.ledger, project)
    given = assignments.assign(
        context.site.ledger, project, chosen, actor=context.owner.name, overlap=overlap, limits=limits, most=most
    )
    return go(f"/linkage/{project.id}", said="assigned" if sum(given.pairs.values()) else "nothing-assigned")


def limit(form: Form, name: str) -> str | None:
    """A limit in per cent as an exact share; None where the field is empty."""
    text = form.text(name, most=20).replace(",", ".").replace("%", "").strip()
    if not text:
        return None
    plain = text.replace(".", "", 1)
    if not (plain.isascii() and plain.isdigit()) or not 0 <= float(text) <= 100:
        raise Problem(422, "A limit is a number from 0 to 100 per cent.", remedy="Write it as 12.5, or leave it empty.")
    whole, _, part = text.partition(".")
    return f"{int(whole or '0') * 10 ** len(part) + int(part or '0')}/{100 * 10 ** len(part)}"


@on_project_page
def withdraw(context: Here) -> Response:
    """Take back the pairs that a reviewer has not decided."""
    project = _open(context)
    worker = context.form.text("worker", empty=False)
    assignments.withdraw(context.site.ledger, project, worker, actor=context.owner.name)
    return go(f"/linkage/{project.id}", said="pairs-withdrawn")


@on_project_page
def settle(context: Here) -> Response:
    """Give disputed pairs to an adjudicator who has not seen them."""
    project, form = _open(context), context.form
    chosen = form.choice("worker", [account.name for account in reviewers(context)])
    limits = Limits.of(limit(form, "risk"), limit(form, "characters"))
    asked = limits if limits != Limits() else None
    given = adjudicate(context.site.ledger, project, chosen, actor=context.owner.name, limits=asked)
    return go(f"/linkage/{project.id}", said="to-settle" if given else "nothing-to-settle")


@on_project_page
def learn(context: Here) -> Response:
    """Train the model on the decisions of reviewers."""
    project = _open(context)
    known = labels_of(answers_of(context.site.store, project))
    if len(known.same) < ENOUGH_LABELS or known.same.all() or not known.same.any():
        raise Problem(
            409,
            f"{len(known.same)} pairs are decided so far, which is too few to learn from.",
            remedy=f"Decide at least {ENOUGH_LABELS} pairs, some of them the same and some different.",
            title="Too early",
        )
    with context.site.store.writing() as connection:
        waiting = [one for one in works.of_project(connection, project.id) if one.active]
        if not waiting:
            asked = {"once": load_candidates(ProjectFolder.open(project.folder)).once}
            account = context.owner.id
            works.add(connection, kind="retrain", name=project.name, account=account, asked=asked, project=project.id)
    if context.site.foreman is not None:
        context.site.foreman.wake()
    return go(f"/linkage/{project.id}", said="learning")


@on_project_page
def take_away(context: Here) -> Response:
    """Export decisions, clusters, the linked table and the disclosure log as one archive; recorded first."""
    project, form = context.loaded, context.form
    chosen = {"unfinished": form.text("unfinished") == "yes", "everybody": form.text("everybody") == "yes"}
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


def _open(context: Context) -> Project:
    project: Project = context.loaded
    if project.state != "open":
        raise Problem(409, "The project is closed.", remedy="Its results can still be exported.")
    return project
