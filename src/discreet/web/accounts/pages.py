"""Accounts: invite people, close accounts and open them again, end sessions, give out links."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web.accounts import accounts, one_time_links
from discreet.web.accounts.accounts import Account, Act
from discreet.web.accounts.second_approver import History
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.permissions import ROLES
from discreet.web.remarks import remark


def _find(context: Context, path: dict[str, str]) -> Account | None:
    with context.site.store.reading() as connection:
        return accounts.find(connection, numbered(path["number"]))


ACCOUNT = Loads("account", find=_find, may=lambda context, account: context.may("accounts.change"))
"""Accounts have no owner: whoever may change accounts may change each."""


def accounts_page(context: Here, said: str = "") -> Response:
    """Everybody, and the form to invite somebody."""
    return _page(context, said=remark(said))


def invite(context: Here) -> Response:
    """A new account and the link that opens it, which is shown once."""
    form, site = context.form, context.site
    name, role = form.text("name", most=200).lower(), form.choice("role", list(ROLES))
    if not accounts.NAME.fullmatch(name):
        problem = Problem(422, accounts.NAME_WORDS, remedy="Correct it and send the form again.")
        return _page(context, problem=problem, name=name, role=role)
    made: list[str] = []

    def along(connection: Connection) -> None:
        number = accounts.add(connection, name=name, role=role, now=site.stamp())
        made.append(one_time_links.make(connection, site.settings, number))

    try:
        context.act("web.account", f"account:{name}", along=along, act=Act.INVITED.value, role=role)
    except Problem as problem:
        return _page(context, problem=problem, name=name, role=role)
    return _page(context, link=one_time_links.address(site.settings, made[-1]), invited=name)


def account_page(context: Here) -> Response:
    """One account, whose actions led to it, and what can be done with it."""
    return _person(context)


def _person(context: Context, *, link: str = "") -> Response:
    person: Account = context.loaded
    with context.site.store.reading() as connection:
        origin = History.read(connection).now.get(person.name)
    behind = sorted((entry, name) for name, entry in origin.hands.items() if name != person.name) if origin else []
    return context.page("account.html", person=person, role_words=ROLES[person.role], behind=behind, link=link)


def new_link(context: Here) -> Response:
    """A link to set a new password; the old password works until it is used."""
    person: Account = context.loaded
    if person.disabled:
        raise Problem(409, "The account is closed.", remedy="Open it again first.")
    made: list[str] = []
    site = context.site
    _act(context, Act.LINKED, lambda connection: made.append(one_time_links.make(connection, site.settings, person.id)))
    return _person(context, link=one_time_links.address(site.settings, made[-1]))


def close(context: Here) -> Response:
    """Nobody signs in with it any more."""
    person: Account = context.loaded
    if person.id == context.owner.id:
        raise Problem(409, "Nobody closes their own account.", remedy="Ask another custodian.")
    now = context.site.stamp()
    _act(context, Act.CLOSED, lambda connection: accounts.close(connection, person.id, now=now))
    return go("/accounts", said="closed")


def reopen(context: Here) -> Response:
    """It can be used again."""
    person: Account = context.loaded
    _act(context, Act.REOPENED, lambda connection: accounts.reopen(connection, person.id))
    return go("/accounts", said="reopened")


def end_sessions(context: Here) -> Response:
    """Sign the person out everywhere, programs included."""
    person: Account = context.loaded
    now = context.site.stamp()
    _act(context, Act.SIGNED_OUT, lambda connection: accounts.sign_out_everywhere(connection, person.id, now=now))
    return go("/accounts", said="ended")


def _act(context: Context, act: Act, along: Callable[[Connection], object]) -> None:
    context.act("web.account", f"account:{context.loaded.name}", along=along, act=act.value)


def _page(
    context: Context,
    *,
    said: str = "",
    problem: Problem | None = None,
    link: str = "",
    invited: str = "",
    name: str = "",
    role: str = "",
) -> Response:
    with context.site.store.reading() as connection:
        people = accounts.everybody(connection)
    return context.page(
        "accounts.html",
        status=problem.status if problem else 200,
        people=people,
        roles=ROLES,
        said=said,
        problem=problem,
        link=link,
        invited=invited,
        name=name,
        role=role,
    )
