"""Monitoring port: an HTTP server of its own for /healthz, /readyz and /metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from discreet.errors import UsageError

_LONGEST = 8192
_PATIENCE = 5.0


class MonitoringPort:
    """Answers as long as the event loop of the server does."""

    def __init__(
        self, address: tuple[str, int], *, text: Callable[[], str], lacks: Callable[[], Awaitable[list[str]]]
    ) -> None:
        self._address, self._text, self._lacks = address, text, lacks
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        port = int(self._server.sockets[0].getsockname()[1]) if self._server is not None else self._address[1]
        return f"{self._address[0]}:{port}"

    async def start(self) -> None:
        """Listen."""
        try:
            self._server = await asyncio.start_server(self._answer, *self._address, limit=_LONGEST)
        except OSError as problem:
            raise UsageError(
                f"Nothing can listen on {self._address[0]}:{self._address[1]} ({problem.strerror}).",
                remedy="Choose another address with --monitoring.",
            ) from None

    async def close(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                request = await reader.readuntil(b"\r\n\r\n")
                status, kind, body = await self._respond(request.split(b" ", 2)[:2])
                head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode())
                writer.write(b"" if request.startswith(b"HEAD ") else body)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _respond(self, words: list[bytes]) -> tuple[str, str, bytes]:
        plain = "text/plain"
        if words[0] not in (b"GET", b"HEAD"):
            return "405 Method Not Allowed", plain, b"Only GET.\n"
        path = words[1].partition(b"?")[0] if len(words) > 1 else b""
        if path == b"/healthz":
            return "200 OK", plain, b"ok\n"
        if path == b"/readyz":
            lacks = await self._lacks()
            said = "\n".join(lacks or ["ready"]) + "\n"
            return ("503 Service Unavailable" if lacks else "200 OK"), plain, said.encode()
        if path == b"/metrics":
            return "200 OK", f"{plain}; version=0.0.4", (await asyncio.to_thread(self._text)).encode()
        return "404 Not Found", plain, b"There are /metrics, /healthz and /readyz.\n"
