"""Session of a governed user, without I/O: bytes and questions in and out.

The order of a pipeline is kept as the server would keep it. A refusal waits until everything before it is answered. An
Execute whose rows are held is a barrier: what follows it in the same pipeline waits for the decision, since after an
error the server would not run it. A Sync may pass the barrier where nothing is to be undone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.gateway.enforcement.interface import Allow, Call, Execute, HoldRows, Parse, QueryText, Verdict, Watch
from discreet.gateway.protocol.framing import Frame, Malformed
from discreet.gateway.protocol.messages import (
    bind_names,
    call_body,
    describe_portal,
    execute_body,
    parse_body,
    query_text,
    target,
)
from discreet.gateway.session import state as owed
from discreet.gateway.session.client_half import UNREADABLE, Straight, bind_of
from discreet.gateway.session.state import IDLE, MemoryLimits, PendingReply, Portal, PreparedStatement, Question
from discreet.sql.statement_kinds import Refuse

_SYNC, _TERMINATE, _FLUSH, _DATA, _DONE, _FAIL = (ord(letter) for letter in "SXHdcf")
_COPY = frozenset((_DATA, _DONE, _FAIL))
_BEFORE_BARRIER = _COPY | {_TERMINATE, _FLUSH}
_NO_SENSE = "The gateway cannot make sense of what it received."
TOO_LONG = Refuse("The message is longer than the gateway reads.", hint="Send it in parts.", sqlstate="54000")
TOO_MANY = Refuse("There are too many prepared statements.", hint="Close those that are done.", sqlstate="53200")
NO_FAST_PATH = Refuse("Functions called by number cannot be held back.", hint="Call it with SELECT.")


class GatewaySession(Straight):
    """The state machine. Feed it, send what it wants sent, ask what it wants asked."""

    def __init__(self, watch: Watch, *, limits: MemoryLimits, **more: Any) -> None:
        super().__init__(watch, limits=limits, **more)
        self._actions: dict[int, Callable[[Frame], None]] = {
            owed.QUERY: self._query,
            owed.PARSE: self._parse,
            owed.BIND: self._bind,
            owed.DESCRIBE: self._describe,
            owed.EXECUTE: self._execute,
            owed.CLOSE: self._close,
            owed.CALL: self._call,
            _SYNC: self._sync,
            _FLUSH: self._pass_on,
            _TERMINATE: self._pass_on,
            _DATA: self._copied,
            _DONE: self._copied,
            _FAIL: self._copied,
        }

    @property
    def client_waits(self) -> bool:
        """Whether bytes of the client lie here that cannot be worked on yet."""
        full = len(self._expected) >= self._limits.owed
        return self._waiting is not None or ((self._client_waits or full) and self._client.waiting > 0)

    @property
    def upstream_waits(self) -> bool:
        """Whether a decision about a result is awaited."""
        return self._upstream_waits

    def client_data(self, data: bytes) -> None:
        """Bytes from the client."""
        try:
            if not data or self.over or self._goes_straight(data):
                return
            self._client.feed(data)
            self._advance_client()
        except Malformed:
            self._end(_NO_SENSE)

    def upstream_data(self, data: bytes) -> None:
        """Bytes from the server."""
        self._server.feed(data)
        try:
            self._advance_upstream()
            if self._waiting is not None or not self._client.empty:
                self._advance_client()
        except Malformed:
            self._end(_NO_SENSE)

    def answer(self, question: Question, value: Any) -> None:
        """What the watch says to a question."""
        try:
            question.then(value)
            if question.method != "statement":
                self._advance_upstream()
            self._advance_client()
        except Malformed:
            self._end(_NO_SENSE)

    def _advance_client(self) -> None:
        while not self._client_waits and not self.over and len(self._expected) < self._limits.owed:
            frame, self._waiting = self._waiting or self._client.next(), None
            if frame is None:
                return
            if self._barrier is not None and self._must_wait(frame, self._barrier):
                self._wait(frame)
                return
            action = self._actions.get(frame.kind)
            if action is None or frame.part or self._skipping:
                self._take_otherwise(frame)
            else:
                action(frame)

    def _must_wait(self, frame: Frame, barrier: PendingReply) -> bool:
        if frame.kind in _BEFORE_BARRIER:
            return False
        if frame.kind != _SYNC or barrier.hold is None:
            return True
        return barrier.hold.undo and not self._surely_in_block(barrier)

    def _surely_in_block(self, barrier: PendingReply) -> bool:
        """Whether a transaction of the client's own is open, so that a denial will undo nothing anyway."""
        owing = any(entry.kind in owed.ENDS_WITH_READY for entry in self._expected if entry is not barrier)
        return not owing and (self.status != IDLE or self._began)

    def _take_otherwise(self, frame: Frame) -> None:
        if frame.part:
            self._take_part(frame)
        elif frame.kind not in self._actions:
            if not self._skipping:
                self._end("The client sent a message of an unknown kind.")
        elif frame.kind in (_SYNC, _TERMINATE):
            self._actions[frame.kind](frame)

    def _take_part(self, frame: Frame) -> None:
        if self._skipping:
            return
        if frame.kind == _DATA:
            self.to_upstream.append(frame.raw)
        elif frame.part in ("first", "only"):
            self._refuse(TOO_LONG, simple=frame.kind in (owed.QUERY, owed.CALL))

    def _pass_on(self, frame: Frame) -> None:
        self.to_upstream.append(frame.raw)

    def _sync(self, frame: Frame) -> None:
        self.to_upstream.append(frame.raw)
        if self._copying:
            return  # the server ignores it as well
        self._skipping = self._executed = False
        self._texts.clear()
        self._push(owed.SYNC)

    def _copied(self, frame: Frame) -> None:
        if frame.kind != _DATA:
            self._copying = False
        self.to_upstream.append(frame.raw)

    def _query(self, frame: Frame) -> None:
        text = query_text(frame.body)
        if self._unsure_of(text):
            self._wait_until_sure(frame)
            return
        decoded = self._decode(text)
        if decoded is None:
            self._refuse(UNREADABLE, simple=True)
        else:
            self._ask_client(QueryText(decoded), self._run_query, frame)

    def _parse(self, frame: Frame) -> None:
        parse = parse_body(frame.body)
        if self._unsure_of(parse.text):
            self._wait_until_sure(frame)
            return
        if self._remembered + len(parse.text) > self._limits.statements:
            self._refuse(TOO_MANY)
            return
        text = self._decode(parse.text)
        if text is None:
            self._refuse(UNREADABLE)
        else:
            request = Parse(parse.name.decode("utf-8", "replace"), text, parse.types)
            self._ask_client(request, self._prepare, frame, parse.name, PreparedStatement(text, parse.types))

    def _bind(self, frame: Frame) -> None:
        body = frame.body
        portal, name = bind_names(body)
        bind = bind_of(portal, name, self._statements.get(name), body)
        self._ask_client(bind, self._open_portal, frame, portal, bind)

    def _describe(self, frame: Frame) -> None:
        kind, name = target(frame.body)
        portal = self._portals.get(name) if kind == ord("P") else None
        if portal is None or not isinstance(portal.verdict, HoldRows):
            self._send(frame, owed.DESCRIBE)
            return
        portal.asked = True
        self._send(frame, owed.DESCRIBE, portal.verdict).portal = portal

    def _execute(self, frame: Frame) -> None:
        name, limit = execute_body(frame.body)
        portal = self._portals.get(name)
        if portal is not None and portal.epoch == self._epoch:
            self._run_portal(frame, portal)
            return
        token = portal.verdict.token if portal and isinstance(portal.verdict, HoldRows) else None
        request = Execute(name.decode("utf-8", "replace"), limit, portal.bind if portal else None, token)
        self._ask_client(request, self._reopen_portal, frame, name, portal)

    def _reopen_portal(self, verdict: Verdict, frame: Frame, name: bytes, before: Portal | None) -> None:
        if isinstance(verdict, Refuse):
            self._refuse(verdict)
            return
        again = Portal(name, before.bind if before else None, verdict, self._serial + 1, self._epoch)
        again.chunks = before.chunks if before else 0
        self._portals[name] = again
        self._run_portal(frame, again)

    def _run_portal(self, frame: Frame, portal: Portal) -> None:
        self._executed = True
        self._texts.add(portal.bind.text if portal.bind else None)
        self._epoch += 1
        portal.epoch = self._epoch
        if not isinstance(portal.verdict, HoldRows):
            self._send(frame, owed.EXECUTE)
            return
        if not portal.asked:
            portal.asked = True
            self.to_upstream.append(describe_portal(portal.name))
            describing = self._push(owed.DESCRIBE, portal.verdict)
            describing.portal, describing.silent = portal, True
        self._barrier = self._send(frame, owed.EXECUTE, portal.verdict)
        self._barrier.portal = portal

    def _close(self, frame: Frame) -> None:
        kind, name = target(frame.body)
        kept: dict[bytes, Any] = self._portals if kind == ord("P") else self._statements
        undo = self._replace(kept, name, None)
        self._send(frame, owed.CLOSE).undo = undo

    def _call(self, frame: Frame) -> None:
        self._ask_client(Call(*call_body(frame.body)), self._run_call, frame)

    def _run_call(self, verdict: Verdict, frame: Frame) -> None:
        if isinstance(verdict, Allow):
            self._epoch += 1
            self._send(frame, owed.CALL)
        else:
            self._refuse(verdict if isinstance(verdict, Refuse) else NO_FAST_PATH, simple=True)
