"""Pair held by one reviewer: read with what is left of every limit, opened within the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlalchemy import Connection, and_, bindparam, case, func, insert, or_, select

from discreet.errors import BudgetExhausted, NotThere, Outdated
from discreet.linkage.masking.comparison import MODES, Mode
from discreet.linkage.masking.record_pair import State
from discreet.linkage.project import PROJECTS, Project, now
from discreet.linkage.review.views import CONDITIONS, Condition
from discreet.store.tables.ledger import BUDGET
from discreet.store.tables.linkage import ASSIGNMENT, CELL, DECISION, PAIR, PROJECT, WORKER
from discreet.store.transitions import StateMachine, update_one

WITHDRAWN = "withdrawn"
ASSIGNED = ("open", "decided")
"""States in which a reviewer sees the pair."""


def outdated() -> Outdated:
    """The refusal of a step that was chosen on a display that has changed since."""
    return Outdated(
        "This pair has changed since it was shown, perhaps in another window; nothing was opened or charged.",
        remedy="Look at it again, then repeat your choice.",
    )


ASSIGNMENTS = StateMachine(
    ASSIGNMENT, {"open": ("open", "decided", WITHDRAWN), "decided": ("open", "decided"), WITHDRAWN: ()}, outdated
)


class LimitPassed(BudgetExhausted):
    """A step would exceed a limit that the database itself guards."""

    def __init__(self, reason: str) -> None:
        super().__init__("A limit would be passed.")
        self.reason = reason


@dataclass(frozen=True)
class HeldPair:
    """A pair of one reviewer, with what is left of every limit."""

    assignment: int
    number: int
    role: str
    place: int
    version: int
    records: tuple[int, int]
    contribution: Fraction
    opened: dict[str, Mode]
    choice: int | None
    displays: int
    """Pairs that this reviewer holds, over which their risk is measured."""
    characters: int
    characters_shown: int
    risk_limit: str | None
    characters_limit: str | None
    closed: bool
    parts_spent: int
    left: dict[str, int | None]
    """Per limit of REFUSALS, the parts or characters left; None where there is no limit."""
    condition: Condition | None = None
    """The interface of a participant of a study."""

    def state(self, attributes: Sequence[str]) -> State:
        """The mode of every cell."""
        return tuple(self.opened.get(name, "masked") for name in attributes)

    def refusal(self, *, parts: int, characters: int) -> str | None:
        """The limit that a step would exceed."""
        if self.closed:
            return "closed"
        wanted = {"risk": parts, "characters": characters, "project risk": parts, "project characters": characters}
        exceeded = (name for name, left in self.left.items() if left is not None and wanted[name] > left)
        return next(exceeded, None)


@dataclass(frozen=True)
class PairPosition:
    """Where a pair is among those of its reviewer."""

    place: int
    pairs: int
    decided: int
    previous: int | None
    following: int | None


@dataclass(frozen=True)
class PairChange:
    """What a step does to a pair."""

    opened: Sequence[tuple[str, Mode]]
    contribution: Fraction
    parts: int
    characters: int


def read_held(connection: Connection, project: Project, worker: str, number: int) -> HeldPair:
    """A reviewer's pair; one error whether it does not exist or belongs to another reviewer."""
    row = connection.execute(_HELD, {"p": project.id, "w": worker, "n": number, "b": project.budget(worker)}).first()
    if row is None:
        raise not_there()
    opened: dict[str, Mode] = {}
    for attribute, mode in connection.execute(_CELLS, {"a": row.id}):
        if MODES.index(mode) > MODES.index(opened.get(attribute, "masked")):
            opened[attribute] = mode
    return HeldPair(
        assignment=row.id,
        number=number,
        role=row.role,
        place=row.place,
        version=row.version,
        records=(row.first, row.second),
        contribution=Fraction(row.contribution),
        opened=opened,
        choice=connection.execute(_CHOICE, {"a": row.id}).scalar(),
        displays=row.displays,
        characters=row.characters,
        characters_shown=row.characters_shown,
        risk_limit=row.risk_limit,
        characters_limit=row.characters_limit,
        closed=row.project_state != "open",
        parts_spent=row.spent,
        left={
            "risk": row.allowed - row.spent - row.reserved,
            "characters": _left(row.characters_allowed, row.characters_shown),
            "project risk": _left(row.project_risk, row.project_spent),
            "project characters": _left(row.project_allowed, row.project_shown),
        },
        condition=None if row.condition is None else CONDITIONS[row.condition],
    )


def read_position(connection: Connection, project: Project, worker: str, place: int) -> PairPosition:
    """Where a pair is among those of its reviewer."""
    row = connection.execute(_POSITION, {"p": project.id, "w": worker, "at": place}).one()
    return PairPosition(int(row.earlier) + 1, row.pairs, int(row.decided), row.previous, row.following)


def apply_change(connection: Connection, project: Project, worker: str, held: HeldPair, change: PairChange) -> None:
    """Open cells of an unchanged pair within every limit; an error undoes the entry too."""
    ASSIGNMENTS.move(
        connection,
        ASSIGNMENT.c.id == held.assignment,
        ASSIGNMENT.c.version == held.version,
        was=ASSIGNED,
        version=ASSIGNMENT.c.version + 1,
        contribution=str(change.contribution),
        characters_shown=ASSIGNMENT.c.characters_shown + change.characters,
    )
    count_worker(connection, project, worker, characters=change.characters)
    count_project(connection, project, parts=change.parts, characters=change.characters)
    write_cells(connection, [(held.assignment, name, mode) for name, mode in change.opened], reason="asked")


