"""Keyed pseudorandom function (HMAC) for secret decisions that need no memory."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Sequence
from hashlib import sha256

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats

KEY_BYTES = 32
_SCALE = float(1 << 53)


def check_key(key: bytes) -> bytes:
    """The key, if it is long enough to be a secret."""
    if len(key) < KEY_BYTES:
        raise UsageError(
            f"The key of a release has {KEY_BYTES} bytes; this one has {len(key)}.",
            remedy="Leave the key out: the keys of the ledger give one.",
        )
    return key


def derive(key: bytes, purpose: str) -> bytes:
    """A key of its own for each purpose, so that what one reveals says nothing of another.

    >>> derive(bytes(32), "order") == derive(bytes(32), "seal")
    False
    """
    return hmac.digest(check_key(key), b"discreet/releases/" + purpose.encode(), sha256)


def canonical(parts: Sequence[object]) -> bytes:
    """Parts as bytes that no other parts give: a plain separator could be imitated by a value that holds it."""
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()


def uniforms(key: bytes, messages: Iterable[bytes]) -> Floats:
    """One number in [0, 1) per message, which only the holder of the key can foresee."""
    digest = hmac.digest
    words = b"".join(digest(key, message, sha256)[:8] for message in messages)
    return (np.frombuffer(words, dtype=">u8") >> np.uint64(11)).astype(np.float64) / _SCALE
