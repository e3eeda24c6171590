"""Release desk: every release, its recipients, and the state of each copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from sqlalchemy import Connection

from discreet.ledger import Entry
from discreet.releases.delivery import repository
from discreet.releases.delivery.repository import Kept
from discreet.web.ledger import store as ledger_store
from discreet.web.ledger.store import Wanted
from discreet.web.releases import delivery, tracing
from discreet.web.releases import store as plans
from discreet.web.releases.store import OPEN, Plan

CopyState = Literal["planned", "approved", "delivered", "retired"]
STEPS: tuple[CopyState, ...] = ("planned", "approved", "delivered", "retired")
"""The columns, in order."""
MOST_ENTRIES = 500


@dataclass(frozen=True)
class Step:
    """That a copy has come so far."""

    when: str
    who: str
    entry: int | None = None


@dataclass(frozen=True)
class Row:
    """One recipient."""

    recipient: str
    state: CopyState
    steps: Mapping[str, Step]
    ready: bool = False
    """Does a packed copy lie here?"""
    rows: int | None = None
    file: str | None = None

    @property
    def waits(self) -> str:
        """What comes next, in words; empty where nothing does."""
        return {"planned": "waits for another custodian"}.get(self.state, "")


@dataclass(frozen=True)
class Board:
    """One release."""

    name: str
    kept: Kept | None
    """None before it is sealed."""
    plans: tuple[Plan, ...]
    rows: tuple[Row, ...]
    traces: int
    history: tuple[Entry, ...] = field(repr=False)

    @property
    def open(self) -> Plan | None:
        """What is planned and not finished, if anything is."""
        return next((plan for plan in self.plans if plan.state in OPEN), None)

    @property
    def first(self) -> Plan | None:
        """The plan that it was made by, or is to be."""
        return next((plan for plan in reversed(self.plans) if plan.state in (*OPEN, "made")), None)

    @property
    def touched(self) -> int:
        """The last entry about it, other than that somebody looked."""
        return next((entry.sequence for entry in self.history if entry.event != "web.shown"), 0)

    def number(self, state: str) -> int:
        """Copies in a state."""
        return sum(row.state == state for row in self.rows)


def boards(connection: Connection) -> list[Board]:
    """Everything, what waits for somebody first, then what was touched last; what was withdrawn alone is no release."""
    kept = {one.name: one for one in repository.every_one(connection)}
    planned: dict[str, list[Plan]] = {}
    for plan in plans.everything(connection):
        planned.setdefault(plan.release, []).append(plan)
    names = [name for name in {**kept, **planned} if name in kept or _alive(planned[name])]
    found = [_board(connection, name, kept.get(name), planned.get(name, [])) for name in names]
    return sorted(found, key=lambda board: (board.open is not None, board.touched), reverse=True)


def board(connection: Connection, name: str) -> Board | None:
    """One release; None if nothing is known of it."""
    kept, planned = repository.find(connection, name), plans.everything(connection, release=name)
    return None if kept is None and not planned else _board(connection, name, kept, planned)


def _alive(planned: Sequence[Plan]) -> bool:
    return any(plan.state in (*OPEN, "rejected") for plan in planned)


def _board(connection: Connection, name: str, kept: Kept | None, planned: Sequence[Plan]) -> Board:
    history = ledger_store.newest(connection, Wanted(subject=f"release:{name}"), most=MOST_ENTRIES).entries
    there = delivery.of_release(connection, kept) if kept else {}
    rows = [_row(copy, planned, history, copy.recipient in there) for copy in kept.copies] if kept else []
    known = {row.recipient for row in rows}
    for plan in planned:
        if plan.state in OPEN:
            rows += [_planned(name, plan) for name in plan.recipients if name not in known]
    return Board(name, kept, tuple(planned), tuple(rows), tracing.number_of(connection, name), history)


def _row(copy: repository.Copy, planned: Sequence[Plan], history: Sequence[Entry], packed: bool) -> Row:
    name = copy.recipient
    plan = next((one for one in planned if name in one.recipients and one.state in (*OPEN, "made")), None)
    steps = _of_plan(plan) if plan else {}
    for state, event in (("delivered", "releases.delivered"), ("retired", "releases.retired")):
        entry = next((one for one in history if one.event == event and _about(one, name)), None)
        if entry is not None:
            steps[state] = Step(entry.time, entry.actor, entry.sequence)
    sealed = next((one for one in reversed(history) if one.event == "releases.sealed"), None)
    if plan is None and sealed is not None:
        first = "planned" if copy.state == "planned" else "approved"
        steps[first] = Step(sealed.time, sealed.actor, sealed.sequence)
    return Row(name, cast(CopyState, copy.state), steps, packed and copy.state != "retired", copy.rows, copy.file)


def _planned(name: str, plan: Plan) -> Row:
    return Row(name, "planned" if plan.state == "planned" else "approved", _of_plan(plan))


def _of_plan(plan: Plan) -> dict[str, Step]:
    steps = {"planned": Step(plan.changed, plan.planner)}
    if plan.decided and plan.decider and plan.state not in ("planned", "rejected"):
        steps["approved"] = Step(plan.decided, plan.decider)
    return steps


def _about(entry: Entry, recipient: str) -> bool:
    return entry.subject.endswith(f"/recipient:{recipient}")


def told(entry: Entry) -> str:
    """An entry about a release in a few words."""
    details, event = entry.details, entry.event
    whom = entry.subject.rpartition("/recipient:")[2] if "/recipient:" in entry.subject else ""
    if entry.outcome == "refused":
        return f"was refused: {'approving' if event == 'web.approved' else 'rejecting'} ({details.get('why', '')})"
    match event:
        case "releases.planned":
            what = details.get("act")
            return {"looked ahead": "saw what would come of it"}.get(str(what), f"{what} it")
        case "web.approved":
            return (
                f"approved what {details.get('planned_by')} had planned" if "planned_by" in details else "approved it"
            )
        case "web.rejected":
            return f"rejected what {details.get('planned_by')} had planned"
        case "releases.sealed":
            return f"sealed the manifest for {details.get('recipients')} recipients"
        case "releases.made":
            return f"had {details.get('copies')} copies made"
        case "releases.delivered":
            return f"handed over the copy of {whom}"
        case "releases.retired":
            return f"retired {whom}"
        case "releases.traced":
            return f"traced {details.get('kind')}; accused: {details.get('accused') or 'nobody'}"
        case "web.shown":
            return "read the evidence of a trace"
    return event
