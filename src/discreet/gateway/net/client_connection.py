"""Connection of one client and its server: login, then reading, writing, waiting and asking.

Neither side is read faster than the other side takes it. While the watch thinks about a result, the server is not read;
while it thinks about a statement, no more than a little of the client is.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from discreet.gateway.enforcement.verdicts import (
    STUMBLED,
    Allow,
    Closed,
    HoldRows,
    Judge,
    Keep,
    MaskCells,
    Open,
    ReleaseRows,
    Watch,
    Who,
)
from discreet.gateway.net.transport import ConnectionSide, Relay, Spoken, Unreachable, Upstream
from discreet.gateway.protocol import login
from discreet.gateway.protocol.framing import Malformed
from discreet.gateway.protocol.login import Channels, Entrance, FirstPacket, PasswordSecret
from discreet.gateway.protocol.messages import error
from discreet.gateway.session.held_rows import HeldBytes
from discreet.gateway.session.session import GatewaySession
from discreet.gateway.session.state import MEBIBYTE, Later, MemoryLimits, Question
from discreet.sql.statement_kinds import Refuse

NO_SENSE = error(severity="FATAL", sqlstate="08P01", message="The gateway cannot make sense of what it received.")
UNREACHABLE = error(severity="FATAL", sqlstate="08001", message="The gateway cannot reach the database server.")
NO_REPLICATION = error(severity="FATAL", sqlstate="42501", message="Replication does not pass through the gateway.")
LOST = error(severity="FATAL", sqlstate="08006", message="The database server closed the connection.")
_LINGER = 10.0  # seconds in which a client may still take what it was sent before the end
_AT_ONCE = frozenset((Allow, HoldRows, Refuse, ReleaseRows, Keep, MaskCells, type(None)))
"""Answers that need no waiting."""
_READY_IDLE = b"Z\x00\x00\x00\x05I"


@dataclass(frozen=True)
class GatewaySettings:
    """Everything a gateway is given when it starts."""

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


class ConnectionHost(Protocol):
    """What a connection needs of the gateway that accepted it."""

    settings: GatewaySettings
    room: HeldBytes
    context: ssl.SSLContext | None
    """Present if clients may speak TLS."""
    certificate: bytes | None

    def forget(self, connection: Connection) -> None:
        """A connection ends: it does not count any more."""

    def gone(self, connection: Connection) -> None:
        """Nothing is left of a connection."""

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Finish something even if its session has gone."""

    def stumbled(self, what: str) -> None:
        """Report a failure where nothing can be refused any more."""


