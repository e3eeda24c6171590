"""A client until its session begins: the first packet, TLS, cancelling, the way to the server, the login, the judge."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from discreet.gateway import startup
from discreet.gateway.enforcement.interface import Closed, Watch, Who
from discreet.gateway.net.transport import Relay, Side
from discreet.gateway.protocol.framing import Malformed
from discreet.gateway.protocol.login import Channels, Entrance
from discreet.gateway.protocol.messages import error
from discreet.gateway.session.session import Session
from discreet.gateway.startup import Kind
from discreet.gateway.upstream import Unreachable

if TYPE_CHECKING:
    from discreet.gateway.net.server import Gateway

NO_SENSE = error(severity="FATAL", sqlstate="08P01", message="The gateway cannot make sense of what it received.")
UNREACHABLE = error(severity="FATAL", sqlstate="08001", message="The gateway cannot reach the database server.")
NO_REPLICATION = error(severity="FATAL", sqlstate="42501", message="Replication does not pass through the gateway.")


class Arriving:
    """A client, from its first byte to the decision whether it is governed."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.client = Side(self.client_startup, self.client_lost, self._client_paused)
        self.upstream = Side(self.upstream_entrance, self.upstream_lost, self._upstream_paused)
        self._early = b""
        self._packet = b""
        self._entrance: Entrance | None = None
        self._session: Session | None = None
        self._relays: tuple[Relay, Relay] | None = None
        self._watch: Watch | None = None
        self._thinking = 0
        self._over = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._deadline = asyncio.get_running_loop().call_later(gateway.settings.login_seconds, self.close)

    # Startup ----------------------------------------------------------------------------------------------------------

    def client_startup(self, data: bytes) -> None:
        """Bytes before the startup packet is whole."""
        self._early += data
        try:
            found = startup.read(self._early)
            if found is not None:
                self._first(*found)
        except Malformed:
            self.close(NO_SENSE)

    def _first(self, kind: Kind, length: int) -> None:
        self._packet, self._early = self._early[:length], self._early[length:]
        if kind is Kind.GSSAPI or (kind is Kind.TLS and self._gateway.context is None):
            self.client.write(b"N")
            self._packet = b""
            if self._early:
                self.client_startup(b"")
        elif kind is Kind.TLS:
            self._start_tls()
        elif kind is Kind.CANCEL:
            self._start(self._cancel())
        else:
            self._start(self._open(startup.parameters(self._packet)))

    def _start_tls(self) -> None:
        if self._early or self.client.encrypted:  # said in the clear behind the request, or TLS in TLS
            raise Malformed
        self.client.pause()
        self.client.write(b"S")
        self._start(self._upgrade())

    async def _upgrade(self) -> None:
        try:
            await self.client.upgrade(self._gateway.context)
        except (OSError, ssl.SSLError):
            self.close()

    async def _cancel(self) -> None:
        """Hand the key to the server, as a client of its own would; nothing is answered."""
        end = asyncio.Event()
        side = Side(lambda data: None, end.set, lambda paused: None)
        try:
            transport = await self._gateway.settings.upstream.connect(side)
            transport.write(self._packet)
            async with asyncio.timeout(self._gateway.settings.upstream.timeout):
                await end.wait()
        except (Unreachable, TimeoutError):
            pass
        finally:
            side.close()
            self.close()

    async def _open(self, told: dict[str, str]) -> None:
        settings = self._gateway.settings
        self.client.receive = self._client_too_early
        try:
            await settings.upstream.connect(self.upstream)
        except Unreachable:
            self.close(UNREACHABLE)
            return
        if self._over:
            self.upstream.close()
            return
        certificate = self.upstream.peer_certificate()
        same = certificate is not None and certificate == self._gateway.certificate
        channels = Channels(self.client.encrypted, same)
        self._entrance = Entrance(told["user"], channels, settings.secrets)
        self._told = told
        self.client.receive = self._client_entrance
        self.upstream.write(self._packet)
        early, self._early = self._early, b""
        self._client_entrance(early)

    def _client_too_early(self, data: bytes) -> None:
        self._early += data
        if len(self._early) > startup.LONGEST:
            self.close(NO_SENSE)

    # Entrance ---------------------------------------------------------------------------------------------------------

    def _client_entrance(self, data: bytes) -> None:
        if self._entrance is not None:
            self._enter(self._entrance.client_data, data)

    def upstream_entrance(self, data: bytes) -> None:
        """Bytes from the server until it lets the user in."""
        if self._entrance is not None:
            self._enter(self._entrance.upstream_data, data)

    def _enter(self, take: Any, data: bytes) -> None:
        entrance = self._entrance
        assert entrance is not None  # noqa: S101 - callers have looked
        try:
            take(data)
        except Malformed:
            self.close(NO_SENSE)
            return
        self._send(entrance.to_client, entrance.to_upstream)
        if entrance.over:
            self.close()
        elif entrance.ready is not None:
            self.upstream.pause()
            self.client.pause()
            self._start(self._admit(entrance))
            self._entrance = None
        elif entrance.full:
            self.client.pause()

    async def _admit(self, entrance: Entrance) -> None:
        told = self._told
        user = entrance.parameters.get("session_authorization", told["user"])
        application = told.get("application_name", "")
        where = self.client.address
        who = Who(
            user, told.get("database", user), application, where, self.client.encrypted, dict(entrance.parameters)
        )
        try:
            answer = self._gateway.settings.judge.admit(who)
            watch = await self._patiently(answer) if isinstance(answer, Awaitable) else answer
        except Exception:
            watch = Closed()
        self._deadline.cancel()
        if self._over:
            if watch is not None:
                watch.closed()
            return
        if watch is not None and startup.replicates(told):
            watch.closed()
            self.close(NO_REPLICATION)
            return
        self._begin(entrance, watch)

    async def _patiently(self, answer: Awaitable[Any]) -> Any:
        async with asyncio.timeout(self._gateway.settings.patience):
            return await answer

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:  # a bug: nothing may pass because of it
            self._gateway.stumbled(type(task.exception()).__name__)
            self.close()

    def _begin(self, entrance: Entrance, watch: Watch | None) -> None:
        raise NotImplementedError

    def client_lost(self) -> None:
        """The client has gone."""
        raise NotImplementedError

    def upstream_lost(self) -> None:
        """The server has gone."""
        raise NotImplementedError

    def _client_paused(self, paused: bool) -> None:
        raise NotImplementedError

    def _upstream_paused(self, paused: bool) -> None:
        raise NotImplementedError

    def _send(self, to_client: list[bytes], to_upstream: list[bytes]) -> None:
        raise NotImplementedError

    def close(self, last: bytes = b"") -> None:
        """End both sides."""
        raise NotImplementedError
