"""Work of linkage jobs: make a project, retrain its model.

The store gets names and numbers only. Killed at any moment the work leaves a whole project with its entry in the ledger,
or a folder that the next attempt replaces.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, cast

from sqlalchemy import select

from discreet.linkage import LinkageSpec, ProjectFolder, adopt_pairs, find_pairs, read_pairs, start_project
from discreet.linkage.project import project_of, register_project
from discreet.linkage.review import reveal
from discreet.linkage.review.decisions import answers_of, labels_of
from discreet.policy import Policy
from discreet.sources import Table, read
from discreet.store.tables.linkage import PROJECT
from discreet.web.datasets import store as datasets
from discreet.web.jobs.queue import Lost
from discreet.web.jobs.task import JobOutcome, JobTask
from discreet.web.linkage.store import Work


def make_project(task: JobTask) -> JobOutcome:
    """Import the tables, find or adopt pairs, register the project."""
    work, asked = cast(Work, task.job), task.asked
    home = task.places.folder.path / asked["folder"]
    with task.ledger.store.reading() as connection:
        row = connection.execute(select(PROJECT.c.id).where(PROJECT.c.folder == str(home.resolve()))).one_or_none()
    if row is not None:  # an earlier attempt ended after that
        return JobOutcome(columns={"project": row.id}, useless=work.uploads)
    shutil.rmtree(home, ignore_errors=True)
    task.tell("Splitting off what is sensitive", 0.05)
    spec = LinkageSpec.from_dict(asked["link"])
    tables = [_table(task, given, side.policy) for given, side in zip(work.tables, spec.sides, strict=False)]
    folder = start_project(home, *tables, spec=spec)
    task.tell("Looking for pairs that may be one person", 0.3)
    finding, pairs = asked["finding"], asked.get("pairs")
    cutting = {"review": finding["review"], "once": finding["once"]}
    if pairs is None:
        candidates = find_pairs(folder, most_pairs=finding["most_pairs"], **cutting)
    else:
        candidates = adopt_pairs(folder, read_pairs(folder, _upload(task, pairs), score=finding["score"]), **cutting)
    candidates.save(folder)
    task.tell("Writing down who looks like whom", 0.9)
    project = register_project(task.ledger, home, actor=work.asker, name=work.name, **asked["settings"])
    reveal.prepare(project)
    return JobOutcome(columns={"project": project.id}, useless=work.uploads)


def retrain_model(task: JobTask) -> JobOutcome:
    """Estimate the model from what reviewers have decided, and score and divide the pairs by it."""
    work = cast(Work, task.job)
    with task.ledger.store.reading() as connection:
        project = project_of(connection.execute(select(PROJECT).where(PROJECT.c.id == work.project)).one())
    labels = labels_of(answers_of(task.ledger.store, project))
    task.tell("Learning from decisions", 0.2)
    folder = ProjectFolder.open(project.folder)
    candidates = find_pairs(folder, labels=labels, once=bool(task.asked.get("once")))
    candidates.save(folder)
    task.ledger.record(
        actor=work.asker,
        event="linkage.project",
        subject=project.subject,
        key=f"linkage-work:{work.id}",
        details={"labels": len(labels.same), "people": candidates.counts["people"], "calibrated": True},
    )
    return JobOutcome(columns={"project": project.id}, useless=work.uploads)


def _table(task: JobTask, given: dict[str, Any], policy: Policy) -> Table:
    if "dataset" not in given:
        return read(_upload(task, given), policy)
    with task.ledger.store.reading() as connection:
        dataset = datasets.find(connection, given["dataset"])
    if dataset is None:
        raise Lost("The data set was removed.", remedy="Choose another one.")
    return task.places.bare(dataset, policy)


def _upload(task: JobTask, given: dict[str, Any]) -> Path:
    path = task.places.folder.find(given["upload"])
    if path is None:
        raise Lost("The uploaded file is not there any more.", remedy="Start again, and upload it again.")
    return path
