"""Release plans and packed copies in the store, and the content of a plan.

planned ──approve (another account)──▶ approved ──make──▶ making ──the job is done──▶ made
   ▲  └──reject──▶ rejected ─┐            │
   └─────────change──────────┴────────────┘          planned, approved, rejected ──withdraw──▶ withdrawn
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field
from sqlalchemy import Connection, Row, insert, select

from discreet.errors import DiscreetError
from discreet.releases.bait_release import BAIT_NAMES, BaitSettings
from discreet.releases.delivery.repository import StoredRelease
from discreet.releases.delivery.service import Registry
from discreet.releases.marks.codebook import Law
from discreet.releases.preconditions import AGREEMENT, Gates, check_names
from discreet.store.tables.web import ACCOUNT, PARCEL, PLAN
from discreet.store.transitions import StateMachine
from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.framework.context import Context
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import Problem

OPEN = ("planned", "approved", "making")
"""States of a plan that is still to be decided, made or finished."""
CHANGEABLE = ("planned", "approved", "rejected")
NOT_PLANNED = "The release is not planned yet"


def too_late() -> Problem:
    """Another custodian was quicker, or the form is an old one."""
    words = "This plan has changed since you saw it: another custodian changed it or decided on it."
    return Problem(409, words, remedy="Look at it again, then decide.")


PLANS = StateMachine(
    PLAN,
    {
        "planned": ("planned", "approved", "rejected", "withdrawn"),
        "approved": ("planned", "making", "withdrawn"),
        "rejected": ("planned", "withdrawn"),
        "making": ("made", "planned", "withdrawn"),
        "made": (),
        "withdrawn": (),
    },
    too_late,
)
"""A plan whose copies are being made goes back only where they were refused before anything was sealed."""


@dataclass(frozen=True)
class StoredPlan:
    """A planned release, or further recipients of one, and its state."""

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
        """The subject of ledger entries about it."""
        return f"release:{self.release}/plan:{self.id}"

    @property
    def recipients(self) -> tuple[str, ...]:
        """Who is to get a copy."""
        return tuple(self.content["recipients"])

    @property
    def ready(self) -> bool:
        """Can it be decided on: is the pre-flight of exactly this plan known?"""
        return self.state == "planned" and self.preflight is not None

    @property
    def seen(self) -> str:
        """What an approver has seen: the plan and its pre-flight, in one hash."""
        shown = json.dumps(self.preflight, sort_keys=True)
        return hashlib.sha256(f"{self.version}:{self.digest}:{shown}".encode()).hexdigest()


_DECIDER = ACCOUNT.alias("decided_by")
_PLANS = (
    select(PLAN, ACCOUNT.c.name.label("planner"), _DECIDER.c.name.label("decider_name"))
    .join(ACCOUNT, ACCOUNT.c.id == PLAN.c.account)
    .outerjoin(_DECIDER, _DECIDER.c.id == PLAN.c.decider)
)


def _plan_of(row: Row[Any]) -> StoredPlan:
    parsed = {
        "content": json.loads(row.content),
        "preflight": None if row.preflight is None else json.loads(row.preflight),
        "decider": row.decider_name,
    }
    plain = [name for name in StoredPlan.__dataclass_fields__ if name not in parsed]
    return StoredPlan(**{name: getattr(row, name) for name in plain}, **parsed)


def find(connection: Connection, number: int) -> StoredPlan | None:
    """By number."""
    row = connection.execute(_PLANS.where(PLAN.c.id == number)).one_or_none()
    return None if row is None else _plan_of(row)


def everything(
    connection: Connection, *, release: str | None = None, states: Sequence[str] = (), dataset: int | None = None
) -> list[StoredPlan]:
    """Plans, the newest first."""
    wanted = _PLANS.order_by(PLAN.c.id.desc())
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
    values = {**_columns(content), "kind": kind, "version": 1, "state": "planned"}
    made = insert(PLAN).values(**values, account=account, changed=now, entry=entry)
    return int(connection.execute(made.returning(PLAN.c.id)).scalar_one())


def change(
    connection: Connection,
    plan: StoredPlan,
    content: dict[str, Any],
    *,
    was: Sequence[str],
    plan_version: int,
    account: int,
    now: str,
    entry: int,
) -> None:
    """Plan something else instead; an earlier approval or rejection is dropped."""
    _refuse_second(connection, content["release"], but=plan.id)
    new = {**_columns(content), "version": plan_version + 1, "account": account, "changed": now, "entry": entry}
    new |= dict.fromkeys(("preflight", "decider", "decided", "reason"))
    same = (PLAN.c.id == plan.id, PLAN.c.version == plan_version)
    PLANS.move(connection, *same, to="planned", was=was, **new)


def keep_preflight(connection: Connection, number: int, digest: str, preflight: dict[str, Any]) -> None:
    """Store the pre-flight of a plan that has not been changed since."""
    same, words = (PLAN.c.id == number, PLAN.c.digest == digest), json.dumps(preflight, sort_keys=True)
    PLANS.attempt(connection, *same, was=["planned"], preflight=words)


def decide(connection: Connection, plan: StoredPlan, state: str, *, account: int, now: str, reason: str | None) -> None:
    """Approve or reject another's plan as it was seen, unless it has changed since."""
    row = connection.execute(_PLANS.where(PLAN.c.id == plan.id)).one()
    if _plan_of(row).seen != plan.seen or row.account == account:
        raise too_late()
    move(connection, plan, state, was=["planned"], decider=account, decided=now, reason=reason)


