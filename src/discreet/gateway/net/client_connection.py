"""Connection of one client and its server: login, then reading, writing, waiting and asking.

Neither side is read faster than the other side takes it. While the watch thinks about a statement, no more than a little of
the client is read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Protocol

from discreet.gateway.enforcement.verdicts import (
    STUMBLED,
    Allow,
    Closed,
    OwnAnswer,
    SessionLookup,
    Watch,
    Who,
)
from discreet.gateway.net.arrival import NO_SENSE, Arrival, ArrivalHost
from discreet.gateway.net.transport import ConnectionSide, Relay, Spoken, Unreachable
from discreet.gateway.protocol import login
from discreet.gateway.protocol.framing import Malformed
from discreet.gateway.protocol.login import Channels, Entrance, PasswordSecret
from discreet.gateway.protocol.messages import error
from discreet.gateway.refusals import Refuse
from discreet.gateway.session.console import DATABASE, STRANGER, Console, ConsoleCommand
from discreet.gateway.session.session import GatewaySession
from discreet.gateway.session.state import Later, Question

UNREACHABLE = error(severity="FATAL", sqlstate="08001", message="The gateway cannot reach the database server.")
NO_REPLICATION = error(severity="FATAL", sqlstate="42501", message="Replication does not pass through the gateway.")
LOST = error(severity="FATAL", sqlstate="08006", message="The database server closed the connection.")
_LINGER = 10.0  # seconds in which a client may still take what it was sent before the end
_AT_ONCE = frozenset((Allow, OwnAnswer, SessionLookup, Refuse))
"""Answers that need no waiting."""
_READY_IDLE = b"Z\x00\x00\x00\x05I"


class ConnectionHost(ArrivalHost, Protocol):
    """What a connection needs of the gateway that accepted it."""

    certificate: bytes | None
    secrets: Mapping[str, PasswordSecret]
    commands: dict[str, ConsoleCommand]

    def begun(self, connection: Connection) -> None:
        """A session has a key by which it is cancelled."""

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
        self._arrival = Arrival(gateway, self._start, self._open, self.close)
        self.client = self._arrival.client = ConnectionSide(self._arrival.data, self.client_lost, self._client_paused)
        self.upstream = ConnectionSide(self.upstream_entrance, self.upstream_lost, self._upstream_paused)
        self._early = b""
        self._startup: dict[str, str] = {}
        self.who: Who | None = None
        """Who was let in."""
        self._began = 0.0
        self._administers = False
        self.cancel_key = b""
        """Process and key by which the server knows the session."""
        self._entrance: Entrance | None = None
        self._session: GatewaySession | None = None
        self._relays: tuple[Relay, Relay] | None = None
        self._watch: Watch | None = None
        self._thinking = 0
        self._over = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._deadline = asyncio.get_running_loop().call_later(gateway.settings.login_seconds, self.close)

    @property
    def row(self) -> tuple[object, ...]:
        """The connection in the console: user, database, address, application, encrypted, governed, idle, seconds."""
        who = self.who
        told = (who.user, who.database, who.address, who.application, who.encrypted) if who else (None,) * 5
        seconds = round(time.monotonic() - self._began) if who else None
        return (*told, self._session is not None, self.idle, seconds)

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost by closing it now."""
        if self._session is not None:
            return self._session.idle and not self._thinking
        return self._relays is None or self._relays[1].last == _READY_IDLE

    # Startup ----------------------------------------------------------------------------------------------------------

    async def _open(self, startup: dict[str, str], packet: bytes, early: bytes) -> None:
        settings, self._early = self._gateway.settings, early
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
        self._entrance = Entrance(startup["user"], Channels(self.client.encrypted, same), self._gateway.secrets)
        self._startup = startup
        if settings.console and startup.get("database") == DATABASE:
            self._startup = {**startup, "database": settings.console_database}
            self._administers, packet = True, login.packet(self._startup)
        self.client.receive = self._client_entrance
        self.upstream.write(packet)
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
            self._start(self._administer(entrance) if self._administers else self._admit(entrance))
            self._entrance = None
        elif entrance.full:
            self.client.pause()

    async def _administer(self, entrance: Entrance) -> None:
        """Let the server's user talk to the console; on the way to the server nothing more is said."""
        self._deadline.cancel()
        user = entrance.parameters.get("session_authorization", self._startup["user"])
        if user not in self._gateway.settings.console:
            self.close(STRANGER)
            return
        self.upstream.receive = lambda data: None
        console, waiting = Console(self._gateway.commands), asyncio.Queue[bytes]()
        self.client.receive = waiting.put_nowait
        self.client.write(entrance.ready or b"")
        waiting.put_nowait(entrance.rest()[0])
        self.client.resume()
        self.upstream.resume()
        while not console.over and not self._over:
            try:
                asked = console.take(await waiting.get())
            except Malformed:
                break
            for text in asked:
                self.client.write(await console.answer(text))
        self.close()

    async def _admit(self, entrance: Entrance) -> None:
        startup, client, settings = self._startup, self.client, self._gateway.settings
        user = entrance.parameters.get("session_authorization", startup["user"])
        database, application = startup.get("database", user), startup.get("application_name", "")
        self.cancel_key = entrance.key
        self._gateway.begun(self)
        who = Who(user, database, application, self._arrival.address, client.encrypted, dict(entrance.parameters))
        try:
            answer = settings.judge.admit(who)
            watch = await self._patiently(answer, settings.admission) if isinstance(answer, Awaitable) else answer
        except Exception:  # a store that is locked must not keep people waiting at the door
            watch = Closed()
        self._deadline.cancel()
        if self._over:
            if watch is not None:
                watch.closed()
        elif watch is not None and login.replicates(startup):
            watch.closed()
            self.close(NO_REPLICATION)
        else:
            self.who, self._began = who, time.monotonic()
            self._event("login", application=who.application, encrypted=who.encrypted, governed=watch is not None)
            self._begin(entrance, watch)

    def _event(self, event: str, **more: Any) -> None:
        """Report what happens to this connection."""
        who, startup = self.who, self._startup
        user = who.user if who else startup.get("user", "")
        database = who.database if who else startup.get("database", user)
        self._gateway.settings.observe(
            event, session=id(self) & 0xFFFFFFFF, user=user, database=database, address=self._arrival.address, **more
        )

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

    async def _patiently(self, answer: Awaitable[Any], seconds: float = 0) -> Any:
        async with asyncio.timeout(seconds or self._gateway.settings.patience):
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
        if upstream.reading is client.paused:
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
    def _consult(ask: Callable[..., Any], given: Any) -> Any:
        """What the watch answers, or that it will; whatever it raises is a refusal."""
        try:
            answer = ask(given)
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
        if isinstance(value, OwnAnswer) and value.rows:
            self._tell("lost", value.token, value.rows)
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

    def cancel(self) -> None:
        """The client cancels: what runs on connections of the watch's own ends as well."""
        if self._watch is not None:
            self._watch.cancel()

    # Pausing and ending -----------------------------------------------------------------------------------------------

    def _client_paused(self, paused: bool) -> None:
        """The client takes no more for now, or again: read the server accordingly."""
        self.upstream.read(not paused)

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
        if self.who is not None:
            self._event("ended", seconds=round(time.monotonic() - self._began, 3))
        elif self._startup:
            self._event("login_failed")
        self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(_LINGER, self.abort)
        if last:
            self.client.write(last)
        self.client.close()
        self.upstream.close()
        if self._session is not None:
            self._session.over = True
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
