"""Pages and API of accounts, API tokens and getting started."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema
from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web.accounts import accounts, credentials, role_changes, sign_in_settings
from discreet.web.accounts import sign_in as door
from discreet.web.accounts.accounts import Account, Act
from discreet.web.accounts.credentials import LONGEST_LIFE, ApiToken
from discreet.web.accounts.onboarding import guide_of, hide_guide
from discreet.web.accounts.second_approver import History
from discreet.web.framework.context import Context, Here, by_number, go, or_again
from discreet.web.framework.forms import Line, Strict
from discreet.web.framework.permissions import ANYONE, GRANTED, PERMISSIONS, ROLES, SESSIONS_ONLY, scopes_of
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import ApiGet, ApiPost, Page, Route, Submit

# API of tokens and of the own account; makes and revokes tokens.
SCOPES = [name for name in PERMISSIONS if name not in SESSIONS_ONLY]


def _scope(text: str) -> str:
    if text not in SCOPES:
        raise ValueError("must be one of the scopes")
    return text


Scope = Annotated[str, AfterValidator(_scope), WithJsonSchema({"type": "string", "enum": SCOPES})]


class Me(Strict):
    """Who is asking."""

    name: str
    role: str
    permissions: list[str]
    token: int | None
    """The number of the token; null in a session."""


class TokenModel(Strict):
    """A token, without its secret."""

    id: int
    name: str
    scopes: list[str]
    made: str
    expires: str
    revoked: str | None
    state: str
    maker: int | None
    """The token that made it, and with which it ends; none if a person did."""


class Tokens(Strict):
    """All tokens of the account, newest first."""

    tokens: list[TokenModel]


class NewToken(Strict):
    """A token to be made."""

    name: Line
    scopes: list[Scope] = Field(min_length=1, max_length=50)
    days: int = Field(default=90, ge=1, le=LONGEST_LIFE)


class MadeToken(Strict):
    """A new token and its secret, which is never shown again."""

    token: TokenModel
    secret: str


def issue(context: Context, *, name: str, scopes: tuple[str, ...], life: timedelta) -> tuple[ApiToken, str]:
    """A new token and its secret, within the permissions of the asker."""
    site, account, asking = context.site, context.owner, context.token
    expires = site.stamp(ago=-life)
    if asking is not None:
        expires = min(expires, asking.expires)
    if not set(scopes) <= context.permissions:
        raise Problem(403, "A token cannot make one that may do more than itself.", remedy="Ask for fewer scopes.")

    def along(connection: Connection) -> tuple[ApiToken, str]:
        # A session or token that ended after it was checked must not leave a token behind that outlives it.
        if asking is not None:
            stored = credentials.find_token(connection, asking.id)
            still_in = stored is not None and stored.revoked is None
        else:
            still_in = context.session is not None and credentials.is_open(connection, context.session)
        if not still_in:
            raise Problem(401, "The session or token that asked for this has ended.", remedy="Sign in, then try again.")
        return credentials.add_token(
            connection,
            account=account.id,
            name=name,
            scopes=scopes,
            now=site.stamp(),
            expires=expires,
            maker=None if asking is None else asking.id,
        )

    details = {"act": Act.TOKEN_MADE.value, "scopes": " ".join(scopes), "until": expires}
    made: tuple[ApiToken, str] = context.act("web.account", f"account:{account.name}", along=along, **details)
    return made


def token_list(context: Here) -> Tokens:
    """All tokens of the account."""
    with context.site.store.reading() as connection:
        own = credentials.tokens_of(connection, context.owner.id)
    return Tokens(tokens=[_model(context, token) for token in own])


def api_make_token(context: Here, wanted: NewToken) -> MadeToken:
    """A new token; what a token makes may do no more, and lasts no longer, than itself."""
    scopes = tuple(scope for scope in SCOPES if scope in wanted.scopes)
    token, secret = issue(context, name=wanted.name, scopes=scopes, life=timedelta(days=wanted.days))
    return MadeToken(token=_model(context, token), secret=secret)


def api_revoke(context: Here, number: str) -> TokenModel:
    """It opens nothing any more, nor do the tokens that it made."""
    revoke(context)
    with context.site.store.reading() as connection:
        return _model(context, credentials.find_token(connection, context.loaded.id) or context.loaded)


def _model(context: Context, token: ApiToken) -> TokenModel:
    return TokenModel.of(token, scopes=list(token.scopes), state=token.state(context.site.stamp()))


# Who is asking.
def me(context: Here) -> Me:
    """The account behind the token or session, and what it may do."""
    account = context.owner
    token = context.token.id if context.token else None
    return Me(name=account.name, role=account.role, permissions=sorted(context.permissions), token=token)


ACCOUNT = by_number("account", accounts.find)
"""Accounts have no owner: the permission to change accounts covers each."""
TOKEN = by_number("token", credentials.find_token, lambda context, token: token.account == context.owner.id)
"""Only one's own."""
ANY_TOKEN = by_number("token of any account", credentials.find_token)
"""For administrators."""
DAYS = 90


