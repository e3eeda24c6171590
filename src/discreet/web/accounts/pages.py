"""Pages of accounts, the own account, API tokens and getting started."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web.accounts import accounts, one_time_links, passwords, sessions, tokens
from discreet.web.accounts.accounts import Account, Act
from discreet.web.accounts.onboarding import guide_of, put_away
from discreet.web.accounts.second_approver import History
from discreet.web.accounts.sign_in import begin_session
from discreet.web.accounts.tokens import Token
from discreet.web.framework import rate_limits
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import remark
from discreet.web.framework.permissions import GRANTED, PERMISSIONS, ROLES, scopes_of
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, numbered


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


# One's own account.
def own_page(context: Here, said: str = "") -> Response:
    """Name, role, what the role may, and the form to change the password."""
    return _own_page(context, said=remark(said))


def change_password(context: Here) -> Response:
    """A new password, for whoever knows the old one. Ends all other sessions, and all tokens."""
    account, site = context.owner, context.site
    old = context.form.verbatim("old", most=1_000)
    password, again = (context.form.verbatim(field, most=1_000) for field in ("password", "again"))
    if wrong := passwords.complaint(password, again, name=account.name):
        return _own_page(context, problem=Problem(422, wrong, remedy="Correct it and send the form again."))
    allowances = rate_limits.sign_in_allowances(site, account.name, context.address)
    try:
        rate_limits.take(site, allowances)
    except Problem as too_many:
        return _own_page(context, problem=too_many)
    with site.store.reading() as connection:
        found = accounts.by_name(connection, account.name)
    if found is None or not site.hasher.fits(old, found[1]):
        problem = Problem(403, "The old password is not right.", remedy="Try again.", title="That did not work")
        return _own_page(context, problem=problem)
    rate_limits.forgive(site, allowances)
    hashed = site.hasher.hash(password)
    context.act(
        "web.account",
        f"account:{account.name}",
        along=lambda connection: accounts.set_password(connection, account.id, hashed, now=site.stamp()),
        act=Act.PASSWORD_CHANGED.value,
    )
    return begin_session(context, account.id, go("/account", said="password"))


def _own_page(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
    role = context.owner.role
    allowed = [(name, meaning) for name, meaning in PERMISSIONS.items() if name in GRANTED[role]]
    return context.page(
        "own.html",
        status=problem.status if problem else 200,
        said=said,
        problem=problem,
        role_words=ROLES[role],
        allowed=allowed,
        session=context.session,
        absolute=context.site.settings.absolute,
        shortest=passwords.SHORTEST,
    )


# Tokens for programs: make one, see what there is, revoke.
DAYS = 90


def _find_token(context: Context, path: dict[str, str]) -> Token | None:
    with context.site.store.reading() as connection:
        return tokens.find(connection, numbered(path["number"]))


TOKEN = Loads("token", find=_find_token, may=lambda context, token: token.account == context.owner.id)
"""Only one's own."""


def tokens_page(context: Here, said: str = "") -> Response:
    """One's own tokens, and the form to make another."""
    return _token_page(context, said=remark(said))


def make_token(context: Here) -> Response:
    """A new token, whose secret is shown once."""
    form = context.form
    try:
        name = form.text("name", most=80, empty=False)
        scopes = form.choices("scopes", scopes_of(context.owner.role))
        days = form.whole("days", least=1, most=tokens.LONGEST_LIFE)
        if not scopes:
            raise Problem(422, "A token that may do nothing is of no use.", remedy="Choose what it may do.")
    except Problem as problem:
        return _token_page(context, problem=problem)
    token, secret = issue(context, name=name, scopes=scopes, life=timedelta(days=days))
    return _token_page(context, secret=secret, made=token)


def revoke(context: Here) -> Response:
    """It opens nothing any more."""
    revoke_token(context, context.loaded)
    return go("/tokens", said="revoked")


def _token_page(
    context: Context, *, said: str = "", problem: Problem | None = None, secret: str = "", made: Token | None = None
) -> Response:
    with context.site.store.reading() as connection:
        found = tokens.of_account(connection, context.owner.id)
    stamp = context.site.stamp()
    return context.page(
        "tokens.html",
        status=problem.status if problem else 200,
        tokens=[(token, token.state(stamp)) for token in found],
        scopes=[(scope, PERMISSIONS[scope]) for scope in scopes_of(context.owner.role)],
        days=DAYS,
        most_days=tokens.LONGEST_LIFE,
        said=said,
        problem=problem,
        secret=secret,
        made=made,
        origin=context.site.settings.origin,
    )


# Making and revoking tokens, for the page and for the API: written down with the change.
def issue(context: Context, *, name: str, scopes: tuple[str, ...], life: timedelta) -> tuple[Token, str]:
    """A new token and its secret; never more than whoever asks may do, and never for longer than their own token."""
    site, account = context.site, context.owner
    expires = site.stamp(ago=-life)
    if context.token is not None:
        expires = min(expires, context.token.expires)
    if not set(scopes) <= context.permissions:
        raise Problem(403, "A token cannot make one that may do more than itself.", remedy="Ask for fewer scopes.")
    made: list[tuple[Token, str]] = []

    def along(connection: Connection) -> None:
        _refuse_signed_out(context, connection)
        now, maker = site.stamp(), None if context.token is None else context.token.id
        about = {"name": name, "now": now, "expires": expires}
        made.append(tokens.add(connection, account=account.id, maker=maker, scopes=scopes, **about))

    context.act(
        "web.account",
        f"account:{account.name}",
        along=along,
        act=Act.TOKEN_MADE.value,
        scopes=" ".join(scopes),
        until=expires,
    )
    return made[-1]


def _refuse_signed_out(context: Context, connection: Connection) -> None:
    """A session or token that ended after it was checked must not leave a token behind that outlives it."""
    if context.token is not None:
        found = tokens.find(connection, context.token.id)
        still_in = found is not None and found.revoked is None
    else:
        still_in = context.session is not None and sessions.is_open(connection, context.session)
    if not still_in:
        raise Problem(401, "The session or token that asked for this has ended.", remedy="Sign in, then try again.")


def revoke_token(context: Context, token: Token) -> None:
    """It opens nothing any more, nor do the tokens that it made; once is enough."""
    if token.revoked is not None:
        return
    now = context.site.stamp()
    context.act(
        "web.account",
        f"account:{context.owner.name}",
        along=lambda connection: tokens.revoke(connection, token.id, now),
        act=Act.TOKEN_REVOKED.value,
        revoked=token.id,
    )


# Getting started: the first steps on a page of their own, to be put away and taken out again.
def start_page(context: Here, said: str = "") -> Response:
    """The steps, and where they lead on."""
    with context.site.store.reading() as connection:
        guide = guide_of(connection, context.owner)
    return context.page("start.html", guide=guide, shown=context.owner.guided, said=remark(said))


def show_steps(context: Here) -> Response:
    """Put them away for this account, or show them on the dashboard again."""
    show = context.form.choice("show", ["yes", "no"]) == "yes"
    with context.site.store.writing() as connection:
        put_away(connection, context.owner.id, None if show else context.site.stamp())
    return go("/start" if show else "/", said="steps-back" if show else "steps-away")
