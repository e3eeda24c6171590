"""Credentials beside passwords: sessions of people, API tokens of programs, one-time links.

The bearer has an opaque secret, the store its hash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, delete, insert, or_, select, update
from starlette.responses import Response

from discreet.errors import UsageError
from discreet.ledger import Ledger
from discreet.ledger.entry import timestamp
from discreet.store.tables.web import ACCOUNT, LINK, SESSION, TOKEN
from discreet.store.transitions import update_one
from discreet.web.accounts import accounts
from discreet.web.accounts.accounts import Account, Act, account_of, digest_secret, make_secret
from discreet.web.framework.permissions import GRANTED, SESSIONS_ONLY
from discreet.web.framework.problems import Problem
from discreet.web.framework.settings import Settings

if TYPE_CHECKING:
    from discreet.web.framework.shared_state import Site

# Sessions: a secret in a cookie, with two ends.
COOKIE = "__Host-discreet"
"""The prefix makes browsers refuse it from other hosts, other paths, and without Secure."""

TOUCH = timedelta(seconds=10)
"""How exactly the last use is written down: not with every picture of a page."""


@dataclass(frozen=True)
class WebSession:
    """A person who is signed in."""

    hash: str
    made: str
    method: str = "password"


def find_session(site: Site, token: str) -> tuple[WebSession, Account] | None:
    """Whose session it is, unless it has ended; this counts as use."""
    oldest, idle = site.stamp(ago=site.settings.absolute), site.stamp(ago=site.settings.idle)
    hashed = digest_secret(token)
    with site.store.reading() as connection:
        row = connection.execute(
            select(SESSION.c.made.label("begun"), SESSION.c.seen.label("used"), SESSION.c.method, ACCOUNT)
            .join(ACCOUNT, ACCOUNT.c.id == SESSION.c.account)
            .where(
                SESSION.c.hash == hashed, SESSION.c.made > oldest, SESSION.c.seen > idle, ACCOUNT.c.disabled.is_(False)
            )
        ).one_or_none()
    if row is None:
        return None
    if row.used <= site.stamp(ago=TOUCH):
        now = site.stamp()
        with site.store.writing() as connection:
            connection.execute(update(SESSION).where(SESSION.c.hash == hashed, SESSION.c.seen < now).values(seen=now))
    return WebSession(hashed, row.begun, row.method or "password"), account_of(row)


@dataclass(frozen=True)
class ListedSession:
    """One of the sessions of an account, for its owner."""

    name: str
    """The beginning of its hash."""
    made: str
    seen: str
    method: str
    agent: str


LONGEST_AGENT = 120


def sessions_of(connection: Connection, account: int, site: Site) -> list[ListedSession]:
    """Sessions that can still be used, the newest first."""
    alive = (
        SESSION.c.made > site.stamp(ago=site.settings.absolute),
        SESSION.c.seen > site.stamp(ago=site.settings.idle),
    )
    rows = connection.execute(
        select(SESSION).where(SESSION.c.account == account, *alive).order_by(SESSION.c.made.desc())
    )
    return [ListedSession(row.hash[:16], row.made, row.seen, row.method or "", row.agent or "") for row in rows]


def end_other_sessions(connection: Connection, account: int, *, but: WebSession | None, only: str = "") -> None:
    """End sessions of an account but this one: all, or the one of this name."""
    others = [SESSION.c.account == account]
    if but is not None:
        others.append(SESSION.c.hash != but.hash)
    if only:
        others.append(SESSION.c.hash.startswith(only, autoescape=True))
    connection.execute(delete(SESSION).where(*others))


def begin_session(
    connection: Connection, site: Site, account: int, *, proven: str | None, method: str = "password", agent: str = ""
) -> str | None:
    """A new session; gives its token, and sweeps out what has ended.

    `proven` is the hash of the password that was given. Checking one takes a while; None if the account has another
    password by now, or was closed. Both have ended all sessions, and none may come after that. Without a hash, a provider has
    said who it is.
    """
    token, now = make_secret(), site.stamp()
    shown = ACCOUNT.c.subject.is_not(None) if proven is None else ACCOUNT.c.password == proven
    unchanged = (ACCOUNT.c.id == account, shown, ACCOUNT.c.disabled.is_(False))
    if not update_one(connection, ACCOUNT, *unchanged, seen=now):
        return None
    ended = or_(
        SESSION.c.made <= site.stamp(ago=site.settings.absolute), SESSION.c.seen <= site.stamp(ago=site.settings.idle)
    )
    connection.execute(delete(SESSION).where(ended))
    values = {"hash": digest_secret(token), "account": account, "made": now, "seen": now}
    connection.execute(insert(SESSION).values({**values, "method": method, "agent": agent[:LONGEST_AGENT]}))
    return token


def is_open(connection: Connection, session: WebSession) -> bool:
    """Is it still open since it was found?"""
    return connection.execute(select(SESSION.c.hash).where(SESSION.c.hash == session.hash)).scalar() is not None


def end_session(connection: Connection, session: WebSession) -> None:
    """Sign out."""
    connection.execute(delete(SESSION).where(SESSION.c.hash == session.hash))


def give_session(response: Response, token: str) -> None:
    """Put the token into the browser."""
    response.set_cookie(COOKIE, token, path="/", secure=True, httponly=True, samesite="lax")


def forget_session(response: Response) -> None:
    """Have the browser forget it."""
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")


# API tokens: some permissions of an account, for a while.
PREFIX = "discreet_"
"""So that a token that turns up somewhere is recognised as one."""
LONGEST_LIFE = 366
"""Days."""


@dataclass(frozen=True)
class ApiToken:
    """A token, without its secret."""

    id: int
    account: int
    name: str
    scopes: tuple[str, ...]
    made: str
    expires: str
    revoked: str | None
    maker: int | None = None
    """The token that made it; None if a person did."""

    def state(self, now: str) -> str:
        """In a word."""
        return "revoked" if self.revoked else "expired" if self.expires <= now else "active"

    def permissions(self, account: Account) -> frozenset[str]:
        """What it may do: its scopes, as far as its account still may."""
        return frozenset(self.scopes) & GRANTED[account.role] - SESSIONS_ONLY


def token_of(row: Row[Any]) -> ApiToken:
    """From a row of the table."""
    return ApiToken(
        row.id, row.account, row.name, tuple(row.scopes.split()), row.made, row.expires, row.revoked, row.maker
    )


def find_token(connection: Connection, number: int) -> ApiToken | None:
    """By number."""
    row = connection.execute(select(TOKEN).where(TOKEN.c.id == number)).one_or_none()
    return None if row is None else token_of(row)


def tokens_of(connection: Connection, account: int) -> list[ApiToken]:
    """All tokens of an account, the newest first."""
    query = select(TOKEN).where(TOKEN.c.account == account).order_by(TOKEN.c.id.desc())
    return [token_of(row) for row in connection.execute(query)]


def every_token(connection: Connection) -> list[tuple[ApiToken, Account]]:
    """All tokens of all accounts with their owners, the newest first."""
    owners = {account.id: account for account in accounts.everybody(connection)}
    rows = connection.execute(select(TOKEN).order_by(TOKEN.c.id.desc()))
    return [(token_of(row), owners[row.account]) for row in rows]


def add_token(
    connection: Connection,
    *,
    account: int,
    name: str,
    scopes: tuple[str, ...],
    now: str,
    expires: str,
    maker: int | None = None,
) -> tuple[ApiToken, str]:
    """A new token, and its secret, which is never seen again."""
    secret = PREFIX + make_secret()
    values: dict[str, Any] = {"account": account, "name": name, "made": now, "expires": expires, "maker": maker}
    values |= {"scopes": " ".join(scopes), "hash": digest_secret(secret)}
    number = int(connection.execute(insert(TOKEN).values(values).returning(TOKEN.c.id)).scalar_one())
    return ApiToken(number, account, name, scopes, now, expires, None, maker), secret


def revoke_token(connection: Connection, number: int, now: str) -> None:
    """Revoke it, those that it made, and those that they made."""
    chain = select(TOKEN.c.id).where(TOKEN.c.id == number).cte(recursive=True)
    chain = chain.union(select(TOKEN.c.id).where(TOKEN.c.maker == chain.c.id))
    usable = (TOKEN.c.id.in_(select(chain.c.id)), TOKEN.c.revoked.is_(None))
    connection.execute(update(TOKEN).where(*usable).values(revoked=now))


def recognise_token(site: Site, secret: str) -> tuple[ApiToken, Account] | None:
    """Whose token it is, unless it expired or was revoked, or the account closed."""
    valid = (TOKEN.c.hash == digest_secret(secret), TOKEN.c.revoked.is_(None), TOKEN.c.expires > site.stamp())
    with site.store.reading() as connection:
        row = connection.execute(select(TOKEN).where(*valid)).one_or_none()
        if row is None:
            return None
        owner = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == row.account)).one()
    return None if owner.disabled else (token_of(row), account_of(owner))


# One-time links: the first account, a new password, accounts of the operator.
@dataclass(frozen=True)
class Link:
    """A link that can still be used."""

    hash: str
    account: Account | None
    """Whose password it sets; None makes the first account of a role."""
    expires: str
    role: str = ""
    """The role of the account."""


def make_link(connection: Connection, settings: Settings, account: int | None, *, role: str | None = None) -> str:
    """A new link, to an account or to make the first one of a role; gives its secret, and takes back earlier ones."""
    secret, moment = make_secret(), settings.clock()
    now = timestamp(moment)
    connection.execute(delete(LINK).where(LINK.c.expires <= now))
    if account is not None:
        accounts.take_back_links(connection, account)
    expires = timestamp(moment + settings.link_life)
    values = {"hash": digest_secret(secret), "account": account, "made": now, "expires": expires, "role": role}
    connection.execute(insert(LINK).values(values))
    return secret


def find_link(site: Site, secret: str) -> Link:
    """The link, if it can still be used; looking does not use it."""
    usable = (LINK.c.hash == digest_secret(secret), LINK.c.used.is_(None), LINK.c.expires > site.stamp())
    with site.store.reading() as connection:
        row = connection.execute(select(LINK).where(*usable)).one_or_none()
        if row is None or (row.account is None and (row.role is None or accounts.exist(connection, row.role))):
            raise link_gone()
        account = None if row.account is None else accounts.find(connection, row.account)
    if row.account is not None and (account is None or account.disabled):
        raise link_gone()
    return Link(row.hash, account, row.expires, row.role if account is None else account.role)


def use_link(connection: Connection, site: Site, link: Link) -> None:
    """Use it up; of two who try at once one comes too late."""
    usable = (LINK.c.hash == link.hash, LINK.c.used.is_(None), LINK.c.expires > site.stamp())
    if not update_one(connection, LINK, *usable, used=site.stamp()):
        raise link_gone()


def link_address(settings: Settings, secret: str) -> str:
    """What is given to the person."""
    return f"{settings.origin}/welcome/{secret}"


def link_gone() -> Problem:
    """Used, expired, taken back or never there: the answer does not say which."""
    return Problem(
        404,
        "This link does not work, or no longer.",
        remedy="A link works once and for a day. Ask an administrator for a new one; for the first accounts, start `discreet serve` again.",
    )


FIRST = {
    "custodian": "who brings data and decides what is released",
    "administrator": "who opens accounts for everybody else",
}
"""Roles whose first account nobody in the application can open, so that the operator hands out the link."""


def first_link(site: Site, role: str = "custodian") -> str | None:
    """The link to make the first account in a role; None if there is one."""
    with site.store.writing() as connection:
        if accounts.exist(connection, role):
            return None
        return link_address(site.settings, make_link(connection, site.settings, None, role=role))


# The operator, on the command line. Two people decide only if neither made the other's account, so that a third has to make
# accounts: the operator, who has the store and its keys.
def add_by_operator(ledger: Ledger, settings: Settings, *, name: str, role: str, actor: str) -> str:
    """A new account; gives the address of the link that opens it."""
    if not accounts.NAME.fullmatch(name):
        raise UsageError(accounts.NAME_WORDS, remedy="Give another name, such as ann.lee.")

    def add(connection: Connection) -> int:
        if accounts.by_name(connection, name) is not None:
            raise UsageError(
                "There is an account with this name already.",
                remedy="Choose another name; or give this one a new link with: discreet account link NAME",
            )
        return accounts.add(connection, name=name, role=role, now=timestamp(settings.clock()))

    return _give_link(ledger, settings, add, act=Act.OPERATOR_INVITED, name=name, role=role, actor=actor)


def link_by_operator(ledger: Ledger, settings: Settings, *, name: str, actor: str) -> str:
    """A link to set a password; using it makes the account independent."""
    with ledger.store.reading() as connection:
        named = accounts.by_name(connection, name)
    if named is None:
        raise UsageError("There is no account with this name.", remedy="Make it with: discreet account add NAME")
    account = named[0]
    if account.disabled:
        raise UsageError(
            "The account is closed.", remedy="Have an administrator open it again first, or make another one."
        )
    about = {"act": Act.OPERATOR_LINKED, "name": name, "role": account.role, "actor": actor}
    return _give_link(ledger, settings, lambda connection: account.id, **about)


def _give_link(
    ledger: Ledger, settings: Settings, account: Callable[[Connection], int], *, act: str, name: str, role: str, actor: str
) -> str:  # fmt: skip
    made: list[str] = []
    ledger.record(
        actor=actor,
        event="web.account",
        subject=f"account:{name}",
        details={"act": str(act), "role": role},
        along=lambda connection: made.append(make_link(connection, settings, account(connection))),
    )
    return link_address(settings, made[-1])
