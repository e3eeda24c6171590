"""Plans as the store keeps them.

    planned ──approve (another account)──▶ approved ──make──▶ making ──the job is done──▶ made
       ▲  └──reject──▶ rejected ─┐            │
       └─────────change──────────┴────────────┘          planned, approved, rejected ──withdraw──▶ withdrawn

Every change is one statement that says what it found before, so that of two who act at once one comes too late.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from discreet.store.tables.releases import PLAN
from discreet.store.tables.web import ACCOUNT
from discreet.web.framework.problems import Problem
from discreet.web.releasing.content import digest_of

OPEN = ("planned", "approved", "making")
"""States in which something is still to come of it."""
CHANGEABLE = ("planned", "approved", "rejected")
WORDS = {
    "planned": "awaits approval",
    "approved": "approved, not made yet",
    "rejected": "rejected",
    "withdrawn": "withdrawn",
    "making": "copies are being made",
    "made": "copies are made",
}
"""What each state means."""


@dataclass(frozen=True)
class Plan:
    """What somebody planned, and what became of it."""

    id: int
    release: str
    kind: str
    dataset: int
    content: dict[str, Any] = field(repr=False)
    digest: str
    version: int
    state: str
    account: int
    planner: str
    changed: str
    entry: int
    """How many entries the ledger had when it was planned or last changed."""
    preflight: dict[str, Any] | None = field(repr=False)
    decider: str | None
    decided: str | None
    reason: str | None

    @property
    def subject(self) -> str:
        """What the ledger calls it."""
        return f"release:{self.release}/plan:{self.id}"

    @property
    def recipients(self) -> tuple[str, ...]:
        """Who is to get a copy."""
        return tuple(self.content["recipients"])

    @property
    def ready(self) -> bool:
        """Can it be decided on: was it looked at what would come of exactly this?"""
        return self.state == "planned" and self.preflight is not None

    @property
    def seen(self) -> str:
        """What somebody who approves has before their eyes: the plan and its pre-flight, in one hash."""
        shown = json.dumps(self.preflight, sort_keys=True)
        return hashlib.sha256(f"{self.version}:{self.digest}:{shown}".encode()).hexdigest()


_DECIDER = ACCOUNT.alias("decider")
_WHOLE = (
    select(PLAN, ACCOUNT.c.name.label("planner"), _DECIDER.c.name.label("decider_name"))
    .join(ACCOUNT, ACCOUNT.c.id == PLAN.c.account)
    .outerjoin(_DECIDER, _DECIDER.c.id == PLAN.c.decider)
)


def _plan_of(row: Row[Any]) -> Plan:
    return Plan(
        id=row.id,
        release=row.release,
        kind=row.kind,
        dataset=row.dataset,
        content=json.loads(row.content),
        digest=row.digest,
        version=row.version,
        state=row.state,
        account=row.account,
        planner=row.planner,
        changed=row.changed,
        entry=row.entry,
        preflight=None if row.preflight is None else json.loads(row.preflight),
        decider=row.decider_name,
        decided=row.decided,
        reason=row.reason,
    )


def find(connection: Connection, number: int) -> Plan | None:
    """By number."""
    row = connection.execute(_WHOLE.where(PLAN.c.id == number)).one_or_none()
    return None if row is None else _plan_of(row)


def everything(
    connection: Connection, *, release: str | None = None, states: Sequence[str] = (), dataset: int | None = None
) -> list[Plan]:
    """Plans, the newest first."""
    wanted = _WHOLE.order_by(PLAN.c.id.desc())
    if release is not None:
        wanted = wanted.where(PLAN.c.release == release)
    if states:
        wanted = wanted.where(PLAN.c.state.in_(states))
    if dataset is not None:
        wanted = wanted.where(PLAN.c.dataset == dataset)
    return [_plan_of(row) for row in connection.execute(wanted)]


def add(connection: Connection, *, kind: str, content: dict[str, Any], account: int, now: str, entry: int) -> int:
    """A new plan; a release has one open plan at a time."""
    _refuse_second(connection, content["release"])
    values = {"release": content["release"], "kind": kind, "dataset": content["dataset"], **_written(content)}
    made = insert(PLAN).values(**values, version=1, state="planned", account=account, changed=now, entry=entry)
    return int(connection.execute(made.returning(PLAN.c.id)).scalar_one())


def change(
    connection: Connection,
    plan: Plan,
    content: dict[str, Any],
    *,
    was: Sequence[str],
    version: int,
    account: int,
    now: str,
    entry: int,
) -> None:
    """Plan something else instead. Whatever was approved or rejected is forgotten: it was about something else."""
    _refuse_second(connection, content["release"], but=plan.id)
    new = {**_written(content), "release": content["release"], "dataset": content["dataset"], "version": version + 1}
    new |= {"state": "planned", "account": account, "changed": now, "entry": entry, "preflight": None}
    new |= {"decider": None, "decided": None, "reason": None}
    _move(connection, plan.id, new, was=was, version=version)


def keep_preflight(connection: Connection, number: int, digest: str, preflight: dict[str, Any]) -> None:
    """What would come of a plan, if it is still the one that was looked at."""
    mine = (PLAN.c.id == number, PLAN.c.digest == digest, PLAN.c.state == "planned")
    connection.execute(update(PLAN).where(*mine).values(preflight=json.dumps(preflight, sort_keys=True)))


def decide(connection: Connection, plan: Plan, state: str, *, account: int, now: str, reason: str | None) -> None:
    """Approve or reject what was looked at; never one's own, and never something that has changed since."""
    row = connection.execute(_WHOLE.where(PLAN.c.id == plan.id)).one()
    if _plan_of(row).seen != plan.seen or row.account == account:
        raise too_late()
    new = {"state": state, "decider": account, "decided": now, "reason": reason}
    _move(connection, plan.id, new, was=("planned",), version=plan.version)


def move(connection: Connection, plan: Plan, state: str, *, was: Sequence[str]) -> None:
    """To another state, if it is in one of these and nobody has changed it."""
    _move(connection, plan.id, {"state": state}, was=was, version=plan.version)


def _move(connection: Connection, number: int, new: dict[str, Any], *, was: Sequence[str], version: int) -> None:
    mine = (PLAN.c.id == number, PLAN.c.version == version, PLAN.c.state.in_(was))
    if connection.execute(update(PLAN).where(*mine).values(new)).rowcount != 1:
        raise too_late()


def _refuse_second(connection: Connection, release: str, *, but: int | None = None) -> None:
    open_ones = select(PLAN.c.id).where(PLAN.c.release == release, PLAN.c.state.in_(OPEN))
    if but is not None:
        open_ones = open_ones.where(PLAN.c.id != but)
    if connection.execute(open_ones.limit(1)).scalar() is not None:
        raise Problem(
            409,
            "Something is planned for a release of this name already.",
            remedy="Finish or withdraw that plan first, or choose another name.",
        )


def _written(content: dict[str, Any]) -> dict[str, Any]:
    return {"content": json.dumps(content, sort_keys=True, ensure_ascii=False), "digest": digest_of(content)}


def too_late() -> Problem:
    """Somebody was quicker, or the form is an old one."""
    return Problem(
        409,
        "This plan is not as you saw it: somebody changed it or decided on it meanwhile.",
        remedy="Look at it again, then decide.",
    )
