"""Gateway server: listens, admits clients, ends in order; its event loop."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import ssl
import time
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any

from discreet.errors import UsageError
from discreet.gateway.net.client_connection import Connection
from discreet.gateway.net.settings import GatewaySettings
from discreet.gateway.net.transport import ConnectionSide, fingerprint, server_context
from discreet.gateway.protocol.login import PasswordSecret
from discreet.gateway.protocol.messages import error
from discreet.gateway.session.console import ConsoleCommand, ConsoleTable

_LOG = logging.getLogger("discreet.gateway")
TOO_MANY = error(
    severity="FATAL", sqlstate="53300", message="The gateway has as many sessions as it takes.", hint="Try again later."
)
STOPPING = error(severity="FATAL", sqlstate="57P01", message="The gateway is shutting down.")


_ADDRESSES = 10_000
SESSION_COLUMNS = ("user", "database", "address", "application", "encrypted", "governed", "idle", "seconds")


class _FullHouse(ConnectionSide):
    """Turns a client away: there is no place."""

    def data_received(self, data: bytes) -> None:
        """Say no, whatever was asked for."""
        self.write(TOO_MANY)
        self.close()


class Gateway:
    """Clients on one side, the database server on the other."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.context: ssl.SSLContext | None = None
        self.certificate: bytes | None = None
        self.secrets = settings.secrets
        self.commands: dict[str, ConsoleCommand] = {
            "SHOW SESSIONS": self._show_sessions,
            "DRAIN": self._drain,
            **settings.commands,
        }
        self.reload()
        self.draining = False
        """Whether no more clients are taken."""
        self._connections: set[Connection] = set()
        self._by_key: dict[bytes, Connection] = {}
        self._logins: dict[str, tuple[int, int]] = {}
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
        return int(self._server.sockets[0].getsockname()[1]) if self._server is not None else self.settings.port

    @property
    def sessions(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    async def start(self) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                self._accept,
                self.settings.host,
                self.settings.port,
                backlog=512,
                reuse_port=self.settings.shared or None,
            )
        except OSError as problem:
            raise UsageError(
                f"Nothing can listen on {self.settings.host}:{self.settings.port} ({problem.strerror}).",
                remedy="Choose another address with --listen.",
            ) from None

    async def _show_sessions(self) -> ConsoleTable:
        """Who is connected now."""
        return SESSION_COLUMNS, [connection.row for connection in self._connections if connection.who]

    async def _drain(self) -> ConsoleTable:
        """Take no more clients, and end sessions as they fall idle; another gateway can take over."""
        self.draining = True
        if self._server is not None:
            self._server.close()
        self.keep(self._end_idle())
        return (), ()

    async def _end_idle(self) -> None:
        while self._connections and self.draining:
            for connection in [one for one in self._connections if one.who is not None and one.idle]:
                connection.close(STOPPING)
            await asyncio.sleep(0.05)

    def reload(self, secrets: Mapping[str, PasswordSecret] | None = None) -> None:
        """Read certificates again; they hold, like the secrets, for those who come from now on."""
        settings = self.settings
        if settings.certificate is not None:
            key = settings.key or settings.certificate
            self.context = server_context(settings.certificate, key, settings.authorities)
            self.certificate = fingerprint(settings.certificate)
        if secrets is not None:
            self.secrets = secrets

    def welcome(self, address: str) -> bool:
        """Whether this address may log in once more: so many times in each minute."""
        if not self.settings.logins or not address:
            return True
        minute = int(time.monotonic() // 60)
        if len(self._logins) > _ADDRESSES:  # an attacker with many addresses must not fill the memory
            self._logins = {place: seen for place, seen in self._logins.items() if seen[0] == minute}
        begun, times = self._logins.get(address, (minute, 0))
        self._logins[address] = (minute, times + 1 if begun == minute else 1)
        return begun != minute or times < self.settings.logins

    def begun(self, connection: Connection) -> None:
        """A session has a key by which it is cancelled."""
        if connection.cancel_key:
            self._by_key[connection.cancel_key] = connection

    def cancelled(self, key: bytes) -> None:
        """A client cancels what runs in the session with this key."""
        connection = self._by_key.get(key)
        if connection is not None:
            connection.cancel()

    async def close(self) -> None:
        """Take no more clients, end idle sessions at once and others after the grace."""
        self.draining = False
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
        # Clients may take their last words, but not for ever.
        for attempt in range(100):
            if not self._leaving:
                break
            if attempt >= 50:
                for connection in list(self._leaving):
                    connection.abort()
            await asyncio.sleep(0.01)
        while self._kept:
            await asyncio.wait(self._kept)

    def forget(self, connection: Connection) -> None:
        """A connection ends: it does not count any more."""
        self._connections.discard(connection)
        self._by_key.pop(connection.cancel_key, None)
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
        """Report a failure where nothing can be refused any more, without its content."""
        _LOG.error("failed: %s", what)

    def _accept(self) -> asyncio.Protocol:
        if len(self._connections) >= self.settings.sessions:
            self.settings.observe("turned_away", reason="too many sessions")
            return _FullHouse(lambda data: None, lambda: None, lambda paused: None)
        connection = Connection(self)
        self._connections.add(connection)
        return connection.client


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