def accounts_page(context: Here) -> Response:
    """All accounts, and the form to invite a person."""
    with context.site.store.reading() as connection:
        people, changes = accounts.everybody(connection), role_changes.waiting(connection)
    # What was typed is shown again only if the form could not be accepted.
    name, role = (context.form.text(field) if context.problem else "" for field in ("name", "role"))
    about: dict[str, Any] = {"people": people, "changes": changes, "roles": ROLES, "name": name.lower(), "role": role}
    return context.page("accounts.html", link="", invited="", **about)


@or_again(accounts_page)
def invite(context: Here) -> Response:
    """A new account and the link that opens it, which is shown once."""
    site = context.site
    name, role = context.form.text("name").lower(), context.form.choice("role", list(ROLES))
    if not accounts.NAME.fullmatch(name):
        raise Problem(422, accounts.NAME_WORDS, remedy="Correct it and send the form again.")

    def along(connection: Connection) -> str:
        number = accounts.add(connection, name=name, role=role, now=site.stamp())
        return credentials.make_link(connection, site.settings, number)

    secret = context.act("web.account", f"account:{name}", along=along, act=Act.INVITED.value, role=role)
    context.shown_once = {"link": credentials.link_address(site.settings, secret), "invited": name}
    return accounts_page(context)


def account_page(context: Here) -> Response:
    """One account, whose actions led to it, and what can be done with it."""
    person: Account = context.loaded
    with context.site.store.reading() as connection:
        origin = History.read(connection).now.get(person.name)
        pending = role_changes.waiting(connection, account=person.id)
    behind = sorted((entry, name) for name, entry in origin.hands.items() if name != person.name) if origin else []
    return context.page(
        "account.html", person=person, roles=ROLES, behind=behind, link="", pending=pending[0] if pending else None
    )


@or_again(account_page)
def propose_role(context: Here) -> Response:
    """Propose another role; a custodian decides."""
    return go(f"/accounts/changes/{role_changes.propose(context, context.loaded)}", said="role-proposed")


def new_link(context: Here) -> Response:
    """A link to set a new password; the old one works until then."""
    settings, person = context.site.settings, context.loaded
    if person.disabled:
        raise Problem(409, "The account is closed.", remedy="Open it again first.")
    if person.provided:
        remedy = "The provider looks after their password; it is not known here."
        raise Problem(409, "This person signs in at the provider of single sign-on.", remedy=remedy)
    secret = _act(context, Act.LINKED, lambda connection: credentials.make_link(connection, settings, person.id))
    context.shown_once = {"link": credentials.link_address(settings, secret)}
    return account_page(context)


def close(context: Here) -> Response:
    """It cannot be used to sign in any more."""
    number, now = context.loaded.id, context.site.stamp()
    if number == context.owner.id:
        raise Problem(409, "You cannot close your own account.", remedy="Ask another administrator.")
    _act(context, Act.CLOSED, lambda connection: accounts.close(connection, number, now=now))
    return go("/accounts", said="closed")


def reopen(context: Here) -> Response:
    """It can be used again."""
    _act(context, Act.REOPENED, lambda connection: accounts.reopen(connection, context.loaded.id))
    return go("/accounts", said="reopened")


