"""Where a one-time link leads: the first account is made, or a password is set."""

from __future__ import annotations

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web.accounts import accounts, one_time_links, passwords
from discreet.web.accounts.accounts import Act
from discreet.web.accounts.one_time_links import Link
from discreet.web.accounts.sign_in import begin_session
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads


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
    return _form(context, context.loaded)


def welcome(context: Here) -> Response:
    """Set the password, make the account if it is the first one, and sign in."""
    link: Link = context.loaded
    name = link.account.name if link.account else context.form.text("name", most=200).lower()
    password, again = (context.form.verbatim(field, most=1_000) for field in ("password", "again"))
    wrong = "" if accounts.NAME.fullmatch(name) else accounts.NAME_WORDS
    wrong = wrong or passwords.complaint(password, again, name=name)
    if wrong:
        return _form(
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


def _form(context: Context, link: Link, *, name: str = "", problem: Problem | None = None) -> Response:
    status = problem.status if problem else 200
    return context.page(
        "welcome.html", status=status, link=link, name=name, problem=problem, shortest=passwords.SHORTEST
    )
