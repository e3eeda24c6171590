"""Limits approved by two people, each step with its ledger entry."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator, Field
from sqlalchemy import Connection

from discreet.ledger.entry import timestamp
from discreet.store import gateway_limits
from discreet.store.gateway_limits import EVERYBODY, PARTS, Action, Agreed, Withdrawal
from discreet.web.accounts import second_approver
from discreet.web.accounts.second_approver import Asked
from discreet.web.framework.context import Context
from discreet.web.framework.models import Day, Strict
from discreet.web.framework.problems import Problem, not_found
from discreet.web.gateway.entry_view import decimal

LONGEST_NAME = 63
"""Bytes, and so letters, of a name in PostgreSQL."""
LARGEST = 10**9
WRITTEN = re.compile(r"[0-9]{1,10}(\.[0-9]{1,6})?")
"""A limit as people write it; nothing that could stand for a number of a million digits."""
LONGEST_REASON = 400


def _printable(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("must be printable text")
    return text


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_printable)]
"""A name as the database has it, spaces and all."""


class NewLimit(Strict):
    """A limit that somebody proposes for a user of a database, or for everybody of it (`*`)."""

    database: Name
    name: Name
    limit: Annotated[str, Field(min_length=1, max_length=20)]
    """The largest exposure, as a decimal number."""
    action: Action = "deny"
    until: Day | None = None
    """The last day on which it holds (UTC); without one, until it is withdrawn."""
    reason: Annotated[str, Field(min_length=1, max_length=LONGEST_REASON), AfterValidator(_printable)]


def propose(context: Context, wanted: NewLimit) -> int:
    """Propose a limit; nothing changes before somebody else approves it. Gives its number."""
    allowed, until = amount_of(wanted.limit), end_of(context, wanted.until)
    made: list[int] = []

    def along(connection: Connection) -> None:
        made.append(
            gateway_limits.propose(
                connection,
                database=wanted.database,
                name=wanted.name,
                allowed=int(allowed * PARTS),
                action=wanted.action,
                until=until,
                reason=wanted.reason,
                account=context.owner.id,
                now=context.site.stamp(),
                entry=second_approver.moment(connection),
            )
        )

    subject = f"database:{wanted.database}/user:{wanted.name}"
    told = {
        "limit": decimal(int(allowed * PARTS)),
        "action": wanted.action,
        "until": wanted.until,
        "reason": wanted.reason,
    }
    context.act("gateway.limited", subject, along=along, act="proposed", **told)
    return made[-1]


def amount_of(text: str) -> Fraction:
    """A limit as somebody typed it, to the millionth."""
    amount = Fraction(text.strip()) if WRITTEN.fullmatch(text.strip()) else Fraction(-1)
    if not 0 <= amount <= LARGEST:
        raise Problem(
            422,
            f"A limit is a number from 0 to {LARGEST:,}, with at most six decimals.",
            remedy="Write it as 2.5.",
            title="Nothing is proposed yet",
        )
    return amount


def end_of(context: Context, day: str | None) -> str | None:
    """The moment after a day; a problem if that is over."""
    if day is None:
        return None
    after = datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC) + timedelta(days=1)
    if after <= context.site.now():
        raise Problem(
            422,
            "The last day of this limit is over.",
            remedy="Give a day that is to come, or none.",
            title="Nothing is proposed yet",
        )
    return timestamp(after)


def approve(context: Context, limit: Agreed) -> None:
    """Put it in force. The proposer cannot, nor an account that the same person could be behind, nor the user whom it is about."""
    _refuse_alone(context, limit, limit)
    if limit.until is not None and limit.until <= context.site.stamp():
        raise Problem(409, "The last day of this limit is over.", remedy="Reject it, or have it proposed anew.")
    _decide(context, limit, "web.approved")


def decline(context: Context, limit: Agreed, *, reason: str) -> None:
    """Say no, and why. One's own is withdrawn instead."""
    _refuse_own(context, limit, limit, "web.rejected", "reject")
    _require_reason(reason)
    _decide(context, limit, "web.rejected", reason)


