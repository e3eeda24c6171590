r"""Login: first packet, authentication and SCRAM through both TLS ends, without I/O.

Passwords and proofs pass unread, between client and server. Two things are changed, where TLS ends at the gateway:
channel binding is not offered unless it can work, and a proof is renewed where the secret of the user is known
(see SCRAM below). The server's first ReadyForQuery is kept back until the judge has said whether the user is
governed.

>>> read(b"\x00\x00\x00\x08\x04\xd2\x16\x2f")
(<FirstPacket.TLS: 80877103>, 8)
>>> read(b"\x00\x00") is None
True
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from struct import pack, unpack_from

from discreet.errors import UsageError
from discreet.gateway.protocol.framing import Frame, Framer, Malformed
from discreet.gateway.protocol.messages import error, message, parameter_status

# The first packet of a connection, before anything else is said: it has a length and no letter.
#
# A client may ask for TLS or for encryption by GSSAPI and wait for one byte; it may bring the key of another session whose
# statement is to be cancelled; or it says who it is. Whatever is longer or stranger than a real client's is refused.
LONGEST = 10_000
"""PostgreSQL refuses longer ones too."""
TLS_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
_CANCEL_LENGTHS = range(13, 269)  # a process id, and a key of up to 256 bytes


class FirstPacket(IntEnum):
    """What a client wants with its first packet; a session gives its protocol version."""

    CANCEL = 80877102
    TLS = 80877103
    GSSAPI = 80877104
    SESSION = 3 << 16


def read(data: bytes) -> tuple[FirstPacket, int] | None:
    """Kind and length of the first packet; None until it is whole."""
    if len(data) < 4:
        return None
    (length,) = unpack_from("!i", data)
    if not 8 <= length <= LONGEST:
        raise Malformed
    if len(data) < 8:
        return None
    (code,) = unpack_from("!i", data, 4)
    if code in (FirstPacket.TLS, FirstPacket.GSSAPI) and length == 8:
        kind = FirstPacket(code)
    elif code == FirstPacket.CANCEL and length in _CANCEL_LENGTHS:
        kind = FirstPacket.CANCEL
    elif code >> 16 == 3:
        kind = FirstPacket.SESSION
    else:
        raise Malformed
    return (kind, length) if len(data) >= length else None


def parameters(packet: bytes) -> dict[str, str]:
    """What a client says about itself: user, database, application_name, ...

    >>> parameters(b"\\0\\0\\0\\x13\\0\\3\\0\\0user\\0ada\\0\\0")
    {'user': 'ada'}
    """
    parts = packet[8:].split(b"\0")
    names, values = parts[:-2:2], parts[1:-2:2]
    if len(parts) % 2 or parts[-2:] != [b"", b""] or not all(names) or len(set(names)) != len(names):
        raise Malformed
    try:
        told = {name.decode(): value.decode() for name, value in zip(names, values, strict=True)}
    except UnicodeDecodeError:
        raise Malformed from None
    if not told.get("user"):
        raise Malformed
    return told


def packet(told: Mapping[str, str]) -> bytes:
    """A startup packet.

    >>> parameters(packet({"user": "ada"}))
    {'user': 'ada'}
    """
    body = b"".join(f"{name}\0{value}\0".encode() for name, value in told.items()) + b"\0"
    return pack("!ii", len(body) + 8, FirstPacket.SESSION) + body


def replicates(told: dict[str, str]) -> bool:
    """Whether this is a replication connection, which gives out the server's log.

    >>> replicates({"user": "ada", "replication": "off"}), replicates({"user": "ada", "replication": "database"})
    (False, True)
    """
    return told.get("replication", "off").lower() not in ("off", "false", "no", "0", "f", "n")


# SCRAM through a gateway that ends TLS on both sides.
#
# With SCRAM a client proves that it knows the password, over everything both sides said, including whether its
# connection is bound to a certificate. A gateway that only passes messages on therefore cannot change that part. Three
# cases work without the gateway knowing anything: at most one side is encrypted; or the client says that it does not do
# channel binding; or the gateway shows the very certificate that the server shows, so that the binding fits both.
#
# Otherwise a client of libpq says "I could bind, and you do not offer it" (the flag y), and the server, which does offer
# it, must take that for an attack and refuse. Only who knows the server's stored secret of the user can mend this, as
# other poolers do: with the secret, and what the client proves, the same proof is made once more for the flag n. The
# password stays unknown, and a client that does not know it is still refused by the server.
PLUS = b"SCRAM-SHA-256-PLUS"
_UNBOUND, _DOUBTING = b"n,,", b"y,,"


@dataclass(frozen=True)
class PasswordSecret:
    """What a server stores of a password: enough to check it only."""

    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


def read_secrets(path: Path) -> dict[str, PasswordSecret]:
    """Secrets of users from a file with lines "user" "SCRAM-SHA-256$..."."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise UsageError("The file of SCRAM secrets cannot be read.", remedy="Check --scram-secrets.") from None
    secrets = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        parts = line.strip().split('"')
        whole = len(parts) == 5 and not (parts[0] or parts[2].strip() or parts[4])
        stored = secret(parts[3]) if whole else None
        if stored is None:
            raise UsageError(
                f"Line {number} of the file of SCRAM secrets is not understood.",
                remedy='Write "user" "SCRAM-SHA-256$iterations:salt$key:key", as in pg_authid.rolpassword.',
            )
        secrets[parts[1]] = stored
    return secrets


