"""API tokens: some permissions of an account, for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, insert, select, update

from discreet.store.tables.web import ACCOUNT, TOKEN
from discreet.web.accounts import passwords
from discreet.web.accounts.accounts import Account, account_of
from discreet.web.framework.permissions import GRANTED, SESSIONS_ONLY

if TYPE_CHECKING:
    from discreet.web.framework.site import Site

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


def token_of(row: Row[Any]) -> ApiToken:
    """From a row of the table."""
    return ApiToken(
        row.id, row.account, row.name, tuple(row.scopes.split()), row.made, row.expires, row.revoked, row.maker
    )


def find(connection: Connection, number: int) -> ApiToken | None:
    """By number."""
    row = connection.execute(select(TOKEN).where(TOKEN.c.id == number)).one_or_none()
    return None if row is None else token_of(row)


def of_account(connection: Connection, account: int) -> list[ApiToken]:
    """All tokens of an account, the newest first."""
    query = select(TOKEN).where(TOKEN.c.account == account).order_by(TOKEN.c.id.desc())
    return [token_of(row) for row in connection.execute(query)]


def add(
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
    secret = PREFIX + passwords.make_secret()
    values: dict[str, Any] = {"account": account, "name": name, "made": now, "expires": expires, "maker": maker}
    made = (
        insert(TOKEN)
        .values(**values, scopes=" ".join(scopes), hash=passwords.digest_secret(secret))
        .returning(TOKEN.c.id)
    )
    number = int(connection.execute(made).scalar_one())
    return ApiToken(number, account, name, scopes, now, expires, None, maker), secret


def revoke(connection: Connection, number: int, now: str) -> None:
    """It opens nothing any more, nor do those that it made, nor those that they made."""
    chain = select(TOKEN.c.id).where(TOKEN.c.id == number).cte(recursive=True)
    chain = chain.union(select(TOKEN.c.id).where(TOKEN.c.maker == chain.c.id))
    mine = (TOKEN.c.id.in_(select(chain.c.id)), TOKEN.c.revoked.is_(None))
    connection.execute(update(TOKEN).where(*mine).values(revoked=now))


def recognise(site: Site, secret: str) -> tuple[ApiToken, Account] | None:
    """Whose token it is, unless it has expired, was revoked, or the account was closed."""
    valid = (TOKEN.c.hash == passwords.digest_secret(secret), TOKEN.c.revoked.is_(None), TOKEN.c.expires > site.stamp())
    with site.store.reading() as connection:
        row = connection.execute(select(TOKEN).where(*valid)).one_or_none()
        if row is None:
            return None
        owner = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == row.account)).one()
    return None if owner.disabled else (token_of(row), account_of(owner))


def permissions(token: ApiToken, account: Account) -> frozenset[str]:
    """What it may do: what it was given, as far as its account still may."""
    return frozenset(token.scopes) & GRANTED[account.role] - SESSIONS_ONLY
