"""A manifest under lock and key: compressed, encrypted and authenticated with a key that is not in the store.

The same manifest under the same key gives the same bytes, so that whoever repeats a step that failed commits to the same
digest again.
"""

from __future__ import annotations

import hashlib
import hmac
import zlib
from typing import TYPE_CHECKING

from discreet.errors import IntegrityError, MissingExtra, StoreTooNew
from discreet.releases.marks.prf import derive

if TYPE_CHECKING:
    from nacl.secret import SecretBox

FAMILY = b"discreet-manifest-"
FORMAT = FAMILY + b"1\n"
NONCE_BYTES = 24


def seal(content: bytes, *, key: bytes) -> bytes:
    """Encrypt (XSalsa20 with Poly1305); the nonce is a keyed hash of the content, so equal bytes mean equal content.

    >>> unseal(seal(b"who has which mark", key=bytes(32)), key=bytes(32))
    b'who has which mark'
    """
    nonce = hmac.digest(derive(key, "nonce"), content, hashlib.sha256)[:NONCE_BYTES]
    return FORMAT + bytes(_box(key).encrypt(zlib.compress(content, 6), nonce))


def unseal(sealed: bytes, *, key: bytes) -> bytes:
    """Decrypt; an error in words if it is of another version, was changed, or was sealed with another key."""
    if not sealed.startswith(FAMILY):
        raise IntegrityError("This is no sealed manifest.", remedy="Restore the store from a backup.")
    if not sealed.startswith(FORMAT):
        raise StoreTooNew(
            "The manifest of the release was sealed by a newer version of Discreet.",
            remedy="Update Discreet on this machine.",
        )
    from nacl.exceptions import CryptoError

    try:
        return zlib.decompress(_box(key).decrypt(sealed[len(FORMAT) :]))
    except (CryptoError, ValueError, zlib.error):
        raise IntegrityError(
            "The manifest of the release cannot be opened: it was sealed with another key, or was changed.",
            remedy="Say in DISCREET_KEYS where the keys of this ledger are, or restore the store from a backup.",
        ) from None


def digest(sealed: bytes) -> str:
    """The SHA-256 of the sealed bytes, in hex: what the ledger commits to."""
    return hashlib.sha256(sealed).hexdigest()


def _box(key: bytes) -> SecretBox:
    try:
        from nacl.secret import SecretBox
    except ImportError:
        raise MissingExtra("store", needed_for="Sealing the manifest of a release") from None
    return SecretBox(derive(key, "seal"))
