"""One-time links: the first account, a new password, accounts of the operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, select, update

from discreet.errors import UsageError
from discreet.ledger import Ledger
from discreet.ledger.entry import timestamp
from discreet.store.tables.web import LINK
from discreet.web.accounts import accounts, passwords
from discreet.web.accounts.accounts import Account, Act
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
    """Used, expired, taken back or never there: the answer does not say which."""
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


# The operator, on the command line. Two people decide only if neither made the other's account, so that a third has to make
# accounts: the operator, who has the store and its keys.
def add_by_operator(ledger: Ledger, settings: Settings, *, name: str, role: str, actor: str) -> str:
    """A new account; gives the address of the link that opens it."""
    if not accounts.NAME.fullmatch(name):
        raise UsageError(accounts.NAME_WORDS, remedy="Give another name, such as ann.lee.")
    made: list[str] = []

    def along(connection: Connection) -> None:
        if accounts.by_name(connection, name) is not None:
            raise UsageError(
                "There is an account with this name already.",
                remedy="Choose another name; or give this one a new link with: discreet account link NAME",
            )
        number = accounts.add(connection, name=name, role=role, now=timestamp(settings.clock()))
        made.append(make(connection, settings, number))

    _record(ledger, Act.OPERATOR_INVITED, name, role, actor, along)
    return address(settings, made[-1])


def link_by_operator(ledger: Ledger, settings: Settings, *, name: str, actor: str) -> str:
    """A link to set the password of an account; once it is used, no other account is behind that account."""
    made: list[str] = []
    with ledger.store.reading() as connection:
        named = accounts.by_name(connection, name)
    if named is None:
        raise UsageError("There is no account with this name.", remedy="Make it with: discreet account add NAME")
    account = named[0]
    if account.disabled:
        raise UsageError("The account is closed.", remedy="Have a custodian open it again first, or make another one.")

    def along(connection: Connection) -> None:
        made.append(make(connection, settings, account.id))

    _record(ledger, Act.OPERATOR_LINKED, name, account.role, actor, along)
    return address(settings, made[-1])


def _record(ledger: Ledger, act: Act, name: str, role: str, actor: str, along: Callable[[Connection], object]) -> None:
    details = {"act": act.value, "role": role}
    ledger.record(actor=actor, event="web.account", subject=f"account:{name}", details=details, along=along)
