"""One-time links: the first account, and setting a password."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, select, update

from discreet.ledger.entry import timestamp
from discreet.store.tables.web import LINK
from discreet.web.accounts import accounts, passwords
from discreet.web.accounts.accounts import Account
from discreet.web.framework.problems import Problem
from discreet.web.framework.settings import Settings

if TYPE_CHECKING:
    from discreet.web.framework.site import Site


@dataclass(frozen=True)
class Link:
    """A link that can still be used."""

    hash: str
    account: Account | None
    """Whose password it sets; None makes the first account."""
    expires: str


def make(connection: Connection, settings: Settings, account: int | None) -> str:
    """A new link; gives the secret in it. Earlier links of the account are taken back, and old ones are swept out."""
    secret, moment = passwords.make_secret(), settings.clock()
    now = timestamp(moment)
    connection.execute(delete(LINK).where(LINK.c.expires <= now))
    if account is not None:
        accounts.take_back_links(connection, account)
    expires = timestamp(moment + settings.link_life)
    connection.execute(
        insert(LINK).values(hash=passwords.digest_secret(secret), account=account, made=now, expires=expires, used=None)
    )
    return secret


def find(connection: Connection, site: Site, secret: str) -> Link | None:
    """The link, if it can be used: looking at it does not use it up."""
    query = select(LINK).where(
        LINK.c.hash == passwords.digest_secret(secret), LINK.c.used.is_(None), LINK.c.expires > site.stamp()
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    if row.account is None:
        return None if accounts.exist(connection) else Link(row.hash, None, row.expires)
    account = accounts.find(connection, row.account)
    return None if account is None or account.disabled else Link(row.hash, account, row.expires)


def use(connection: Connection, site: Site, link: Link) -> None:
    """Use it up; of two who try at once one comes too late."""
    mine = (LINK.c.hash == link.hash, LINK.c.used.is_(None), LINK.c.expires > site.stamp())
    if connection.execute(update(LINK).where(*mine).values(used=site.stamp())).rowcount != 1:
        raise gone()


def address(settings: Settings, secret: str) -> str:
    """What is given to the person."""
    return f"{settings.origin}/welcome/{secret}"


def gone() -> Problem:
    """Used, expired, taken back or never there: which of these is nobody's business."""
    return Problem(
        404,
        "This link does not work, or no longer.",
        remedy="A link works once and for a day. Ask a custodian for a new one; for the first account, start `discreet serve` again.",
    )


def first_link(site: Site) -> str | None:
    """The link to make the first account of all; None if there is an account."""
    with site.store.writing() as connection:
        if accounts.exist(connection):
            return None
        return address(site.settings, make(connection, site.settings, None))