def _require_reason(reason: str) -> None:
    if not reason:
        raise Problem(422, "A rejection needs a reason.", remedy="Say in a sentence what should be different.")


def _decide(context: Context, limit: Agreed, event: str, reason: str | None = None) -> None:
    def along(connection: Connection) -> None:
        account, now = context.owner.id, context.site.stamp()
        if reason is None:
            gateway_limits.approve(connection, limit, account=account, now=now)
        else:
            gateway_limits.decline(connection, limit, account=account, now=now, answer=reason)

    told = {"limit": decimal(limit.allowed), "action": limit.action, "proposed_by": limit.proposer}
    context.act(event, limit.subject, along=along, **told, **({} if reason is None else {"reason": reason}))


def withdraw(context: Context, limit: Agreed) -> None:
    """Nothing shall come of what was proposed; what is in force holds on until another person agrees."""
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


def approve_withdrawal(context: Context, limit: Agreed) -> None:
    """The limit no longer holds: then what the policy says does. Two decide on that, as on the limit itself."""
    withdrawal = waiting_withdrawal(context, limit)
    _refuse_alone(context, limit, withdrawal)
    _decide_withdrawal(context, limit, withdrawal, "web.approved")


def decline_withdrawal(context: Context, limit: Agreed, *, reason: str) -> None:
    """The limit holds on; say why."""
    withdrawal = waiting_withdrawal(context, limit)
    _refuse_own(context, limit, withdrawal, "web.rejected", "reject")
    _require_reason(reason)
    _decide_withdrawal(context, limit, withdrawal, "web.rejected", reason)


def _decide_withdrawal(
    context: Context, limit: Agreed, withdrawal: Withdrawal, event: str, reason: str | None = None
) -> None:
    def along(connection: Connection) -> None:
        account, now = context.owner.id, context.site.stamp()
        if reason is None:
            gateway_limits.approve_withdrawal(connection, withdrawal, account=account, now=now)
        else:
            gateway_limits.decline_withdrawal(connection, withdrawal, account=account, now=now, answer=reason)

    about = {"act": "withdrawal", "limit": decimal(limit.allowed), "proposed_by": withdrawal.proposer}
    context.act(event, limit.subject, along=along, **about, **({} if reason is None else {"reason": reason}))


def waiting_withdrawal(context: Context, limit: Agreed) -> Withdrawal:
    """The withdrawal that waits for a second person; a problem if there is none."""
    with context.site.store.reading() as connection:
        waiting = gateway_limits.withdrawals(connection, of=[limit.id], state="proposed")
    if not waiting or limit.state != "approved":
        raise gateway_limits.too_late()
    return waiting[0]


def asked_of(limit: Agreed, proposed: Agreed | Withdrawal) -> Asked:
    """What another person has to agree to: a limit, or its withdrawal."""
    about = limit.name if limit.name != EVERYBODY else ""
    return Asked(proposed.proposer, proposed.entry, "proposed", barred=about)


def found(context: Context, number: int) -> Agreed:
    """The limit as it is now."""
    with context.site.store.reading() as connection:
        limit = gateway_limits.find(connection, number)
    if limit is None:
        raise not_found()
    return limit


def _refuse_alone(context: Context, limit: Agreed, proposed: Agreed | Withdrawal) -> None:
    """An approval by an account that the person who asked for it could be behind."""
    _refuse_own(context, limit, proposed, "web.approved", "approve")
    about = {"event": "web.approved", "subject": limit.subject}
    second_approver.require(context, asked_of(limit, proposed), permission="gateway.approve", **about)


def _refuse_own(context: Context, limit: Agreed, proposed: Agreed | Withdrawal, event: str, verb: str) -> None:
    """A refusal that is written down, since somebody tried."""
    if context.owner.id == proposed.account:
        words = f"You proposed this yourself, so you cannot {verb} it."
        raise second_approver.refuse(context, event, limit.subject, words, second_approver.OTHERS, why="own proposal")
    if limit.name not in (EVERYBODY, "") and context.owner.name == limit.name:
        words = f"This limit is about a database user of your own name, so you cannot {verb} it."
        raise second_approver.refuse(context, event, limit.subject, words, second_approver.OTHERS, why="about oneself")