def end_sessions(context: Here) -> Response:
    """Sign the person out everywhere, programs included."""
    number, now = context.loaded.id, context.site.stamp()
    _act(context, Act.SIGNED_OUT, lambda connection: accounts.sign_out_everywhere(connection, number, now=now))
    return go("/accounts", said="ended")


def _act(context: Context, act: Act, along: Callable[[Connection], object]) -> Any:
    return context.act("web.account", f"account:{context.loaded.name}", along=along, act=act.value)


# One's own account.
def own_page(context: Here) -> Response:
    """Name, role, what the role may, and the form to change the password."""
    role = context.owner.role
    with context.site.store.reading() as connection:
        sign_in = sign_in_settings.about_own(connection, context)
    return context.page(
        "own.html",
        **sign_in,
        role_words=ROLES[role],
        allowed=[(name, meaning) for name, meaning in PERMISSIONS.items() if name in GRANTED[role]],
        session=context.session,
        absolute=context.site.settings.absolute,
        shortest=accounts.SHORTEST,
    )


@or_again(own_page)
def change_password(context: Here) -> Response:
    """A new password, given the old one. Ends all other sessions, and all tokens."""
    account, site = context.owner, context.site
    old = context.form.verbatim("old", most=1_000)
    password, repeated = (context.form.verbatim(field, most=1_000) for field in ("password", "again"))
    if wrong := accounts.password_complaint(password, repeated, name=account.name):
        raise Problem(422, wrong, remedy="Correct it and send the form again.")
    allowances = door.sign_in_allowances(site, account.name, context.address)
    door.take_attempt(site, allowances)
    with site.store.reading() as connection:
        named = accounts.by_name(connection, account.name)
    proven = None if named is None else named[1]
    wrong_password = Problem(403, "The old password is not right.", remedy="Try again.", title="That did not work")
    if proven is None or not site.hasher.fits(old, proven):
        raise wrong_password
    door.forgive_attempt(site, allowances)
    hashed = site.hasher.hash(password)

    def along(connection: Connection) -> None:
        # Checking takes a while: a link may have set another password since, and that one holds.
        if not accounts.set_password(connection, account.id, hashed, now=site.stamp(), proven=proven):
            raise wrong_password

    context.act("web.account", f"account:{account.name}", along=along, act=Act.PASSWORD_CHANGED.value)
    method = context.session.method if context.session else "password"
    done = go("/account", said="password")
    return door.begin_session(context, account.id, done, proven=hashed, method=method) or go("/sign-in")


# Tokens for programs: make one, list them, revoke.
def tokens_page(context: Here) -> Response:
    """One's own tokens, and the form to make another."""
    with context.site.store.reading() as connection:
        own = credentials.tokens_of(connection, context.owner.id)
    stamp = context.site.stamp()
    return context.page(
        "tokens.html",
        tokens=[(token, token.state(stamp)) for token in own],
        scopes=[(scope, PERMISSIONS[scope]) for scope in scopes_of(context.owner.role)],
        days=DAYS,
        most_days=LONGEST_LIFE,
        secret="",
        made=None,
        origin=context.site.settings.origin,
    )


@or_again(tokens_page)
def make_token(context: Here) -> Response:
    """A new token, whose secret is shown once."""
    form = context.form
    name = form.text("name", most=80, empty=False)
    scopes = form.choices("scopes", scopes_of(context.owner.role))
    days = form.whole("days", least=1, most=LONGEST_LIFE)
    if not scopes:
        raise Problem(422, "A token that may do nothing is of no use.", remedy="Choose what it may do.")
    token, secret = issue(context, name=name, scopes=scopes, life=timedelta(days=days))
    context.shown_once = {"secret": secret, "made": token}
    return tokens_page(context)


def revoke(context: Here, owner: Account | None = None) -> Response:
    """Revoke it, with the tokens that it made; once is enough."""
    token, now = context.loaded, context.site.stamp()
    if token.revoked is None:
        context.act(
            "web.account",
            f"account:{(owner or context.owner).name}",
            along=lambda connection: credentials.revoke_token(connection, token.id, now),
            act=Act.TOKEN_REVOKED.value,
            revoked=token.id,
        )
    return go("/tokens", said="revoked")


