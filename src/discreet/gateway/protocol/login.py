"""From the startup packet until the server lets the user in, without any I/O.

Passwords and proofs pass unread, between client and server. Two things are changed, where TLS ends at the gateway:
channel binding is not offered unless it can work, and a proof is renewed where the secret of the user is known
(`discreet.gateway.scram`). The server's first ReadyForQuery is kept back until the judge has said whether the user is
governed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.gateway.protocol.framing import Frame, Framer, Malformed
from discreet.gateway.protocol.messages import Reader, error, message, parameter_status
from discreet.gateway.scram import PLUS, Rebinding, Secret, doubts

_OK, _SASL, _CONTINUE, _FINAL = 0, 10, 11, 12
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
    secrets: Mapping[str, Secret] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.to_client: list[bytes] = []
        self.to_upstream: list[bytes] = []
        self.parameters: dict[str, str] = {}
        self.ready: bytes | None = None
        """The server's first ReadyForQuery, once it has come."""
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
                self.to_upstream.append(self._proved(frame))
            else:
                self._waiting = frame  # said too early; it waits until the session begins

    def upstream_data(self, data: bytes) -> None:
        """Bytes from the server."""
        self._server.feed(data)
        while self.ready is None and not self.over and (frame := self._server.next()) is not None:
            self._answered(frame)

    @property
    def full(self) -> bool:
        """Whether the client says more than it should by now."""
        return self._waiting is not None

    def rest(self) -> tuple[bytes, bytes]:
        """What client and server have said beyond the entrance."""
        early = self._waiting.raw if self._waiting else b""
        return early + self._client.rest(), self._server.rest()

    def _answered(self, frame: Frame) -> None:
        if frame.kind == ord("Z"):
            self.ready = frame.raw
            return
        if frame.kind == ord("R"):
            self.to_client.append(self._challenge(frame))
            return
        if frame.kind == ord("S"):
            name, value = parameter_status(frame.body)
            self.parameters[name] = value
        self.to_client.append(frame.raw)

    def _challenge(self, frame: Frame) -> bytes:
        body = frame.body
        kind = int.from_bytes(body[:4], "big")
        if kind == _SASL:
            self._asked_sasl = True
            return self._offered(body)
        if self._rebinding is not None and kind == _CONTINUE:
            return message(b"R", body[:4] + self._rebinding.server_first(body[4:]))
        if self._rebinding is not None and kind == _FINAL:
            return message(b"R", body[:4] + self._rebinding.server_final(body[4:]))
        return frame.raw

    def _offered(self, body: bytes) -> bytes:
        """The ways to log in, without channel binding where it cannot work."""
        ways = body[4:].split(b"\0")
        if PLUS in ways and not (self.channels.client_encrypted and self.channels.same_certificate):
            ways.remove(PLUS)
            self._withdrawn = True
        return message(b"R", body[:4] + b"\0".join(ways))

    def _proved(self, frame: Frame) -> bytes:
        if not self._asked_sasl:
            return frame.raw
        if self._rebinding is not None:
            return message(b"p", self._rebinding.client_final(frame.body))
        return self._first(frame) if self._withdrawn else frame.raw

    def _first(self, frame: Frame) -> bytes:
        reader = Reader(frame.body)
        way = reader.text()
        first = frame.body[len(way) + 5 :]
        self._asked_sasl = False
        if not doubts(first):
            return frame.raw
        known = self.secrets.get(self.user)
        if known is None:
            self.to_client.append(CANNOT_BIND)
            self.over = True
            return b""
        self._rebinding = Rebinding(known)
        self._asked_sasl = True
        first = self._rebinding.client_first(first)
        return message(b"p", way + b"\0" + len(first).to_bytes(4, "big") + first)
