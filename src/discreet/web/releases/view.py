"""View of releases: recipients and the state of each copy, and the pre-flight in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from sqlalchemy import Connection

from discreet.ledger import Entry
from discreet.releases.decoys.detectability import WARN, either_way
from discreet.releases.delivery import repository
from discreet.releases.delivery.repository import StoredRelease
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.plan import ESCAPES, RECOGNISED
from discreet.releases.power import ALPHA
from discreet.report.toolkit.words import plural
from discreet.web import ledger as ledger_store
from discreet.web.ledger import EntrySearch
from discreet.web.releases import store as plans
from discreet.web.releases import tracing
from discreet.web.releases.store import OPEN, StoredPlan
from discreet.wording import percent

CopyState = Literal["planned", "approved", "delivered", "retired"]
STEPS: tuple[CopyState, ...] = ("planned", "approved", "delivered", "retired")
"""The columns, in order."""
MOST_ENTRIES = 500


@dataclass(frozen=True)
class CopyStep:
    """When and by whom a copy reached a state."""

    when: str
    who: str
    entry: int | None = None


@dataclass(frozen=True)
class RecipientRow:
    """One recipient and the states of their copy."""

    recipient: str
    state: CopyState
    steps: Mapping[str, CopyStep]
    ready: bool = False
    """Is there a packed copy to hand over?"""
    rows: int | None = None
    file: str | None = None


@dataclass(frozen=True)
class ReleaseBoard:
    """One release: recipients as rows, states of their copies as columns."""

    name: str
    kept: StoredRelease | None
    """None before it is sealed."""
    plans: tuple[StoredPlan, ...]
    rows: tuple[RecipientRow, ...]
    traces: int
    history: tuple[Entry, ...] = field(repr=False)

    @property
    def open(self) -> StoredPlan | None:
        """The plan that is not finished, if there is one."""
        return next((plan for plan in self.plans if plan.state in OPEN), None)

    @property
    def first(self) -> StoredPlan | None:
        """The plan by which it was made, or is to be made."""
        return next((plan for plan in reversed(self.plans) if plan.state in (*OPEN, "made")), None)

    @property
    def touched(self) -> int:
        """The number of the last entry about it, other than that it was read."""
        return next((entry.sequence for entry in self.history if entry.event != "web.shown"), 0)

    def number(self, state: str) -> int:
        """Copies in a state."""
        return sum(row.state == state for row in self.rows)


def boards(connection: Connection) -> list[ReleaseBoard]:
    """All releases, those with an open plan first, then the last changed.

    A withdrawn plan alone is no release.
    """
    kept = {release.name: release for release in repository.every_one(connection)}
    planned: dict[str, list[StoredPlan]] = {}
    for plan in plans.everything(connection):
        planned.setdefault(plan.release, []).append(plan)
    alive = [name for name, known in planned.items() if any(plan.state in (*OPEN, "rejected") for plan in known)]
    names = dict.fromkeys((*kept, *alive))
    found = [_board(connection, name, kept.get(name), planned.get(name, [])) for name in names]
    return sorted(found, key=lambda board: (board.open is not None, board.touched), reverse=True)


def board(connection: Connection, name: str) -> ReleaseBoard | None:
    """One release; None if nothing is known of it."""
    kept, planned = repository.find(connection, name), plans.everything(connection, release=name)
    return None if kept is None and not planned else _board(connection, name, kept, planned)


def _board(
    connection: Connection, name: str, kept: StoredRelease | None, planned: Sequence[StoredPlan]
) -> ReleaseBoard:
    history = ledger_store.newest(connection, EntrySearch(subject=f"release:{name}"), most=MOST_ENTRIES).entries
    packed = plans.packed_copies(connection, kept) if kept else {}
    rows = [_row(copy, planned, history, copy.recipient in packed) for copy in kept.copies] if kept else []
    known = {row.recipient for row in rows}
    for plan in planned:
        if plan.state in OPEN:
            state: CopyState = "planned" if plan.state == "planned" else "approved"
            rows += [RecipientRow(name, state, _of_plan(plan)) for name in plan.recipients if name not in known]
    return ReleaseBoard(name, kept, tuple(planned), tuple(rows), tracing.number_of(connection, name), history)


def _row(copy: repository.Copy, planned: Sequence[StoredPlan], history: Sequence[Entry], packed: bool) -> RecipientRow:
    name = copy.recipient
    plan = next((plan for plan in planned if name in plan.recipients and plan.state in (*OPEN, "made")), None)
    steps = _of_plan(plan) if plan else {}
    for state, event in (("delivered", "releases.delivered"), ("retired", "releases.retired")):
        about = f"/recipient:{name}"
        entry = next((entry for entry in history if entry.event == event and entry.subject.endswith(about)), None)
        if entry is not None:
            steps[state] = CopyStep(entry.time, entry.actor, entry.sequence)
    sealed = next((entry for entry in reversed(history) if entry.event == "releases.sealed"), None)
    if plan is None and sealed is not None:
        first = "planned" if copy.state == "planned" else "approved"
        steps[first] = CopyStep(sealed.time, sealed.actor, sealed.sequence)
    ready = packed and copy.state != "retired"
    return RecipientRow(name, cast(CopyState, copy.state), steps, ready, copy.rows, copy.file)


def _of_plan(plan: StoredPlan) -> dict[str, CopyStep]:
    steps = {"planned": CopyStep(plan.changed, plan.planner)}
    if plan.decided and plan.decider and plan.state not in ("planned", "rejected"):
        steps["approved"] = CopyStep(plan.decided, plan.decider)
    return steps


def entry_words(entry: Entry) -> str:
    """An entry about a release in a few words, after the name of who acted."""
    details, event = entry.details, entry.event
    recipient = entry.subject.rpartition("/recipient:")[2] if "/recipient:" in entry.subject else ""
    if entry.outcome == "refused":
        verb = "approve" if event == "web.approved" else "reject"
        return f"was not allowed to {verb} it ({details.get('why', '')})"
    match event:
        case "releases.planned":
            act = details.get("act")
            return "ran the pre-flight" if act == "looked ahead" else f"{act} it"
        case "web.approved":
            return f"approved the plan of {details['planned_by']}" if "planned_by" in details else "approved it"
        case "web.rejected":
            return f"rejected the plan of {details.get('planned_by')}"
        case "releases.sealed":
            return f"sealed the manifest for {details.get('recipients')} recipients"
        case "releases.made":
            return f"made {details.get('copies')} copies"
        case "releases.delivered":
            return f"handed over the copy of {recipient}"
        case "releases.retired":
            return f"retired {recipient}"
        case "releases.traced":
            return f"traced {details.get('kind')}; accused: {details.get('accused') or 'nobody'}"
        case "web.shown":
            return "read the evidence of a trace"
    return event


# -- the pre-flight in words: a figure and a sentence for each thing to decide on -----------------------------------------


@dataclass(frozen=True)
class PreflightLine:
    """A figure, its name, what it means, and whether it needs attention."""

    figure: str
    name: str
    says: str
    caution: bool = False


def preflight_lines(found: dict[str, Any]) -> list[PreflightLine]:
    """The pre-flight, from what it costs people to what can be traced."""
    return list(_lines(found))


def _lines(found: dict[str, Any]) -> Iterator[PreflightLine]:
    if "records" in found:
        says = (
            f"{found['released']:,} of {found['records']:,} people can be released, in {found['classes']:,} classes of at "
            f"least {found['k']} people who look alike; {found['suppressed']:,} are left out of all copies."
        )
        yield PreflightLine(percent(found["released"] / found["records"]), "of people released", says)
    yield _marks(found)
    if "rows_lost" in found:
        says = (
            "On average a copy lacks this share of the released rows, and hardly ever more than "
            f"{percent(found['most_lost'])}, however many recipients there are."
        )
        yield PreflightLine(percent(found["rows_lost"]), "of rows lost", says)
        says = "In an average copy no value of any column changes its share of all rows by more; a rare value may still lose most of its people."
        yield PreflightLine(percent(found["largest_shift"]), "largest shift", says)
        yield _detectability(found)
    yield _claims(found)
    yield _coalition(found)


def _marks(found: dict[str, Any]) -> PreflightLine:
    marks, few = found["marks"], found["marks"] < FEWEST_MARKS
    if "pairs" not in found:
        says = "The same as in the existing copies: a further recipient changes no other copy."
    else:
        says = (
            f"{marks // 2:,} classes of people that a copy may lack, and as many decoy classes that it may contain, out of "
            f"{plural(found['pairs'], 'pair', 'pairs')} of about the same size and link count."
        )
    if few:
        says += f" Below {FEWEST_MARKS} a leak can hardly be traced."
    return PreflightLine(f"{marks:,}", "marks", says, few)


def _detectability(found: dict[str, Any]) -> PreflightLine:
    auc = either_way(found["auc"])
    detectable = auc > max(WARN, found["floor"])
    says = f"How well a classifier distinguishes decoys from real classes: 0.5 is guessing, and up to {found['floor']:.2f} may be chance."
    if detectable:
        says += " A recipient who tries may find some of the decoys."
    return PreflightLine(f"{auc:.2f}", "classifier (AUC)", f"{says} {RECOGNISED}", detectable)


def _claims(found: dict[str, Any]) -> PreflightLine:
    if found["claims"] is None:
        says = "There are too few marks: half of all single leakers would never be identified, however many people they claim."
        return PreflightLine("never", "claims until identified", says, caution=True)
    says = (
        "This many claims of re-identified people, the riskiest first, identify a single leaker in half of all cases; an "
        f"innocent recipient is accused in at most {percent(ALPHA)} of releases."
    )
    return PreflightLine(f"{found['claims']:.0f}", "claims until identified", says)


def _coalition(found: dict[str, Any]) -> PreflightLine:
    most, among = found["coalition"], plural(found["recipients"], "recipient", "recipients")
    needed = found["needed"][most] if most < len(found["needed"]) else None
    further = f" {needed:,} marks would be needed for {'one' if not most else most + 1}." if needed else ""
    if not most:
        says = f"A leaked copy identifies none of {among} with confidence.{further}"
        return PreflightLine("0", "leakers traced", says, caution=True)
    if most == 1:
        says = f"An unaltered copy identifies a leaker who acts alone among {among}; two who collude may escape.{further} {ESCAPES}"
        return PreflightLine("1", "leaker at a time", says)
    says = (
        f"Copies combined in one of the five ways that were simulated identify one of up to {most} colluding recipients among "
        f"{among}.{further} {ESCAPES}"
    )
    return PreflightLine(f"{most}", "may collude", says)
