"""Linkage for managers: label samples, labels out and in, further tables, changed persons."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from discreet.linkage.export import clusters_of, pending_changes, write_labels
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.candidate_pairs import load_candidates, sampled
from discreet.linkage.project import Project
from discreet.linkage.review.decisions import answers_of
from discreet.web.datasets import ingest, inspection
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem
from discreet.web.linkage import store

LIKE = {"first": "like the first table", "second": "like the second table"}
MOST_CHANGES = 200
"""Lines of changes on the page; the export has all of them."""


def open_project(context: Context) -> Project:
    """The project of the page, unless it is closed."""
    project: Project = context.loaded
    if project.state != "open":
        raise Problem(409, "The project is closed.", remedy="Its results can still be exported.")
    return project


def draw_sample(context: Here) -> Response:
    """Draw a label sample, which reviewers get before all other pairs."""
    project = open_project(context)
    home = ProjectFolder.open(project.folder).reviewable()
    size = context.form.whole("sample", least=20, most=100_000)
    found = sampled(load_candidates(home), size, seed=secrets.randbits(32))
    context.act("linkage.project", project.subject, act="label sample", pairs=len(found.to_review))
    found.save(home)
    return go(f"/linkage/{project.id}", said="sampled")


def labels_out(context: Here) -> Response:
    """The decisions of people as labels by id; recorded first."""
    project: Project = context.loaded
    folder = Path(tempfile.mkdtemp(prefix="export-", dir=context.site.places.folder.path))
    swept = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    try:
        count = write_labels(context.site.store, project, folder / "labels.csv")
        context.act("linkage.exported", project.subject, act="labels", rows=count)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    headers = {"Content-Disposition": 'attachment; filename="labels.csv"'}
    return FileResponse(folder / "labels.csv", media_type="text/csv", headers=headers, background=swept)


def labels_in(context: Here) -> Response:
    """Train the model on an uploaded file of labels."""
    project = open_project(context)
    return _queue(context, project, "labels", {"once": _candidates(project).once}, said="learning")


def add_records(context: Here) -> Response:
    """Add an uploaded table, such as next month's records."""
    project = open_project(context)
    _candidates(project)
    like = context.form.choice("like", tuple(LIKE))
    tables = len(ProjectFolder.open(project.folder).sizes)
    return _queue(context, project, "added", {"like": like, "before": tables}, said="adding")


def changes_page(context: Here) -> Response:
    """Which persons of the last crosswalk were merged or split since then."""
    project: Project = context.loaded
    home = ProjectFolder.open(project.folder)
    answers = answers_of(context.site.store, project)
    changes = pending_changes(home, clusters_of(home, answers), answers)
    return context.page(
        "linkage_changes.html",
        project=project,
        changes=None if changes is None else changes[:MOST_CHANGES],
        count=len(changes or ()),
        most=MOST_CHANGES,
    )


def _candidates(project: Project) -> Any:
    return load_candidates(ProjectFolder.open(project.folder))


def _queue(context: Context, project: Project, role: str, asked: dict[str, Any], *, said: str) -> Response:
    """Store an uploaded file, and queue the work on it."""
    upload = context.form.files.get(role)
    if upload is None or not upload.filename:
        raise Problem(422, "No file is chosen.", remedy="Choose a file.")
    name = ingest.plain_name(upload.filename)
    ending = inspection.ending_of(name)
    encoding = context.form.choice("encoding", inspection.ENCODINGS) if context.form.text("encoding") else "utf-8"
    path = context.site.places.folder.new("upload", ending)
    try:
        ingest.keep(context, upload, path)
        table = ingest.inspected(context, path, name, ending, encoding)
        given = {"name": name, "columns": [str(column) for column in table.columns], "upload": path.name}
        with context.site.store.writing() as connection:
            if any(job.active for job in store.of_project(connection, project.id)):
                raise Problem(409, "The machine is at work on this project.", remedy="Wait until it is done.")
            account = context.owner.id
            whole = {**asked, role: given}
            store.add_work(
                connection, kind="retrain", name=project.name, account=account, asked=whole, project=project.id
            )
    except BaseException:
        context.site.places.folder.forget([path.name])
        raise
    context.site.wake_supervisor()
    return go(f"/linkage/{project.id}", said=said)
