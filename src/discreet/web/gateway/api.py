"""API of database users: exposure, refusals, limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.store import gateway_limits
from discreet.store.gateway_limits import Action, Agreed, Withdrawal
from discreet.web.framework.context import Context, Here
from discreet.web.framework.models import Strict
from discreet.web.framework.problems import not_found
from discreet.web.gateway import incidents, limits, refusals, users
from discreet.web.gateway.entry_view import Told, decimal, explained, reason_words
from discreet.web.gateway.limits import LONGEST_REASON, NewLimit
from discreet.web.gateway.pages import STEPS, Number, PageNumber, Text, may_see, printable
from discreet.web.gateway.totals import follow
from discreet.web.gateway.users import User


def user_list(context: Here, database: Text = "", name: Text = "", page: PageNumber = 1) -> Users:
    """Users, the most exposed first; `name` finds those whose names hold it."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        now = context.site.stamp()
        found = users.ranked(connection, now=now, database=printable(database), name=printable(name), page=page)
    shown = [UserModel(**_facts(user)) for user in found.users]
    return Users(users=shown, page=found.number, pages=found.pages, total=found.total)


def user(context: Here, number: str) -> UserHistory:
    """One user, with her newest results and refusals."""
    found: User = context.loaded
    with context.site.store.reading() as connection:
        history = refusals.history(connection, found, most=STEPS)
    return UserHistory(**_facts(found), history=[_result(told) for told in history])


def refusal_list(context: Here, database: Text = "", before: Number = None) -> Refusals:
    """Refusals, newest first, also those that shadow mode only wrote down."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        page = refusals.newest(connection, database=printable(database), before=before)
    return Refusals(refusals=[_result(one.told) for one in page.refusals], older=page.older)


def incident_list(context: Here) -> Incidents:
    """Days that are worth a look, the worst first."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        found = incidents.incidents(connection, context.site.now())
    shown = [
        IncidentModel(
            user=one.user,
            database=one.database,
            name=one.name,
            day=one.day,
            exposure=decimal(one.exposure),
            reasons=list(one.reasons),
        )
        for one in found
    ]
    return Incidents(incidents=shown)


def why(context: Here, reference: Text) -> Explanation:
    """Why something was refused; without `gateway.read` only what was refused to a user of one's own name."""
    with context.site.store.reading() as connection:
        told = may_see(context, connection, reference)
        if told is None:
            raise not_found()
        found = explained(connection, told)
    return Explanation(headline=found.headline, result=_result(told), advice=list(found.advice))


def limit_list(context: Here, database: Text = "", before: Number = None) -> Limits:
    """Limits that were proposed, hold or have held."""
    with context.site.store.reading() as connection:
        found = gateway_limits.everything(connection, database=printable(database) or None, before=before, most=200)
        waiting = gateway_limits.withdrawals(connection, of=[one.id for one in found], state="proposed")
    return Limits(limits=[_limit(context, one, waiting) for one in found])


def limit(context: Here, number: str) -> LimitModel:
    """One limit."""
    return _now(context, context.loaded.id)


def propose(context: Here, wanted: NewLimit) -> LimitModel:
    """Propose a limit; nothing changes before another custodian approves it."""
    return _now(context, limits.propose(context, wanted))


def approve(context: Here, number: str) -> LimitModel:
    """Put it in force; only by somebody who has signed in, and did not propose it."""
    limits.approve(context, context.loaded)
    return _now(context, context.loaded.id)


def decline(context: Here, number: str, why: Decline) -> LimitModel:
    """Say no, and why."""
    limits.decline(context, context.loaded, reason=why.reason.strip())
    return _now(context, context.loaded.id)


def withdraw(context: Here, number: str) -> LimitModel:
    """Nothing shall come of a proposal; of a limit in force the withdrawal is proposed, and another custodian decides."""
    limits.withdraw(context, context.loaded)
    return _now(context, context.loaded.id)


def approve_withdrawal(context: Here, number: str) -> LimitModel:
    """The limit no longer holds; only by a person who has signed in, and did not propose that."""
    limits.approve_withdrawal(context, context.loaded)
    return _now(context, context.loaded.id)


def decline_withdrawal(context: Here, number: str, why: Decline) -> LimitModel:
    """The limit holds on, and why."""
    limits.decline_withdrawal(context, context.loaded, reason=why.reason.strip())
    return _now(context, context.loaded.id)


def _now(context: Context, number: int) -> LimitModel:
    with context.site.store.reading() as connection:
        waiting = gateway_limits.withdrawals(connection, of=[number], state="proposed")
    return _limit(context, limits.found(context, number), waiting)


def _amount(millionths: int | None) -> str | None:
    return None if millionths is None else decimal(millionths)


def _facts(found: User) -> dict[str, Any]:
    plain = ("id", "database", "name", "rule", "answers", "repeated", "refused", "would", "over", "seen")
    amounts = {"exposure": _amount(found.exposure), "limit": _amount(found.limit), "percent": found.share}
    return {**{name: getattr(found, name) for name in plain}, **amounts}


def _result(told: Told) -> ResultModel:
    return ResultModel(
        reference=told.reference,
        entry=told.entry.sequence,
        time=told.entry.time,
        database=told.database,
        user=told.user,
        outcome="refused" if told.refused else "would" if told.would else "given",
        decision=told.decision,
        rows=told.rows,
        columns=list(told.columns),
        before=_amount(told.before),
        after=_amount(told.after),
        limit=_amount(told.limit),
        rule=told.rule,
        reason=reason_words(told) if told.is_refusal else "",
    )


def _limit(context: Context, found: Agreed, withdrawals: Sequence[Withdrawal]) -> LimitModel:
    plain = (
        "id",
        "database",
        "name",
        "action",
        "until",
        "reason",
        "state",
        "proposer",
        "made",
        "decider",
        "decided",
        "answer",
    )
    values = {name: getattr(found, name) for name in plain}
    asker = next((one.proposer for one in withdrawals if one.limit == found.id), None)
    now = context.site.stamp()
    return LimitModel(**values, limit=decimal(found.allowed), holds=found.holds(now), withdrawal_by=asker)


# What the API takes and gives about database users behind a gateway. Exposures and limits are exact, as decimal text.
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
