"""Passwords (argon2id, few at once), and opaque secrets stored as hashes."""

from __future__ import annotations

import hashlib
import secrets
import threading
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import Type

from discreet.web.framework.settings import Hashing

SHORTEST, LONGEST = 15, 256
"""Characters; NIST SP 800-63B-4 asks for 15 where a password is all there is, and for no rules about signs."""

AT_ONCE = 4
"""Each takes its memory, so that many guesses at once must not take all of it."""


class Hasher:
    """Makes and checks hashes of passwords."""

    def __init__(self, cost: Hashing) -> None:
        self._argon = PasswordHasher(
            time_cost=cost.passes, memory_cost=cost.memory_kib, parallelism=cost.lanes, type=Type.ID
        )
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._nobody = self.hash(secrets.token_urlsafe(32))

    def hash(self, password: str) -> str:
        """The hash to be stored; it carries its salt and its cost."""
        with self._turns:
            return self._argon.hash(_normal(password))

    def fits(self, password: str, stored: str | None) -> bool:
        """Does it fit? Without a stored hash as much is computed, in vain, so that the time does not reveal which accounts exist."""
        with self._turns:
            try:
                self._argon.verify(stored or self._nobody, _normal(password))
            except (VerificationError, InvalidHashError):
                return False
        return stored is not None

    def outdated(self, stored: str) -> bool:
        """Was it made at another cost than is asked for today?"""
        return self._argon.check_needs_rehash(stored)


def complaint(password: str, again: str, *, name: str) -> str:
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
    return ""


def _normal(password: str) -> str:
    """One spelling for what looks the same, so that another keyboard gives the same password."""
    return unicodedata.normalize("NFKC", password)


# Opaque secrets: 256 random bits for the bearer, their hash for the store.
def make_secret() -> str:
    """A new secret, in letters that an address or a cookie may contain."""
    return secrets.token_urlsafe(32)


def digest_secret(secret: str) -> str:
    """What is stored. No salt and no cost are needed: 256 random bits cannot be guessed.

    >>> digest_secret("a")[:8]
    'ca978112'
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
