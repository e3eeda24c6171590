"""Answers to pairs: saved at once, taken back at will, never overwritten."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from discreet.errors import Refused, UsageError
from discreet.linkage.project import Project, now
from discreet.linkage.review.assignment import WITHDRAWN, not_there, read_held
from discreet.linkage.review.views import CHOICES
from discreet.store import Store
from discreet.store.tables.linkage import ASSIGNMENT, DECISION, PROJECT


def decide(store: Store, project: Project, worker: str, number: int, choice: int) -> None:
    """Answer a pair: 1 to 3 for different (high, medium, low), 4 to 6 for the same (low, medium, high), 0 for can't tell.

    An earlier answer stays written down, and the last one counts.
    """
    if choice not in CHOICES:
        raise UsageError("There is no such answer.", remedy="1 to 6 for H M L | L M H, 0 for can't tell.")
    with store.writing() as connection:
        _write(connection, project, worker, number, choice)


def undo(store: Store, project: Project, worker: str, number: int) -> None:
    """Take an answer back. What was opened stays open, and charged."""
    with store.writing() as connection:
        _write(connection, project, worker, number, None)


def next_pair(store: Store, project: Project, worker: str) -> int | None:
    """The first pair in a reviewer's order that she has not decided; None if there is none."""
    with store.reading() as connection:
        return connection.execute(
            select(ASSIGNMENT.c.pair)
            .where(ASSIGNMENT.c.project == project.id, ASSIGNMENT.c.worker == worker, ASSIGNMENT.c.state == "open")
            .order_by(ASSIGNMENT.c.place)
            .limit(1)
        ).scalar()


def last_decided(store: Store, project: Project, worker: str) -> int | None:
    """The pair that a reviewer has answered last and not taken back: what "undo" means on the pair after it."""
    with store.reading() as connection:
        return connection.execute(
            select(ASSIGNMENT.c.pair)
            .join(DECISION, DECISION.c.assignment == ASSIGNMENT.c.id)
            .where(ASSIGNMENT.c.project == project.id, ASSIGNMENT.c.worker == worker, ASSIGNMENT.c.state == "decided")
            .order_by(DECISION.c.id.desc())
            .limit(1)
        ).scalar()


def _write(connection: Connection, project: Project, worker: str, number: int, choice: int | None) -> None:
    held = read_held(connection, project, worker, number)
    state = connection.execute(select(PROJECT.c.state).where(PROJECT.c.id == project.id)).scalar()
    if state != "open":
        raise Refused("The project is closed: nothing is decided any more.", remedy="Ask its manager.")
    if choice is None and held.choice is None:
        return
    done = connection.execute(
        update(ASSIGNMENT)
        .where(ASSIGNMENT.c.id == held.assignment, ASSIGNMENT.c.state != WITHDRAWN)
        .values(state="open" if choice is None else "decided")
    )
    if done.rowcount != 1:
        raise not_there()
    connection.execute(insert(DECISION).values(assignment=held.assignment, choice=choice, at=now()))
