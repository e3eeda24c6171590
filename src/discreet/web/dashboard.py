"""Dashboard: what needs attention, recent disclosures, integrity of the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select
from starlette.responses import Response

from discreet.ledger import Budget, queries
from discreet.ledger.entry import EVENTS, timestamp
from discreet.ledger.merkle import MerkleTree
from discreet.report import Finding
from discreet.report.charts.bars import spark
from discreet.report.toolkit.words import plural
from discreet.store import gateway_limits
from discreet.store.tables.ledger import ENTRY
from discreet.web.accounts import accounts, role_changes
from discreet.web.accounts.onboarding import guide_of
from discreet.web.accounts.second_approver import History
from discreet.web.framework.context import Context, Here
from discreet.web.framework.shared_state import ago
from discreet.web.gateway import users
from discreet.web.gateway.limits import asked_of
from discreet.web.gateway.users import follow
from discreet.web.ledger import last_check
from discreet.web.linkage import store as linkage_store
from discreet.web.releases import plan_workflow
from discreet.web.releases import store as plans
from discreet.web.sensitivity import store as studies

OLD = timedelta(days=7)
"""A verification older than this is worth a reminder."""
MOST_NAMED = 5
"""Names in a headline; the rest are "and others"."""
DAYS = 14
NEARLY, FULL = 80, 100
"""Per cent of a budget from which on it is worth a look, and from which on nothing more is given."""

DISCLOSED = ("done", "settled", "expired")
NOT_DISCLOSURES = (
    "ledger.opened",
    "ledger.budget",
    "web.account",
    "web.policy",
    "web.approved",
    "web.rejected",
    "misuse.asked",
    "misuse.weighed",
)
"""Entries that are decisions, not disclosures."""
ROOMS = tuple(dict.fromkeys(event.partition(".")[0] for event in EVENTS if event not in NOT_DISCLOSURES))


@dataclass(frozen=True)
class RoomActivity:
    """Disclosures of a room, day by day, the last one today."""

    name: str
    days: tuple[int, ...]
    refused: int

    @property
    def total(self) -> int:
        """In all these days."""
        return sum(self.days)


def first_since(connection: Connection, moment: str) -> int:
    """The first entry at or after a moment, by bisection: times never decrease."""
    low, high = 0, int(connection.execute(select(func.coalesce(func.max(ENTRY.c.sequence) + 1, 0))).scalar_one())
    while low < high:
        middle = (low + high) // 2
        time = connection.execute(select(ENTRY.c.time).where(ENTRY.c.sequence == middle)).scalar()
        low, high = (middle + 1, high) if time is None or time < moment else (low, middle)
    return low


def rooms(connection: Connection, now: datetime) -> list[RoomActivity]:
    """Every room with disclosures or refusals in the last days."""
    days = [(now - timedelta(days=DAYS - 1 - place)).date().isoformat() for place in range(DAYS)]
    begin = first_since(connection, f"{days[0]}T00:00:00.000000Z")
    day = func.substr(ENTRY.c.time, 1, 10)
    refused = ENTRY.c.outcome == "refused"
    counted = connection.execute(
        select(ENTRY.c.room, day.label("day"), refused.label("refused"), func.count().label("entries"))
        .where(ENTRY.c.sequence >= begin, ENTRY.c.event.not_in(NOT_DISCLOSURES))
        .where(ENTRY.c.outcome.in_((*DISCLOSED, "refused")))
        .group_by(ENTRY.c.room, day, refused)
    )
    entries = Counter({(row.room, row.day, bool(row.refused)): row.entries for row in counted})
    every = [
        RoomActivity(
            name, tuple(entries[name, date, False] for date in days), sum(entries[name, date, True] for date in days)
        )
        for name in ROOMS
    ]
    return [room for room in every if room.total or room.refused]


def used(budget: Budget) -> int:
    """Share of a budget that is spent or reserved, in per cent, rounded up."""
    if budget.limit == 0:
        return 100
    share = (budget.spent + budget.reserved) * 100 / budget.limit
    return -(-share.numerator // share.denominator)


@dataclass(frozen=True)
class Notice(Finding):
    """A finding that leads somewhere."""

    path: str = ""
    link: str = ""
    danger: bool = False
    setting_up: bool = False
    """Is there anything to it only once people work here?"""

    @property
    def severity(self) -> int:
        """What is above a limit or broken comes first, then decisions, then reminders."""
        return 0 if self.danger else 2 if self.setting_up else 1


def dashboard_page(context: Here) -> Response:
    """What this account may see of it all."""
    if context.may("gateway.read"):
        follow(context.site.store)
    state = None
    with context.site.store.reading() as connection:
        allowed = [find for permission, find in NOTICES if context.may(permission)]
        notices = [notice for find in allowed for notice in find(context, connection)]
        guided = context.owner.guided and context.may("datasets.change")
        guide = guide_of(connection, context.owner) if guided else None
        if context.may("ledger.read"):
            budgets = sorted(queries.budgets(connection), key=lambda budget: -used(budget))
            sparks = []
            for room in rooms(connection, context.site.now()):
                about = f"Day by day, the last one today: {', '.join(str(day) for day in room.days)}."
                title, shares = f"Disclosures of {room.name}", [float(day) for day in room.days]
                sparks.append((room, spark(shares, key=f"room-{room.name}", title=title, about=about)))
            state = {
                "head": MerkleTree.read(connection).head(),
                "check": last_check(connection),
                "rooms": sparks,
                "days": DAYS,
                "budgets": [(budget, used(budget)) for budget in budgets if used(budget) >= NEARLY],
                "all_budgets": len(budgets),
            }
        begins = guide is not None and guide.done == 0 and all(notice.setting_up for notice in notices)
    notices.sort(key=lambda notice: notice.severity)
    return context.page("dashboard.html", notices=notices, ledger=state, guide=guide, begins=begins)


# What needs attention: each function is asked only on behalf of accounts with its permission (`NOTICES`).


def verification(context: Context, connection: Connection) -> Iterator[Notice]:
    """The ledger was found wanting, was never verified, or not for a while."""
    check, now = last_check(connection), context.site.now()
    headline, step = "The ledger has never been verified here.", "Verify it, and save its head elsewhere."
    if check is not None:
        step = "Verify it again, and save its head elsewhere."
        headline = f"The ledger was verified {ago(check.time, now)}."
        if check.problems:
            faults = plural(check.problems, "fault", "faults")
            headline = f"The ledger is not what was written: {faults} {ago(check.time, now)}."
            step = "Verify it again, and compare it with heads that were saved elsewhere."
        elif now - datetime.fromisoformat(check.time) <= OLD:
            return
    broken = check is not None and check.problems > 0
    yield Notice(headline, step, "/ledger#verify", "Verify the ledger", danger=broken, setting_up=check is None)


def low_budgets(context: Context, connection: Connection) -> Iterator[Notice]:
    """Budgets of which little is left."""
    budgets = queries.budgets(connection)
    low = sorted((budget for budget in budgets if used(budget) >= NEARLY), key=used, reverse=True)
    if low:
        count = f"{len(low):,} of {plural(len(budgets), 'budget', 'budgets')} {'is' if len(low) == 1 else 'are'}"
        left = f"{low[0].name} has {max(0, 100 - used(low[0]))} % left"
        step = "Decide whether the limit still fits before requests are refused."
        spent_up = used(low[0]) >= FULL
        yield Notice(
            f"{count} used to {NEARLY} % or more; {left}.", step, "#budgets", "See the budgets", danger=spent_up
        )


def recent_refusals(context: Context, connection: Connection) -> Iterator[Notice]:
    """Refusals of the last week."""
    begin = first_since(connection, timestamp(context.site.now() - timedelta(days=7)))
    refused = connection.execute(
        select(ENTRY.c.room, func.count().label("entries"))
        .where(ENTRY.c.sequence >= begin, ENTRY.c.outcome == "refused")
        .group_by(ENTRY.c.room)
    ).all()
    if refused:
        total, (room, most) = sum(row.entries for row in refused), max(refused, key=lambda row: row.entries)
        share = f", {most:,} of them in {room}" if len(refused) > 1 else f", in {room}"
        headline = f"{plural(total, 'request was', 'requests were')} refused in the last 7 days{share}."
        step = "Check whether a user needs a higher limit, or asks for too much."
        yield Notice(headline, step, "/ledger?outcome=refused", "See the refusals")


def open_invitations(context: Context, connection: Connection) -> Iterator[Notice]:
    """People who have not set a password yet."""
    waiting = [person.name for person in accounts.everybody(connection) if person.state == "invited"]
    if waiting:
        count = plural(len(waiting), "invitation has", "invitations have")
        step = "A link works for a day; give them a new one, or close the account."
        yield Notice(f"{count} not been accepted: {_names(waiting)}.", step, "/accounts", "See the accounts")


def waiting_releases(context: Context, connection: Connection) -> Iterator[Notice]:
    """Plans that this account can decide on, and its own that wait."""
    waiting = [plan for plan in plans.everything(connection, states=("planned",)) if plan.ready]
    if not waiting:
        return
    history = History.read(connection)
    others = [plan for plan in waiting if history.objection(plan_workflow.asked_of(plan), context.owner.name) is None]
    if others:
        count, names = plural(len(others), "release awaits", "releases await"), [plan.release for plan in others]
        step = "Review the preview, then approve or reject it; nothing is released before."
        path = f"/releases/plans/{others[0].id}"
        yield Notice(f"{count} your approval: {_names(names)}.", step, path, "Review the plan")
    own = [plan for plan in waiting if plan.account == context.owner.id]
    if own:
        count, names = plural(len(own), "release", "releases"), [plan.release for plan in own]
        verb = "awaits" if len(own) == 1 else "await"
        headline = f"{count} that you planned {verb} another custodian: {_names(names)}."
        yield Notice(headline, "Ask another custodian to review it.", f"/releases/plans/{own[0].id}", "See the plan")


def waiting_limits(context: Context, connection: Connection) -> Iterator[Notice]:
    """Limits and withdrawals that this account can decide on."""
    proposed = gateway_limits.everything(connection, state="proposed")
    in_force = {limit.id: limit for limit in gateway_limits.in_force(connection, now=context.site.stamp())}
    ending = [change for change in gateway_limits.withdrawals(connection, state="proposed") if change.limit in in_force]
    if not proposed and not ending:
        return
    history, me = History.read(connection), context.owner.name
    new = [limit for limit in proposed if history.objection(asked_of(limit, limit), me) is None]
    old = [in_force[end.limit] for end in ending if history.objection(asked_of(in_force[end.limit], end), me) is None]
    for singular, more, limits in (
        ("limit of a database user awaits", "limits of database users await", new),
        ("withdrawal of a limit awaits", "withdrawals of limits await", old),
    ):
        if limits:
            users_named = ["everybody" if limit.name == gateway_limits.EVERYBODY else limit.name for limit in limits]
            headline = f"{plural(len(limits), singular, more)} your approval: {_names(users_named)}."
            step = "Look at what the user has seen, then approve or reject it."
            yield Notice(headline, step, f"/gateway/limits/{limits[0].id}", "Review the limit")


def waiting_roles(context: Context, connection: Connection) -> Iterator[Notice]:
    """Roles that administrators propose and this account can decide on."""
    proposed = role_changes.waiting(connection)
    if not proposed:
        return
    history, me = History.read(connection), context.owner.name
    if others := [change for change in proposed if history.objection(change.asked, me) is None]:
        headline = f"{plural(len(others), 'change of a role awaits', 'changes of roles await')} your approval: "
        headline += f"{_names([f'{change.name} as {change.role}' for change in others])}."
        step = "Ask whether the person needs it, then approve or reject it."
        yield Notice(headline, step, f"/accounts/changes/{others[0].id}", "Review the role")


def near_limits(context: Context, connection: Connection) -> Iterator[Notice]:
    """Database users who have seen most of what they may."""
    number, first = users.near_limit(connection, now=context.site.stamp())
    if first is not None:
        who = plural(number, "database user is", "database users are")
        usage = f"{first.name} has used {first.share} % of it in {first.database}"
        step = "See what was asked for, and decide whether the limit still fits."
        headline = f"{who} above {users.NEARLY} % of their limit; {usage}."
        above = first.state == "above"
        headline += " They are above it." if above and number == 1 else ""
        yield Notice(headline, step, f"/gateway/users/{first.id}", f"See {first.name}", danger=above)


def waiting_pairs(context: Context, connection: Connection) -> Iterator[Notice]:
    """Pairs that were assigned to this account and are not decided."""
    for task in linkage_store.tasks_of(connection, context.owner.name):
        left, project = task.pairs - task.decided, task.project
        if project.state == "open" and left > 0:
            yield Notice(
                f"{plural(left, 'pair waits', 'pairs wait')} for you in {project.name}.",
                "Decide whether two records belong to the same person; opening a cell has the price shown beside it.",
                f"/linkage/{project.id}/review",
                f"Continue {project.name}" if task.decided else f"Start {project.name}",
            )


def waiting_questions(context: Context, connection: Connection) -> Iterator[Notice]:
    """Studies that ask this account how sensitive values are."""
    for study, answers in studies.of_expert(connection, context.owner.id):
        if not answers.finished:
            left = plural(answers.talk.left, "question", "questions")
            yield Notice(
                f"You are asked how sensitive values are: {study.name}, about {left} to go.",
                "Answer them; you can stop at any time and continue later.",
                f"/sensitivity/{study.id}/question",
                "Continue answering" if answers.talk.answers else "Start answering",
            )


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (" and others" if len(names) > MOST_NAMED else "")


NOTICES: tuple[tuple[str, Callable[[Context, Connection], Iterator[Notice]]], ...] = (
    ("ledger.verify", verification),
    ("releases.approve", waiting_releases),
    ("gateway.approve", waiting_limits),
    ("accounts.approve", waiting_roles),
    ("linkage.review", waiting_pairs),
    ("sensitivity.answer", waiting_questions),
    ("gateway.read", near_limits),
    ("ledger.read", low_budgets),
    ("ledger.read", recent_refusals),
    ("accounts.change", open_invitations),
)
"""What may need attention, in this order, with the permission without which it is not looked at."""