def count_worker(connection: Connection, project: Project, worker: str, *, characters: int) -> None:
    """Count what a reviewer is shown, if their limit allows it."""
    shown = WORKER.c.characters_shown + characters
    reviewer = (WORKER.c.project == project.id, WORKER.c.worker == worker)
    within = func.coalesce(WORKER.c.characters_allowed, shown) >= shown
    if not update_one(connection, WORKER, *reviewer, within, characters_shown=shown):
        raise LimitPassed("characters")


def count_project(connection: Connection, project: Project, *, parts: int, characters: int) -> None:
    """Count what all reviewers of a project are shown, if its limits allow it."""
    risk, shown = PROJECT.c.risk_spent + parts, PROJECT.c.characters_shown + characters
    within = (
        func.coalesce(PROJECT.c.risk_allowed, risk) >= risk,
        func.coalesce(PROJECT.c.characters_allowed, shown) >= shown,
    )
    this = PROJECT.c.id == project.id
    if PROJECTS.attempt(connection, this, *within, was=["open"], risk_spent=risk, characters_shown=shown):
        return
    row = connection.execute(select(PROJECT).where(this)).one()
    if row.state != "open":
        raise LimitPassed("closed")
    by_risk = row.risk_allowed is not None and row.risk_spent + parts > row.risk_allowed
    raise LimitPassed("project risk" if by_risk else "project characters")


def write_cells(connection: Connection, cells: Sequence[tuple[int, str, Mode]], *, reason: str) -> None:
    """Write down what is open from now on."""
    act = {"reason": reason, "at": now()}
    if cells:
        rows = [{"assignment": number, "attribute": name, "mode": mode, **act} for number, name, mode in cells]
        connection.execute(insert(CELL), rows)


def not_there() -> NotThere:
    """The error for a pair that does not exist and for one of another reviewer."""
    return NotThere("There is no such pair for you.", remedy="Go on with the pairs that were given to you.")


def _left(allowed: int | None, used: int) -> int | None:
    return None if allowed is None else allowed - used


_MINE = and_(
    ASSIGNMENT.c.project == bindparam("p"), ASSIGNMENT.c.worker == bindparam("w"), ASSIGNMENT.c.state != WITHDRAWN
)

_HELD = (
    select(
        ASSIGNMENT.c.id, ASSIGNMENT.c.role, ASSIGNMENT.c.place, ASSIGNMENT.c.version, ASSIGNMENT.c.contribution,
        PAIR.c.first, PAIR.c.second,
        WORKER.c.displays, WORKER.c.characters, WORKER.c.characters_shown, WORKER.c.characters_allowed,
        WORKER.c.risk_limit, WORKER.c.characters_limit, WORKER.c.condition,
        PROJECT.c.state.label("project_state"),
        PROJECT.c.risk_allowed.label("project_risk"), PROJECT.c.risk_spent.label("project_spent"),
        PROJECT.c.characters_allowed.label("project_allowed"), PROJECT.c.characters_shown.label("project_shown"),
        BUDGET.c.allowed, BUDGET.c.spent, BUDGET.c.reserved,
    )
    .join(PAIR, and_(PAIR.c.project == ASSIGNMENT.c.project, PAIR.c.number == ASSIGNMENT.c.pair))
    .join(WORKER, and_(WORKER.c.project == ASSIGNMENT.c.project, WORKER.c.worker == ASSIGNMENT.c.worker))
    .join(PROJECT, PROJECT.c.id == ASSIGNMENT.c.project)
    .join(BUDGET, BUDGET.c.name == bindparam("b"))
    # Participants of a study see pairs after consent, tutorial, practice and quiz, through whatever door they come.
    .where(_MINE, ASSIGNMENT.c.pair == bindparam("n"), or_(WORKER.c.stage.is_(None), WORKER.c.stage == "pairs"))
)  # fmt: skip

_CELLS = select(CELL.c.attribute, CELL.c.mode).where(CELL.c.assignment == bindparam("a"))
_CHOICE = (
    select(DECISION.c.choice).where(DECISION.c.assignment == bindparam("a")).order_by(DECISION.c.id.desc()).limit(1)
)
_BEFORE = select(ASSIGNMENT.c.pair).where(_MINE, ASSIGNMENT.c.place < bindparam("at"))
_AFTER = select(ASSIGNMENT.c.pair).where(_MINE, ASSIGNMENT.c.place > bindparam("at"))
_POSITION = select(
    func.count().label("pairs"),
    func.coalesce(func.sum(case((ASSIGNMENT.c.state == "decided", 1), else_=0)), 0).label("decided"),
    func.coalesce(func.sum(case((ASSIGNMENT.c.place < bindparam("at"), 1), else_=0)), 0).label("earlier"),
    _BEFORE.order_by(ASSIGNMENT.c.place.desc()).limit(1).correlate(None).scalar_subquery().label("previous"),
    _AFTER.order_by(ASSIGNMENT.c.place).limit(1).correlate(None).scalar_subquery().label("following"),
).where(_MINE)
