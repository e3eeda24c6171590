"""Extra passkeys: what an authenticator made for this place is taken, and for no other."""

from __future__ import annotations

import base64
import hashlib
import json
from types import SimpleNamespace
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec

from discreet.web.accounts.passkeys import INSTALLED, checked_new
from discreet.web.framework.problems import Problem


def text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def made(challenge: bytes, origin: str, host: str) -> str:
    """What a browser sends of a new passkey (WebAuthn, section 5.2.1; attestation none)."""
    point = ec.generate_private_key(ec.SECP256R1()).public_key().public_numbers()
    public = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")})
    number = b"n" * 16
    flags, counter = b"\x41", bytes(4)
    about = hashlib.sha256(host.encode()).digest() + flags + counter + bytes(16) + len(number).to_bytes(2, "big")
    client = {"type": "webauthn.create", "challenge": text(challenge), "origin": origin, "crossOrigin": False}
    response = {
        "clientDataJSON": text(json.dumps(client).encode()),
        "attestationObject": text(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": about + number + public})),
    }
    return json.dumps({"id": text(number), "rawId": text(number), "type": "public-key", "response": response})


assert INSTALLED
origin = "https://discreet.example"
settings = SimpleNamespace(origin=origin)
here: Any = SimpleNamespace(
    request=SimpleNamespace(headers={"host": "discreet.example"}), site=SimpleNamespace(settings=settings)
)
challenge = b"c" * 32
assert (
    checked_new(here, challenge.hex(), made(challenge, origin, "discreet.example"))["credential"] == (b"n" * 16).hex()
)
wrong = [
    made(b"d" * 32, origin, "discreet.example"),
    made(challenge, "https://discreet.example.evil", "discreet.example"),
    made(challenge, origin, "evil"),
    "{}",
    "null",
    "[1]",
    '{"id": 1, "rawId": [], "response": "x", "type": "public-key"}',
]
for answer in wrong:
    try:
        checked_new(here, challenge.hex(), answer)
    except Problem:
        continue
    raise AssertionError(answer)
