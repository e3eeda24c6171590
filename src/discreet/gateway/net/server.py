"""Gateway server: listens, admits clients, ends in order; its event loop."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import ssl
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from discreet.errors import UsageError
from discreet.gateway.enforcement.interface import Judge, Open
from discreet.gateway.net.connection import STOPPING, Connection
from discreet.gateway.net.transport import ConnectionSide, Upstream, fingerprint, server_context
from discreet.gateway.protocol.login import PasswordSecret
from discreet.gateway.protocol.messages import error
from discreet.gateway.session.held_rows import HeldBytes
from discreet.gateway.session.state import MEBIBYTE, MemoryLimits

_LOG = logging.getLogger("discreet.gateway")
TOO_MANY = error(
    severity="FATAL", sqlstate="53300", message="The gateway has as many sessions as it takes.", hint="Try again later."
)


@dataclass(frozen=True)
class GatewaySettings:
    """Everything a gateway is told when it starts."""

    upstream: Upstream
    host: str = "127.0.0.1"
    port: int = 0
    judge: Judge = field(default_factory=Open)
    certificate: Path | None = None
    key: Path | None = None
    secrets: Mapping[str, PasswordSecret] = field(default_factory=dict, repr=False)
    limits: MemoryLimits = field(default_factory=MemoryLimits)
    held: int = 512 * MEBIBYTE
    """Bytes that all sessions together may hold back."""
    sessions: int = 500
    """Connections at the same time."""
    patience: float = 60.0
    """Seconds that a judge may take for an answer; then it is a refusal."""
    login_seconds: float = 60.0
    """Seconds from the first byte until the server has let the user in."""
    grace: float = 10.0
    """Seconds that sessions get to finish when the gateway ends."""


class Gateway:
    """Clients on one side, the database server on the other."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.room = HeldBytes(settings.held)
        self.context: ssl.SSLContext | None = None
        self.certificate: bytes | None = None
        if settings.certificate is not None:
            self.context = server_context(settings.certificate, settings.key or settings.certificate)
            self.certificate = fingerprint(settings.certificate)
        self._connections: set[Connection] = set()
        self._leaving: set[Connection] = set()
        self._kept: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Gateway:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        if self._server is None:
            return self.settings.port
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    @property
    def sessions(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    async def start(self) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._accept, self.settings.host, self.settings.port, backlog=512)
        except OSError as problem:
            raise UsageError(
                f"Nothing can listen on {self.settings.host}:{self.settings.port} ({problem.strerror}).",
                remedy="Choose another address with --listen.",
            ) from None

    async def close(self) -> None:
        """Take nobody new, let idle sessions go at once and the others within the grace, then end them too."""
        if self._server is not None:
            self._server.close()
        try:
            async with asyncio.timeout(self.settings.grace):
                while self._connections:
                    for connection in [one for one in self._connections if one.idle]:
                        connection.close(STOPPING)
                    await asyncio.sleep(0.02 if self._connections else 0)
        except TimeoutError:
            for connection in list(self._connections):
                connection.close(STOPPING)
        await self._let_go()
        while self._kept:
            await asyncio.wait(self._kept)

    async def _let_go(self) -> None:
        """Let clients take their last words, but not for ever."""
        for attempt in range(100):
            if not self._leaving:
                return
            if attempt >= 50:
                for connection in list(self._leaving):
                    connection.abort()
            await asyncio.sleep(0.01)

    def forget(self, connection: Connection) -> None:
        """A connection ends: it does not count any more."""
        self._connections.discard(connection)
        self._leaving.add(connection)

    def gone(self, connection: Connection) -> None:
        """Nothing is left of a connection."""
        self._leaving.discard(connection)

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Something that must be finished even if its session has gone."""
        task = asyncio.get_running_loop().create_task(work)
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)

    def stumbled(self, what: str) -> None:
        """Something failed where nothing can be refused any more; said without what it was about."""
        _LOG.error("failed: %s", what)

    def _accept(self) -> asyncio.Protocol:
        if len(self._connections) >= self.settings.sessions:
            return _Full()
        connection = Connection(self)
        self._connections.add(connection)
        return connection.client


class _Full(ConnectionSide):
    """Tells a client that there is no place."""

    def __init__(self) -> None:
        super().__init__(self._answer, lambda: None, lambda paused: None)

    def _answer(self, data: bytes) -> None:
        self.write(TOO_MANY)
        self.close()


# Which event loop serves: uvloop where it is installed, since it takes less of a CPU; Python's own everywhere else.
def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop; None for Python's own."""
    if importlib.util.find_spec("uvloop") is None:  # as on Windows
        return None
    made: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    return made


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(work)