def move(connection: Connection, plan: StoredPlan, state: str, *, was: Sequence[str] | None = None, **new: Any) -> None:
    """To another state, if its own allows that and it has not changed."""
    PLANS.move(connection, PLAN.c.id == plan.id, PLAN.c.version == plan.version, to=state, was=was, **new)


def _refuse_second(connection: Connection, release: str, *, but: int | None = None) -> None:
    open_plans = select(PLAN.c.id).where(PLAN.c.release == release, PLAN.c.state.in_(OPEN))
    if any(number != but for number in connection.execute(open_plans).scalars().all()):
        remedy = "Finish or withdraw that plan first, or choose another name."
        raise Problem(409, "There is already an open plan for a release of this name.", remedy=remedy)


def _columns(content: dict[str, Any]) -> dict[str, Any]:
    """What is planned as columns of a row, with its SHA-256."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"release": content["release"], "dataset": content["dataset"], "content": text, "digest": digest}


# -- packed copies: one file per recipient, ready to be handed over --------------------------------------------------------


@dataclass(frozen=True)
class PackedCopy:
    """One recipient's copy in one file: the data, a README and the agreement."""

    release: str
    version: int
    recipient: str
    file: str
    digest: str
    size: int


def keep_packed(connection: Connection, copy: PackedCopy, *, plan: int, now: str) -> None:
    """Record a packed copy in the folder."""
    connection.execute(insert(PARCEL).values(**copy.__dict__, plan=plan, made=now))


def packed_copies(connection: Connection, kept: StoredRelease) -> dict[str, PackedCopy]:
    """The packed copies of a version, by recipient."""
    rows = connection.execute(select(PARCEL).where(PARCEL.c.release == kept.name, PARCEL.c.version == kept.version))
    names = PackedCopy.__dataclass_fields__
    return {row.recipient: PackedCopy(**{name: getattr(row, name) for name in names}) for row in rows}


# -- what is planned: a release, or further recipients of one; pages and the API share this --------------------------------

MOST_RECIPIENTS = 500
LONGEST_AGREEMENT = 20_000
FORMATS = ("parquet", "csv", "csv.gz")
Name = Annotated[str, Field(min_length=1, max_length=64)]
Answer = Annotated[str, Field(max_length=500)]
Number = Annotated[int, Field(ge=0, le=10**17)]


