"""Linkage projects in the store, as pages ask for them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, and_, case, func, select

from discreet.linkage.project import Project, project_of
from discreet.linkage.review.held_pair import WITHDRAWN
from discreet.store.tables.linkage import ASSIGNMENT, LOAN, PROJECT, WORKER
from discreet.store.tables.web import DATASET
from discreet.web.datasets.store import Dataset
from discreet.web.datasets.store import find as find_dataset


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


def takes_part(connection: Connection, project: int, worker: str) -> bool:
    """Was the reviewer ever given pairs of the project?"""
    mine = (WORKER.c.project == project, WORKER.c.worker == worker)
    return connection.execute(select(WORKER.c.project).where(*mine)).first() is not None


def has_pair(connection: Connection, project: int, worker: str, pair: int) -> bool:
    """Is this pair assigned to this reviewer, and not withdrawn?"""
    mine = and_(ASSIGNMENT.c.project == project, ASSIGNMENT.c.worker == worker, ASSIGNMENT.c.pair == pair)
    return connection.execute(select(ASSIGNMENT.c.id).where(mine, ASSIGNMENT.c.state != WITHDRAWN)).first() is not None


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


def next_open(connection: Connection, project: int, worker: str, after: int) -> int | None:
    """The next undecided pair in a reviewer's order, cyclically; None if all are decided."""
    mine = (ASSIGNMENT.c.project == project, ASSIGNMENT.c.worker == worker)
    here = connection.execute(select(ASSIGNMENT.c.place).where(*mine, ASSIGNMENT.c.pair == after)).scalar() or 0
    waiting = select(ASSIGNMENT.c.pair).where(*mine, ASSIGNMENT.c.state == "open")
    for part in (ASSIGNMENT.c.place > here, ASSIGNMENT.c.place <= here):
        pair = connection.execute(waiting.where(part).order_by(ASSIGNMENT.c.place).limit(1)).scalar()
        if pair is not None:
            return int(pair)
    return None


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


def first_pair(connection: Connection, project: int, worker: str) -> int | None:
    """The first pair in a reviewer's order."""
    mine = (ASSIGNMENT.c.project == project, ASSIGNMENT.c.worker == worker, ASSIGNMENT.c.state != WITHDRAWN)
    return connection.execute(select(ASSIGNMENT.c.pair).where(*mine).order_by(ASSIGNMENT.c.place).limit(1)).scalar()
