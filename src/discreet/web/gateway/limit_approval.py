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
from discreet.web.framework.forms import Day, Strict
from discreet.web.framework.problems import Problem, not_found
from discreet.web.gateway.entry_view import decimal, subject_of

LONGEST_NAME = 63
"""Bytes, and so letters, of a name in PostgreSQL."""
LARGEST = 10**9
WRITTEN = re.compile(r"[0-9]{1,10}(\.[0-9]{1,6})?")
"""A limit as people write it; no notation that could stand for a number of a million digits."""
LONGEST_REASON = 400
NOT_PROPOSED = "The limit was not proposed"


def _printable(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("must be printable text")
    return text


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_printable)]
"""A name as the database has it, spaces and all."""


class NewLimit(Strict):
    """A limit proposed for a user of a database, or for all of its users (`*`)."""

    database: Name
    name: Name
    limit: Annotated[str, Field(min_length=1, max_length=20)]
    """The largest exposure, as a decimal number."""
    action: Action = "deny"
    until: Day | None = None
    """The last day on which it holds (UTC); without one, until it is withdrawn."""
    reason: Annotated[str, Field(min_length=1, max_length=LONGEST_REASON), AfterValidator(_printable)]


def propose(context: Context, wanted: NewLimit) -> int:
    """Propose a limit, which takes effect once another custodian approves it; gives its number."""
    allowed, until = int(amount_of(wanted.limit) * PARTS), end_of(context, wanted.until)
    made: list[int] = []

    def along(connection: Connection) -> None:
        number = gateway_limits.propose(
            connection,
            database=wanted.database,
            name=wanted.name,
            allowed=allowed,
            action=wanted.action,
            until=until,
            reason=wanted.reason,
            account=context.owner.id,
            now=context.site.stamp(),
            entry=second_approver.moment(connection),
        )
        made.append(number)

    details = {"limit": decimal(allowed), "action": wanted.action, "until": wanted.until, "reason": wanted.reason}
    subject = subject_of(wanted.database, wanted.name)
    context.act("gateway.limited", subject, along=along, act="proposed", **details)
    return made[-1]


def amount_of(text: str) -> Fraction:
    """A limit as it was typed, to the millionth."""
    amount = Fraction(text.strip()) if WRITTEN.fullmatch(text.strip()) else Fraction(-1)
    if not 0 <= amount <= LARGEST:
        problem = f"A limit is a number from 0 to {LARGEST:,}, with at most six decimals."
        raise Problem(422, problem, remedy="Write it as 2.5.", title=NOT_PROPOSED)
    return amount


def end_of(context: Context, day: str | None) -> str | None:
    """The moment after a day, which must not have passed."""
    if day is None:
        return None
    after = datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC) + timedelta(days=1)
    if after <= context.site.now():
        remedy = "Give a day in the future, or none."
        raise Problem(422, "The last day of this limit has passed.", remedy=remedy, title=NOT_PROPOSED)
    return timestamp(after)


def approve(context: Context, limit: Agreed) -> None:
    """Put a limit in force.

    Not by its proposer, by an account that the same person could be behind, or by the user whom it is about.
    """
    _refuse_alone(context, limit, limit)
    if limit.until is not None and limit.until <= context.site.stamp():
        raise Problem(409, "The last day of this limit has passed.", remedy="Reject it, or have it proposed again.")
    _decide(context, limit, limit)


def decline(context: Context, limit: Agreed, *, reason: str) -> None:
    """Reject it, with a reason. One's own is withdrawn instead."""
    _refuse_own(context, limit, limit, "web.rejected", "reject")
    _decide(context, limit, limit, _required(reason))


def withdraw(context: Context, limit: Agreed) -> None:
    """Withdraw a proposal; a limit in force holds until another person agrees to its withdrawal."""
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
    """End a limit, so that the policy applies again; two people decide, as on the limit."""
    withdrawal = pending_withdrawal(context, limit)
    _refuse_alone(context, limit, withdrawal)
    _decide(context, limit, withdrawal)


def decline_withdrawal(context: Context, limit: Agreed, *, reason: str) -> None:
    """Keep a limit in force, with a reason."""
    withdrawal = pending_withdrawal(context, limit)
    _refuse_own(context, limit, withdrawal, "web.rejected", "reject")
    _decide(context, limit, withdrawal, _required(reason))


def _required(reason: str) -> str:
    if not reason:
        raise Problem(422, "A rejection needs a reason.", remedy="Say in a sentence what should be different.")
    return reason


def _decide(context: Context, limit: Agreed, proposed: Agreed | Withdrawal, reason: str | None = None) -> None:
    """Approve, or with a reason reject, a limit or its withdrawal, along with the ledger entry."""

    def along(connection: Connection) -> None:
        account, now = context.owner.id, context.site.stamp()
        if reason is None:
            gateway_limits.approve(connection, proposed, account=account, now=now)
        else:
            gateway_limits.decline(connection, proposed, account=account, now=now, answer=reason)

    what = {"act": "withdrawal"} if isinstance(proposed, Withdrawal) else {"action": limit.action}
    details = {**what, "limit": decimal(limit.allowed), "proposed_by": proposed.proposer}
    if reason is not None:
        details["reason"] = reason
    event = "web.approved" if reason is None else "web.rejected"
    context.act(event, limit.subject, along=along, **details)


def pending_withdrawal(context: Context, limit: Agreed) -> Withdrawal:
    """The withdrawal that awaits a second person; a problem if there is none."""
    with context.site.store.reading() as connection:
        pending = gateway_limits.withdrawals(connection, of=[limit.id], state="proposed")
    if not pending or limit.state != "approved":
        raise gateway_limits.too_late()
    return pending[0]


def asked_of(limit: Agreed, proposed: Agreed | Withdrawal) -> Asked:
    """What another person has to agree to: a limit, or its withdrawal."""
    about = limit.name if limit.name != EVERYBODY else ""
    return Asked(proposed.proposer, proposed.entry, "proposed", barred=about)


def current(context: Context, number: int) -> Agreed:
    """The limit as it is now."""
    with context.site.store.reading() as connection:
        limit = gateway_limits.find(connection, number)
    if limit is None:
        raise not_found()
    return limit


def _refuse_alone(context: Context, limit: Agreed, proposed: Agreed | Withdrawal) -> None:
    """Refuse an approval by an account that the proposer could be behind."""
    _refuse_own(context, limit, proposed, "web.approved", "approve")
    about = {"event": "web.approved", "subject": limit.subject}
    second_approver.require(context, asked_of(limit, proposed), permission="gateway.approve", **about)


def _refuse_own(context: Context, limit: Agreed, proposed: Agreed | Withdrawal, event: str, verb: str) -> None:
    """Refuse, and record, a decision on one's own proposal or about a database user of one's own name."""
    if context.owner.id == proposed.account:
        words = f"You proposed this yourself, so you cannot {verb} it."
        raise second_approver.refuse(context, event, limit.subject, words, second_approver.OTHERS, why="own proposal")
    if limit.name not in (EVERYBODY, "") and context.owner.name == limit.name:
        words = f"This limit is about a database user of your own name, so you cannot {verb} it."
        raise second_approver.refuse(context, event, limit.subject, words, second_approver.OTHERS, why="about oneself")