class NewPlan(Strict):
    """A release to be planned. Nothing is made before another custodian has approved it."""

    name: Name
    dataset: Number
    """The data set that copies are made of; its policy says what each column is."""
    population: Number
    """The data set of the people among whom an attacker searches: rows, or counts."""
    recipients: list[Name] = Field(min_length=1, max_length=MOST_RECIPIENTS)
    k: int = Field(default=5, ge=2, le=10**6)
    suppression: float = Field(default=0.1, ge=0, le=1)
    levels: dict[str, Annotated[int, Field(ge=0, le=1_000)]] | None = Field(default=None, max_length=500)
    """Taken as given, instead of searched: the levels of a table that was made before."""
    law: Annotated[str, Field(min_length=1, max_length=80)] = "0.2/0.5"
    mode: Literal["marks", "bait"] = "marks"
    """Marks, or decoys as published (AnonTokens) against recipients without a list of the population."""
    decoys: Annotated[int | None, Field(ge=1, le=10**4)] = None
    """Bait: decoy classes per recipient [10]."""
    removal: Literal["random", "size", "risk"] | None = None
    """Bait: which real classes hide decoys [risk]."""
    budget: Annotated[float | None, Field(ge=0, le=1)] = None
    """Bait: the share of classes that a copy may lose [0.05]."""
    least_factor: Annotated[float | None, Field(ge=1, le=10**6)] = None
    """Bait: the least risk multiplication factor [1]."""
    most_factor: Annotated[float | None, Field(ge=1, le=10**6)] = None
    """Bait: the largest one [none]."""
    format: Literal["parquet", "csv", "csv.gz"] = "parquet"
    population_source: Answer = ""
    population_licence: Answer = ""
    counts_only: bool = False
    sign_off: Answer = ""
    agreement: Annotated[str, Field(max_length=LONGEST_AGREEMENT)] = AGREEMENT
    force: bool = False
    """Proceed with fewer than 30 marks, or with detectable decoys."""


class MoreRecipients(Strict):
    """Further recipients; another custodian must approve them as well."""

    recipients: list[Name] = Field(min_length=1, max_length=MOST_RECIPIENTS)


def content_of(context: Context, wanted: NewPlan) -> dict[str, Any]:
    """Everything that is planned, including the policy, as it will be approved."""
    try:
        check_names([wanted.name], "release")
        check_names(wanted.recipients, "recipient")
        Law.parse(wanted.law)
        BaitSettings.checked(wanted.mode, {name: getattr(wanted, name) for name in BAIT_NAMES})
        Gates(
            population_source=wanted.population_source.strip(),
            population_licence=wanted.population_licence.strip(),
            counts_only=wanted.counts_only,
            sign_off=wanted.sign_off.strip(),
            agreement=wanted.agreement,
        ).check()
    except DiscreetError as error:
        raise Problem(422, error.problem, remedy=error.remedy, title=NOT_PLANNED) from None
    with context.site.store.reading() as connection:
        data, population = (datasets.find(connection, number) for number in (wanted.dataset, wanted.population))
    if data is None or population is None:
        raise Problem(422, "There is no such data set.", remedy="Choose the data and their population from the list.")
    if data.id == population.id:
        raise Problem(422, "The population must be another data set than the data.", remedy="Choose another one.")
    lacking = "No column of the data is a quasi-identifier, so decoys cannot be placed."
    text, policy = policies.with_quasi(context.site.store, data, otherwise=lacking)
    policies.require_declared(policy, data.columns)
    policies.require_confirmed(policy)
    if Registry(context.site.ledger).find(wanted.name) is not None:
        remedy = "Add recipients on its page, or choose another name."
        raise Problem(409, "There is a release of this name already.", remedy=remedy, title=NOT_PLANNED)
    return {
        **wanted.model_dump(exclude={"name", "dataset", "population"}),
        "release": wanted.name,
        "dataset": data.id,
        "dataset_name": data.name,
        "population": population.id,
        "population_name": population.name,
        "policy": text,
        "policy_digest": policy.digest,
    }
