"""Connection of one client and its server: login phase, then reading and writing."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from discreet.gateway.enforcement.interface import (
    STUMBLED,
    Allow,
    Closed,
    HoldRows,
    Keep,
    MaskCells,
    ReleaseRows,
    Watch,
    Who,
)
from discreet.gateway.net.transport import ConnectionSide, Relay, Spoken, Unreachable
from discreet.gateway.protocol import login
from discreet.gateway.protocol.framing import Malformed
from discreet.gateway.protocol.login import Channels, Entrance, FirstPacket
from discreet.gateway.protocol.messages import error
from discreet.gateway.session.session import GatewaySession
from discreet.gateway.session.state import Later, Question
from discreet.sql.statement_kinds import Refuse

if TYPE_CHECKING:
    from discreet.gateway.net.server import Gateway

NO_SENSE = error(severity="FATAL", sqlstate="08P01", message="The gateway cannot make sense of what it received.")
UNREACHABLE = error(severity="FATAL", sqlstate="08001", message="The gateway cannot reach the database server.")
NO_REPLICATION = error(severity="FATAL", sqlstate="42501", message="Replication does not pass through the gateway.")


class Arriving:
    """A client, from its first byte to the decision whether it is governed."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.client = ConnectionSide(self.client_startup, self.client_lost, self._client_paused)
        self.upstream = ConnectionSide(self.upstream_entrance, self.upstream_lost, self._upstream_paused)
        self._early = b""
        self._packet = b""
        self._entrance: Entrance | None = None
        self._session: GatewaySession | None = None
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
            found = login.read(self._early)
            if found is not None:
                self._first(*found)
        except Malformed:
            self.close(NO_SENSE)

    def _first(self, kind: FirstPacket, length: int) -> None:
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

    async def _upgrade(self) -> None:
        try:
            await self.client.upgrade(self._gateway.context)
        except (OSError, ssl.SSLError):
            self.close()

    async def _cancel(self) -> None:
        """Hand the key to the server, as a client of its own would; nothing is answered."""
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
        if len(self._early) > login.LONGEST:
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
        if watch is not None and login.replicates(told):
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


# One client and its connection to the server: the thin part that reads, writes, waits and asks.
#
# Neither side is read faster than the other side takes it. While the watch thinks about a result, the server is not read;
# while it thinks about a statement, no more than a little of the client is.
_LINGER = 10.0  # seconds in which a client may still take what it was sent before the end
_AT_ONCE = frozenset(
    (Allow, HoldRows, Refuse, ReleaseRows, Keep, MaskCells, type(None))
)  # answers that need no waiting
_READY_IDLE = b"Z\x00\x00\x00\x05I"
LOST = error(severity="FATAL", sqlstate="08006", message="The database server closed the connection.")
STOPPING = error(severity="FATAL", sqlstate="57P01", message="The gateway is shutting down.")


class Connection(Arriving):
    """A client, from its first byte to its last."""

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost by closing it now."""
        if self._session is not None:
            return self._session.idle and not self._thinking
        return self._relays is None or self._relays[1].last == _READY_IDLE

    def _begin(self, entrance: Entrance, watch: Watch | None) -> None:
        client_rest, upstream_rest = entrance.rest()
        if watch is None:
            self._relay(client_rest, (entrance.ready or b"") + upstream_rest)
            return
        self.client.write(entrance.ready or b"")
        settings = self._gateway.settings
        self._watch = watch
        more = {"room": self._gateway.room, "parameters": entrance.parameters, "consult": self._consult}
        self._session = GatewaySession(watch, limits=settings.limits, **more)
        self.client.hand_over(Spoken(self.client, self._client_session))
        self.upstream.hand_over(Spoken(self.upstream, self._upstream_session))
        self.client.resume()
        self.upstream.resume()
        self._upstream_session(upstream_rest)
        self._client_session(client_rest)

    def _relay(self, client_rest: bytes, upstream_rest: bytes) -> None:
        """Nobody looks: bytes go from one side to the other."""
        self._relays = Relay(self.client, self.upstream), Relay(self.upstream, self.client)
        self._relays[0].peer, self._relays[1].peer = self._relays[1], self._relays[0]
        self._relays[1].data_received(upstream_rest)
        if client_rest:
            self._relays[0].data_received(client_rest)
        self.client.hand_over(self._relays[0])
        self.upstream.hand_over(self._relays[1])
        self.client.resume()
        self.upstream.resume()

    # Session ----------------------------------------------------------------------------------------------------------

    def _client_session(self, data: bytes) -> None:
        session = self._session
        if session is not None and data:
            session.client_data(data)
            self._pump(session)

    def _upstream_session(self, data: bytes) -> None:
        session = self._session
        if session is not None and data:
            session.upstream_data(data)
            self._pump(session)

    def _pump(self, session: GatewaySession) -> None:
        """Send what is to be sent, await what is to be awaited, and read accordingly."""
        self._send(session.to_client, session.to_upstream)
        if session.questions:
            self._await(session.questions)
        if session.deliveries:
            self._delivered(session)
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

    def _await(self, questions: list[Question]) -> None:
        for question in questions:
            awaited, question.awaited = question.awaited, None
            if awaited is not None:
                self._thinking += 1
                self._start(self._later(question, awaited))

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

    def _delivered(self, session: GatewaySession) -> None:
        method = "lost" if self.client.gone else "delivered"
        for token, rows in session.deliveries:
            self._tell(method, token, rows)
        session.deliveries.clear()

    def _tell(self, method: str, token: Any, rows: int) -> None:
        try:
            told = getattr(self._watch, method)(token, rows)
            if told is not None and isinstance(told, Awaitable):
                self._gateway.keep(self._told_in_time(told))
        except Exception:
            self._gateway.stumbled(method)

    async def _told_in_time(self, told: Awaitable[None]) -> None:
        try:
            await told
        except Exception:
            self._gateway.stumbled("delivered")

    # Pausing and ending -----------------------------------------------------------------------------------------------

    def _client_paused(self, paused: bool) -> None:
        """The client takes no more for now, or takes again: the server is read accordingly."""
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
