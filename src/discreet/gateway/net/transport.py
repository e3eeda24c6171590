"""Transports: the two ends of a connection, and the upstream server."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from discreet.errors import UsageError
from discreet.gateway.protocol.login import TLS_REQUEST

_HIGH, _LOW = 256 * 1024, 64 * 1024  # bytes that wait to be written, from which on the other side pauses or goes on


class ConnectionSide(asyncio.Protocol):
    """The connection to a client or to the server."""

    def __init__(
        self, receive: Callable[[bytes], None], lost: Callable[[], object], paused: Callable[[bool], None]
    ) -> None:
        self.receive = receive
        """What is done with bytes that come."""
        self.paused = False
        """Whether it takes no more for now."""
        self.gone = False
        self.encrypted = False
        self._lost = lost
        self._tell_paused = paused
        self._transport: asyncio.Transport | None = None
        self.reading = True
        """Whether it is read."""
        self._before: list[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected, or encrypted from now on."""
        stream = cast(asyncio.Transport, transport)  # other event loops have classes of their own
        self._transport = stream
        self.encrypted = stream.get_extra_info("ssl_object") is not None
        stream.set_write_buffer_limits(high=_HIGH, low=_LOW)
        made = transport.get_extra_info("socket")
        if made is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        if self._before is None:
            self.receive(data)
        else:
            self._before.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self.gone = True
        self._lost()

    def pause_writing(self) -> None:
        """It takes no more for now."""
        self.paused = True
        self._tell_paused(True)

    def resume_writing(self) -> None:
        """It takes again."""
        self.paused = False
        self._tell_paused(False)

    async def upgrade(self, context: ssl.SSLContext | None, hello: bytes = b"", protocol: str = "") -> None:
        """Speak TLS from here on; with the `hello` of a client that has begun, which must name the protocol."""
        assert self._transport is not None  # noqa: S101
        assert context is not None  # noqa: S101
        loop, transport = asyncio.get_running_loop(), self._transport
        self._before = []  # what comes before we know that the handshake is over
        handshake = loop.create_task(
            loop.start_tls(transport, self, context, server_side=True, ssl_handshake_timeout=30)
        )
        begun = bool(hello)
        if begun:  # was read already: handed on as soon as the loop has made the two know each other
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            spoken: Any = transport.get_protocol()  # uvloop has a class of its own
            while hello:
                room = spoken.get_buffer(len(hello))
                size = min(len(room), len(hello))
                room[:size] = hello[:size]
                spoken.buffer_updated(size)
                hello = hello[size:]
        encrypted = await handshake
        self.reading = True
        if encrypted is None:
            raise ConnectionResetError
        self.connection_made(encrypted)
        if begun and encrypted.get_extra_info("ssl_object").selected_alpn_protocol() != protocol:
            raise ConnectionResetError  # as PostgreSQL does: something else may speak TLS to this port
        early, self._before = b"".join(self._before), None
        if early:
            self.receive(early)

    @property
    def address(self) -> str:
        """Where it calls from."""
        name = self._transport.get_extra_info("peername") if self._transport else None
        return str(name[0]) if isinstance(name, tuple) else ""

    def peer_certificate(self) -> bytes | None:
        """The certificate that it showed; None if the connection is not encrypted."""
        spoken = self._transport.get_extra_info("ssl_object") if self._transport else None
        return None if spoken is None else spoken.getpeercert(binary_form=True) or b""

    def common_name(self) -> str:
        """The name in the certificate that it showed; empty without one."""
        spoken = self._transport.get_extra_info("ssl_object") if self._transport else None
        subject = (spoken.getpeercert() or {}).get("subject", ()) if spoken is not None else ()
        return next((str(value) for part in subject for name, value in part if name == "commonName"), "")

    def write(self, data: bytes) -> None:
        """Send, unless it is gone."""
        if data and self._transport is not None and not self.gone:
            self._transport.write(data)

    def read(self, wanted: bool) -> None:
        """Read on, or not for now."""
        if wanted == self.reading or self._transport is None or self._transport.is_closing():
            return
        self.reading = wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def pause(self) -> None:
        """Do not read for now."""
        self.read(False)

    def resume(self) -> None:
        """Read on."""
        self.read(True)

    def hand_over(self, protocol: asyncio.Protocol) -> None:
        """Let another protocol go on from here."""
        if self._transport is not None:
            self._transport.set_protocol(protocol)

    def writer(self) -> Callable[[bytes], None]:
        """What sends bytes, without looking."""
        assert self._transport is not None  # noqa: S101
        return self._transport.write

    def close(self) -> None:
        """Write what waits, then end."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End at once."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def ended(self) -> bool:
        """Whether nothing is left of it."""
        return self.gone or self._transport is None


class Spoken(asyncio.Protocol):
    """A side whose bytes go straight to a session."""

    def __init__(self, side: ConnectionSide, take: Callable[[bytes], None]) -> None:
        self.data_received = take  # type: ignore[method-assign, assignment]
        self.connection_lost = side.connection_lost  # type: ignore[method-assign]
        self.pause_writing = side.pause_writing  # type: ignore[method-assign]
        self.resume_writing = side.resume_writing  # type: ignore[method-assign]


class Relay(asyncio.Protocol):
    """Sends whatever comes from one side to the other."""

    def __init__(self, side: ConnectionSide, other: ConnectionSide) -> None:
        self._side = side
        self._other = other
        self._write = other.writer()
        self.last = b""
        """The last bytes that came; none if the other side has spoken since."""
        self.peer = self

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        self.last = data[-6:]
        self.peer.last = b""
        self._write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._side.connection_lost(exc)

    def pause_writing(self) -> None:
        """It takes no more for now."""
        self._other.pause()

    def resume_writing(self) -> None:
        """It takes again."""
        self._other.resume()


# Where the database server is, and how to reach it: by TCP or a Unix socket, with TLS or without.
PORT = 5432
MODES = ("disable", "require", "verify-full")
_REMEDY = "Write it like postgresql://db.example:5432, or postgresql:///?host=/run/postgresql for a Unix socket."


class Unreachable(Exception):
    """The server cannot be reached as asked for; caught inside the room."""


@dataclass(frozen=True)
class Upstream:
    """Address of a server, and how strictly its certificate is checked."""

    host: str
    port: int = PORT
    context: ssl.SSLContext | None = field(default=None, repr=False)
    """Present if TLS is required."""
    timeout: float = 15.0

    @property
    def path(self) -> str | None:
        """The Unix socket, if it is one."""
        return f"{self.host}/.s.PGSQL.{self.port}" if self.host.startswith("/") else None

    async def connect(self, protocol: asyncio.Protocol) -> asyncio.Transport:
        """A connection that is ready for the startup packet."""
        loop = asyncio.get_running_loop()
        first = _Answer() if self.context is not None else protocol
        try:
            async with asyncio.timeout(self.timeout):
                if self.path is not None:
                    transport, _ = await loop.create_unix_connection(lambda: first, self.path)
                else:
                    transport, _ = await loop.create_connection(lambda: first, self.host, self.port)
                if self.context is None or not isinstance(first, _Answer):
                    return transport
                try:
                    transport.write(TLS_REQUEST)
                    if await first.answer != b"S":
                        raise Unreachable
                    name = "localhost" if self.path is not None else self.host
                    encrypted = await loop.start_tls(transport, protocol, self.context, server_hostname=name)
                except BaseException:
                    transport.abort()
                    raise
                if encrypted is None:
                    raise Unreachable
                protocol.connection_made(encrypted)
                return encrypted
        except (OSError, ssl.SSLError, TimeoutError, ValueError):
            raise Unreachable from None


class _Answer(asyncio.Protocol):
    """Waits for the one byte that says whether the server speaks TLS."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """The byte; anything behind it would be unencrypted, and is an attack."""
        if self._transport is not None:
            self._transport.pause_reading()  # what comes next is for TLS
        if not self.answer.done():
            self.answer.set_result(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The server does not want to talk."""
        if not self.answer.done():
            self.answer.set_exception(Unreachable())


