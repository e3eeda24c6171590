"""What the API takes and gives about database users behind a gateway. Exposures and limits are exact, as decimal text."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.store.gateway_limits import Action
from discreet.web.framework.models import Strict
from discreet.web.gateway.limits import LONGEST_REASON


class UserModel(Strict):
    """A database user, and what the ledger tells of her."""

    id: int
    database: str
    name: str
    exposure: str
    """After the last result."""
    limit: str | None
    rule: str
    """What set the limit: `misuse.limit`, `gateway.limits 2`, `agreed 7`; empty where nothing is known."""
    percent: int | None
    """How much of the limit is used, rounded up."""
    answers: int
    repeated: int
    """Results that told nothing new."""
    refused: int
    would: int
    """In shadow mode: how often she would have been refused, or a result reduced."""
    over: int
    """Results that were let through although they were above the limit."""
    seen: str


class Users(Strict):
    """Some users, the most exposed first."""

    users: list[UserModel]
    page: int
    pages: int
    total: int


class ResultModel(Strict):
    """A result or a refusal. It holds no value of any person and no text of a statement."""

    reference: str
    entry: int
    time: str
    database: str
    user: str
    outcome: Literal["given", "refused", "would"]
    decision: str
    rows: int
    columns: list[str]
    before: str | None
    after: str | None
    limit: str | None
    rule: str
    reason: str
    """In words; empty for what was given out."""


class UserHistory(UserModel):
    """The same, with her newest results and refusals."""

    history: list[ResultModel]


class Refusals(Strict):
    """Some refusals, newest first; `older` is what to ask for next, as `before`."""

    refusals: list[ResultModel]
    older: int | None


class IncidentModel(Strict):
    """A day of a user that is worth a look."""

    user: int
    database: str
    name: str
    day: str
    exposure: str
    reasons: list[str]


class Incidents(Strict):
    """The worst first, of the last 30 days."""

    incidents: list[IncidentModel]


class Explanation(Strict):
    """Why something was refused."""

    headline: str
    result: ResultModel
    advice: list[str]


class LimitModel(Strict):
    """A limit. It is approved by another custodian, who has signed in; never by a token."""

    id: int
    database: str
    name: str
    """`*` for everybody of the database."""
    limit: str
    action: Action
    until: str | None
    """The moment from which on it no longer holds."""
    reason: str
    state: Literal["proposed", "approved", "declined", "withdrawn", "replaced"]
    holds: bool
    proposer: str
    made: str
    decider: str | None
    decided: str | None
    answer: str | None
    """Why it was rejected."""
    withdrawal_by: str | None
    """Who has proposed to withdraw it, where that waits for another custodian; it holds until then."""


class Limits(Strict):
    """Limits, the newest first."""

    limits: list[LimitModel]


class Decline(Strict):
    """Why a limit is rejected."""

    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""
