"""Sign-in settings of an account: second factor, recovery codes, sessions; and an administrator's reset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web.accounts import accounts, credentials, passkeys, second_factor
from discreet.web.accounts import sign_in as door
from discreet.web.accounts.accounts import Act
from discreet.web.framework.context import Context, Here, by_number, go
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Route, Submit
from discreet.web.framework.settings import is_loopback


def show_codes(context: Context, codes: list[str]) -> Response:
    """The recovery codes, once."""
    return context.page("recovery_codes.html", codes=codes, next="/account")


def about_own(connection: Connection, context: Context) -> dict[str, Any]:
    """What the page of the own account shows about sign-in."""
    account, address = context.owner, context.request.url
    named = f"{address.scheme}://localhost{f':{address.port}' if address.port else ''}/account"
    return {
        "has_app": second_factor.has_app(connection, account.id),
        "passkeys": passkeys.of_account(connection, account.id),
        "passkeys_offered": passkeys.offered(context),
        "passkeys_installed": passkeys.INSTALLED,
        "named_place": named if is_loopback(address.hostname or "") else "",
        "factor_required": account.role in context.site.settings.second_factor,
        "recovery": second_factor.recovery_left(connection, account.id),
        "sessions": credentials.sessions_of(connection, account.id, context.site),
    }


def begin_own(context: Here) -> Response:
    """Set up an app, or another one in place of it, or a passkey, once the password was given again."""
    site, account = context.site, context.owner
    only = context.form.choice("kind", ["app", "passkey"])
    name = context.form.text("passkey", most=60)
    if only == "passkey" and not name:
        raise Problem(422, "The passkey has no name.", remedy="Go back, and say which device it is on.")
    proven = _proven(context)
    step: dict[str, Any] = {"proven": proven, "next": "/account", "only": only, "passkey": name}
    return second_factor.begin_step(site, go("/sign-in/code"), account, fresh=True, **step)


def _proven(context: Context) -> str:
    """The stored password of the account, if it was given again."""
    site, account = context.site, context.owner
    allowances = door.sign_in_allowances(site, account.name, context.address)
    door.take_attempt(site, allowances)
    with site.store.reading() as connection:
        named = accounts.by_name(connection, account.name)
    proven = named[1] if named else None
    if proven is None or not site.hasher.fits(context.form.verbatim("old", most=1_000), proven):
        raise Problem(403, "The password is not right.", remedy="Go back and try again.", title="That did not work")
    door.forgive_attempt(site, allowances)
    return proven


def _confirmed(context: Context) -> None:
    """Ask for a code where there is an app, else for the password; a recovery code does in place of either."""
    site, account = context.site, context.owner
    if "old" in context.form.fields:
        with site.store.reading() as connection:
            has_app = second_factor.has_app(connection, account.id)
        if not has_app:
            _proven(context)
            return
    allowances = door.code_allowances(site, account)
    door.take_attempt(site, allowances)
    with site.store.writing() as connection:
        if not second_factor.take_code(connection, site, account.id, context.form.text("code")):
            raise Problem(403, "This code is not right, or was used before.", remedy="Go back, and type the next one.")
    door.forgive_attempt(site, allowances)


def renew_codes(context: Here) -> Response:
    """New recovery codes."""
    _confirmed(context)
    site, number = context.site, context.owner.id
    codes = context.act(
        "web.account",
        f"account:{context.owner.name}",
        along=lambda connection: second_factor.renew_recovery(connection, site, number),
        act=Act.CODES_MADE.value,
    )
    return show_codes(context, codes)


def remove_app(context: Here) -> Response:
    """Forget the app, where the role allows it or there is a passkey."""
    _confirmed(context)
    return _remove(
        context, Act.FACTOR_REMOVED, lambda connection: second_factor.remove_app(connection, context.owner.id)
    )


def remove_passkey(context: Here) -> Response:
    """Forget a passkey, where the role allows it or there is another factor."""
    _confirmed(context)
    gone = context.loaded.id
    return _remove(context, Act.PASSKEY_REMOVED, lambda connection: passkeys.remove(connection, context.owner.id, gone))


def _remove(context: Context, act: Act, forget: Callable[[Connection], None]) -> Response:
    account = context.owner

    def along(connection: Connection) -> bool:
        forget(connection)
        second_factor.last_one_removed(connection, context.site, account)
        return second_factor.state(connection, context.site, account) == "none"

    alone = context.act("web.account", f"account:{account.name}", along=along, act=act.value)
    return go("/account", said="factor-removed" if alone else "one-factor-removed")


def end_own_session(context: Here) -> Response:
    """End one of one's own sessions, or all but this one."""
    which, number = context.form.text("session"), context.owner.id
    with context.site.store.writing() as connection:
        credentials.end_other_sessions(connection, number, but=context.session, only=which)
    return go("/account", said="session-ended")


def reset(context: Here) -> Response:
    """For an administrator: forget app and passkeys that an account has lost, and sign it out everywhere."""
    person, now = context.loaded, context.site.stamp()

    def along(connection: Connection) -> None:
        second_factor.remove(connection, person.id)
        accounts.sign_out_everywhere(connection, person.id, now=now)

    context.act("web.account", f"account:{person.name}", along=along, act=Act.FACTOR_RESET.value)
    return go(f"/accounts/{person.id}", said="factor-reset")


PASSKEY = by_number("passkey", passkeys.find, lambda context, passkey: passkey.account == context.owner.id)
"""Only one's own."""
SIGN_IN_ROUTES: tuple[Route, ...] = (
    Submit("/account/second-factor", "account.own", begin_own),
    Submit("/account/second-factor/remove", "account.own", remove_app),
    Submit("/account/passkeys/{number}/remove", "account.own", remove_passkey, loads=PASSKEY),
    Submit("/account/recovery", "account.own", renew_codes),
    Submit("/account/sessions", "account.own", end_own_session),
)