def every_token_page(context: Here) -> Response:
    """Tokens of all accounts."""
    stamp = context.site.stamp()
    with context.site.store.reading() as connection:
        tokens = [(token, owner, token.state(stamp)) for token, owner in credentials.every_token(connection)]
    return context.page("all_tokens.html", tokens=tokens)


def revoke_any(context: Here) -> Response:
    """Revoke a token of any account."""
    with context.site.store.reading() as connection:
        owner = accounts.find(connection, context.loaded.account)
    revoke(context, owner)
    return go("/accounts/tokens", said="revoked")


# Getting started: the first steps on a page of their own, to be hidden and shown again.
def start_page(context: Here) -> Response:
    """The steps, and where they lead on."""
    with context.site.store.reading() as connection:
        guide = guide_of(connection, context.owner)
    return context.page("start.html", guide=guide, shown=context.owner.guided)


def show_steps(context: Here) -> Response:
    """Hide them for this account, or show them on the dashboard again."""
    show = context.form.choice("show", ["yes", "no"]) == "yes"
    with context.site.store.writing() as connection:
        hide_guide(connection, context.owner.id, None if show else context.site.stamp())
    return go("/start" if show else "/", said="steps-back" if show else "steps-away")


ACCOUNT_ROUTES: tuple[Route, ...] = (
    Page("/sign-in", ANYONE, door.sign_in_page),
    Submit("/sign-in", ANYONE, door.sign_in),
    Submit("/sign-out", "account.own", door.sign_out),
    Page("/welcome/{secret}", ANYONE, door.welcome_page, loads=door.LINK),
    Submit("/welcome/{secret}", ANYONE, door.welcome, loads=door.LINK),
    Page("/start", "datasets.change", start_page),
    Submit("/start", "datasets.change", show_steps),
    Page("/sign-in/code", ANYONE, door.step_page),
    Submit("/sign-in/code", ANYONE, door.finish_step),
    Submit("/sign-in/passkey", ANYONE, door.finish_with_passkey),
    Page("/account", "account.own", own_page),
    *sign_in_settings.SIGN_IN_ROUTES,
    Submit("/account/password", "account.own", change_password),
    Page("/accounts", "accounts.read", accounts_page),
    Submit("/accounts", "accounts.change", invite),
    Page("/accounts/tokens", "tokens.manage", every_token_page),
    Submit("/accounts/tokens/{number}/revoke", "tokens.manage", revoke_any, loads=ANY_TOKEN),
    *role_changes.ROLE_ROUTES,
    Page("/accounts/{number}", "accounts.read", account_page, loads=ACCOUNT),
    Submit("/accounts/{number}/role", "accounts.change", propose_role, loads=ACCOUNT),
    Submit("/accounts/{number}/link", "accounts.change", new_link, loads=ACCOUNT),
    Submit("/accounts/{number}/second-factor", "accounts.change", sign_in_settings.reset, loads=ACCOUNT),
    Submit("/accounts/{number}/close", "accounts.change", close, loads=ACCOUNT),
    Submit("/accounts/{number}/reopen", "accounts.change", reopen, loads=ACCOUNT),
    Submit("/accounts/{number}/sign-out", "accounts.change", end_sessions, loads=ACCOUNT),
    Page("/tokens", "tokens.own", tokens_page),
    Submit("/tokens", "tokens.own", make_token),
    Submit("/tokens/{number}/revoke", "tokens.own", revoke, loads=TOKEN),
    ApiGet("/api/v1/me", "dashboard.read", me, returns=Me),
    ApiGet("/api/v1/tokens", "tokens.own", token_list, returns=Tokens),
    ApiPost("/api/v1/tokens", "tokens.own", api_make_token, returns=MadeToken, status=201),
    ApiPost("/api/v1/tokens/{number}/revoke", "tokens.own", api_revoke, loads=TOKEN, returns=TokenModel),
)
