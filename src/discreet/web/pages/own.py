"""One's own account."""

from __future__ import annotations

from starlette.responses import Response

from discreet.web.accounts import accounts, passwords
from discreet.web.accounts.accounts import Act
from discreet.web.accounts.sign_in import begin_session
from discreet.web.framework import rate_limits
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem
from discreet.web.permissions import GRANTED, PERMISSIONS, ROLES
from discreet.web.remarks import remark


def own_page(context: Here, said: str = "") -> Response:
    """Name, role, what the role may, and the form to change the password."""
    return _page(context, said=remark(said))


def change_password(context: Here) -> Response:
    """A new password, for whoever knows the old one. Ends all other sessions, and all tokens."""
    account, site = context.owner, context.site
    old = context.form.verbatim("old", most=1_000)
    password, again = (context.form.verbatim(field, most=1_000) for field in ("password", "again"))
    if wrong := passwords.complaint(password, again, name=account.name):
        return _page(context, problem=Problem(422, wrong, remedy="Correct it and send the form again."))
    allowances = rate_limits.sign_in_allowances(site, account.name, context.address)
    try:
        rate_limits.take(site, allowances)
    except Problem as too_many:
        return _page(context, problem=too_many)
    with site.store.reading() as connection:
        found = accounts.by_name(connection, account.name)
    if found is None or not site.hasher.fits(old, found[1]):
        problem = Problem(403, "The old password is not right.", remedy="Try again.", title="That did not work")
        return _page(context, problem=problem)
    rate_limits.forgive(site, allowances)
    hashed = site.hasher.hash(password)
    context.act(
        "web.account",
        f"account:{account.name}",
        along=lambda connection: accounts.set_password(connection, account.id, hashed, now=site.stamp()),
        act=Act.PASSWORD_CHANGED.value,
    )
    return begin_session(context, account.id, go("/account", said="password"))


def _page(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
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
