"""API of tokens and of the own account; makes and revokes tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema
from sqlalchemy import Connection

from discreet.web.accounts import sessions, tokens
from discreet.web.accounts.accounts import Act
from discreet.web.accounts.tokens import LONGEST_LIFE, ApiToken
from discreet.web.framework.context import Context, Here
from discreet.web.framework.models import Line, Strict
from discreet.web.framework.permissions import PERMISSIONS, SESSIONS_ONLY
from discreet.web.framework.problems import Problem

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
    """A new token and its secret; never more than the asker may do, and never for longer than the asking token."""
    site, account = context.site, context.owner
    expires = site.stamp(ago=-life)
    if context.token is not None:
        expires = min(expires, context.token.expires)
    if not set(scopes) <= context.permissions:
        raise Problem(403, "A token cannot make one that may do more than itself.", remedy="Ask for fewer scopes.")
    made: list[tuple[ApiToken, str]] = []

    def along(connection: Connection) -> None:
        # A session or token that ended after it was checked must not leave a token behind that outlives it.
        if context.token is not None:
            asking = tokens.find(connection, context.token.id)
            still_in = asking is not None and asking.revoked is None
        else:
            still_in = context.session is not None and sessions.is_open(connection, context.session)
        if not still_in:
            raise Problem(401, "The session or token that asked for this has ended.", remedy="Sign in, then try again.")
        maker = None if context.token is None else context.token.id
        about = {"name": name, "now": site.stamp(), "expires": expires}
        made.append(tokens.add(connection, account=account.id, maker=maker, scopes=scopes, **about))

    details = {"act": Act.TOKEN_MADE.value, "scopes": " ".join(scopes), "until": expires}
    context.act("web.account", f"account:{account.name}", along=along, **details)
    return made[-1]


def revoke_token(context: Context, token: ApiToken) -> None:
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


def token_list(context: Here) -> Tokens:
    """All tokens of the account."""
    with context.site.store.reading() as connection:
        own = tokens.of_account(connection, context.owner.id)
    return Tokens(tokens=[_model(context, token) for token in own])


def make_token(context: Here, wanted: NewToken) -> MadeToken:
    """A new token; what a token makes may do no more, and lasts no longer, than itself."""
    scopes = tuple(scope for scope in SCOPES if scope in wanted.scopes)
    token, secret = issue(context, name=wanted.name, scopes=scopes, life=timedelta(days=wanted.days))
    return MadeToken(token=_model(context, token), secret=secret)


def revoke(context: Here, number: str) -> TokenModel:
    """It opens nothing any more, nor do the tokens that it made."""
    revoke_token(context, context.loaded)
    with context.site.store.reading() as connection:
        return _model(context, tokens.find(connection, context.loaded.id) or context.loaded)


def _model(context: Context, token: ApiToken) -> TokenModel:
    return TokenModel(
        id=token.id,
        name=token.name,
        scopes=list(token.scopes),
        made=token.made,
        expires=token.expires,
        revoked=token.revoked,
        state=token.state(context.site.stamp()),
        maker=token.maker,
    )


# Who is asking.
def me(context: Here) -> Me:
    """The account behind the token or session, and what it may do."""
    account = context.owner
    token = context.token.id if context.token else None
    return Me(name=account.name, role=account.role, permissions=sorted(context.permissions), token=token)
