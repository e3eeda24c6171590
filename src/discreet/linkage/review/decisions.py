"""Decisions of reviewers, what follows from them, and adjudication of disputes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Literal

import numpy as np
from sqlalchemy import Connection, and_, func, insert, select

from discreet.errors import Refused, UsageError
from discreet.ledger import Ledger
from discreet.linkage.masking.comparison import MODES, Mode
from discreet.linkage.matching.pairs import Labels, Pairs
from discreet.linkage.project import Project, now
from discreet.linkage.review import reveal
from discreet.linkage.review.assignments import Limits, give
from discreet.linkage.review.held_pair import ASSIGNMENTS, WITHDRAWN, not_there, read_held
from discreet.linkage.review.views import CHOICES
from discreet.store import Store
from discreet.store.tables.linkage import ASSIGNMENT, CELL, DECISION, PAIR

HURRY = 3.0
"""Seconds for a pair below which nobody has read it: in the authors' study people took 18."""
ROW_OF_HASTE = 5
"""Decisions in a row that are too fast, at which the reviewer is told."""


# Answers to pairs: saved at once, taken back at will, never overwritten.
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
    """The first undecided pair in a reviewer's order; None if there is none."""
    with store.reading() as connection:
        return connection.execute(
            select(ASSIGNMENT.c.pair)
            .where(ASSIGNMENT.c.project == project.id, ASSIGNMENT.c.worker == worker, ASSIGNMENT.c.state == "open")
            .order_by(ASSIGNMENT.c.place)
            .limit(1)
        ).scalar()


def last_decided(store: Store, project: Project, worker: str) -> int | None:
    """The pair that a reviewer answered last and did not take back: the one that "undo" means."""
    with store.reading() as connection:
        return connection.execute(
            select(ASSIGNMENT.c.pair)
            .join(DECISION, DECISION.c.assignment == ASSIGNMENT.c.id)
            .where(ASSIGNMENT.c.project == project.id, ASSIGNMENT.c.worker == worker, ASSIGNMENT.c.state == "decided")
            .order_by(DECISION.c.id.desc())
            .limit(1)
        ).scalar()


def hurrying(store: Store, project: Project, worker: str) -> bool:
    """Whether the last five decisions of a reviewer came faster than people read."""
    with store.reading() as connection:
        latest = connection.execute(
            select(DECISION.c.at)
            .join(ASSIGNMENT, ASSIGNMENT.c.id == DECISION.c.assignment)
            .where(ASSIGNMENT.c.project == project.id, ASSIGNMENT.c.worker == worker, DECISION.c.choice.is_not(None))
            .order_by(DECISION.c.id.desc())
            .limit(ROW_OF_HASTE + 1)
        ).scalars()
        moments = [datetime.fromisoformat(at) for at in latest]
    gaps = [(later - earlier).total_seconds() for later, earlier in pairwise(moments)]
    return len(gaps) == ROW_OF_HASTE and max(gaps) < HURRY


def _write(connection: Connection, project: Project, worker: str, number: int, choice: int | None) -> None:
    held = read_held(connection, project, worker, number)
    if held.closed:
        raise Refused("The project is closed: nothing is decided any more.", remedy="Ask its manager.")
    if choice is None and held.choice is None:
        return
    state = "open" if choice is None else "decided"
    if not ASSIGNMENTS.attempt(connection, ASSIGNMENT.c.id == held.assignment, to=state):
        raise not_there()
    connection.execute(insert(DECISION).values(assignment=held.assignment, choice=choice, at=now()))


Verdict = Literal["same", "different", "can't tell", "disputed", "open"]


@dataclass(frozen=True)
class Answered:
    """One pair, and who has answered what. No value of a person."""

    pair: int
    records: tuple[int, int]
    probability: float | None
    reviews: Mapping[str, int | None] = field(default_factory=dict)
    """The choice of each reviewer who has it; None where it is not decided yet."""
    adjudications: Mapping[str, int | None] = field(default_factory=dict)
    gold: bool | None = None
    """The truth of a pair that is hidden among the others."""

    @property
    def answers(self) -> list[str]:
        """The answers of the reviewers, without how sure they are."""
        return [CHOICES[choice][0] for choice in self.reviews.values() if choice is not None]

    @property
    def complete(self) -> bool:
        """Whether it has reviewers, and all of them have decided."""
        return bool(self.reviews) and None not in self.reviews.values()

    @property
    def disputed(self) -> bool:
        """Whether the reviewers differ, or cannot tell."""
        return self.complete and (len(set(self.answers)) > 1 or "can't tell" in self.answers)

    @property
    def verdict(self) -> Verdict:
        """What counts: the adjudicator's answer, or else that of all reviewers."""
        settled = [CHOICES[choice][0] for choice in self.adjudications.values() if choice is not None]
        if settled:
            return settled[-1]  # type: ignore[return-value]
        if not self.complete:
            return "open"
        if len(set(self.answers)) > 1:
            return "disputed"
        return self.answers[0]  # type: ignore[return-value]


