"""Pages for linkage managers: projects, thresholds, assignments, export."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from discreet.errors import DiscreetError, UsageError
from discreet.linkage.export import export
from discreet.linkage.matching.candidate_pairs import Candidates, cut, divided, load_candidates
from discreet.linkage.matching.thresholds import Zones, distribution, zones_at
from discreet.linkage.progress import Progress, progress
from discreet.linkage.project import INITIAL, Project, close_project
from discreet.linkage.records.folder import ProjectFolder
from discreet.linkage.review import assignments
from discreet.linkage.review.assignments import Limits
from discreet.linkage.review.decisions import adjudicate, answers_of, disputes, labels_of
from discreet.report.linkage import pairs_findings
from discreet.report.linkage.charts import errors_figure, zones_figure
from discreet.report.toolkit.page import figure
from discreet.web.accounts import accounts
from discreet.web.accounts.accounts import Account
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import remark
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.linkage import jobs as works
from discreet.web.linkage import store as linkage_store
from discreet.web.linkage.pair_view import ShownMeter, label_of, written

CUTS = {
    "errors": "by the errors that the machine may make",
    "capacity": "by how many pairs people can look at",
    "weights": "at two weights of the chart",
}
FURTHEST = 1_000


def zones_page(context: Here, said: str = "") -> Response:
    """Who decides which pairs: the chart, and the form that cuts it."""
    return _zones(context, said=remark(said))


def _zones(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
    project: Project = context.loaded
    found = load_candidates(ProjectFolder.open(project.folder))
    drawn = distribution(found.pairs, found.zones) if found.zones is not None and len(found.pairs) else None
    figures = [] if drawn is None else [figure(zones_figure(drawn), 1), figure(errors_figure(drawn), 2)]
    return context.page(
        "linkage_zones.html",
        status=problem.status if problem else 200,
        problem=problem,
        said=said,
        project=project,
        found=found,
        zones=found.zones,
        figures=figures,
        cuts=CUTS,
        findings=pairs_findings(found)[:3],
    )


def cut_zones(context: Here) -> Response:
    """Divide the candidate pairs anew. Pairs that people have already stay with them."""
    project: Project = context.loaded
    home = ProjectFolder.open(project.folder)
    try:
        found = load_candidates(home)
        changed = divided(home, found, _cut(context.form, found))
    except UsageError as error:
        return _zones(context, problem=problem_of(error))
    except Problem as problem:
        return _zones(context, problem=problem)
    context.act("linkage.project", project.subject, **_facts(changed))
    changed.save(home)
    return go(f"/linkage/{project.id}/zones", said="zones")


def _cut(form: Form, found: Candidates) -> Zones:
    how = form.choice("how", tuple(CUTS))
    if how == "errors":
        shares = {name: _share(form, name) for name in ("false_same", "missed")}
        return cut(found.pairs, review=None, **shares)
    if how == "capacity":
        return cut(found.pairs, review=form.whole("review", least=0, most=10**9))
    return zones_at(found.pairs, lower=_number(form, "lower"), upper=_number(form, "upper"))


def _share(form: Form, name: str) -> float:
    return _number(form, name) / 100


def _number(form: Form, name: str) -> float:
    try:
        found = float(form.text(name, most=20).replace(",", "."))
    except ValueError:
        found = float("nan")
    if not -FURTHEST <= found <= FURTHEST:
        raise Problem(422, f"The field '{name}' must be a number.", remedy="Correct it and send the form again.")
    return found


def _facts(found: Candidates) -> dict[str, Any]:
    return {"act": "zones", **found.counts}


def assign(context: Here) -> Response:
    """Give pairs to reviewers, within limits."""
    return acting(context, lambda: _assign(context))


def _assign(context: Context) -> Response:
    project, form = _open(context), context.form
    chosen = form.choices("worker", [one.name for one in reviewers(context)])
    if not chosen:
        raise Problem(422, "Nobody was chosen.", remedy="Choose at least one reviewer.")
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
        raise Problem(422, "A limit is a number from 0 to 100 per cent.", remedy="For example 12.5, or nothing.")
    whole, _, part = text.partition(".")
    return f"{int(whole or '0') * 10 ** len(part) + int(part or '0')}/{100 * 10 ** len(part)}"


def withdraw(context: Here) -> Response:
    """Take back what somebody has not decided."""
    return acting(context, lambda: _withdraw(context))


def _withdraw(context: Context) -> Response:
    project = _open(context)
    worker = context.form.text("worker", empty=False)
    assignments.withdraw(context.site.ledger, project, worker, actor=context.owner.name)
    return go(f"/linkage/{project.id}", said="pairs-withdrawn")


def settle(context: Here) -> Response:
    """Give disputed pairs to somebody who has not seen them."""
    return acting(context, lambda: _settle(context))


def _settle(context: Context) -> Response:
    project, form = _open(context), context.form
    chosen = form.choice("worker", [one.name for one in reviewers(context)])
    limits = Limits.of(limit(form, "risk"), limit(form, "characters"))
    asked = limits if limits != Limits() else None
    given = adjudicate(context.site.ledger, project, chosen, actor=context.owner.name, limits=asked)
    return go(f"/linkage/{project.id}", said="to-settle" if given else "nothing-to-settle")


def learn(context: Here) -> Response:
    """Have the model learn from what people decided."""
    return acting(context, lambda: _learn(context))


def _learn(context: Context) -> Response:
    project = _open(context)
    known = labels_of(answers_of(context.site.store, project))
    if len(known.same) < ENOUGH_LABELS or known.same.all() or not known.same.any():
        raise Problem(
            409,
            f"{len(known.same)} pairs are decided so far, which is too little to learn from.",
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


def take_away(context: Here) -> Response:
    """Decisions, clusters, the linked table and the log of who saw what, as one archive; written down first."""
    return acting(context, lambda: _take_away(context))


def _take_away(context: Context) -> Response:
    project, form = context.loaded, context.form
    chosen = {"unfinished": form.text("unfinished") == "yes", "everybody": form.text("everybody") == "yes"}
    place = Path(tempfile.mkdtemp(prefix="export-", dir=context.site.places.folder.path))
    try:
        export(context.site.ledger, project, place / "export", actor=context.owner.name, form="csv", **chosen)
        archive = _zipped(place / "export", place / "export.zip")
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in project.name).strip("-")
    headers = {"Content-Disposition": f'attachment; filename="{name or "project"}-linked.zip"'}
    swept = BackgroundTask(shutil.rmtree, place, ignore_errors=True)
    return FileResponse(archive, media_type="application/zip", headers=headers, background=swept)


def _zipped(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for one in sorted(folder.iterdir()):
            archive.write(one, one.name)
    return path


def close(context: Here) -> Response:
    """Nothing more is opened or decided in it."""
    project: Project = context.loaded
    if project.state == "open":
        close_project(context.site.ledger, project, actor=context.owner.name)
    return go(f"/linkage/{project.id}", said="project-closed")


def _open(context: Context) -> Project:
    project: Project = context.loaded
    if project.state != "open":
        raise Problem(409, "The project is closed.", remedy="Its results can still be taken away.")
    return project


# Linkage for managers: projects, who has which pairs, meters and agreement. Numbers and names of columns, never a value.
ENOUGH_LABELS = 20


def _find(context: Context, path: dict[str, str]) -> Project | None:
    with context.site.store.reading() as connection:
        return linkage_store.find(connection, numbered(path["number"]))


PROJECT = Loads("linkage project", find=_find, may=lambda context, project: context.may(context.route.permission))
"""Projects belong to the managers of the store, who look after them together."""


def linkage_page(context: Here, said: str = "") -> Response:
    """What waits for one's own eyes, and, for managers, all projects."""
    manages = context.may("linkage.manage")
    with context.site.store.reading() as connection:
        tasks = linkage_store.tasks_of(connection, context.owner.name) if context.may("linkage.review") else []
        every = linkage_store.everything(connection) if manages else []
        making = works.unfinished(connection) if manages else []
    listed = [progress(context.site.ledger, one) for one in every]
    shown: dict[str, Any] = {"tasks": tasks, "listed": listed, "making": making}
    return context.page("linkage.html", said=remark(said), agreement=agreement, written=written, **shown)