def secret(text: str) -> PasswordSecret | None:
    """The two keys of a stored secret; None if it is none.

    >>> secret("md5abc") is None
    True
    """
    head, _, keys = text.rpartition("$")
    stored, _, server = keys.partition(":")
    if not head.startswith("SCRAM-SHA-256$"):
        return None
    try:
        found = PasswordSecret(base64.b64decode(stored, validate=True), base64.b64decode(server, validate=True))
    except binascii.Error:
        return None
    return found if len(found.stored_key) == len(found.server_key) == 32 else None


@dataclass
class Rebinding:
    """Renews the proof of a client that could bind, and the server's answer."""

    _secret: PasswordSecret
    _bare: bytes = b""
    _server_first: bytes = b""
    _final: bytes = b""

    def client_first(self, message: bytes) -> bytes:
        """The client's first message, as the server shall see it."""
        self._bare = message[len(_DOUBTING) :]
        return _UNBOUND + self._bare

    def server_first(self, message: bytes) -> bytes:
        """The server's first message: passes as it is."""
        self._server_first = message
        return message

    def client_final(self, message: bytes) -> bytes:
        """The client's proof, renewed for the server."""
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
        """The server's signature, renewed for the client."""
        if not message.startswith(b"v="):
            return message
        return b"v=" + base64.b64encode(self._sign(self._secret.server_key, self._final))

    def _sign(self, key: bytes, final: bytes) -> bytes:
        spoken = b",".join((self._bare, self._server_first, final))
        return hmac.new(key, spoken, hashlib.sha256).digest()


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))


_SASL, _CONTINUE, _FINAL = 10, 11, 12
_PASSWORD = ord("p")
_LONGEST = 65_536  # nothing that is said here is longer
CANNOT_BIND = error(
    severity="FATAL",
    sqlstate="28000",
    message="Channel binding cannot work through this gateway: both sides are encrypted, with different certificates.",
    hint="Connect with channel_binding=disable, or let the gateway show the server's certificate or know SCRAM secrets.",
)


@dataclass(frozen=True)
class Channels:
    """What is known about the two connections when they meet."""

    client_encrypted: bool = False
    same_certificate: bool = False
    """Whether the client sees the certificate that the server shows."""


@dataclass
class Entrance:
    """The part of a session before it is one."""

    user: str
    channels: Channels = field(default_factory=Channels)
    secrets: Mapping[str, PasswordSecret] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.to_client: list[bytes] = []
        self.to_upstream: list[bytes] = []
        self.parameters: dict[str, str] = {}
        self.ready: bytes | None = None
        """The server's first ReadyForQuery, once it has come."""
        self.key = b""
        """Process and key of the session, by which it is cancelled."""
        self.over = False
        self._client = Framer(largest=_LONGEST)
        self._server = Framer()
        self._waiting: Frame | None = None
        self._rebinding: Rebinding | None = None
        self._asked_sasl = False
        self._withdrawn = False

    def client_data(self, data: bytes) -> None:
        """Bytes from the client."""
        self._client.feed(data)
        while self._waiting is None and not self.over and (frame := self._client.next()) is not None:
            if frame.part:
                raise Malformed
            if frame.kind == _PASSWORD:
                self.to_upstream.append(self._proof(frame))
            else:
                self._waiting = frame  # said too early; it waits until the session begins

    def upstream_data(self, data: bytes) -> None:
        """Bytes from the server."""
        self._server.feed(data)
        while self.ready is None and not self.over and (frame := self._server.next()) is not None:
            if frame.kind == ord("Z"):
                self.ready = frame.raw
                return
            raw, body = frame.raw, frame.body
            kind = int.from_bytes(body[:4], "big") if frame.kind == ord("R") else None
            if frame.kind == ord("K"):
                self.key = body
            elif frame.kind == ord("S"):
                name, value = parameter_status(body)
                self.parameters[name] = value
            elif kind == _SASL:
                self._asked_sasl = True
                # The ways to log in, without channel binding where it cannot work.
                ways = body[4:].split(b"\0")
                if PLUS in ways and not (self.channels.client_encrypted and self.channels.same_certificate):
                    ways.remove(PLUS)
                    self._withdrawn = True
                raw = message(b"R", body[:4] + b"\0".join(ways))
            elif self._rebinding is not None and kind == _CONTINUE:
                raw = message(b"R", body[:4] + self._rebinding.server_first(body[4:]))
            elif self._rebinding is not None and kind == _FINAL:
                raw = message(b"R", body[:4] + self._rebinding.server_final(body[4:]))
            self.to_client.append(raw)

    @property
    def full(self) -> bool:
        """Whether the client says more than it should by now."""
        return self._waiting is not None

    def rest(self) -> tuple[bytes, bytes]:
        """What client and server have said beyond the entrance."""
        early = self._waiting.raw if self._waiting else b""
        return early + self._client.rest(), self._server.rest()

    def _proof(self, frame: Frame) -> bytes:
        """Proof of the client as the server shall see it; nothing if impossible."""
        if not self._asked_sasl:
            return frame.raw
        if self._rebinding is not None:
            return message(b"p", self._rebinding.client_final(frame.body))
        if not self._withdrawn:
            return frame.raw
        way, end, rest = frame.body.partition(b"\0")
        if not end:
            raise Malformed
        first, self._asked_sasl = rest[4:], False
        if not first.startswith(b"y,"):  # "I could bind, and you do not offer it"
            return frame.raw
        known = self.secrets.get(self.user)
        if known is None:
            self.to_client.append(CANNOT_BIND)
            self.over = True
            return b""
        self._rebinding, self._asked_sasl = Rebinding(known), True
        first = self._rebinding.client_first(first)
        return message(b"p", way + b"\0" + len(first).to_bytes(4, "big") + first)
