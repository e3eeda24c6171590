"""Sign-in with limited attempts, sign-out, and where a one-time link leads."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from sqlalchemy import Connection, case, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from starlette.responses import Response
from starlette.routing import Match

from discreet.store.tables.web import LIMIT
from discreet.web.accounts import accounts, credentials
from discreet.web.accounts.accounts import Act
from discreet.web.accounts.credentials import Link
from discreet.web.framework.context import Context, Here, go, or_again
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads
from discreet.web.framework.shared_state import Site, span

REFUSED = "That name and password do not go together, or the account is closed."


def sign_in_page(context: Here, next: str = "/") -> Response:  # noqa: A002 - the name in the address
    """The form; an account that is signed in already goes on to the dashboard."""
    if context.account is not None and context.problem is None:
        return go("/")
    with context.site.store.reading() as connection:
        nobody = not accounts.exist(connection)
    name, wanted = context.form.text("name").lower(), context.form.text("next", most=500)
    return context.page("sign_in.html", wanted=safe_path(context, wanted or next), name=name, nobody=nobody)


@or_again(sign_in_page)
def sign_in(context: Here) -> Response:
    """Check name and password; answer and time are the same for unknown names."""
    name = context.form.text("name").lower()
    password = context.form.verbatim("password", most=1_000)
    wanted = context.form.text("next", most=500)
    allowances = sign_in_allowances(context.site, name, context.address)
    take_attempt(context.site, allowances)
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
    raise Problem(403, REFUSED, remedy=remedy, title="That did not work")


def begin_session(context: Context, account: int, response: Response, *, proven: str) -> Response | None:
    """A new session in place of the old; None after a change of password."""
    with context.site.store.writing() as connection:
        token = credentials.begin_session(connection, context.site, account, proven=proven)
        if token is None:
            return None
        if context.session is not None:
            credentials.end_session(connection, context.session)
    credentials.give_session(response, token)
    return response


def sign_out(context: Here) -> Response:
    """End the session."""
    with context.site.store.writing() as connection:
        if context.session is not None:
            credentials.end_session(connection, context.session)
    response = go("/sign-in", said="signed-out")
    credentials.forget_session(response)
    return response


def safe_path(context: Context, wanted: str) -> str:
    """Where to go after signing in: a page of ours, or the dashboard."""
    route = context.site.table.get(("GET", wanted))
    if route is not None and route.kind == "page":
        return wanted
    scope = {**context.request.scope, "method": "GET", "path": wanted}
    served = context.site.app.router.routes if context.site.app is not None else []
    pages = [route for route in served if getattr(getattr(route, "declared", None), "kind", "") == "page"]
    return wanted if any(page.matches(scope)[0] == Match.FULL for page in pages) else "/"


WINDOW = timedelta(minutes=15)


def sign_in_allowances(site: Site, name: str, address: str) -> dict[str, int]:
    """Most attempts per account and address, per account, and per address, by key.

    More are allowed per account alone, so that nobody is locked out from elsewhere. Names are stored as keyed hashes:
    people type passwords there.
    """
    who = site.ledger.fingerprint(f"sign-in name {name}")
    where = site.ledger.fingerprint(f"sign-in address {address}")
    return {f"both:{who}:{where}": 5, f"name:{who}": 50, f"address:{where}": 30}


def take_attempt(site: Site, allowances: dict[str, int]) -> None:
    """Count an attempt before it is made; a problem if too many."""
    now, begin = site.stamp(), site.stamp(ago=WINDOW)
    with site.store.writing() as connection:
        upsert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        for key, most in sorted(allowances.items()):
            connection.execute(upsert(LIMIT).values(key=key, since=now, count=0).on_conflict_do_nothing())
            # One statement looks and counts, so that many at once get no more than the limit.
            over = LIMIT.c.since <= begin
            counted = (
                update(LIMIT)
                .where(LIMIT.c.key == key, or_(over, LIMIT.c.count < most))
                .values(count=case((over, 1), else_=LIMIT.c.count + 1), since=case((over, now), else_=LIMIT.c.since))
            )
            if connection.execute(counted).rowcount != 1:
                since = connection.execute(select(LIMIT.c.since).where(LIMIT.c.key == key)).scalar_one()
                wait = datetime.fromisoformat(since) + WINDOW - site.now()
                seconds = max(1, math.ceil(wait.total_seconds()))
                raise Problem(
                    429,
                    "There were too many attempts.",
                    remedy=f"Try again in {span(timedelta(seconds=seconds + 59))}. If you have forgotten your password, ask a custodian for a link.",
                    headers={"Retry-After": str(seconds)},
                )


def forgive_attempt(site: Site, allowances: dict[str, int]) -> None:
    """Do not count a good attempt, and sweep out what is over."""
    with site.store.writing() as connection:
        for key in sorted(allowances):
            left = case((LIMIT.c.key.startswith("both:"), 0), else_=LIMIT.c.count - 1)
            connection.execute(update(LIMIT).where(LIMIT.c.key == key, LIMIT.c.count > 0).values(count=left))
    with site.store.writing() as connection:
        connection.execute(delete(LIMIT).where(LIMIT.c.since <= site.stamp(ago=WINDOW)))


# Where a one-time link leads: the first account is made, or a password is set.
LINK: Loads[Context] = Loads(
    "link", lambda context, path: credentials.find_link(context.site, path["secret"]), lambda context, link: True
)
"""Knowing the secret is enough: that is what a link is."""


def welcome_page(context: Here) -> Response:
    """The form; looking at it does not use the link up."""
    link: Link = context.loaded
    name = link.account.name if link.account else context.form.text("name").lower()
    return context.page("welcome.html", link=link, name=name, shortest=accounts.SHORTEST)


def welcome(context: Here) -> Response:
    """Set the password, make the first account if need be, and sign in."""
    link: Link = context.loaded
    name = link.account.name if link.account else context.form.text("name").lower()
    password, again = (context.form.verbatim(field, most=1_000) for field in ("password", "again"))
    wrong = "" if accounts.NAME.fullmatch(name) else accounts.NAME_WORDS
    wrong = wrong or accounts.password_complaint(password, again, name=name)
    if wrong:
        context.problem = Problem(422, wrong, remedy="Correct it and send the form again.")
        return welcome_page(context)
    site = context.site
    hashed = site.hasher.hash(password)

    def along(connection: Connection) -> int:
        credentials.use_link(connection, site, link)
        if link.account is not None:
            accounts.set_password(connection, link.account.id, hashed, now=site.stamp())
            return link.account.id
        if accounts.exist(connection):
            raise credentials.link_gone()
        return accounts.add(connection, name=name, role="custodian", now=site.stamp(), password=hashed)

    act = Act.PASSWORD_SET if link.account else Act.MADE
    role = link.account.role if link.account else "custodian"
    number = context.act("web.account", f"account:{name}", actor=name, along=along, act=act.value, role=role)
    # No need to type the new password again, unless it was changed or the account closed at the same moment.
    return begin_session(context, number, go("/", said="welcome"), proven=hashed) or go("/sign-in")
