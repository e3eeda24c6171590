"""SCRAM through a gateway that ends TLS on both sides.

With SCRAM a client proves that it knows the password, over everything both sides said, including whether its
connection is bound to a certificate. A gateway that only passes messages on therefore cannot change that part. Three
cases work without the gateway knowing anything: at most one side is encrypted; or the client says that it does not do
channel binding; or the gateway shows the very certificate that the server shows, so that the binding fits both.

Otherwise a client of libpq says "I could bind, and you do not offer it" (the flag y), and the server, which does offer
it, must take that for an attack and refuse. Only who knows the server's stored secret of the user can mend this, as
other poolers do: with the secret, and what the client proves, the same proof is made once more for the flag n. The
password stays unknown, and whoever does not know it is still refused by the server.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import UsageError

PLUS = b"SCRAM-SHA-256-PLUS"
_UNBOUND, _DOUBTING = b"n,,", b"y,,"


@dataclass(frozen=True)
class Secret:
    """What a server stores about a password: enough to check it, not enough to log in."""

    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return "Secret()"


def read_secrets(path: Path) -> dict[str, Secret]:
    """The secrets of users from a file with lines "user" "SCRAM-SHA-256$...", as poolers have it."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise UsageError("The file of SCRAM secrets cannot be read.", remedy="Check --scram-secrets.") from None
    secrets = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        user, found = _line(line)
        if found is None:
            raise UsageError(
                f"Line {number} of the file of SCRAM secrets is not understood.",
                remedy='Write "user" "SCRAM-SHA-256$iterations:salt$key:key", as in pg_authid.rolpassword.',
            )
        secrets[user] = found
    return secrets


def _line(line: str) -> tuple[str, Secret | None]:
    parts = line.strip().split('"')
    if len(parts) != 5 or parts[0] or parts[2].strip() or parts[4]:
        return "", None
    return parts[1], secret(parts[3])


def secret(text: str) -> Secret | None:
    """The two keys of a stored secret; None if it is none.

    >>> secret("md5abc") is None
    True
    """
    head, _, keys = text.rpartition("$")
    stored, _, server = keys.partition(":")
    if not head.startswith("SCRAM-SHA-256$"):
        return None
    try:
        found = Secret(base64.b64decode(stored, validate=True), base64.b64decode(server, validate=True))
    except binascii.Error:
        return None
    return found if len(found.stored_key) == len(found.server_key) == 32 else None


def doubts(first: bytes) -> bool:
    """Whether a client-first-message says: I could bind, and you do not offer it."""
    return first.startswith(b"y,")


class Rebinding:
    """Makes the proof of a client that doubts into one of a client that does not bind, and the answer back again."""

    def __init__(self, known: Secret) -> None:
        self._secret = known
        self._bare = b""
        self._server_first = b""
        self._final = b""

    def client_first(self, message: bytes) -> bytes:
        """The client's first message, as the server shall see it."""
        self._bare = message[len(_DOUBTING) :]
        return _UNBOUND + self._bare

    def server_first(self, message: bytes) -> bytes:
        """The server's first message: passes as it is."""
        self._server_first = message
        return message

    def client_final(self, message: bytes) -> bytes:
        """The client's proof, made anew for the server."""
        self._final, _, proof = message.rpartition(b",p=")
        header = b"c=" + base64.b64encode(_DOUBTING)
        if not self._final.startswith(header + b","):
            return message
        other = b"c=" + base64.b64encode(_UNBOUND) + self._final[len(header) :]
        try:
            given = base64.b64decode(proof, validate=True)
        except binascii.Error:
            return message
        key = _xor(given, self._sign(self._secret.stored_key, self._final))
        if hashlib.sha256(key).digest() != self._secret.stored_key:
            return other + b",p=" + proof  # a wrong password: the server will say so
        renewed = _xor(key, self._sign(self._secret.stored_key, other))
        return other + b",p=" + base64.b64encode(renewed)

    def server_final(self, message: bytes) -> bytes:
        """The server's signature, made anew for the client."""
        if not message.startswith(b"v="):
            return message
        return b"v=" + base64.b64encode(self._sign(self._secret.server_key, self._final))

    def _sign(self, key: bytes, final: bytes) -> bytes:
        spoken = b",".join((self._bare, self._server_first, final))
        return hmac.new(key, spoken, hashlib.sha256).digest()


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))
