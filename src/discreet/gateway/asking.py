"""What every kind of request of a client needs: sent on, refused, asked about, and read as the server reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from discreet.gateway import expected as owed
from discreet.gateway.enforcement.interface import STUMBLED, Allow, Bind, Hold, Request, Verdict
from discreet.gateway.expected import Entry, Portal, Statement
from discreet.gateway.protocol.framing import Frame
from discreet.gateway.protocol.messages import FLUSH
from discreet.gateway.session.server_half import Answering
from discreet.gateway.session.state import Later
from discreet.sql.statement_kinds import Refuse

_SHIFTS = re.compile(r"encoding|names|config|settings|reset|discard|execute|u&", re.IGNORECASE)
"""What may change client_encoding, of which the server tells only at the end of a pipeline."""
_VERDICTS = (Allow, Hold, Refuse)
UNREADABLE = Refuse(
    "The gateway cannot read the text in this encoding, so it was not run.",
    hint="SET client_encoding TO 'UTF8', and begin a new pipeline before texts beyond ASCII.",
    sqlstate="22021",
)


class Asking(Answering):
    """The client's half of a session, whatever it asks for."""

    def _wait(self, frame: Frame) -> None:
        self._waiting = frame
        if self._barrier is not None and not self._barrier.flushed:
            self._barrier.flushed = True
            self.to_upstream.append(FLUSH)

    def _send(self, frame: Frame, kind: int, hold: Hold | None = None) -> Entry:
        self.to_upstream.append(frame.raw)
        self._serial += 1
        entry = Entry(kind, self._serial, hold)
        self._expected.append(entry)
        return entry

    def _refuse(self, refuse: Refuse, *, simple: bool = False) -> None:
        entry = self._push(owed.REFUSAL)
        entry.refused, entry.simple = refuse, simple
        if not simple:
            self._barrier = entry
        if len(self._expected) > 1:
            self.to_upstream.append(FLUSH)
        self._settle()

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

    def _decode(self, text: bytes) -> str | None:
        try:
            return text.decode(self._encoding or "ascii")
        except UnicodeDecodeError:
            return None

    def _unsure_of(self, text: bytes) -> bool:
        """Whether something that is not answered yet may change how the server reads the text."""
        return not text.isascii() and (self._shifted() or self._last_ready() is not None)

    def _shifted(self) -> bool:
        """Whether something executed since the last Sync may have changed the encoding."""
        return any(text is None or _SHIFTS.search(text) for text in self._texts)

    def _last_ready(self) -> Entry | None:
        """The last message that was sent on and ends with ReadyForQuery, before which the server tells of changes."""
        return next((entry for entry in reversed(self._expected) if entry.kind in owed.ENDS_WITH_READY), None)

    def _wait_until_sure(self, frame: Frame) -> None:
        last = self._last_ready()
        if last is None:
            self._refuse(UNREADABLE, simple=frame.kind == owed.QUERY)
            return
        self._barrier = last
        self._wait(frame)

    def _ask_client(self, request: Request, then: Callable[..., None], *about: Any) -> None:
        """Ask whether it may run, and go on with the verdict."""
        self._with_verdict(self._consult(self.watch, "statement", request), request, then, *about)

    def _with_verdict(self, verdict: Any, request: Request, then: Callable[..., None], *about: Any) -> None:
        """Go on with a verdict: at once, if the watch has said it at once."""
        if type(verdict) is not Later:
            then(verdict if isinstance(verdict, _VERDICTS) else STUMBLED, *about)
            return
        self._client_waits = True

        def answered(verdict: Any) -> None:
            self._client_waits = False
            if not self._skipping:  # else the server has failed meanwhile, and would not look at it
                then(verdict if isinstance(verdict, _VERDICTS) else STUMBLED, *about)

        self._remind(verdict, answered, "statement", request)

    def _run_query(self, verdict: Verdict, frame: Frame) -> None:
        if isinstance(verdict, Refuse):
            self._refuse(verdict, simple=True)
            return
        self._epoch += 1
        self._send(frame, owed.QUERY, verdict if isinstance(verdict, Hold) else None)

    def _prepare(self, verdict: Verdict, frame: Frame, name: bytes, statement: Statement) -> None:
        if isinstance(verdict, Refuse):
            self._refuse(verdict)
            return
        undo = self._replace(self._statements, name, statement)
        self._send(frame, owed.PARSE).undo = undo

    def _open_portal(self, verdict: Verdict, frame: Frame, name: bytes, bind: Bind) -> None:
        if isinstance(verdict, Refuse):
            self._refuse(verdict)
            return
        portal = Portal(name, bind, verdict, self._serial + 1, self._epoch)
        undo = self._replace(self._portals, name, portal)
        self._send(frame, owed.BIND).undo = undo


def bind_of(portal: bytes, name: bytes, statement: Statement | None, body: bytes) -> Bind:
    """What the watch is told of a Bind."""
    text, types = (statement.text, statement.types) if statement is not None else (None, ())
    return Bind(portal.decode("utf-8", "replace"), name.decode("utf-8", "replace"), text, types, body)


def _length(statement: Any) -> int:
    return len(statement.text) + 256 if isinstance(statement, Statement) else 0
