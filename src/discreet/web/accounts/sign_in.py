"""Sign-in with limited attempts, sign-out, and where a one-time link leads."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, and_, case, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from starlette.responses import Response
from starlette.routing import Match

from discreet.store.tables.web import LIMIT
from discreet.web.accounts import accounts, credentials, passkeys, second_factor
from discreet.web.accounts.accounts import Account, Act
from discreet.web.accounts.credentials import Link
from discreet.web.accounts.onboarding import first_steps
from discreet.web.framework.context import Context, Here, go, or_again
from discreet.web.framework.permissions import ROLES
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads
from discreet.web.framework.shared_state import Site, span

WITH_CODE, WITH_PASSKEY = "password and code", "password and passkey"
"""How a session began, as its owner sees it."""
REFUSED = "That name and password do not go together, or the account is closed."


def sign_in_page(context: Here, next: str = "/") -> Response:  # noqa: A002 - the name in the address
    """The form; an account that is signed in already goes on to the dashboard."""
    if context.account is not None and context.problem is None:
        return go("/")
    with context.site.store.reading() as connection:
        nobody = not accounts.exist(connection)
    name, wanted = context.form.text("name").lower(), context.form.text("next", most=500)
    about: dict[str, Any] = {"provider": context.site.settings.provider, "nobody": nobody, "name": name}
    about |= {"visitors": context.site.visitors, "duties": ROLES}
    signed_out = context.request.query_params.get("said") == "signed-out"
    return context.page("sign_in.html", wanted=safe_path(context, wanted or next), signed_out=signed_out, **about)


@or_again(sign_in_page)
def sign_in(context: Here) -> Response:
    """Check name and password; answer and time are the same for unknown names."""
    name = context.form.text("name").lower()
    password = context.form.verbatim("password", most=1_000)
    wanted = context.form.text("next", most=500)
    allowances = sign_in_allowances(context.site, name, context.address)
    take_attempt(context.site, allowances)
    with context.site.store.reading() as connection:
        named = accounts.by_name(connection, name)
    account, stored = named if named is not None else (None, None)
    fits = context.site.hasher.fits(password, stored)
    if fits and stored is not None and account is not None and not account.disabled:
        forgive_attempt(context.site, allowances)
        begun = let_in(context, account, go(safe_path(context, wanted)), proven=stored)
        if begun is not None:
            return begun
    remedy = "Try again. An administrator can give you a link to set a new password."
    raise Problem(403, REFUSED, remedy=remedy, title="That did not work")


def let_in(context: Context, account: Account, response: Response, *, proven: str) -> Response | None:
    """A session, or the way to the second step, where the account has one or its role requires it."""
    with context.site.store.reading() as connection:
        needed = second_factor.state(connection, context.site, account)
    if needed == "none":
        return begin_session(context, account.id, response, proven=proven)
    wanted = response.headers["location"]
    step: dict[str, Any] = {"proven": proven, "next": wanted, "fresh": needed == "enrol"}
    return second_factor.begin_step(context.site, go("/sign-in/code"), account, **step)


def begin_session(
    context: Context, account: int, response: Response, *, proven: str | None, method: str = "password"
) -> Response | None:
    """A new session in place of the old; None after a change of password."""
    agent = "".join(sign for sign in context.request.headers.get("user-agent", "") if sign.isprintable())
    with context.site.store.writing() as connection:
        token = credentials.begin_session(connection, context.site, account, proven=proven, method=method, agent=agent)
        if token is None:
            return None
        if context.session is not None:
            credentials.end_session(connection, context.session)
        account_now = accounts.find(connection, account)
        if account_now is not None:
            remember_place(connection, context.site, account_now.name, context.address)
    credentials.give_session(response, token)
    return response


def sign_out(context: Here) -> Response:
    """End the session."""
    with context.site.store.writing() as connection:
        if context.session is not None:
            credentials.end_session(connection, context.session)
    response = go("/sign-in", said="signed-out")
    credentials.forget_session(response)
    return response


def safe_path(context: Context, wanted: str) -> str:
    """Where to go after signing in: a page of ours, or the dashboard."""
    route = context.site.table.get(("GET", wanted))
    if route is not None and route.kind == "page":
        return wanted
    scope = {**context.request.scope, "method": "GET", "path": wanted}
    served = context.site.app.router.routes if context.site.app is not None else []
    pages = [route for route in served if getattr(getattr(route, "declared", None), "kind", "") == "page"]
    return wanted if any(page.matches(scope)[0] == Match.FULL for page in pages) else "/"


WINDOW = timedelta(minutes=15)
KNOWN = "known:"
REMEMBERED = timedelta(days=30)
"""For so long a place where an account has signed in is known."""


def sign_in_allowances(site: Site, name: str, address: str) -> dict[str, int]:
    """Most attempts per account and address, per account, and per address, by key.

    Where an account has signed in before from an address, only attempts at both together count: neither a stranger who tries its
    name elsewhere, nor one behind the same proxy who tries other names, locks its owner out. Names are stored as keyed
    hashes: people type passwords there.
    """
    who = site.ledger.fingerprint(f"sign-in name {name}")
    where = site.ledger.fingerprint(f"sign-in address {address}")
    both = {f"both:{who}:{where}": 5}
    known = (LIMIT.c.key == f"{KNOWN}{who}:{where}", LIMIT.c.since > site.stamp(ago=REMEMBERED))
    with site.store.reading() as connection:
        if connection.execute(select(LIMIT.c.key).where(*known)).first() is not None:
            return both
    return {**both, f"name:{who}": 50, f"address:{where}": 30}


def remember_place(connection: Connection, site: Site, name: str, address: str) -> None:
    """Note that an account has signed in from an address."""
    who = site.ledger.fingerprint(f"sign-in name {name}")
    key = f"{KNOWN}{who}:{site.ledger.fingerprint(f'sign-in address {address}')}"
    upsert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    noted = upsert(LIMIT).values(key=key, since=site.stamp(), count=0)
    connection.execute(noted.on_conflict_do_update(index_elements=[LIMIT.c.key], set_={"since": site.stamp()}))


def take_attempt(site: Site, allowances: dict[str, int]) -> None:
    """Count an attempt before it is made; a problem if too many."""
    now, begin = site.stamp(), site.stamp(ago=WINDOW)
    with site.store.writing() as connection:
        upsert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        for key, most in sorted(allowances.items()):
            connection.execute(upsert(LIMIT).values(key=key, since=now, count=0).on_conflict_do_nothing())
            # One statement looks and counts, so that many at once get no more than the limit.
            over = LIMIT.c.since <= begin
            counted = (
                update(LIMIT)
                .where(LIMIT.c.key == key, or_(over, LIMIT.c.count < most))
                .values(count=case((over, 1), else_=LIMIT.c.count + 1), since=case((over, now), else_=LIMIT.c.since))
            )
            if connection.execute(counted).rowcount != 1:
                since = connection.execute(select(LIMIT.c.since).where(LIMIT.c.key == key)).scalar_one()
                wait = datetime.fromisoformat(since) + WINDOW - site.now()
                seconds = max(1, math.ceil(wait.total_seconds()))
                raise Problem(
                    429,
                    "There were too many attempts.",
                    remedy=f"Try again in {span(timedelta(seconds=seconds + 59))}. If you have forgotten your password, ask an administrator for a link.",
                    headers={"Retry-After": str(seconds)},
                )


def forgive_attempt(site: Site, allowances: dict[str, int]) -> None:
    """Do not count a good attempt, and sweep out what is over."""
    with site.store.writing() as connection:
        for key in sorted(allowances):
            left = case((LIMIT.c.key.startswith("both:"), 0), else_=LIMIT.c.count - 1)
            connection.execute(update(LIMIT).where(LIMIT.c.key == key, LIMIT.c.count > 0).values(count=left))
    with site.store.writing() as connection:
        over = and_(LIMIT.c.since <= site.stamp(ago=WINDOW), LIMIT.c.key.not_like(f"{KNOWN}%"))
        connection.execute(delete(LIMIT).where(or_(over, LIMIT.c.since <= site.stamp(ago=REMEMBERED))))


# The second step: a code of an app, a passkey, or a recovery code.
def code_allowances(site: Site, account: Account) -> dict[str, int]:
    """Most codes that may be tried for an account."""
    return {f"both:{site.ledger.fingerprint(f'second step {account.id}')}": second_factor.TRIES}


def step_page(context: Here) -> Response:
    """Ask for a code or a passkey; or offer to set one up."""
    found = second_factor.current_step(context)
    if found is None:
        return go("/sign-in", said="step-over")
    step, account = found
    with context.site.store.reading() as connection:
        has_app = second_factor.has_app(connection, account.id)
        has_passkey = bool(passkeys.of_account(connection, account.id))
    app, options = None, ""
    if step.secret and step.only != "passkey":
        app = second_factor.app_address(step.secret, account.name)
    if passkeys.offered(context) and step.secret and step.only != "app":
        options = passkeys.creation_options(context, account, step.challenge)
    elif passkeys.offered(context) and has_passkey and not step.secret:
        options = passkeys.request_options(context, account, step.challenge)
    about: dict[str, Any] = {"has_app": has_app, "has_passkey": has_passkey, "setting_up": bool(step.secret)}
    return context.page("second_step.html", person=account, app=app, options=options, **about)


@or_again(step_page)
def finish_step(context: Here) -> Response:
    """Check the code, then sign in; a new app is stored with its first code."""
    site, found = context.site, second_factor.current_step(context)
    if found is None:
        return go("/sign-in", said="step-over")
    step, account = found
    code = context.form.text("code")
    allowances = code_allowances(site, account)
    take_attempt(site, allowances)
    wrong = Problem(403, "This code is not right, or was used before.", remedy="Wait for the next one, and type that.")
    if not step.secret:
        with site.store.writing() as connection:
            if not second_factor.take_code(connection, site, account.id, code):
                raise wrong
        forgive_attempt(site, allowances)
        done = second_factor.forget_step(go(step.next))
        return begin_session(context, account.id, done, proven=step.proven, method=WITH_CODE) or go("/sign-in")
    period = second_factor.matching_period(bytes.fromhex(step.secret), code.replace(" ", ""), site.now().timestamp())
    if period is None or step.only == "passkey":
        raise wrong
    forgive_attempt(site, allowances)

    def along(connection: Connection) -> list[str]:
        _still_to_set_up(connection, context, account)
        return second_factor.set_up(connection, site, account.id, bytes.fromhex(step.secret), period)

    return _set_up(context, step, account, along, act=Act.FACTOR_SET, method=WITH_CODE)


@or_again(step_page)
def finish_with_passkey(context: Here) -> Response:
    """Check what a passkey signed, then sign in; or store a new passkey."""
    site, found = context.site, second_factor.current_step(context)
    if found is None:
        return go("/sign-in", said="step-over")
    step, account = found
    answer = context.form.verbatim("answer", most=passkeys.LONGEST_ANSWER)
    allowances = code_allowances(site, account)
    take_attempt(site, allowances)
    if not step.secret:
        passkeys.take_signature(context, account.id, step.challenge, answer)
        take_attempt(
            site, {f"both:{site.ledger.fingerprint(f'challenge {step.challenge}')}": 1}
        )  # signed once, used once
        forgive_attempt(site, allowances)
        done = second_factor.forget_step(go(step.next))
        return begin_session(context, account.id, done, proven=step.proven, method=WITH_PASSKEY) or go("/sign-in")
    if step.only == "app":
        raise passkeys.not_signed()
    made = passkeys.checked_new(context, step.challenge, answer)
    forgive_attempt(site, allowances)

    def along(connection: Connection) -> list[str]:
        _still_to_set_up(connection, context, account)
        passkeys.add(connection, site, account.id, step.passkey or "my passkey", made)
        left = second_factor.recovery_left(connection, account.id)
        return [] if left else second_factor.renew_recovery(connection, site, account.id)

    return _set_up(context, step, account, along, act=Act.PASSKEY_ADDED, method=WITH_PASSKEY)


def _still_to_set_up(connection: Connection, context: Context, account: Account) -> None:
    """Refuse where the password alone would put a factor beside, or in place of, one that another browser set up."""
    own = context.account is not None and context.account.id == account.id
    if not own and second_factor.state(connection, context.site, account) == "ask":
        raise Problem(403, "A second factor has been set up meanwhile.", remedy="Sign in again, with it.")


def _set_up(
    context: Context,
    step: second_factor.SecondStep,
    account: Account,
    along: Callable[[Connection], list[str]],
    *,
    act: Act,
    method: str,
) -> Response:
    """Store a new factor with its entry, end sessions elsewhere, show new recovery codes, and sign in."""
    subject, own = f"account:{account.name}", context.account is not None and context.account.id == account.id
    codes = context.act("web.account", subject, actor=account.name, along=along, act=act.value)
    with context.site.store.writing() as connection:
        credentials.end_other_sessions(connection, account.id, but=context.session if own else None)
    home = "/account" if own else step.next
    response = context.page("recovery_codes.html", codes=codes, next=home) if codes else go(home, said="passkey-added")
    response = second_factor.forget_step(response)
    if own:
        return response
    return begin_session(context, account.id, response, proven=step.proven, method=method) or go("/sign-in")


# Where a one-time link leads: the first account is made, or a password is set.
LINK: Loads[Context] = Loads(
    "link", lambda context, path: credentials.find_link(context.site, path["secret"]), lambda context, link: True
)
"""Knowing the secret is enough: that is what a link is."""


def welcome_page(context: Here) -> Response:
    """The form; looking at it does not use the link up."""
    link: Link = context.loaded
    name = link.account.name if link.account else context.form.text("name").lower()
    return context.page("welcome.html", link=link, name=name, shortest=accounts.SHORTEST)


def welcome(context: Here) -> Response:
    """Set the password, make the first account if need be, and sign in."""
    link: Link = context.loaded
    name = link.account.name if link.account else context.form.text("name").lower()
    password = context.form.verbatim("password", most=1_000)
    again = context.form.verbatim("again", most=1_000) if "again" in context.form.fields else password
    wrong = "" if accounts.NAME.fullmatch(name) else accounts.NAME_WORDS
    wrong = wrong or accounts.password_complaint(password, again, name=name)
    if wrong:
        context.problem = Problem(422, wrong, remedy="Correct it and send the form again.")
        return welcome_page(context)
    site = context.site
    hashed = site.hasher.hash(password)

    def along(connection: Connection) -> int:
        credentials.use_link(connection, site, link)
        if link.account is not None:
            accounts.set_password(connection, link.account.id, hashed, now=site.stamp())
            return link.account.id
        if accounts.exist(connection, link.role):
            raise credentials.link_gone()
        return accounts.add(connection, name=name, role=link.role, now=site.stamp(), password=hashed)

    act = Act.PASSWORD_SET if link.account else Act.MADE
    number = context.act("web.account", f"account:{name}", actor=name, along=along, act=act.value, role=link.role)
    # No need to type the new password again, unless it was changed or the account closed at the same moment.
    with site.store.reading() as connection:
        account = accounts.find(connection, number)
        begins = account is not None and first_steps(connection, account)
    home = go("/datasets/new" if begins else "/", said="welcome")
    return (account and let_in(context, account, home, proven=hashed)) or go("/sign-in")
