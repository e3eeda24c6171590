"""Notices: what waits for people and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from discreet.ledger import queries
from discreet.ledger.entry import timestamp
from discreet.operations.channels import Notification
from discreet.report.toolkit.words import plural
from discreet.store import gateway_limits
from discreet.store.tables.ledger import ENTRY
from discreet.web.accounts import role_changes
from discreet.web.dashboard import NEARLY, first_since, used
from discreet.web.gateway import users
from discreet.web.ledger import last_check
from discreet.web.releases import store as plans

HOUR = timedelta(hours=1)


def waiting(connection: Connection, stamp: str) -> Iterator[Notification]:
    """Everything that awaits another person's decision."""
    for plan in plans.everything(connection, states=("planned",)):
        if plan.ready:
            subject = f"Release {plan.release} awaits approval, planned by {plan.planner}."
            yield _notice(f"release:{plan.id}:{plan.version}", "release", subject, f"/releases/plans/{plan.id}")
    for limit in gateway_limits.everything(connection, state="proposed"):
        whose = "everybody" if limit.name == gateway_limits.EVERYBODY else limit.name
        subject = f"A limit for {whose} in {limit.database} awaits approval, proposed by {limit.proposer}."
        yield _notice(f"limit:{limit.id}", "limit", subject, f"/gateway/limits/{limit.id}")
    in_force = {limit.id for limit in gateway_limits.in_force(connection, now=stamp)}
    for change in gateway_limits.withdrawals(connection, state="proposed"):
        if change.limit in in_force:
            subject = f"The withdrawal of a limit awaits approval, proposed by {change.proposer}."
            yield _notice(f"withdrawal:{change.id}", "withdrawal", subject, f"/gateway/limits/{change.limit}")
    for role in role_changes.waiting(connection):
        subject = f"The role {role.role} for {role.name} awaits approval, proposed by {role.proposer}."
        yield _notice(f"role:{role.id}", "role", subject, f"/accounts/changes/{role.id}")


def _notice(key: str, kind: str, subject: str, path: str) -> Notification:
    return Notification(key, kind, subject, subject, {"path": path})


def low(connection: Connection, stamp: str) -> Iterator[Notification]:
    """Database users and budgets near their limits."""
    number, first = users.near_limit(connection, now=stamp)
    if first is not None:
        for user in users.ranked(connection, now=stamp).users[:number]:
            if user.state in ("near", "above"):
                subject = f"{user.name} has used {user.share} % of their limit in {user.database}."
                key = f"near:{user.id}:{user.state}:{user.limit}"
                yield Notification(key, "near", subject, subject, {"path": f"/gateway/users/{user.id}"})
    for budget in queries.budgets(connection):
        if used(budget) >= NEARLY:
            subject = f"Budget {budget.name} is used to {NEARLY} % or more."
            yield Notification(
                f"budget:{budget.name}:{budget.limit}", "budget", subject, subject, {"path": "/#budgets"}
            )


def refusals(connection: Connection, now: datetime) -> Iterator[Notification]:
    """Refusals of the last whole hour, counted."""
    end = now.replace(minute=0, second=0, microsecond=0)
    begin = timestamp(end - HOUR)
    rows = connection.execute(
        select(ENTRY.c.room, func.count().label("entries"))
        .where(ENTRY.c.sequence >= first_since(connection, begin), ENTRY.c.time >= begin, ENTRY.c.time < timestamp(end))
        .where(ENTRY.c.outcome == "refused")
        .group_by(ENTRY.c.room)
    ).all()
    if total := sum(row.entries for row in rows):
        by_room = ", ".join(f"{row.entries} in {row.room}" for row in sorted(rows, key=lambda row: row.room))
        subject = f"{plural(total, 'request was', 'requests were')} refused between {begin[11:16]} and {end:%H:%M} UTC: {by_room}."
        yield Notification(f"refused:{begin[:13]}", "refused", subject, subject, {"path": "/ledger?outcome=refused"})


def faults(connection: Connection) -> Iterator[Notification]:
    """A verification that found the ledger wanting."""
    check = last_check(connection)
    if check is not None and check.problems:
        subject = f"The ledger is not what was written: {plural(check.problems, 'fault', 'faults')}."
        text = f"{subject} Disclose nothing more, and compare it with heads that were saved elsewhere."
        yield Notification(f"faults:{check.time}", "faults", subject, text, {"path": "/ledger#verify"})


def everything(connection: Connection, now: datetime) -> list[Notification]:
    """What is to be told now, the worst first."""
    stamp = timestamp(now)
    return [
        *faults(connection),
        *low(connection, stamp),
        *waiting(connection, stamp),
        *refusals(connection, now),
    ]


def digest(connection: Connection, now: datetime) -> Notification:
    """All of it in one message, once a day."""
    stamp = timestamp(now)
    begin = first_since(connection, timestamp(now - timedelta(days=1)))
    counted = select(func.count()).where(ENTRY.c.sequence >= begin)
    refused = connection.execute(counted.where(ENTRY.c.outcome == "refused")).scalar_one()
    entries = connection.execute(counted).scalar_one()
    lines = [notice.subject for notice in (*faults(connection), *low(connection, stamp), *waiting(connection, stamp))]
    check = last_check(connection)
    verified = (
        "never"
        if check is None
        else f"at {check.time[:16].replace('T', ' ')} UTC, {plural(check.problems, 'fault', 'faults')}"
    )
    summary = f"In a day: {plural(entries, 'entry', 'entries')} in the ledger, {refused} of them refusals. Verified {verified}."
    subject = (
        f"Discreet, {stamp[:10]}: {plural(len(lines), 'thing waits or needs a look', 'things wait or need a look')}"
    )
    text = "\n".join([summary, "", *(f"- {line}" for line in lines or ["Nothing waits for anybody."])])
    return Notification(f"digest:{stamp[:10]}", "digest", subject, text, {"path": "/", "notices": lines})
