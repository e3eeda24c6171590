"""One client and its connection to the server: the thin part that reads, writes, waits and asks.

Neither side is read faster than the other side takes it. While the watch thinks about a result, the server is not read;
while it thinks about a statement, no more than a little of the client is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from discreet.gateway.enforcement.interface import STUMBLED, Allow, Hold, Keep, Mask, Release, Watch
from discreet.gateway.net.connection import Arriving
from discreet.gateway.net.transport import Relay, Spoken
from discreet.gateway.protocol.login import Entrance
from discreet.gateway.protocol.messages import error
from discreet.gateway.session.session import Session
from discreet.gateway.session.state import Later, Question
from discreet.sql.statement_kinds import Refuse

_LINGER = 10.0  # seconds in which a client may still take what it was sent before the end
_AT_ONCE = frozenset((Allow, Hold, Refuse, Release, Keep, Mask, type(None)))  # answers that need no waiting
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
        self._session = Session(watch, limits=settings.limits, **more)
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

    def _pump(self, session: Session) -> None:
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
        if question.method == "result" and isinstance(value, Release | Keep | Mask):
            self._tell("lost", question.arguments[0], question.arguments[1].rows)
        self._finish()

    def _delivered(self, session: Session) -> None:
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
