"""Tokens for programs: make one, see what there is, revoke."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import Response

from discreet.web.accounts import tokens
from discreet.web.accounts.tokens import Token
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.issuing import issue, revoke_token
from discreet.web.permissions import PERMISSIONS, scopes_of
from discreet.web.remarks import remark

DAYS = 90


def _find(context: Context, path: dict[str, str]) -> Token | None:
    with context.site.store.reading() as connection:
        return tokens.find(connection, numbered(path["number"]))


TOKEN = Loads("token", find=_find, may=lambda context, token: token.account == context.owner.id)
"""Only one's own."""


def tokens_page(context: Here, said: str = "") -> Response:
    """One's own tokens, and the form to make another."""
    return _page(context, said=remark(said))


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
        return _page(context, problem=problem)
    token, secret = issue(context, name=name, scopes=scopes, life=timedelta(days=days))
    return _page(context, secret=secret, made=token)


def revoke(context: Here) -> Response:
    """It opens nothing any more."""
    revoke_token(context, context.loaded)
    return go("/tokens", said="revoked")


def _page(
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
