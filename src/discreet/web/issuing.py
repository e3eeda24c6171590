"""Making and revoking tokens, for the page and for the API: written down with the change."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection

from discreet.web.accounts import sessions, tokens
from discreet.web.accounts.accounts import Act
from discreet.web.accounts.tokens import Token
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem


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
