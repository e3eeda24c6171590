"""Sign-in settings of an account: second factor, recovery codes, sessions; and an administrator's reset."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web.accounts import accounts, credentials, second_factor
from discreet.web.accounts import sign_in as door
from discreet.web.accounts.accounts import Act
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Route, Submit


def show_codes(context: Context, codes: list[str]) -> Response:
    """The recovery codes, once."""
    return context.page("recovery_codes.html", codes=codes, next="/account")


def about_own(connection: Connection, context: Context) -> dict[str, Any]:
    """What the page of the own account shows about sign-in."""
    account = context.owner
    return {
        "factor": second_factor.state(connection, context.site, account) == "code",
        "factor_required": account.role in context.site.settings.second_factor,
        "recovery": second_factor.recovery_left(connection, account.id),
        "sessions": credentials.sessions_of(connection, account.id, context.site),
    }


def begin_own(context: Here) -> Response:
    """Set up an app, or another one in place of it, once the password was given again."""
    site, account = context.site, context.owner
    allowances = door.sign_in_allowances(site, account.name, context.address)
    door.take_attempt(site, allowances)
    with site.store.reading() as connection:
        named = accounts.by_name(connection, account.name)
    proven = named[1] if named else None
    if proven is None or not site.hasher.fits(context.form.verbatim("old", most=1_000), proven):
        raise Problem(403, "The password is not right.", remedy="Go back and try again.", title="That did not work")
    door.forgive_attempt(site, allowances)
    step: dict[str, Any] = {"proven": proven, "next": "/account", "fresh": True}
    return second_factor.begin_step(site, go("/sign-in/code"), account, **step)


def _with_code(context: Context) -> None:
    site, account = context.site, context.owner
    allowances = door.code_allowances(site, account)
    door.take_attempt(site, allowances)
    with site.store.writing() as connection:
        if not second_factor.take_code(connection, site, account.id, context.form.text("code")):
            raise Problem(403, "This code is not right, or was used before.", remedy="Go back, and type the next one.")
    door.forgive_attempt(site, allowances)


def renew_codes(context: Here) -> Response:
    """New recovery codes, given a code of the app."""
    _with_code(context)
    site, number = context.site, context.owner.id
    codes = context.act(
        "web.account",
        f"account:{context.owner.name}",
        along=lambda connection: second_factor.renew_recovery(connection, site, number),
        act=Act.CODES_MADE.value,
    )
    return show_codes(context, codes)


def remove_own(context: Here) -> Response:
    """Sign in with the password alone again, where the role allows it."""
    if context.owner.role in context.site.settings.second_factor:
        raise Problem(409, "Your role requires a second factor.", remedy="Set up another app in its place.")
    _with_code(context)
    number = context.owner.id
    about = {"act": Act.FACTOR_REMOVED.value}
    context.act(
        "web.account", f"account:{context.owner.name}", along=lambda store: second_factor.remove(store, number), **about
    )
    return go("/account", said="factor-removed")


def end_own_session(context: Here) -> Response:
    """End one of one's own sessions, or all but this one."""
    which, number = context.form.text("session"), context.owner.id
    with context.site.store.writing() as connection:
        credentials.end_other_sessions(connection, number, but=context.session, only=which)
    return go("/account", said="session-ended")


def reset(context: Here) -> Response:
    """For an administrator: forget the second factor of an account whose app is lost, and sign it out everywhere."""
    person, now = context.loaded, context.site.stamp()

    def along(connection: Connection) -> None:
        second_factor.remove(connection, person.id)
        accounts.sign_out_everywhere(connection, person.id, now=now)

    context.act("web.account", f"account:{person.name}", along=along, act=Act.FACTOR_RESET.value)
    return go(f"/accounts/{person.id}", said="factor-reset")


SIGN_IN_ROUTES: tuple[Route, ...] = (
    Submit("/account/second-factor", "account.own", begin_own),
    Submit("/account/second-factor/remove", "account.own", remove_own),
    Submit("/account/recovery", "account.own", renew_codes),
    Submit("/account/sessions", "account.own", end_own_session),
)
