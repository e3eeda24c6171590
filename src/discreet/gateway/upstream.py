"""Where the database server is, and how to reach it: by TCP or a Unix socket, with TLS or without."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, unquote, urlsplit

from discreet.errors import UsageError
from discreet.gateway.startup import TLS_REQUEST

PORT = 5432
MODES = ("disable", "require", "verify-full")
_REMEDY = "Write it like postgresql://db.example:5432, or postgresql:///?host=/run/postgresql for a Unix socket."


class Unreachable(Exception):
    """The server cannot be reached, or not in the way that was asked for; caught inside the room."""


@dataclass(frozen=True)
class Upstream:
    """The address of a server, and how strictly it has to show who it is."""

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
        try:
            async with asyncio.timeout(self.timeout):
                return await self._connect(protocol)
        except (OSError, ssl.SSLError, TimeoutError, ValueError):
            raise Unreachable from None

    async def _connect(self, protocol: asyncio.Protocol) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        first = _Answer() if self.context is not None else protocol
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
        port, query = parts.port, parse_qs(parts.query)
        given = query.get("port", [port or PORT])[-1]
        number = int(given)
    except ValueError:
        raise UsageError("The address of the server is not understood.", remedy=_REMEDY) from None
    host = query.get("host", [unquote(parts.hostname or "")])[-1] or "127.0.0.1"
    if parts.scheme not in ("postgresql", "postgres") or "," in host or not 0 < number < 65_536:
        raise UsageError("The address of the server is not understood.", remedy=_REMEDY)
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


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """What is shown to clients that want TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise UsageError("Certificate and key cannot be used.", remedy="Check --tls-cert and --tls-key.") from None
    return context


def fingerprint(certificate: Path) -> bytes:
    """The first certificate of a file, as it is sent."""
    text = certificate.read_text(encoding="ascii", errors="replace")
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    found = begin + text.partition(begin)[2].partition(end)[0] + end
    return ssl.PEM_cert_to_DER_cert(found)
