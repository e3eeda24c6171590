"""Arrival of a client: from its first byte to its startup packet, by way of PROXY protocol and TLS.

A client may speak TLS at once, as since PostgreSQL 17, or ask for it first. What it says in the clear before TLS begins is
never taken for something it has said inside.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from ipaddress import ip_address
from typing import Any, Protocol

from discreet.gateway.net.settings import GatewaySettings
from discreet.gateway.net.transport import ConnectionSide, Unreachable
from discreet.gateway.protocol import login
from discreet.gateway.protocol.framing import Malformed
from discreet.gateway.protocol.login import FirstPacket
from discreet.gateway.protocol.messages import error
from discreet.gateway.protocol.proxy_header import read_header

NO_SENSE = error(severity="FATAL", sqlstate="08P01", message="The gateway cannot make sense of what it received.")
TLS_ONLY = error(
    severity="FATAL",
    sqlstate="28000",
    message="This gateway takes encrypted connections only.",
    hint="Connect with sslmode=require, or better verify-full.",
)
OTHER_NAME = error(
    severity="FATAL",
    sqlstate="28000",
    message="The certificate of the client is for another user than the one that logs in.",
)
TOO_OFTEN = error(
    severity="FATAL",
    sqlstate="53300",
    message="There are too many logins from this address.",
    hint="Try again in a minute; keep connections open, or use a pool.",
)
_HANDSHAKE = 0x16  # the first byte of TLS
ALPN = "postgresql"


class ArrivalHost(Protocol):
    """What an arriving client needs of the gateway."""

    settings: GatewaySettings
    context: ssl.SSLContext | None
    """Present if clients may speak TLS."""

    def welcome(self, address: str) -> bool:
        """Whether this address may log in once more."""

    def cancelled(self, key: bytes) -> None:
        """A client cancels what runs in the session with this key."""


class Arrival:
    """The part of a connection before the gateway knows who it is."""

    client: ConnectionSide

    def __init__(
        self,
        gateway: ArrivalHost,
        start: Callable[[Coroutine[Any, Any, None]], None],
        opened: Callable[[dict[str, str], bytes, bytes], Coroutine[Any, Any, None]],
        close: Callable[..., None],
    ) -> None:
        self._gateway, self._start, self._opened, self._close = gateway, start, opened, close
        self._early = b""
        self._said = ""
        self._proxied: bool | None = None
        """Whether a header of the PROXY protocol comes first; None if that is not known yet."""

    @property
    def address(self) -> str:
        """Where the client calls from, as far as is known; empty for a Unix socket."""
        return self._said or self.client.address

    def data(self, data: bytes) -> None:
        """Bytes before the startup packet is whole."""
        self._early += data
        try:
            if self._announced():
                self._begin()
        except Malformed:
            self._close(NO_SENSE)

    def _announced(self) -> bool:
        """Whether the proxy, if there is one, has said whom it speaks for."""
        if self._proxied is None:
            proxies, caller = self._gateway.settings.proxies, self.client.address.partition("%")[0]
            self._proxied = bool(caller and proxies) and any(ip_address(caller) in network for network in proxies)
        if self._proxied:
            header = read_header(self._early)
            if header is None:
                return False
            self._early, self._said, self._proxied = self._early[header.length :], header.address or "", False
        return True

    def _begin(self) -> None:
        gateway, client = self._gateway, self.client
        if self._early[:1] == bytes([_HANDSHAKE]) and gateway.context is not None and not client.encrypted:
            early, self._early = self._early, b""
            client.pause()
            self._start(self._upgrade(early))
            return
        first = login.read(self._early)
        if first is None:
            return
        kind, length = first
        packet, self._early = self._early[:length], self._early[length:]
        if kind is FirstPacket.GSSAPI or (kind is FirstPacket.TLS and gateway.context is None):
            client.write(b"N")
            if self._early:
                self.data(b"")
        elif kind is FirstPacket.TLS:
            if self._early or client.encrypted:  # said in the clear behind the request, or TLS in TLS
                raise Malformed
            client.pause()
            client.write(b"S")
            self._start(self._upgrade())
        elif kind is FirstPacket.CANCEL:
            self._start(self._cancel(packet))
        else:
            self._admit(login.parameters(packet), packet)

    def _admit(self, startup: dict[str, str], packet: bytes) -> None:
        settings, client = self._gateway.settings, self.client
        if settings.encrypted_only and not client.encrypted:
            reason, last = "not encrypted", TLS_ONLY
        elif settings.named and client.common_name() != startup["user"]:
            reason, last = "certificate of another user", OTHER_NAME
        elif not self._gateway.welcome(self.address):
            reason, last = "too many logins", TOO_OFTEN
        else:
            reason, last = "", b""
        if reason:
            settings.observe("turned_away", reason=reason, user=startup["user"], address=self.address)
            self._close(last)
        else:
            self._start(self._opened(startup, packet, self._early))

    async def _upgrade(self, hello: bytes = b"") -> None:
        """Speak TLS; `hello` are its first bytes, where the client did not ask before."""
        try:
            await self.client.upgrade(self._gateway.context, hello, ALPN)
        except (OSError, ssl.SSLError):
            self._close()

    async def _cancel(self, packet: bytes) -> None:
        """Hand the key to the server, as a client would; nothing is answered."""
        end, upstream = asyncio.Event(), self._gateway.settings.upstream
        self._gateway.cancelled(packet[8:])
        side = ConnectionSide(lambda data: None, end.set, lambda paused: None)
        try:
            transport = await upstream.connect(side)
            transport.write(packet)
            async with asyncio.timeout(upstream.timeout):
                await end.wait()
        except (Unreachable, TimeoutError):
            pass
        finally:
            side.close()
            self._close()
