"""Sign-in with limited attempts, sign-out, and where a one-time link leads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, case, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from starlette.responses import Response
from starlette.routing import Match

from discreet.store.tables.web import LIMIT
from discreet.web.accounts import accounts, one_time_links, passwords, sessions
from discreet.web.accounts.accounts import Act
from discreet.web.accounts.one_time_links import Link
from discreet.web.framework import format as formats
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads
from discreet.web.framework.site import Site

REFUSED = "That name and password do not go together, or the account is closed."


def sign_in_page(context: Here, next: str = "/") -> Response:  # noqa: A002 - the name in the address
    """The form; an account that is signed in already goes on to the dashboard."""
    return _form(context, wanted=next) if context.account is None else go("/")


def sign_in(context: Here) -> Response:
    """Check name and password; the answer and its time are the same for a name that does not exist."""
    name = context.form.text("name", most=200).lower()
    password = context.form.verbatim("password", most=1_000)
    wanted = context.form.text("next", most=500)
    allowances = sign_in_allowances(context.site, name, context.address)
    try:
        take_attempt(context.site, allowances)
    except Problem as too_many:
        return _form(context, wanted=wanted, name=name, problem=too_many)
    with context.site.store.reading() as connection:
        named = accounts.by_name(connection, name)
    account, stored = named if named is not None else (None, None)
    fits = context.site.hasher.fits(password, stored)
    if fits and stored is not None and account is not None and not account.disabled:
        forgive_attempt(context.site, allowances)
        begun = begin_session(context, account.id, go(safe_path(context, wanted)), proven=stored)
        if begun is not None:
            return begun
    remedy = "Try again. A custodian can give you a link to set a new password."
    problem = Problem(403, REFUSED, remedy=remedy, title="That did not work")
    return _form(context, wanted=wanted, name=name, problem=problem)


def begin_session(context: Context, account: int, response: Response, *, proven: str) -> Response | None:
    """A new session with a new token; the one that the browser had ends. None if the password was changed meanwhile."""
    with context.site.store.writing() as connection:
        token = sessions.begin(connection, context.site, account, proven=proven)
        if token is None:
            return None
        if context.session is not None:
            sessions.end(connection, context.session)
    sessions.give(response, token)
    return response


def sign_out(context: Here) -> Response:
    """End the session."""
    with context.site.store.writing() as connection:
        if context.session is not None:
            sessions.end(connection, context.session)
    response = go("/sign-in", said="signed-out")
    sessions.take_back(response)
    return response


def safe_path(context: Context, wanted: str) -> str:
    """Where to go after signing in: a page of ours without parameters, or the dashboard."""
    route = context.site.table.get(("GET", wanted))
    if route is not None and route.kind == "page":
        return wanted
    scope = {**context.request.scope, "method": "GET", "path": wanted}
    served = context.site.app.router.routes if context.site.app is not None else []
    pages = [route for route in served if getattr(getattr(route, "declared", None), "kind", "") == "page"]
    return wanted if any(page.matches(scope)[0] == Match.FULL for page in pages) else "/"


def _form(context: Context, *, wanted: str, name: str = "", problem: Problem | None = None) -> Response:
    with context.site.store.reading() as connection:
        nobody = not accounts.exist(connection)
    path = safe_path(context, wanted)
    return context.page("sign_in.html", problem=problem, wanted=path, name=name, nobody=nobody)


WINDOW = timedelta(minutes=15)


@dataclass(frozen=True)
class Allowance:
    """So many times within the window."""

    key: str
    most: int


def sign_in_allowances(site: Site, name: str, address: str) -> list[Allowance]:
    """Few per account and address; more per account, so that nobody is locked out from elsewhere; more per address.

    Names are kept as keyed hashes: people type passwords there.
    """
    who = site.ledger.fingerprint(f"sign-in name {name}")
    where = site.ledger.fingerprint(f"sign-in address {address}")
    return [Allowance(f"both:{who}:{where}", 5), Allowance(f"name:{who}", 50), Allowance(f"address:{where}", 30)]


def take_attempt(site: Site, allowances: list[Allowance]) -> None:
    """Count one attempt before it is made; a problem, and nothing counted, if that is one too many."""
    now, begin = site.stamp(), site.stamp(ago=WINDOW)
    with site.store.writing() as connection:
        upsert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        for allowance in sorted(allowances, key=lambda allowance: allowance.key):
            new = upsert(LIMIT).values(key=allowance.key, since=now, count=0).on_conflict_do_nothing()
            connection.execute(new)
            # One statement looks and counts, so that many at once get no more than the limit.
            over = LIMIT.c.since <= begin
            counted = (
                update(LIMIT)
                .where(LIMIT.c.key == allowance.key, or_(over, LIMIT.c.count < allowance.most))
                .values(count=case((over, 1), else_=LIMIT.c.count + 1), since=case((over, now), else_=LIMIT.c.since))
            )
            count = connection.execute(counted).rowcount == 1
            if not count:
                since = connection.execute(select(LIMIT.c.since).where(LIMIT.c.key == allowance.key)).scalar_one()
                wait = datetime.fromisoformat(since) + WINDOW - site.now()
                seconds = max(1, math.ceil(wait.total_seconds()))
                raise Problem(
                    429,
                    "There were too many attempts.",
                    remedy=f"Try again in {formats.span(timedelta(seconds=seconds + 59))}. If you have forgotten your password, ask a custodian for a link.",
                    headers={"Retry-After": str(seconds)},
                )


def forgive_attempt(site: Site, allowances: list[Allowance]) -> None:
    """The attempt was a good one and does not count. What is over is swept out on the way."""
    keys = sorted(allowance.key for allowance in allowances)
    with site.store.writing() as connection:
        for key in keys:
            left = case((LIMIT.c.key.startswith("both:"), 0), else_=LIMIT.c.count - 1)
            connection.execute(update(LIMIT).where(LIMIT.c.key == key, LIMIT.c.count > 0).values(count=left))
    with site.store.writing() as connection:
        connection.execute(delete(LIMIT).where(LIMIT.c.since <= site.stamp(ago=WINDOW)))


# Where a one-time link leads: the first account is made, or a password is set.
def _find(context: Context, path: dict[str, str]) -> Link | None:
    with context.site.store.reading() as connection:
        link = one_time_links.find(connection, context.site, path["secret"])
    if link is None:
        raise one_time_links.gone()
    return link


LINK = Loads("link", find=_find, may=lambda context, link: True)
"""Knowing the secret is enough: that is what a link is."""


def welcome_page(context: Here) -> Response:
    """The form. Looking at it does not use the link up: programs that look into letters do that, too."""
    return _welcome_form(context, context.loaded)


def welcome(context: Here) -> Response:
    """Set the password, make the account if it is the first one, and sign in."""
    link: Link = context.loaded
    name = link.account.name if link.account else context.form.text("name", most=200).lower()
    password, again = (context.form.verbatim(field, most=1_000) for field in ("password", "again"))
    wrong = "" if accounts.NAME.fullmatch(name) else accounts.NAME_WORDS
    wrong = wrong or passwords.complaint(password, again, name=name)
    if wrong:
        return _welcome_form(
            context, link, name=name, problem=Problem(422, wrong, remedy="Correct it and send the form again.")
        )
    site = context.site
    hashed = site.hasher.hash(password)

    def along(connection: Connection) -> None:
        one_time_links.use(connection, site, link)
        if link.account is not None:
            accounts.set_password(connection, link.account.id, hashed, now=site.stamp())
        elif accounts.exist(connection):
            raise one_time_links.gone()
        else:
            accounts.add(connection, name=name, role="custodian", now=site.stamp(), password=hashed)

    act = Act.PASSWORD_SET if link.account else Act.MADE
    role = link.account.role if link.account else "custodian"
    context.act("web.account", f"account:{name}", actor=name, along=along, act=act.value, role=role)
    with site.store.reading() as connection:
        named = accounts.by_name(connection, name)
    if named is None:
        raise one_time_links.gone()
    # No need to type the new password again, unless it was changed or the account closed at the same moment.
    return begin_session(context, named[0].id, go("/", said="welcome"), proven=hashed) or go("/sign-in")


def _welcome_form(context: Context, link: Link, *, name: str = "", problem: Problem | None = None) -> Response:
    return context.page("welcome.html", link=link, name=name, problem=problem, shortest=passwords.SHORTEST)
