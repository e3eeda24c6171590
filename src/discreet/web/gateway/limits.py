"""Limits of database users under four eyes: decisions with their ledger entries, pages, API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError
from sqlalchemy import Connection
from starlette.responses import Response

from discreet.ledger.entry import timestamp
from discreet.store import gateway_limits
from discreet.store.gateway_limits import ACTIONS, EVERYBODY, PARTS, Action, Agreed, Withdrawal
from discreet.web.accounts import second_approver
from discreet.web.accounts.second_approver import Asked, History
from discreet.web.framework.context import Context, Here, by_number, go, or_again
from discreet.web.framework.forms import Day, Strict
from discreet.web.framework.problems import Problem, not_found
from discreet.web.framework.route import ApiGet, ApiPost, Page, Route, Submit
from discreet.web.gateway import users
from discreet.web.gateway.entry_view import decimal, limit_words, subject_of
from discreet.web.gateway.users import Number, Text, follow, printable

LONGEST_NAME = 63
"""Bytes, and so letters, of a name in PostgreSQL."""
LARGEST = 10**9
WRITTEN = re.compile(r"[0-9]{1,10}(\.[0-9]{1,6})?")
"""A limit as people write it; no notation that could mean a number of a million digits."""
LONGEST_REASON = 400
NOT_PROPOSED = "The limit was not proposed"
SHOWN = 50

LIMIT = by_number("limit", gateway_limits.find)
"""Custodians look after limits together; who may decide on one is checked where it is decided."""


# -- decisions --------------------------------------------------------------------------------------------------------


def _printable(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("must be printable text")
    return text


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_printable)]
"""A name as the database has it, spaces and all."""


class NewLimit(Strict):
    """A limit proposed for a user of a database, or for all (`*`)."""

    database: Name
    name: Name
    limit: Annotated[str, Field(min_length=1, max_length=20)]
    """The largest exposure, as a decimal number."""
    action: Action = "deny"
    until: Day | None = None
    """The last day on which it holds (UTC); without one, until it is withdrawn."""
    reason: Annotated[str, Field(min_length=1, max_length=LONGEST_REASON), AfterValidator(_printable)]


def propose_limit(context: Context, wanted: NewLimit) -> int:
    """Propose a limit, which takes effect once another custodian approves it; gives its number."""
    text = wanted.limit.strip()
    amount = Fraction(text) if WRITTEN.fullmatch(text) else Fraction(-1)
    if not 0 <= amount <= LARGEST:
        problem = f"A limit is a number from 0 to {LARGEST:,}, with at most six decimals."
        raise Problem(422, problem, remedy="Write it as 2.5.", title=NOT_PROPOSED)
    until = None
    if wanted.until is not None:
        until = datetime.combine(date.fromisoformat(wanted.until), datetime.min.time(), UTC) + timedelta(days=1)
        if until <= context.site.now():
            remedy = "Give a day in the future, or none."
            raise Problem(422, "The last day of this limit has passed.", remedy=remedy, title=NOT_PROPOSED)
    allowed = int(amount * PARTS)

    def along(connection: Connection) -> int:
        values = wanted.model_dump(include={"database", "name", "action", "reason"})
        values |= {"allowed": allowed, "until": None if until is None else timestamp(until)}
        values |= {"account": context.owner.id, "entry": second_approver.moment(connection)}
        return gateway_limits.propose(connection, **values, now=context.site.stamp())

    details = {"limit": decimal(allowed), "action": wanted.action, "until": wanted.until, "reason": wanted.reason}
    subject = subject_of(wanted.database, wanted.name)
    number: int = context.act("gateway.limited", subject, along=along, act="proposed", **details)
    return number


def decide(context: Context, limit: Agreed, *, ends: bool = False, reason: str | None = None) -> None:
    """Approve, or with a reason reject, a limit or (`ends`) its withdrawal."""
    proposed: Agreed | Withdrawal = limit
    if ends:
        with context.site.store.reading() as connection:
            pending = gateway_limits.withdrawals(connection, of=[limit.id], state="proposed")
        if not pending or limit.state != "approved":
            raise gateway_limits.too_late()
        proposed = pending[0]
    # Nobody decides on a proposal of their own, or on a limit of their own; an approval also needs an independent account.
    verb, event = ("approve", "web.approved") if reason is None else ("reject", "web.rejected")
    own = "You proposed this yourself" if context.owner.id == proposed.account else ""
    oneself = limit.name not in (EVERYBODY, "") and context.owner.name == limit.name
    if own or oneself:
        words = f"{own or 'This limit is about a database user of your own name'}, so you cannot {verb} it."
        why = "own proposal" if own else "about oneself"
        raise second_approver.refuse(context, event, limit.subject, words, second_approver.OTHERS, why=why)
    if reason is None:
        about = {"event": event, "subject": limit.subject}
        second_approver.require(context, asked_of(limit, proposed), permission="gateway.approve", **about)
        if not ends and limit.until is not None and limit.until <= context.site.stamp():
            raise Problem(409, "The last day of this limit has passed.", remedy="Reject it, or have it proposed again.")
    elif not reason:
        raise Problem(422, "A rejection needs a reason.", remedy="Say in a sentence what should be different.")

    def along(connection: Connection) -> None:
        account, now = context.owner.id, context.site.stamp()
        if reason is None:
            gateway_limits.approve(connection, proposed, account=account, now=now)
        else:
            gateway_limits.decline(connection, proposed, account=account, now=now, answer=reason)

    what = {"act": "withdrawal"} if ends else {"action": limit.action}
    details = {**what, "limit": decimal(limit.allowed), "proposed_by": proposed.proposer}
    context.act(event, limit.subject, along=along, **details, **({} if reason is None else {"reason": reason}))


def withdraw_limit(context: Context, limit: Agreed) -> None:
    """Withdraw a proposal; a limit in force holds until another person agrees."""
    in_force = limit.state == "approved"

    def along(connection: Connection) -> None:
        now = context.site.stamp()
        if not in_force:
            gateway_limits.withdraw(connection, limit, now=now)
            return
        by = {"account": context.owner.id, "entry": second_approver.moment(connection)}
        gateway_limits.propose_withdrawal(connection, limit, now=now, **by)

    act = "withdrawal proposed" if in_force else "withdrawn"
    context.act("gateway.limited", limit.subject, along=along, act=act, limit=decimal(limit.allowed))


def asked_of(limit: Agreed, proposed: Agreed | Withdrawal) -> Asked:
    """What another person has to agree to: a limit, or its withdrawal."""
    about = limit.name if limit.name != EVERYBODY else ""
    return Asked(proposed.proposer, proposed.entry, "proposed", barred=about)


def _current(context: Context, number: int) -> Agreed:
    with context.site.store.reading() as connection:
        limit = gateway_limits.find(connection, number)
    if limit is None:
        raise not_found()
    return limit


# -- pages ------------------------------------------------------------------------------------------------------------


def limits_page(context: Here, database: Text = "", name: Text = "", before: Number = None) -> Response:
    """Limits that await approval, are in force or have ended; and the form."""
    typed = {"database": database, "name": name, "action": "deny"} if (database + name).isprintable() else {}
    if context.problem is not None:
        sent = {
            name: "".join(context.form.fields.get(name, [""])[:1])[:LONGEST_REASON] for name in NewLimit.model_fields
        }
        typed = {name: text for name, text in sent.items() if text.isprintable()}
    follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        listed = gateway_limits.everything(connection, before=before, most=SHOWN + 1)
        withdrawals = gateway_limits.withdrawals(connection, state="proposed")
        return context.page(
            "gateway_limits.html",
            typed={**dict.fromkeys(NewLimit.model_fields, ""), **typed},
            waiting=gateway_limits.everything(connection, state="proposed"),
            holding=gateway_limits.in_force(connection, now=now),
            leaving={withdrawal.limit: withdrawal.proposer for withdrawal in withdrawals},
            past=[limit for limit in listed[:SHOWN] if limit.state != "proposed" and not limit.holds(now)],
            older=listed[SHOWN - 1].id if len(listed) > SHOWN else None,
            databases=[database.name for database in users.watched(connection)],
            actions=ACTIONS,
            longest=LONGEST_NAME,
            stamp=now,
            amount=limit_words,
        )


@or_again(limits_page)
def propose_by_form(context: Here) -> Response:
    """Propose a limit."""
    typed = {name: context.form.verbatim(name, most=LONGEST_REASON) for name in NewLimit.model_fields}
    given: dict[str, Any] = {**typed, "until": typed["until"].strip() or None, "limit": typed["limit"].strip()}
    try:
        wanted = NewLimit(**given)
    except ValidationError as error:
        names = ", ".join(dict.fromkeys(str(fault["loc"][0]) for fault in error.errors()))
        remedy = "Name a database and a user (or * for all users), the limit, and the reason."
        problem = f"These fields are missing or not valid: {names}."
        raise Problem(422, problem, remedy=remedy, title=NOT_PROPOSED) from None
    return go(f"/gateway/limits/{propose_limit(context, wanted)}", said="limit-proposed")


def limit_page(context: Here) -> Response:
    """One limit, and what is to be decided about it."""
    limit = _current(context, context.loaded.id)
    follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        user = users.named(connection, limit.database, limit.name, now=now)
        in_force = gateway_limits.in_force(connection, limit.database, now=now)
        withdrawals = gateway_limits.withdrawals(connection, of=[limit.id])
        # A second person decides on the limit, on its withdrawal, or on nothing.
        pending = (change for change in withdrawals if change.state == "proposed" and limit.holds(now))
        undecided = limit if limit.state == "proposed" else next(pending, None)
        second = None
        if undecided is not None:
            asked, name = asked_of(limit, undecided), context.owner.name
            second = History.read(connection).view(connection, asked, name, "gateway.approve")
    return context.page(
        "gateway_limit.html",
        limit=limit,
        user=user,
        held=next((other for other in in_force if other.name == limit.name and other.id != limit.id), None),
        holds=limit.holds(now),
        withdrawals=withdrawals,
        waits=undecided,
        second=second,
        over=limit.until is not None and limit.until <= now,
        actions=ACTIONS,
        amount=limit_words,
        everybody=EVERYBODY,
    )


SAID = {
    "approve": "limit-approved",
    "decline": "limit-declined",
    "withdrawal/approve": "limit-ended",
    "withdrawal/decline": "limit-withdrawal-declined",
}


@or_again(limit_page)
def decide_by_form(context: Here) -> Response:
    """Put a limit in force, end it, or reject either with a reason."""
    decision = context.route.path.partition("{number}/")[2]
    reason = context.form.text("reason", most=LONGEST_REASON) if decision.endswith("decline") else None
    decide(context, context.loaded, ends=decision.startswith("withdrawal"), reason=reason)
    return go(f"/gateway/limits/{context.loaded.id}", said=SAID[decision])


@or_again(limit_page)
def withdraw_by_form(context: Here) -> Response:
    """Withdraw a proposal, or propose to withdraw a limit in force."""
    withdraw_limit(context, context.loaded)
    said = "limit-withdrawal-proposed" if context.loaded.state == "approved" else "limit-withdrawn"
    return go(f"/gateway/limits/{context.loaded.id}", said=said)


# -- API --------------------------------------------------------------------------------------------------------------


class LimitModel(Strict):
    """A limit, approved by another custodian who has signed in, never by a token."""

    id: int
    database: str
    name: str
    """`*` for all users of the database."""
    limit: str
    action: Action
    until: str | None
    """The moment at which it ends."""
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
    """The custodian whose proposal to withdraw it awaits another custodian; it holds until then."""


class Limits(Strict):
    """Limits, the newest first."""

    limits: list[LimitModel]


class Decline(Strict):
    """Why a limit is rejected."""

    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""


def limit_list(context: Here, database: Text = "", before: Number = None) -> Limits:
    """Limits that are proposed, in force, or ended."""
    with context.site.store.reading() as connection:
        listed = gateway_limits.everything(connection, database=printable(database) or None, before=before, most=200)
    return Limits(limits=_models(context, listed))


def limit(context: Here, number: str) -> LimitModel:
    """One limit."""
    (model,) = _models(context, [_current(context, context.loaded.id)])
    return model


def _models(context: Context, limits: Sequence[Agreed]) -> list[LimitModel]:
    with context.site.store.reading() as connection:
        pending = gateway_limits.withdrawals(connection, of=[limit.id for limit in limits], state="proposed")
    proposers, now = {withdrawal.limit: withdrawal.proposer for withdrawal in pending}, context.site.stamp()
    return [
        LimitModel.of(
            limit, limit=decimal(limit.allowed), holds=limit.holds(now), withdrawal_by=proposers.get(limit.id)
        )
        for limit in limits
    ]


def propose(context: Here, wanted: NewLimit) -> LimitModel:
    """Propose a limit, which takes effect once another custodian approves it."""
    (model,) = _models(context, [_current(context, propose_limit(context, wanted))])
    return model


def approve(context: Here, number: str) -> LimitModel:
    """Put it in force; only by a signed-in person who did not propose it."""
    decide(context, context.loaded)
    return limit(context, number)


def decline(context: Here, number: str, why: Decline) -> LimitModel:
    """Reject it, with a reason."""
    decide(context, context.loaded, reason=why.reason.strip())
    return limit(context, number)


def withdraw(context: Here, number: str) -> LimitModel:
    """Withdraw a proposal; for a limit in force, propose its withdrawal to another custodian."""
    withdraw_limit(context, context.loaded)
    return limit(context, number)


def approve_withdrawal(context: Here, number: str) -> LimitModel:
    """End the limit; only by a signed-in person who did not propose the withdrawal."""
    decide(context, context.loaded, ends=True)
    return limit(context, number)


def decline_withdrawal(context: Here, number: str, why: Decline) -> LimitModel:
    """Let the limit hold, with a reason."""
    decide(context, context.loaded, ends=True, reason=why.reason.strip())
    return limit(context, number)


_GIVES: dict[str, Any] = {"loads": LIMIT, "returns": LimitModel}
_AT = "/gateway/limits/{number}"
_API = "/api/v1/gateway/limits"
_API_AT = f"{_API}/{{number}}"

LIMIT_ROUTES: tuple[Route, ...] = (
    Page("/gateway/limits", "gateway.read", limits_page),
    Submit("/gateway/limits", "gateway.limit", propose_by_form),
    Page(_AT, "gateway.read", limit_page, loads=LIMIT),
    Submit(f"{_AT}/approve", "gateway.approve", decide_by_form, loads=LIMIT),
    Submit(f"{_AT}/decline", "gateway.approve", decide_by_form, loads=LIMIT),
    Submit(f"{_AT}/withdraw", "gateway.limit", withdraw_by_form, loads=LIMIT),
    Submit(f"{_AT}/withdrawal/approve", "gateway.approve", decide_by_form, loads=LIMIT),
    Submit(f"{_AT}/withdrawal/decline", "gateway.approve", decide_by_form, loads=LIMIT),
    ApiGet(_API, "gateway.read", limit_list, returns=Limits),
    ApiPost(_API, "gateway.limit", propose, returns=LimitModel, status=201),
    ApiGet(_API_AT, "gateway.read", limit, **_GIVES),
    ApiPost(f"{_API_AT}/approve", "gateway.approve", approve, body="none", **_GIVES),
    ApiPost(f"{_API_AT}/decline", "gateway.approve", decline, **_GIVES),
    ApiPost(f"{_API_AT}/withdraw", "gateway.limit", withdraw, body="none", **_GIVES),
    ApiPost(f"{_API_AT}/withdrawal/approve", "gateway.approve", approve_withdrawal, body="none", **_GIVES),
    ApiPost(f"{_API_AT}/withdrawal/decline", "gateway.approve", decline_withdrawal, **_GIVES),
)
