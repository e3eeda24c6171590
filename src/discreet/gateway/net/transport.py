"""The two ends of a connection as asyncio sees them."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import cast

_HIGH, _LOW = 256 * 1024, 64 * 1024  # bytes that wait to be written, from which on the other side pauses or goes on


class Side(asyncio.Protocol):
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

    async def upgrade(self, context: ssl.SSLContext | None) -> None:
        """Speak TLS from here on."""
        assert self._transport is not None  # noqa: S101
        assert context is not None  # noqa: S101
        loop = asyncio.get_running_loop()
        self._before = []  # what comes before we know that the handshake is over
        encrypted = await loop.start_tls(self._transport, self, context, server_side=True, ssl_handshake_timeout=30)
        self.reading = True
        if encrypted is None:
            raise ConnectionResetError
        self.connection_made(encrypted)
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

    def __init__(self, side: Side, take: Callable[[bytes], None]) -> None:
        self.data_received = take  # type: ignore[method-assign, assignment]
        self.connection_lost = side.connection_lost  # type: ignore[method-assign]
        self.pause_writing = side.pause_writing  # type: ignore[method-assign]
        self.resume_writing = side.resume_writing  # type: ignore[method-assign]


class Relay(asyncio.Protocol):
    """Sends whatever comes from one side to the other."""

    def __init__(self, side: Side, other: Side) -> None:
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
