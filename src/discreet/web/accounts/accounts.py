"""Accounts and their passwords; each change has its ledger entry."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import Type
from sqlalchemy import Connection, Row, delete, insert, or_, select, update

from discreet.store.tables.web import ACCOUNT, LINK, SESSION, TOKEN
from discreet.store.transitions import update_one
from discreet.web.framework.problems import Problem
from discreet.web.framework.settings import Hashing

NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?")
NAME_WORDS = (
    "A name has up to 40 small letters, digits, dots, dashes or underlines, and begins and ends with a letter or digit."
)


class Act(StrEnum):
    """Acts on an account, as ledger entries name them (`act`); their meaning never changes."""

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
    FACTOR_SET = "set a second factor"
    FACTOR_REMOVED = "removed the second factor"
    FACTOR_RESET = "reset the second factor"
    PASSKEY_ADDED = "added a passkey"
    PASSKEY_REMOVED = "removed a passkey"
    CODES_MADE = "made recovery codes"
    SSO_MADE = "came by single sign-on"
    SSO_ROLE = "has another role by single sign-on"
    ROLE_PROPOSED = "proposed a role"
    ROLE_CHANGED = "changed role"
    ROLE_REJECTED = "rejected a role"
    ROLE_WITHDRAWN = "withdrew a proposed role"


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
    provided: bool = False
    """Does the person sign in at a provider?"""

    @property
    def state(self) -> str:
        """In a word."""
        return "closed" if self.disabled else "invited" if self.invited else "active"


def account_of(row: Row[Any]) -> Account:
    """From a row of the table."""
    return Account(
        row.id,
        row.name,
        row.role,
        row.disabled,
        row.made,
        row.seen,
        row.password is None and row.subject is None,
        row.guide_left is None,
        row.subject is not None,
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


def exist(connection: Connection, role: str | None = None) -> bool:
    """Is there any account at all, or any in this role?"""
    wanted = select(ACCOUNT.c.id) if role is None else select(ACCOUNT.c.id).where(ACCOUNT.c.role == role)
    return connection.execute(wanted.limit(1)).scalar() is not None


def add(
    connection: Connection,
    *,
    name: str,
    role: str,
    now: str,
    password: str | None = None,
    issuer: str | None = None,
    subject: str | None = None,
) -> int:
    """A new account; names of closed accounts are not used again."""
    if connection.execute(select(ACCOUNT.c.id).where(ACCOUNT.c.name == name)).scalar() is not None:
        raise Problem(409, "There is an account with this name already.", remedy="Choose another name.")
    values = {"name": name, "role": role, "password": password, "disabled": False, "made": now, "seen": None}
    values |= {"issuer": issuer, "subject": subject}
    return int(connection.execute(insert(ACCOUNT).values(values).returning(ACCOUNT.c.id)).scalar_one())


def set_password(connection: Connection, number: int, hashed: str, *, now: str, proven: str | None = None) -> bool:
    """A new password; ends sessions and tokens, and takes back links.

    With `proven`, the hash of the old password that was given, only if that is still the password; False if not.
    """
    guards = () if proven is None else (ACCOUNT.c.password == proven,)
    if not update_one(connection, ACCOUNT, ACCOUNT.c.id == number, *guards, password=hashed):
        return False
    sign_out_everywhere(connection, number, now=now)
    take_back_links(connection, number)
    return True


def close(connection: Connection, number: int, *, now: str) -> None:
    """Close it: nobody can sign in, sessions and tokens end. The last administrator stays."""
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == number).values(disabled=True))
    _require_administrator(connection)
    sign_out_everywhere(connection, number, now=now)
    take_back_links(connection, number)


def change_role(connection: Connection, number: int, role: str, *, was: str, now: str) -> bool:
    """Another role: sessions, tokens and links of the old one end. False if the role is not `was` any more."""
    if not update_one(connection, ACCOUNT, ACCOUNT.c.id == number, ACCOUNT.c.role == was, role=role):
        return False
    _require_administrator(connection)
    sign_out_everywhere(connection, number, now=now)
    take_back_links(connection, number)
    return True


def _require_administrator(connection: Connection) -> None:
    able = or_(ACCOUNT.c.password.is_not(None), ACCOUNT.c.subject.is_not(None))
    active = (ACCOUNT.c.role == "administrator", ACCOUNT.c.disabled.is_(False), able)
    if connection.execute(select(ACCOUNT.c.id).where(*active).limit(1)).first() is None:
        remedy = "Invite another administrator first, and have them sign in."
        raise Problem(409, "One administrator must remain who can open accounts.", remedy=remedy)


def reopen(connection: Connection, number: int) -> None:
    """Open it again, with the password it had; its tokens stay revoked."""
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == number).values(disabled=False))


def sign_out_everywhere(connection: Connection, number: int, *, now: str) -> None:
    """End all sessions of the account and revoke all its tokens."""
    connection.execute(delete(SESSION).where(SESSION.c.account == number))
    usable = (TOKEN.c.account == number, TOKEN.c.revoked.is_(None))
    connection.execute(update(TOKEN).where(*usable).values(revoked=now))


def take_back_links(connection: Connection, number: int) -> None:
    """Delete links of the account that were not used."""
    connection.execute(delete(LINK).where(LINK.c.account == number, LINK.c.used.is_(None)))


# Passwords: argon2id, few at once.
SHORTEST, LONGEST = 15, 256
"""Characters; NIST SP 800-63B-4 asks for 15 where a password is all there is, and for no rules about signs."""

AT_ONCE = 4
"""Each takes its memory, so that many guesses at once must not take all of it."""


class Hasher:
    """Makes and checks hashes of passwords.

    They are normalised to one spelling for what looks the same, so that another keyboard gives the same password.
    """

    def __init__(self, cost: Hashing) -> None:
        self._argon = PasswordHasher(
            time_cost=cost.passes, memory_cost=cost.memory_kib, parallelism=cost.lanes, type=Type.ID
        )
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._nobody = self.hash(secrets.token_urlsafe(32))

    def hash(self, password: str) -> str:
        """The hash to be stored; it carries its salt and its cost."""
        with self._turns:
            return self._argon.hash(unicodedata.normalize("NFKC", password))

    def fits(self, password: str, stored: str | None) -> bool:
        """Does it fit?

        Without a stored hash as much is computed, in vain, so that the time does not reveal which accounts exist.
        """
        with self._turns:
            try:
                self._argon.verify(stored or self._nobody, unicodedata.normalize("NFKC", password))
            except (VerificationError, InvalidHashError):
                return False
        return stored is not None


def password_complaint(password: str, again: str, *, name: str) -> str:
    """What is wrong with a new password, in words; empty if nothing is."""
    if password != again:
        return "The two passwords are not the same."
    if len(password) < SHORTEST:
        return f"A password has at least {SHORTEST} characters. A short sentence is easy to remember."
    if len(password) > LONGEST:
        return f"A password has at most {LONGEST} characters."
    if name and name.lower() in password.lower():
        return "A password must not hold the name of the account."
    if len(set(password)) < 5:
        return "A password needs at least five different characters."
    if is_common(password):
        return (
            "This password is made of what guesses begin with: common words, runs of keys, years, repetitions. "
            "A short sentence of your own is easy to remember."
        )
    return ""


# Common passwords. Lists of leaked ones that are long enough are short words repeated, runs of keys and both with a year: so
# these are recognised by rule, whatever their order, instead of by a list of each.
_COMMON_WORDS = """
aaa abc access account admin administrator angel apple april august autumn baby banana baseball basketball batman
bond boss butterfly changeit changeme charlie cheese chelsea chocolate citroen coffee computer cookie custodian
daniel data december default demo discreet dragon duck eagle email enter february flower football forever freedom
friday friend ginger google guest hannah harley harry hello hockey home hospital hunter iloveyou internet january
jennifer jessica jordan july june justin killer king letmein life liverpool login london love lovely lucky maggie
manager march maria master matrix may michael michelle mickey monday money monkey mother mustang my nicole ninja
november october office oracle orange owner pass passphrase password passwort pepper person please princess
private purple qwerty qwertz rainbow ranger robert root sample samsung saturday secret secure security september
server service shadow silver soccer spring star starwars strong summer sunday sunshine super superman system team
temp temporary test tester testing the this thomas thursday tiger trustno tuesday user waiting wednesday welcome
whatever winter wizard work worker yellow you your
"""
COMMON = frozenset(_COMMON_WORDS.split())
"""Words that people take when they are told to make a password; our own list, in small letters."""
RUNS = ("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm", "qazwsxedcrfvtgbyhnujm", "1qaz2wsx3edc4rfv5tgb6yhn", "1q2w3e4r5t6y7u8i9o0p")  # fmt: skip
"""What fingers or the alphabet do by themselves; either way round."""
SPELLED = str.maketrans("@4301!5$78", "aaeoiisstb")
"""Signs and digits that are written for letters."""


def is_common(password: str) -> bool:
    """Whether a password is nothing but common words, runs, years and repetitions.

    >>> [is_common(text) for text in ("P@ssw0rd-P@ssw0rd", "qwertyuiop123456", "Summer2026!Summer2026!", "a b c my own sentence")]
    [True, True, True, False]
    """
    plain = re.sub(r"[\s_.,;:*+/#?!-]+", "", unicodedata.normalize("NFKC", password).lower())
    return any(_made_of_common_parts(text) for text in {plain, plain.translate(SPELLED)})


def _made_of_common_parts(text: str) -> bool:
    """Whether it can be cut into common parts, from the left; four letters may be left over in all."""
    spare = 4
    fewest = [0] + [len(text) + 1] * len(text)
    for end in range(1, len(text) + 1):
        fewest[end] = fewest[end - 1] + 1
        for start in range(max(0, end - 26), end - 1):
            if fewest[start] < fewest[end] and is_common_part(text[start:end], text[:start]):
                fewest[end] = fewest[start]
    return fewest[-1] <= spare


def is_common_part(part: str, before: str) -> bool:
    """Whether this piece of a password is a common word, a year, a run of keys, or a repetition of what came before it."""
    if part in COMMON or re.fullmatch(r"(?:19|20)\d\d", part):
        return True
    again = part in before or len(set(part)) == 1
    return len(part) >= 3 and (again or any(part in run or part[::-1] in run for run in RUNS))


# Opaque secrets: 256 random bits for the bearer, their hash for the store.
def make_secret() -> str:
    """A new secret, in letters that an address or a cookie may contain."""
    return secrets.token_urlsafe(32)


def digest_secret(secret: str) -> str:
    """The hash to be stored; 256 random bits need no salt and no cost.

    >>> digest_secret("a")[:8]
    'ca978112'
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
