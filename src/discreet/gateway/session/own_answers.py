"""Answers of the gateway itself in a session: statements, portals and cursors that the server never sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.gateway.enforcement.verdicts import (
    Bind,
    Call,
    OwnAnswer,
    Parse,
    QueryText,
    Request,
    SessionLookup,
)
from discreet.gateway.protocol.framing import Frame
from discreet.gateway.protocol.messages import FLUSH, query_message, question_messages
from discreet.gateway.session import state as owed
from discreet.gateway.session.server_half import ServerHalf
from discreet.gateway.session.state import PendingReply, Portal, PreparedStatement


def _length(statement: Any) -> int:
    return len(statement.text) + 256 if isinstance(statement, PreparedStatement) else 0


class OwnAnswers(ServerHalf):
    """What a session remembers of what the gateway answers itself."""

    def _send(self, frame: Frame, kind: int) -> PendingReply:
        self.to_upstream.append(frame.raw)
        return self._push(kind)

    def _replace(self, kept: dict[bytes, Any], name: bytes, new: Any) -> Callable[[], None]:
        """Remember or forget something by its name, and give back how to undo that."""
        old, generation = kept.pop(name, None), self._generation
        if new is not None:
            kept[name] = new
        self._remembered += _length(new) - _length(old)

        def undo() -> None:
            kept.pop(name, None)
            if generation != self._generation:
                return
            if old is not None:
                kept[name] = old
            self._remembered += _length(old) - _length(new)

        return undo

    def _token_of(self, what: int, name: bytes) -> Any:
        """What the watch calls a statement or portal that the gateway answers itself."""
        if what != ord("P"):
            return self._statements[name].token if name in self._statements else None
        known = self._portals.get(name)
        return self.watch.cursor(name.decode("utf-8", "replace")) if known is None else known.token

    def _answer_own(self, answer: OwnAnswer, *, simple: bool = False) -> PendingReply:
        """Put the gateway's own answer in its place among those of the server."""
        entry = self._push(owed.OWN)
        entry.payload, entry.simple, entry.token, entry.rows = answer.messages, simple, None, answer.rows
        if len(self._expected) > 1 and not simple:
            self.to_upstream.append(FLUSH)
        self._settle()
        return entry

    def _answered_own(self, answer: OwnAnswer, request: Request, about: tuple[Any, ...]) -> None:
        """Remember what the gateway prepares or binds itself, and answer."""
        entry = self._answer_own(answer, simple=isinstance(request, QueryText | Call))
        if isinstance(request, Parse):
            statement = PreparedStatement(request.text, request.types, answer.token)
            entry.undo = self._replace(self._statements, about[1], statement)
        elif isinstance(request, Bind):
            entry.undo = self._replace(self._portals, about[1], Portal(answer.token, self._serial))
        elif answer.rows:
            self.deliveries.append((answer.token, answer.rows))

    def _look_up(self, lookup: SessionLookup, request: Request, then: Callable[..., None], *about: Any) -> None:
        """Ask the server on the client's session, and go on with the verdict that follows."""
        entry = self._push(owed.LOOKUP)
        entry.simple = isinstance(request, QueryText)
        self.to_upstream.append(query_message(lookup.sql) if entry.simple else question_messages(lookup.sql))
        self._client_waits = True

        def done(row: Any) -> None:
            self._client_waits = False
            if not self._skipping:
                self._with_verdict(self._consult(lookup.then, row), request, then, *about)

        entry.done = done

    def _with_verdict(self, verdict: Any, request: Request, then: Callable[..., None], *about: Any) -> None:
        """Go on with a verdict; the client's half knows how."""
        raise NotImplementedError