def parse_upstream(url: str, *, tls: str = "disable", ca: Path | None = None) -> Upstream:
    """The server that a URL names.

    >>> parse_upstream("postgresql://db.example:6000/clinic")
    Upstream(host='db.example', port=6000, timeout=15.0)
    >>> parse_upstream("postgresql:///?host=/run/postgresql").path
    '/run/postgresql/.s.PGSQL.5432'
    """
    try:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        host = query.get("host", [unquote(parts.hostname or "")])[-1] or "127.0.0.1"
        number = int(query.get("port", [parts.port or PORT])[-1])
        if parts.scheme not in ("postgresql", "postgres") or "," in host or not 0 < number < 65_536:
            raise ValueError
    except ValueError:
        raise UsageError("The address of the server is not understood.", remedy=_REMEDY) from None
    return Upstream(host, number, upstream_context(tls, ca))


def upstream_context(mode: str, ca: Path | None) -> ssl.SSLContext | None:
    """How the server's certificate is checked: not at all with `require`, wholly with `verify-full`."""
    if mode == "disable":
        return None
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError):
        raise UsageError("The file of trusted authorities cannot be read.", remedy="Check --upstream-ca.") from None
    if mode == "require":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def server_context(certificate: Path, key: Path, authorities: Path | None = None) -> ssl.SSLContext:
    """What is shown to clients that want TLS; with authorities, clients must show a certificate as well."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["postgresql"])
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise UsageError("Certificate and key cannot be used.", remedy="Check --tls-cert and --tls-key.") from None
    if authorities is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(authorities)
        except (OSError, ssl.SSLError):
            raise UsageError("The authorities of clients cannot be read.", remedy="Check --client-ca.") from None
    return context


def fingerprint(certificate: Path) -> bytes:
    """The first certificate of a file, as it is sent."""
    text = certificate.read_text(encoding="ascii", errors="replace")
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    found = begin + text.partition(begin)[2].partition(end)[0] + end
    return ssl.PEM_cert_to_DER_cert(found)
