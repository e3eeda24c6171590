"""Linkage projects and their jobs in the store, as pages ask for them."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection, Select, Table, case, func, insert, select, update

from discreet.linkage.project import Project, project_of
from discreet.linkage.review.held_pair import WITHDRAWN
from discreet.store.tables.linkage import ASSIGNMENT, LOAN, PROJECT, WORK, WORKER
from discreet.store.tables.web import ACCOUNT, DATASET
from discreet.web.datasets.store import Dataset
from discreet.web.datasets.store import find as find_dataset
from discreet.web.jobs import store as jobs
from discreet.web.jobs.store import ACTIVE, Queued


@dataclass(frozen=True)
class ReviewTask:
    """A project in which a reviewer has pairs."""

    project: Project
    pairs: int
    decided: int

    @property
    def percent(self) -> int:
        """The share that is decided."""
        return 100 * self.decided // max(1, self.pairs)


def find(connection: Connection, number: int) -> Project | None:
    """By number."""
    row = connection.execute(select(PROJECT).where(PROJECT.c.id == number)).one_or_none()
    return None if row is None else project_of(row)


def everything(connection: Connection) -> list[Project]:
    """All projects, the newest first."""
    return [project_of(row) for row in connection.execute(select(PROJECT).order_by(PROJECT.c.id.desc()))]


def _assigned(project: int, worker: str) -> Select[Any]:
    """Pairs assigned to a reviewer, withdrawn ones too, and their places in order."""
    whose = (ASSIGNMENT.c.project == project, ASSIGNMENT.c.worker == worker)
    return select(ASSIGNMENT.c.pair, ASSIGNMENT.c.place).where(*whose)


def reviews(connection: Connection, project: int, worker: str, pair: int | None) -> bool:
    """Was the reviewer ever given pairs of the project; or has this pair now?"""
    given = select(WORKER.c.project).where(WORKER.c.project == project, WORKER.c.worker == worker)
    if pair is not None:
        given = _assigned(project, worker).where(ASSIGNMENT.c.pair == pair, ASSIGNMENT.c.state != WITHDRAWN)
    return connection.execute(given).first() is not None


def first_pair(connection: Connection, project: int, worker: str) -> int | None:
    """The first pair in a reviewer's order."""
    given = _assigned(project, worker).where(ASSIGNMENT.c.state != WITHDRAWN)
    return connection.execute(given.order_by(ASSIGNMENT.c.place).limit(1)).scalar()


def sheet_of(connection: Connection, project: int, worker: str, first: int | None, most: int) -> list[tuple[int, int]]:
    """Places and pairs of a reviewer from a place on, by default from the first that is not decided."""
    assigned = _assigned(project, worker).where(ASSIGNMENT.c.state != WITHDRAWN).order_by(ASSIGNMENT.c.place)
    if first is None:
        first = connection.execute(
            assigned.with_only_columns(ASSIGNMENT.c.place).where(ASSIGNMENT.c.state == "open").limit(1)
        ).scalar()
    rows = connection.execute(assigned.where(ASSIGNMENT.c.place >= (first or 0)).limit(most))
    return [(row.place, row.pair) for row in rows]


def next_open(connection: Connection, project: int, worker: str, after: int) -> int | None:
    """The next undecided pair in a reviewer's order, cyclically; None if all are decided."""
    assigned, place = _assigned(project, worker), ASSIGNMENT.c.place
    current = connection.execute(assigned.where(ASSIGNMENT.c.pair == after)).one_or_none()
    passed = place <= (0 if current is None else current.place)  # pairs up to the current one come last
    waiting = assigned.where(ASSIGNMENT.c.state == "open").order_by(passed, place)
    return connection.execute(waiting.limit(1)).scalar()


