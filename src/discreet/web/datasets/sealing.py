"""Passwords of other servers: encrypted in the store, with a key that is beside it and not in it.

Whoever has a copy of the database alone cannot read them; whoever has the file of keys, too, can.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from discreet.errors import IntegrityError
from discreet.ledger.keys import Keys

if TYPE_CHECKING:
    from nacl.secret import SecretBox

PERSON = b"discreet-sealed"


def seal(keys: Keys, text: str) -> str:
    """Encrypt (XSalsa20 with Poly1305, a random nonce).

    >>> keys = Keys.generate()
    >>> unseal(keys, seal(keys, "secret"))
    'secret'
    """
    return bytes(_box(keys).encrypt(text.encode())).hex()


def unseal(keys: Keys, sealed: str) -> str:
    """Decrypt; an error if it was changed, or if the keys are others."""
    from nacl.exceptions import CryptoError

    try:
        return bytes(_box(keys).decrypt(bytes.fromhex(sealed))).decode()
    except (CryptoError, ValueError):
        raise IntegrityError(
            "The stored password of a data set cannot be opened with these keys.",
            remedy="Give the right keys in DISCREET_KEYS, or register the table again.",
        ) from None


def _box(keys: Keys) -> SecretBox:
    from nacl.secret import SecretBox

    return SecretBox(hashlib.blake2b(keys.values, digest_size=32, person=PERSON).digest())
