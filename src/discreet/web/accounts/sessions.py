"""Sessions: an opaque token in a cookie, its hash in the store, two ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, or_, select, update
from starlette.requests import Request
from starlette.responses import Response

from discreet.store.tables.web import ACCOUNT, SESSION
from discreet.store.transitions import update_one
from discreet.web.accounts import passwords
from discreet.web.accounts.accounts import Account, account_of

if TYPE_CHECKING:
    from discreet.web.framework.site import Site

COOKIE = "__Host-discreet"
"""The prefix makes browsers refuse it from other hosts, other paths, and without Secure."""

TOUCH = timedelta(seconds=10)
"""How exactly the last use is written down: not with every picture of a page."""


@dataclass(frozen=True)
class WebSession:
    """A person who is signed in."""

    hash: str
    made: str


def find(site: Site, token: str) -> tuple[WebSession, Account] | None:
    """Whose session it is, unless it has ended or the account was closed. Being asked for counts as being used."""
    oldest, idle = site.stamp(ago=site.settings.absolute), site.stamp(ago=site.settings.idle)
    hashed = passwords.digest_secret(token)
    with site.store.reading() as connection:
        row = connection.execute(
            select(SESSION.c.made.label("begun"), SESSION.c.seen.label("used"), ACCOUNT)
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
    return WebSession(hashed, row.begun), account_of(row)


def begin(connection: Connection, site: Site, account: int, *, proven: str) -> str | None:
    """A new session; gives its token. What has ended is swept out on the way.

    `proven` is the hash of the password that was given. Checking one takes a while; None if the account has another
    password by now, or was closed. Both have ended all sessions, and none may come after that.
    """
    token, now = passwords.make_secret(), site.stamp()
    unchanged = (ACCOUNT.c.id == account, ACCOUNT.c.password == proven, ACCOUNT.c.disabled.is_(False))
    if not update_one(connection, ACCOUNT, *unchanged, seen=now):
        return None
    ended = or_(
        SESSION.c.made <= site.stamp(ago=site.settings.absolute), SESSION.c.seen <= site.stamp(ago=site.settings.idle)
    )
    connection.execute(delete(SESSION).where(ended))
    connection.execute(insert(SESSION).values(hash=passwords.digest_secret(token), account=account, made=now, seen=now))
    return token


def is_open(connection: Connection, session: WebSession) -> bool:
    """Is it still open since it was found?"""
    return connection.execute(select(SESSION.c.hash).where(SESSION.c.hash == session.hash)).scalar() is not None


def end(connection: Connection, session: WebSession) -> None:
    """Sign out."""
    connection.execute(delete(SESSION).where(SESSION.c.hash == session.hash))


def token_of(request: Request) -> str | None:
    """The token that a browser sent."""
    return request.cookies.get(COOKIE)


def give(response: Response, token: str) -> None:
    """Put the token into the browser."""
    response.set_cookie(COOKIE, token, path="/", secure=True, httponly=True, samesite="lax")


def take_back(response: Response) -> None:
    """Have the browser forget it."""
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")
