"""Sign-in, sign-out, and where a one-time link leads."""

from __future__ import annotations

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web.accounts import accounts, one_time_links, passwords, sessions
from discreet.web.accounts.accounts import Act
from discreet.web.accounts.one_time_links import Link
from discreet.web.framework import rate_limits
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import remark
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads

REFUSED = "That name and password do not go together, or the account is closed."


def sign_in_page(context: Here, next: str = "/", said: str = "") -> Response:  # noqa: A002 - the name in the address
    """The form; whoever is signed in already goes on."""
    if context.account is not None:
        return go("/")
    return _form(context, wanted=next, said=remark(said))


def sign_in(context: Here) -> Response:
    """Check name and password; the answer and its time are the same for whoever does not exist."""
    name = context.form.text("name", most=200).lower()
    password = context.form.verbatim("password", most=1_000)
    wanted = context.form.text("next", most=500)
    allowances = rate_limits.sign_in_allowances(context.site, name, context.address)
    try:
        rate_limits.take(context.site, allowances)
    except Problem as too_many:
        return _form(context, wanted=wanted, name=name, problem=too_many)
    number = _checked(context, name, password)
    if number is None:
        remedy = "Try again. A custodian can give you a link to set a new password."
        problem = Problem(403, REFUSED, remedy=remedy, title="That did not work")
        return _form(context, wanted=wanted, name=name, problem=problem)
    rate_limits.forgive(context.site, allowances)
    return begin_session(context, number, go(safe_path(context, wanted)))


def _checked(context: Context, name: str, password: str) -> int | None:
    """The number of the account if the password fits and the account is open."""
    with context.site.store.reading() as connection:
        found = accounts.by_name(connection, name)
    account, stored = found if found is not None else (None, None)
    fits = context.site.hasher.fits(password, stored)
    return account.id if fits and account is not None and not account.disabled else None


def begin_session(context: Context, account: int, response: Response) -> Response:
    """A new session with a new token; the one that the browser had ends."""
    with context.site.store.writing() as connection:
        if context.session is not None:
            sessions.end(connection, context.session)
        token = sessions.begin(connection, context.site, account)
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
    known = any(_matches(served, context.request, wanted) for served in _pages(context))
    return wanted if known else "/"


def _pages(context: Context) -> list[object]:
    routes = context.site.app.router.routes if context.site.app is not None else []
    return [served for served in routes if getattr(getattr(served, "declared", None), "kind", "") == "page"]


def _matches(served: object, request: Request, path: str) -> bool:
    from starlette.routing import Match

    match, _ = served.matches({**request.scope, "method": "GET", "path": path})  # type: ignore[attr-defined]
    return bool(match == Match.FULL)


def _form(context: Context, *, wanted: str, said: str = "", name: str = "", problem: Problem | None = None) -> Response:
    with context.site.store.reading() as connection:
        nobody = not accounts.exist(connection)
    response = context.page(
        "sign_in.html",
        status=problem.status if problem else 200,
        wanted=safe_path(context, wanted),
        said=said,
        name=name,
        problem=problem,
        nobody=nobody,
    )
    response.headers.update(problem.headers if problem else {})
    return response


# Where a one-time link leads: the first account is made, or a password is set.
def _find(context: Context, path: dict[str, str]) -> Link | None:
    with context.site.store.reading() as connection:
        found = one_time_links.find(connection, context.site, path["secret"])
    if found is None:
        raise one_time_links.gone()
    return found


LINK = Loads("link", find=_find, may=lambda context, link: True)
"""Whoever has the secret may: that is what a link is."""


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
    hashed = context.site.hasher.hash(password)
    act = Act.PASSWORD_SET if link.account else Act.MADE
    context.act(
        "web.account",
        f"account:{name}",
        actor=name,
        along=lambda connection: _take_up(connection, context, link, name, hashed),
        act=act.value,
        role=link.account.role if link.account else "custodian",
    )
    return _signed_in(context, name)


def _signed_in(context: Context, name: str) -> Response:
    """Whoever has just chosen the password need not type it again."""
    with context.site.store.reading() as connection:
        found = accounts.by_name(connection, name)
    if found is None:
        raise one_time_links.gone()
    return begin_session(context, found[0].id, go("/", said="welcome"))


def _take_up(connection: Connection, context: Context, link: Link, name: str, hashed: str) -> None:
    site = context.site
    one_time_links.use(connection, site, link)
    if link.account is not None:
        accounts.set_password(connection, link.account.id, hashed, now=site.stamp())
        return
    if accounts.exist(connection):
        raise one_time_links.gone()
    accounts.add(connection, name=name, role="custodian", now=site.stamp(), password=hashed)


def _welcome_form(context: Context, link: Link, *, name: str = "", problem: Problem | None = None) -> Response:
    status = problem.status if problem else 200
    return context.page(
        "welcome.html", status=status, link=link, name=name, problem=problem, shortest=passwords.SHORTEST
    )
