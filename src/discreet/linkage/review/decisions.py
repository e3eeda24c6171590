"""What people have answered, pair by pair, and what follows from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from sqlalchemy import Connection, and_, func, select

from discreet.linkage.matching.pairs import Labels, Pairs
from discreet.linkage.project import Project
from discreet.linkage.review.assignment import WITHDRAWN
from discreet.linkage.review.views import CHOICES
from discreet.store import Store
from discreet.store.tables.linkage import ASSIGNMENT, DECISION, PAIR

Verdict = Literal["same", "different", "can't tell", "disputed", "open"]
SAME, DIFFERENT, CANNOT_TELL, DISPUTED, OPEN = "same", "different", "can't tell", "disputed", "open"


@dataclass(frozen=True)
class Answered:
    """One pair, and who has answered what. No value of a person."""

    pair: int
    records: tuple[int, int]
    probability: float | None
    reviews: Mapping[str, int | None] = field(default_factory=dict)
    """The choice of each reviewer who has it; None where she has not decided."""
    adjudications: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def answers(self) -> list[str]:
        """The answers of the reviewers, without how sure they are."""
        return [CHOICES[choice][0] for choice in self.reviews.values() if choice is not None]

    @property
    def complete(self) -> bool:
        """Whether everybody who reviews it has decided, and somebody does."""
        return bool(self.reviews) and None not in self.reviews.values()

    @property
    def disputed(self) -> bool:
        """Whether the reviewers differ, or cannot tell."""
        return self.complete and (len(set(self.answers)) > 1 or CANNOT_TELL in self.answers)

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
    """The same within somebody's transaction."""
    given: dict[int, dict[str, dict[str, int | None]]] = defaultdict(lambda: {"review": {}, "adjudication": {}})
    for row in connection.execute(_GIVEN.where(ASSIGNMENT.c.project == project.id)):
        if row.state != WITHDRAWN:
            given[row.pair][row.role][row.worker] = row.choice
    pairs = connection.execute(select(PAIR).where(PAIR.c.project == project.id).order_by(PAIR.c.number)).all()
    return [
        Answered(
            row.number,
            (row.first, row.second),
            row.probability,
            given[row.number]["review"],
            given[row.number]["adjudication"],
        )
        for row in pairs
    ]


def labels_of(answers: Sequence[Answered]) -> Labels:
    """What people have decided, for a model to learn from: pairs that are the same or different in the end."""
    known = [one for one in answers if one.verdict in (SAME, DIFFERENT)]
    first, second = ([one.records[side] for one in known] for side in (0, 1))
    pairs = Pairs.of(first, second, np.zeros(len(known)))
    return Labels(pairs, np.array([one.verdict == SAME for one in known], dtype=np.bool_))


_LATEST = select(DECISION.c.assignment, func.max(DECISION.c.id).label("latest")).group_by(DECISION.c.assignment)
_NEWEST = _LATEST.subquery()
_GIVEN = (
    select(ASSIGNMENT.c.pair, ASSIGNMENT.c.worker, ASSIGNMENT.c.role, ASSIGNMENT.c.state, DECISION.c.choice)
    .outerjoin(_NEWEST, _NEWEST.c.assignment == ASSIGNMENT.c.id)
    .outerjoin(DECISION, and_(DECISION.c.id == _NEWEST.c.latest))
    .order_by(ASSIGNMENT.c.id)
)