def answers_of(store: Store, project: Project) -> list[Answered]:
    """All pairs of a project, in order."""
    with store.reading() as connection:
        return read_answers(connection, project)


def read_answers(connection: Connection, project: Project) -> list[Answered]:
    """All pairs of a project, within a transaction."""
    given: dict[int, dict[str, dict[str, int | None]]] = defaultdict(lambda: {"review": {}, "adjudication": {}})
    for row in connection.execute(_GIVEN.where(ASSIGNMENT.c.project == project.id)):
        if row.state != WITHDRAWN:
            given[row.pair][row.role][row.worker] = row.choice
    pairs = connection.execute(select(PAIR).where(PAIR.c.project == project.id).order_by(PAIR.c.number)).all()
    return [
        Answered(row.number, (row.first, row.second), row.probability, roles["review"], roles["adjudication"], row.gold)
        for row in pairs
        for roles in [given[row.number]]
    ]


def labels_of(answers: Sequence[Answered]) -> Labels:
    """Labels for a model: the pairs that people called the same or different in the end."""
    decided = [answered for answered in answers if answered.verdict in ("same", "different")]
    first, second = ([answered.records[side] for answered in decided] for side in (0, 1))
    pairs = Pairs.of(first, second, np.zeros(len(decided)))
    return Labels(pairs, np.array([answered.verdict == "same" for answered in decided], dtype=np.bool_))


_LATEST = select(DECISION.c.assignment, func.max(DECISION.c.id).label("latest")).group_by(DECISION.c.assignment)
_NEWEST = _LATEST.subquery()
_GIVEN = (
    select(ASSIGNMENT.c.pair, ASSIGNMENT.c.worker, ASSIGNMENT.c.role, ASSIGNMENT.c.state, DECISION.c.choice)
    .outerjoin(_NEWEST, _NEWEST.c.assignment == ASSIGNMENT.c.id)
    .outerjoin(DECISION, and_(DECISION.c.id == _NEWEST.c.latest))
    .order_by(ASSIGNMENT.c.id)
)


# Pairs on which reviewers differ go to an adjudicator, who begins with all that they have opened.
def disputes(store: Store, project: Project) -> list[Answered]:
    """Pairs that all their reviewers have decided, differently or not at all, and that no adjudicator has yet."""
    answers = answers_of(store, project)
    return [answered for answered in answers if answered.disputed and not answered.adjudications]


def adjudicate(
    ledger: Ledger,
    project: Project,
    adjudicator: str,
    *,
    actor: str,
    limits: Limits | None = None,
    pairs: Iterable[int] | None = None,
) -> int:
    """Give disputed pairs to an adjudicator: all of them, or these. Gives how many.

    They are shown the union of what the reviewers have opened, and it is charged to a budget of their own. Nobody
    adjudicates a pair that they have reviewed.
    """
    disputed = {answered.pair: answered for answered in disputes(ledger.store, project)}
    wanted = list(disputed) if pairs is None else list(pairs)
    if any(number not in disputed for number in wanted):
        raise UsageError("A pair is not disputed, or is adjudicated already.", remedy="See: discreet link status")
    chosen = [disputed[number] for number in wanted if adjudicator not in disputed[number].reviews]
    if wanted and not chosen:
        raise UsageError(
            f"All of these pairs were reviewed by '{adjudicator}'.",
            remedy="Choose an adjudicator who has not seen them.",
        )
    # By pair the furthest mode in which anybody has opened each cell.
    union: dict[int, dict[str, Mode]] = defaultdict(dict)
    cells = select(ASSIGNMENT.c.pair, CELL.c.attribute, CELL.c.mode).join(CELL, CELL.c.assignment == ASSIGNMENT.c.id)
    with ledger.store.reading() as connection:
        for row in connection.execute(cells.where(ASSIGNMENT.c.project == project.id)):
            if MODES.index(row.mode) > MODES.index(union[row.pair].get(row.attribute, "masked")):
                union[row.pair][row.attribute] = row.mode
    measured = [
        (answered.pair, reveal.measure_opened(project, answered.records, union[answered.pair])) for answered in chosen
    ]
    give(ledger, project, adjudicator, measured, actor=actor, limits=limits, role="adjudication")
    return len(chosen)