def tasks_of(connection: Connection, worker: str) -> list[ReviewTask]:
    """Projects in which a reviewer has pairs, those with work to do first."""
    decided = func.sum(case((ASSIGNMENT.c.state == "decided", 1), else_=0))
    counted = connection.execute(
        select(ASSIGNMENT.c.project, func.count().label("pairs"), decided.label("decided"))
        .where(ASSIGNMENT.c.worker == worker, ASSIGNMENT.c.state != WITHDRAWN)
        .group_by(ASSIGNMENT.c.project)
    ).all()
    projects = {project.id: project for project in everything(connection)}
    tasks = [ReviewTask(projects[row.project], row.pairs, int(row.decided)) for row in counted]
    return sorted(tasks, key=lambda task: (task.project.state != "open", task.decided == task.pairs, task.project.name))


def lent(connection: Connection) -> list[Dataset]:
    """The data sets that custodians lend to linkage, by name."""
    numbers = connection.execute(
        select(LOAN.c.dataset).join(DATASET, DATASET.c.id == LOAN.c.dataset).order_by(DATASET.c.name)
    ).scalars()
    datasets = [find_dataset(connection, number) for number in numbers.all()]
    return [dataset for dataset in datasets if dataset is not None]


def is_lent(connection: Connection, dataset: int) -> bool:
    """May managers of linkage use it?"""
    return connection.execute(select(LOAN.c.dataset).where(LOAN.c.dataset == dataset)).first() is not None


# -- jobs: projects being made, models being retrained -------------------------------------------------------------------

ALIVE = ("declared", *ACTIVE, "failed")
"""States in which a manager may still go on with it, so that its files are needed."""


@dataclass(frozen=True, kw_only=True)
class Work(Queued):
    """A job about a project of linkage.

    The request holds the tables and what was declared about them: names of columns, no value.
    """

    table: ClassVar[Table] = WORK

    name: str
    """The name of the project, which may not exist yet."""
    project: int | None

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The tables it is about: name, columns, and where each is."""
        return list(self.asked.get("tables", []))

    @property
    def files(self) -> list[dict[str, Any]]:
        """Tables, pairs and labels that were uploaded for it."""
        given = [*self.tables, *(self.asked[role] for role in ("pairs", "labels", "added") if self.asked.get(role))]
        return [file for file in given if file.get("upload")]

    @property
    def uploads(self) -> list[str]:
        """Our files that it still needs."""
        return [file["upload"] for file in self.files]


def find_work(connection: Connection, number: int) -> Work | None:
    """By number."""
    return next(iter(_works(connection, WORK.c.id == number)), None)


def unfinished(connection: Connection) -> list[Work]:
    """All that a manager may still go on with, the newest first."""
    return _works(connection, WORK.c.state.in_(ALIVE))


def of_project(connection: Connection, project: int) -> list[Work]:
    """What was done for a project, the newest first."""
    return _works(connection, WORK.c.project == project)


def _works(connection: Connection, which: Any) -> list[Work]:
    whole = select(WORK, ACCOUNT.c.name.label("asker")).join(ACCOUNT, ACCOUNT.c.id == WORK.c.account)
    return [Work.of(row) for row in connection.execute(whole.where(which).order_by(WORK.c.id.desc()))]


def add_work(
    connection: Connection, *, kind: str, name: str, account: int, asked: dict[str, Any], project: int | None = None
) -> int:
    """New work: a project whose columns are declared next, or retraining and adding at once."""
    values = {
        "kind": kind,
        "name": name,
        "account": account,
        "project": project,
        "asked": json.dumps({"folder": f"link-{secrets.token_hex(16)}", **asked}),
        **jobs.new_row(connection, "declared" if kind == "make" else "queued"),
    }
    return int(connection.execute(insert(WORK).values(values).returning(WORK.c.id)).scalar_one())


def begin_work(connection: Connection, number: int, asked: dict[str, Any]) -> bool:
    """It was declared, or failed and is tried again; False if it runs already."""
    values = {"state": "queued", "asked": json.dumps(asked), "attempts": 0, "step": jobs.WAITING}
    values |= {"problem": None, "remedy": None, "progress": None, "ended": None}
    waiting = (WORK.c.id == number, WORK.c.state.in_(("declared", "failed")))
    return connection.execute(update(WORK).where(*waiting).values(values)).rowcount == 1


def needed_files(connection: Connection) -> set[str]:
    """Names of our files that unfinished work still needs."""
    return {name for work in unfinished(connection) for name in work.uploads}
