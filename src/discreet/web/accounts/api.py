"""API of tokens, and of who is asking."""

from __future__ import annotations

from datetime import timedelta

from discreet.web.accounts import tokens
from discreet.web.accounts.pages import issue, revoke_token
from discreet.web.accounts.tokens import Token
from discreet.web.framework.context import Context, Here
from discreet.web.framework.models import SCOPES, MadeToken, Me, NewToken, TokenModel, Tokens


def token_list(context: Here) -> Tokens:
    """All tokens of the account."""
    with context.site.store.reading() as connection:
        found = tokens.of_account(connection, context.owner.id)
    return Tokens(tokens=[_model(context, token) for token in found])


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


def _model(context: Context, token: Token) -> TokenModel:
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