class Connection:
    """A client, from its first byte to its last."""

    def __init__(self, gateway: ConnectionHost) -> None:
        self._gateway = gateway
        self.client = ConnectionSide(self.client_startup, self.client_lost, self._client_paused)
        self.upstream = ConnectionSide(self.upstream_entrance, self.upstream_lost, self._upstream_paused)
        self._early = b""
        self._packet = b""
        self._startup: dict[str, str] = {}
        self._entrance: Entrance | None = None
        self._session: GatewaySession | None = None
        self._relays: tuple[Relay, Relay] | None = None
        self._watch: Watch | None = None
        self._thinking = 0
        self._over = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._deadline = asyncio.get_running_loop().call_later(gateway.settings.login_seconds, self.close)

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost by closing it now."""
        if self._session is not None:
            return self._session.idle and not self._thinking
        return self._relays is None or self._relays[1].last == _READY_IDLE

    # Startup ----------------------------------------------------------------------------------------------------------

    def client_startup(self, data: bytes) -> None:
        """Bytes before the startup packet is whole."""
        self._early += data
        try:
            first = login.read(self._early)
            if first is None:
                return
            kind, length = first
            self._packet, self._early = self._early[:length], self._early[length:]
            if kind is FirstPacket.GSSAPI or (kind is FirstPacket.TLS and self._gateway.context is None):
                self.client.write(b"N")
                self._packet = b""
                if self._early:
                    self.client_startup(b"")
            elif kind is FirstPacket.TLS:
                if self._early or self.client.encrypted:  # said in the clear behind the request, or TLS in TLS
                    raise Malformed
                self.client.pause()
                self.client.write(b"S")
                self._start(self._upgrade())
            elif kind is FirstPacket.CANCEL:
                self._start(self._cancel())
            else:
                self._start(self._open(login.parameters(self._packet)))
        except Malformed:
            self.close(NO_SENSE)

    async def _upgrade(self) -> None:
        try:
            await self.client.upgrade(self._gateway.context)
        except (OSError, ssl.SSLError):
            self.close()

    async def _cancel(self) -> None:
        """Hand the key to the server, as a client would; nothing is answered."""
        end = asyncio.Event()
        side = ConnectionSide(lambda data: None, end.set, lambda paused: None)
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

    async def _open(self, startup: dict[str, str]) -> None:
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
        self._entrance = Entrance(startup["user"], Channels(self.client.encrypted, same), settings.secrets)
        self._startup = startup
        self.client.receive = self._client_entrance
        self.upstream.write(self._packet)
        early, self._early = self._early, b""
        self._client_entrance(early)

    def _client_too_early(self, data: bytes) -> None:
        self._early += data
        if len(self._early) > login.LONGEST:
            self.close(NO_SENSE)

    # Entrance ---------------------------------------------------------------------------------------------------------

    def _client_entrance(self, data: bytes) -> None:
        if self._entrance is not None:
            self._enter(self._entrance, self._entrance.client_data, data)

    def upstream_entrance(self, data: bytes) -> None:
        """Bytes from the server until it lets the user in."""
        if self._entrance is not None:
            self._enter(self._entrance, self._entrance.upstream_data, data)

    def _enter(self, entrance: Entrance, take: Callable[[bytes], None], data: bytes) -> None:
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
        startup, client = self._startup, self.client
        user = entrance.parameters.get("session_authorization", startup["user"])
        database, application = startup.get("database", user), startup.get("application_name", "")
        who = Who(user, database, application, client.address, client.encrypted, dict(entrance.parameters))
        try:
            answer = self._gateway.settings.judge.admit(who)
            watch = await self._patiently(answer) if isinstance(answer, Awaitable) else answer
        except Exception:
            watch = Closed()
        self._deadline.cancel()
        if self._over:
            if watch is not None:
                watch.closed()
        elif watch is not None and login.replicates(startup):
            watch.closed()
            self.close(NO_REPLICATION)
        else:
            self._begin(entrance, watch)

    def _begin(self, entrance: Entrance, watch: Watch | None) -> None:
        client_rest, upstream_rest = entrance.rest()
        ready = entrance.ready or b""
        if watch is None:  # nobody looks: bytes go from one side to the other
            from_client, from_upstream = Relay(self.client, self.upstream), Relay(self.upstream, self.client)
            self._relays = from_client, from_upstream
            from_client.peer, from_upstream.peer = from_upstream, from_client
            from_upstream.data_received(ready + upstream_rest)
            if client_rest:
                from_client.data_received(client_rest)
            self.client.hand_over(from_client)
            self.upstream.hand_over(from_upstream)
            self.client.resume()
            self.upstream.resume()
            return
        self.client.write(ready)
        self._watch = watch
        self._session = session = GatewaySession(
            watch,
            limits=self._gateway.settings.limits,
            room=self._gateway.room,
            parameters=entrance.parameters,
            consult=self._consult,
        )
        take_client = partial(self._feed, session, session.client_data)
        take_upstream = partial(self._feed, session, session.upstream_data)
        self.client.hand_over(Spoken(self.client, take_client))
        self.upstream.hand_over(Spoken(self.upstream, take_upstream))
        self.client.resume()
        self.upstream.resume()
        take_upstream(upstream_rest)
        take_client(client_rest)

    async def _patiently(self, answer: Awaitable[Any]) -> Any:
        async with asyncio.timeout(self._gateway.settings.patience):
            return await answer

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:  # a bug: nothing may pass because of it
            self._gateway.stumbled(type(task.exception()).__name__)
            self.close()

    # Session ----------------------------------------------------------------------------------------------------------

    def _feed(self, session: GatewaySession, take: Callable[[bytes], None], data: bytes) -> None:
        if data:
            take(data)
            self._pump(session)

    def _pump(self, session: GatewaySession) -> None:
        """Send and await what a session wants, and read accordingly."""
        self._send(session.to_client, session.to_upstream)
        for question in session.questions:
            awaited, question.awaited = question.awaited, None
            if awaited is not None:
                self._thinking += 1
                self._start(self._later(question, awaited))
        if session.deliveries:
            method = "lost" if self.client.gone else "delivered"
            for token, rows in session.deliveries:
                self._tell(method, token, rows)
            session.deliveries.clear()
        if session.over:
            self.close()
            return
        client, upstream = self.client, self.upstream
        if upstream.reading is (client.paused or session.upstream_waits):
            upstream.read(not upstream.reading)
        if client.reading is (upstream.paused or session.client_waits):
            client.read(not client.reading)

    def _send(self, to_client: list[bytes], to_upstream: list[bytes]) -> None:
        if to_upstream:
            self.upstream.write(to_upstream[0] if len(to_upstream) == 1 else b"".join(to_upstream))
            to_upstream.clear()
        if to_client:
            self.client.write(to_client[0] if len(to_client) == 1 else b"".join(to_client))
            to_client.clear()

    @staticmethod
    def _consult(watch: Watch, method: str, *arguments: Any) -> Any:
        """What the watch answers, or that it will; whatever it raises is a refusal."""
        try:
            answer = getattr(watch, method)(*arguments)
        except Exception:
            return STUMBLED
        return answer if type(answer) in _AT_ONCE or not isinstance(answer, Awaitable) else Later(answer)

    async def _later(self, question: Question, answer: Awaitable[Any]) -> None:
        try:
            value = await self._patiently(answer)
        except Exception:
            value = STUMBLED
        self._thinking -= 1
        session = self._session
        if not self._over and session is not None:
            session.questions.remove(question)
            session.answer(question, value)
            self._pump(session)
            return
        if question.method == "result" and isinstance(value, ReleaseRows | Keep | MaskCells):
            self._tell("lost", question.arguments[0], question.arguments[1].rows)
        self._finish()

    def _tell(self, method: str, token: Any, rows: int) -> None:
        try:
            writing = getattr(self._watch, method)(token, rows)
            if writing is not None and isinstance(writing, Awaitable):
                self._gateway.keep(self._written(writing))
        except Exception:
            self._gateway.stumbled(method)

    async def _written(self, writing: Awaitable[None]) -> None:
        try:
            await writing
        except Exception:
            self._gateway.stumbled("delivered")

    # Pausing and ending -----------------------------------------------------------------------------------------------

    def _client_paused(self, paused: bool) -> None:
        """The client takes no more for now, or again: read the server accordingly."""
        waits = self._session is not None and self._session.upstream_waits
        self.upstream.read(not (paused or waits))

    def _upstream_paused(self, paused: bool) -> None:
        waits = self._session is not None and self._session.client_waits
        self.client.read(not (paused or waits))

    def client_lost(self) -> None:
        """The client has gone."""
        self.close()
        self._gone()

    def upstream_lost(self) -> None:
        """The server has gone."""
        self.close(b"" if self._relays is not None else LOST)
        self._gone()

    def _gone(self) -> None:
        if self.client.ended and self.upstream.ended:
            self._deadline.cancel()
            self._gateway.gone(self)

    def close(self, last: bytes = b"") -> None:
        """End both sides; what waits for the client is still written."""
        if self._over:
            return
        self._over = True
        self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(_LINGER, self.abort)
        if last:
            self.client.write(last)
        self.client.close()
        self.upstream.close()
        if self._session is not None:
            self._session.close()
        self._gateway.forget(self)
        self._finish()

    def abort(self) -> None:
        """End both sides at once; what waits is lost."""
        self.client.abort()
        self.upstream.abort()

    def _finish(self) -> None:
        if self._watch is not None and not self._thinking:
            watch, self._watch = self._watch, None
            try:
                watch.closed()
            except Exception:
                self._gateway.stumbled("closed")
