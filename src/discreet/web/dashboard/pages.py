"""Dashboard: attention, disclosures, integrity of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.ledger import queries
from discreet.ledger.tree import Tree
from discreet.report import Finding
from discreet.report.charts.bars import spark
from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.words import plural
from discreet.store import gateway_limits
from discreet.web.accounts import accounts
from discreet.web.accounts.onboarding import guide_of
from discreet.web.accounts.second_approver import History
from discreet.web.dashboard import activity
from discreet.web.framework import format as formats
from discreet.web.framework.context import Context, Here
from discreet.web.framework.format import remark
from discreet.web.gateway import users
from discreet.web.gateway.limits import asked_of
from discreet.web.gateway.totals import follow
from discreet.web.linkage import store as linkage_store
from discreet.web.releases import decisions
from discreet.web.releases import store as plans
from discreet.web.releases.store import ReleasePlan
from discreet.web.sensitivity import store as studies

OLD = timedelta(days=7)
"""A verification older than this is worth a reminder."""


@dataclass(frozen=True)
class Notice(Finding):
    """A finding that leads somewhere."""

    path: str = ""
    link: str = ""
    danger: bool = False


def dashboard_page(context: Here, said: str = "") -> Response:
    """What this account can see of it all; what it may not see is left out."""
    if context.may("gateway.read"):
        follow(context.site.store)
    with context.site.store.reading() as connection:
        notices = [notice for finder in NOTICES for notice in finder(context, connection)]
        state = _ledger_state(context, connection) if context.may("ledger.read") else None
        shown = context.owner.guided and context.may("datasets.change")
        guide = guide_of(connection, context.owner) if shown else None
    return context.page("dashboard.html", notices=notices, ledger=state, guide=guide, said=remark(said))


def _ledger_state(context: Context, connection: Connection) -> dict[str, object]:
    budgets = sorted(queries.budgets(connection), key=lambda budget: -activity.used(budget))
    return {
        "head": Tree.read(connection).head(),
        "check": activity.last_check(connection),
        "rooms": [(room, _spark(room)) for room in activity.rooms(connection, context.site.now())],
        "days": activity.DAYS,
        "budgets": [(budget, activity.used(budget)) for budget in budgets if activity.used(budget) >= activity.NEARLY],
        "all_budgets": len(budgets),
    }


def _spark(room: activity.Room) -> Markup:
    about = f"Day by day, the last one today: {', '.join(str(day) for day in room.days)}."
    return spark(
        [float(day) for day in room.days], key=f"room-{room.name}", title=f"Disclosures of {room.name}", about=about
    )


# -- what needs attention -----------------------------------------------------------------------------------------


def verification(context: Context, connection: Connection) -> list[Notice]:
    """The ledger was found wanting, was never verified, or not for a while."""
    if not context.may("ledger.verify"):
        return []
    check, now = activity.last_check(connection), context.site.now()
    if check is None:
        return [_verify("The ledger has never been verified here.", "Verify it, and keep its head elsewhere.")]
    if check.problems:
        faults = plural(check.problems, "fault", "faults")
        headline = f"The ledger is not what was written: {faults} {formats.ago(check.time, now)}."
        return [_verify(headline, "Verify it again, and compare it with heads that were kept elsewhere.", danger=True)]
    if now - datetime.fromisoformat(check.time) > OLD:
        headline = f"The ledger was verified {formats.ago(check.time, now)}."
        return [_verify(headline, "Verify it again, and keep its head elsewhere.")]
    return []


def _verify(headline: str, next_step: str, *, danger: bool = False) -> Notice:
    return Notice(headline, next_step, "/ledger#verify", "Verify the ledger", danger)


def low_budgets(context: Context, connection: Connection) -> list[Notice]:
    """Budgets of which little is left."""
    if not context.may("ledger.read"):
        return []
    budgets = queries.budgets(connection)
    low = sorted(
        (budget for budget in budgets if activity.used(budget) >= activity.NEARLY), key=activity.used, reverse=True
    )
    if not low:
        return []
    count = f"{len(low):,} of {plural(len(budgets), 'budget', 'budgets')}"
    verb = "is" if len(low) == 1 else "are"
    headline = f"{count} {verb} used to {activity.NEARLY} % or more; {low[0].name} has {formats.amount(low[0].left)} of {formats.amount(low[0].limit)} left."
    return [
        Notice(
            headline, "Decide whether the limit still fits before somebody is refused.", "#budgets", "See the budgets"
        )
    ]


def refused_lately(context: Context, connection: Connection) -> list[Notice]:
    """Refusals of the last week."""
    if not context.may("ledger.read"):
        return []
    refused = activity.refusals(connection, context.site.now())
    if not refused:
        return []
    total, (room, most) = sum(refused.values()), next(iter(refused.items()))
    share = f", {most:,} of them in {room}" if len(refused) > 1 else f", in {room}"
    headline = f"{plural(total, 'request was', 'requests were')} refused in the last 7 days{share}."
    return [
        Notice(
            headline,
            "See whether somebody needs more, or tries too much.",
            "/ledger?outcome=refused",
            "See the refusals",
        )
    ]


def open_invitations(context: Context, connection: Connection) -> list[Notice]:
    """People who have not set a password yet."""
    if not context.may("accounts.change"):
        return []
    waiting = [person.name for person in accounts.everybody(connection) if person.state == "invited"]
    if not waiting:
        return []
    headline = f"{plural(len(waiting), 'invitation has', 'invitations have')} not been taken up: {', '.join(waiting[:5])}{' and others' if len(waiting) > 5 else ''}."
    return [
        Notice(
            headline,
            "A link works for a day; give them a new one, or close the account.",
            "/accounts",
            "See the accounts",
        )
    ]


def waiting_releases(context: Context, connection: Connection) -> list[Notice]:
    """Plans of releases that somebody else has to decide on, or that wait for somebody else."""
    if not context.may("releases.approve"):
        return []
    waiting = [plan for plan in plans.everything(connection, states=("planned",)) if plan.ready]
    if not waiting:
        return []
    history = History.read(connection)
    mine = [plan for plan in waiting if plan.account == context.owner.id]
    others = [plan for plan in waiting if history.objection(decisions.asked_of(plan), context.owner.name) is None]
    found = []
    if others:
        headline = f"{plural(len(others), 'release awaits', 'releases await')} your approval: {_listed(others)}."
        words = "Look at what would come of it, then approve or reject it; nothing leaves before."
        found.append(Notice(headline, words, f"/releases/plans/{others[0].id}", "Look at the plan"))
    if mine:
        headline = f"{plural(len(mine), 'release', 'releases')} that you planned {'awaits' if len(mine) == 1 else 'await'} another custodian: {_listed(mine)}."
        found.append(
            Notice(headline, "Ask somebody else to look at it.", f"/releases/plans/{mine[0].id}", "See the plan")
        )
    return found


def _listed(waiting: list[ReleasePlan]) -> str:
    names = [plan.release for plan in waiting]
    return ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")


def waiting_limits(context: Context, connection: Connection) -> list[Notice]:
    """Limits of database users, and their withdrawals, that this account can decide on."""
    if not context.may("gateway.approve"):
        return []
    proposed = gateway_limits.everything(connection, state="proposed")
    held = {limit.id: limit for limit in gateway_limits.in_force(connection, now=context.site.stamp())}
    leaving = [one for one in gateway_limits.withdrawals(connection, state="proposed") if one.limit in held]
    if not proposed and not leaving:
        return []
    history, me = History.read(connection), context.owner.name
    new = [one for one in proposed if history.objection(asked_of(one, one), me) is None]
    old = [held[one.limit] for one in leaving if history.objection(asked_of(held[one.limit], one), me) is None]
    return [
        *_limits("limit of a database user awaits", "limits of database users await", new),
        *_limits("withdrawal of a limit awaits", "withdrawals of limits await", old),
    ]


def _limits(one: str, more: str, found: list[gateway_limits.Agreed]) -> list[Notice]:
    if not found:
        return []
    names = ", ".join("everybody" if limit.name == gateway_limits.EVERYBODY else limit.name for limit in found[:5])
    headline = f"{plural(len(found), one, more)} your approval: {names}{' and others' if len(found) > 5 else ''}."
    step = "Look at what the user has seen, then approve or reject it."
    return [Notice(headline, step, f"/gateway/limits/{found[0].id}", "Look at the limit")]


def near_limits(context: Context, connection: Connection) -> list[Notice]:
    """Database users who have seen most of what they may."""
    if not context.may("gateway.read"):
        return []
    number, first = users.near_limit(connection, now=context.site.stamp())
    if first is None:
        return []
    who = plural(number, "database user is", "database users are")
    headline = f"{who} above {users.NEARLY} % of their limit; {first.name} has {first.used} of {first.allowed} in {first.database}."
    step = "See what was asked for, and decide whether the limit still fits."
    return [Notice(headline, step, f"/gateway/users/{first.id}", f"See {first.name}")]


def waiting_pairs(context: Context, connection: Connection) -> list[Notice]:
    """Pairs that were given to oneself and are not decided."""
    if not context.may("linkage.review"):
        return []
    tasks = linkage_store.tasks_of(connection, context.owner.name)
    waiting = [task for task in tasks if task.project.state == "open" and task.decided < task.pairs]
    return [
        Notice(
            f"{plural(task.pairs - task.decided, 'pair waits', 'pairs wait')} for you in {task.project.name}.",
            "Decide whether two records are one person; opening a cell costs, and the price stands beside it.",
            f"/linkage/{task.project.id}/review",
            f"Go on with {task.project.name}" if task.decided else f"Begin {task.project.name}",
        )
        for task in waiting
    ]


def waiting_questions(context: Context, connection: Connection) -> list[Notice]:
    """Studies in which oneself is asked how sensitive values are."""
    if not context.may("sensitivity.answer"):
        return []
    return [
        Notice(
            f"You are asked how sensitive values are: {study.name}, about {plural(kept.talk.left, 'question', 'questions')} to go.",
            "Answer them; you can stop at any time and go on later.",
            f"/sensitivity/{study.id}/question",
            "Go on answering" if kept.talk.answers else "Begin to answer",
        )
        for study, kept in studies.of_expert(connection, context.owner.id)
        if not kept.finished
    ]


NOTICES: tuple[Callable[[Context, Connection], list[Notice]], ...] = (
    verification,
    waiting_releases,
    waiting_limits,
    waiting_pairs,
    waiting_questions,
    near_limits,
    low_budgets,
    refused_lately,
    open_invitations,
)
"""Who is asked what needs attention, in this order; every place adds its own."""
