"""The gateway: users by exposure, one user over time, refusals, incidents, and why something was refused."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from sqlalchemy import Connection
from starlette.responses import Response

from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.page import Figure, figure
from discreet.store import gateway_limits
from discreet.web.framework.context import Context, Here
from discreet.web.framework.route import Loads, numbered
from discreet.web.gateway import chart, incidents, refusals, users
from discreet.web.gateway.entry_view import Told, agreed_number, limit_words, outcome_words, reason_words
from discreet.web.gateway.explaining import explained
from discreet.web.gateway.totals import follow
from discreet.web.gateway.users import User
from discreet.web.remarks import remark

NEWEST = 5
"""Refusals and incidents on the first page."""
STEPS = 400
"""Entries of a user that the chart is made from."""
SHOWN = 50
Text = Annotated[str, Query(max_length=200)]
Number = Annotated[int | None, Query(ge=0, le=10**17)]
PageNumber = Annotated[int, Query(ge=1, le=10**6)]


def _find(context: Context, path: dict[str, str]) -> User | None:
    follow(context.site.store)
    with context.site.store.reading() as connection:
        return users.find(connection, numbered(path["number"]), now=context.site.stamp())


USER = Loads("database user", find=_find, may=lambda context, user: context.may(context.route.permission))
"""Database users belong to nobody: whoever may see the gateway may see each."""


def gateway_page(context: Here, said: str = "", database: Text = "", name: Text = "", page: PageNumber = 1) -> Response:
    """Who has seen how much, the most exposed first."""
    complete = follow(context.site.store)
    now = context.site.stamp()
    with context.site.store.reading() as connection:
        shown = users.ranked(connection, now=now, database=printable(database), name=printable(name), page=page)
        return context.page(
            "gateway.html",
            said=remark(said),
            complete=complete,
            watched=users.watched(connection),
            shown=shown,
            wanted={"database": database, "name": name},
            incidents=incidents.incidents(connection, context.site.now())[:NEWEST],
            refusals=refusals.newest(connection, most=NEWEST).refusals,
            waiting=gateway_limits.everything(connection, state="proposed"),
            words=reason_words,
            frame=incidents.FRAME,
        )


def printable(text: str) -> str:
    """What can be asked of every database; what cannot be printed stands in no entry, so nobody fits."""
    return text if text.isprintable() else "\N{REPLACEMENT CHARACTER}"


def user_page(context: Here, said: str = "") -> Response:
    """One user: exposure over time, newest results, refusals, incidents and limits."""
    user: User = context.loaded
    with context.site.store.reading() as connection:
        history = refusals.history(connection, user, most=STEPS)
        drawn = chart.figure_of(user, history, context.site.now())
        return context.page(
            "gateway_user.html",
            said=remark(said),
            user=user,
            agreed=agreed_number(user.rule),
            figure=_drawn(drawn),
            history=history[:SHOWN],
            refusals=refusals.newest(connection, user=user.id, most=SHOWN),
            incidents=incidents.incidents(connection, context.site.now(), user=user.id),
            limits=gateway_limits.everything(connection, database=user.database, name=user.name, most=SHOWN),
            words=reason_words,
            outcome=outcome_words,
            amount=limit_words,
            stamp=context.site.stamp(),
        )


def _drawn(data: Figure | None) -> Markup | None:
    return None if data is None else figure(data, 1)


def refusals_page(context: Here, database: Text = "", before: Number = None) -> Response:
    """All refusals, newest first, with their reasons."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        return context.page(
            "gateway_refusals.html",
            page=refusals.newest(connection, database=printable(database), before=before),
            watched=users.watched(connection),
            database=database,
            paged=before is not None,
            words=reason_words,
        )


def incidents_page(context: Here) -> Response:
    """Days that are worth a look, the worst first."""
    follow(context.site.store)
    with context.site.store.reading() as connection:
        found = incidents.incidents(connection, context.site.now())
    return context.page("gateway_incidents.html", incidents=found, frame=incidents.FRAME, most=incidents.MOST)


def why_page(context: Here, reference: Text = "") -> Response:
    """Why something was refused, in plain words."""
    with context.site.store.reading() as connection:
        told = may_see(context, connection, reference) if reference.strip() else None
        explanation = None if told is None else explained(connection, told)
    user = None
    if told is not None and context.may("gateway.read"):
        follow(context.site.store)
        with context.site.store.reading() as connection:
            user = users.named(connection, told.database, told.user, now=context.site.stamp())
    return context.page(
        "gateway_why.html",
        status=404 if reference.strip() and told is None else 200,
        reference=reference.strip()[:20],
        told=told,
        explanation=explanation,
        user=user,
    )


def may_see(context: Context, connection: Connection, reference: str) -> Told | None:
    """The refusal behind a reference: any for those who watch the gateway, for everybody else their own."""
    told = refusals.by_reference(connection, reference)
    if told is None or context.may("gateway.read") or told.user == context.owner.name:
        return told
    return None
