"""Opaque secrets: 256 random bits for whoever carries them, their hash for the store."""

from __future__ import annotations

import hashlib
import secrets


def make() -> str:
    """A new secret, in letters that may stand in an address or a cookie."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is stored. No salt and no cost are needed: 256 random bits cannot be guessed.

    >>> digest("a")[:8]
    'ca978112'
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
