"""Accounts, each change with its ledger entry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from discreet.store.tables.web import ACCOUNT, LINK, SESSION, TOKEN
from discreet.store.transitions import update_one
from discreet.web.framework.problems import Problem

NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?")
NAME_WORDS = (
    "A name has up to 40 small letters, digits, dots, dashes or underlines, and begins and ends with a letter or digit."
)


class Act(StrEnum):
    """What is done to an account, as its entry in the ledger says (`act`). The words never change their meaning."""

    MADE = "made"
    INVITED = "invited"
    LINKED = "gave a link"
    OPERATOR_INVITED = "invited by the operator"
    OPERATOR_LINKED = "gave a link as the operator"
    PASSWORD_SET = "set password"  # noqa: S105 - an act
    CLOSED = "closed"
    REOPENED = "opened again"
    SIGNED_OUT = "ended sessions"
    PASSWORD_CHANGED = "changed password"  # noqa: S105 - an act
    TOKEN_MADE = "made a token"  # noqa: S105 - an act
    TOKEN_REVOKED = "revoked a token"  # noqa: S105 - an act


@dataclass(frozen=True)
class Account:
    """A person, and in which role."""

    id: int
    name: str
    role: str
    disabled: bool
    made: str
    seen: str | None
    invited: bool
    """Is the invitation still to be taken up?"""
    guided: bool = True
    """Are the first steps shown?"""

    @property
    def state(self) -> str:
        """In a word."""
        return "closed" if self.disabled else "invited" if self.invited else "active"


def account_of(row: Row[Any]) -> Account:
    """From a row of the table."""
    return Account(
        row.id, row.name, row.role, row.disabled, row.made, row.seen, row.password is None, row.guide_left is None
    )


def find(connection: Connection, number: int) -> Account | None:
    """By number."""
    row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == number)).one_or_none()
    return None if row is None else account_of(row)


def by_name(connection: Connection, name: str) -> tuple[Account, str | None] | None:
    """By name, with the hash of the password."""
    row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.name == name)).one_or_none()
    return None if row is None else (account_of(row), row.password)


def everybody(connection: Connection) -> list[Account]:
    """All accounts, by name."""
    return [account_of(row) for row in connection.execute(select(ACCOUNT).order_by(ACCOUNT.c.name))]


def exist(connection: Connection) -> bool:
    """Is there any account at all?"""
    return connection.execute(select(ACCOUNT.c.id).limit(1)).scalar() is not None


def add(connection: Connection, *, name: str, role: str, now: str, password: str | None = None) -> int:
    """A new account; a name is never used twice, not even that of a closed account."""
    if connection.execute(select(ACCOUNT.c.id).where(ACCOUNT.c.name == name)).scalar() is not None:
        raise Problem(409, "There is an account with this name already.", remedy="Choose another name.")
    values = {"name": name, "role": role, "password": password, "disabled": False, "made": now, "seen": None}
    number = connection.execute(insert(ACCOUNT).values(values).returning(ACCOUNT.c.id)).scalar_one()
    return int(number)


def set_password(connection: Connection, number: int, hashed: str, *, now: str, proven: str | None = None) -> bool:
    """A new password, which ends all sessions and tokens of the account and takes back all its links.

    With `proven`, the hash of the old password that was given, only if that is still the password; False if not.
    """
    guards = () if proven is None else (ACCOUNT.c.password == proven,)
    if not update_one(connection, ACCOUNT, ACCOUNT.c.id == number, *guards, password=hashed):
        return False
    sign_out_everywhere(connection, number, now=now)
    take_back_links(connection, number)
    return True


def close(connection: Connection, number: int, *, now: str) -> None:
    """It cannot be used to sign in any more; its sessions and tokens end. The last custodian stays."""
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == number).values(disabled=True))
    active = (ACCOUNT.c.role == "custodian", ACCOUNT.c.disabled.is_(False), ACCOUNT.c.password.is_not(None))
    if connection.execute(select(ACCOUNT.c.id).where(*active).limit(1)).first() is None:
        raise Problem(409, "One custodian must remain who can invite people.", remedy="Invite another custodian first.")
    sign_out_everywhere(connection, number, now=now)
    take_back_links(connection, number)


def reopen(connection: Connection, number: int) -> None:
    """It can be used again, with the password it had; its tokens stay revoked."""
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == number).values(disabled=False))


def sign_out_everywhere(connection: Connection, number: int, *, now: str) -> None:
    """End all sessions of the account and revoke all its tokens."""
    connection.execute(delete(SESSION).where(SESSION.c.account == number))
    mine = (TOKEN.c.account == number, TOKEN.c.revoked.is_(None))
    connection.execute(update(TOKEN).where(*mine).values(revoked=now))


def take_back_links(connection: Connection, number: int) -> None:
    """Delete links of the account that were not used."""
    connection.execute(delete(LINK).where(LINK.c.account == number, LINK.c.used.is_(None)))
