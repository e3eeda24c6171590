"""Who is asking."""

from __future__ import annotations

from discreet.web.framework.context import Here
from discreet.web.framework.models import Me


def me(context: Here) -> Me:
    """The account behind the token or session, and what it may do."""
    account = context.owner
    token = context.token.id if context.token else None
    return Me(name=account.name, role=account.role, permissions=sorted(context.permissions), token=token)