def project_page(context: Here, said: str = "") -> Response:
    """How far a project is, and everything that can be done with it."""
    return show_project(context, said=remark(said))


def show_project(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
    """The page, also with what went wrong in one of its forms."""
    project: Project = context.loaded
    found = progress(context.site.ledger, project)
    with context.site.store.reading() as connection:
        jobs = works.of_project(connection, project.id)
    return context.page(
        "linkage_project.html",
        status=problem.status if problem else 200,
        problem=problem,
        said=said,
        project=project,
        found=found,
        folder=_folder(project),
        running=[one for one in jobs if one.active],
        failed=next((one for one in jobs[:1] if one.state == "failed"), None),
        reviewers=reviewers(context),
        disputed=disputes(context.site.store, project),
        initial=INITIAL,
        label_of=label_of,
        written=written,
        meters=meters,
        agreement=agreement,
        labels=_labels(found),
        enough=ENOUGH_LABELS,
    )


def acting(context: Context, act: Any) -> Response:
    """Do something with a project; if it cannot be done, its page again, with what is wrong."""
    try:
        done: Response = act()
    except DiscreetError as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        if problem.status == 403:  # nothing is forbidden to whoever asks; it does not fit the state of the project
            problem = Problem(409, problem.problem, remedy=problem.remedy, title="This cannot be done now")
        return show_project(context, problem=problem)
    return done


def reviewers(context: Context) -> list[Account]:
    """Who can be given pairs."""
    with context.site.store.reading() as connection:
        return [one for one in accounts.everybody(connection) if one.role == "worker" and not one.disabled]


def meters(row: Any) -> tuple[ShownMeter, ShownMeter]:
    """The two meters of a worker or a project."""
    return ShownMeter("characters", "Characters shown", row.characters), ShownMeter("risk", "Privacy risk", row.risk)


def agreement(found: Progress) -> str:
    """How far reviewers agree, in words."""
    if found.agreement is None:
        return "nothing to compare yet" if not found.compared else "all answers are alike"
    return f"{float(found.agreement):.2f}"


def _labels(found: Progress) -> int:
    return found.verdicts["same"] + found.verdicts["different"]


def _folder(project: Project) -> dict[str, Any]:
    """What was imported, and who decides which candidate pairs, in numbers."""
    try:
        home = ProjectFolder.open(project.folder)
        counts = load_candidates(home).counts
    except DiscreetError as error:
        return {"problem": problem_of(error).problem, "tables": [], "counts": None, "sensitive": 0}
    tables = home.about["tables"]
    return {
        "problem": "",
        "tables": tables,
        "sizes": home.sizes,
        "counts": counts,
        "sensitive": sum(len(one["sensitive"]) for one in tables),
    }
