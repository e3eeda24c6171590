"""Session of a governed user, without I/O: bytes and questions in and out.

The order of a pipeline is kept as the server would keep it. A refusal waits until everything before it is answered. An
Execute whose rows are held is a barrier: what follows it in the same pipeline waits for the decision, since after an
error the server would not run it. A Sync may pass the barrier where nothing is to be undone.

A request that the watch allows at once is sent on as it came, and one entry means all that the server owes: it answers a
whole pipeline as it answers a text. If rows are to be held, the bytes go as they came, too, with what is owed entry by
entry. Anything else takes the way of single messages, with the verdicts that were given already.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from discreet.gateway.enforcement.verdicts import (
    STUMBLED,
    Allow,
    Bind,
    Call,
    Describe,
    Execute,
    Fetch,
    HoldRows,
    OwnAnswer,
    Parse,
    QueryText,
    Request,
    SessionLookup,
)
from discreet.gateway.protocol.framing import LENGTH, Frame, Malformed, pipeline_of
from discreet.gateway.protocol.messages import (
    FLUSH,
    bind_names,
    call_body,
    describe_portal,
    execute_body,
    parse_body,
    query_text,
    target,
)
from discreet.gateway.refusals import Refuse
from discreet.gateway.session import state as owed
from discreet.gateway.session.own_answers import OwnAnswers
from discreet.gateway.session.result_messages import CLOSED
from discreet.gateway.session.state import IDLE, Later, PendingReply, Portal, PreparedStatement, Question

_TERMINATE, _FLUSH, _DATA, _DONE, _FAIL = (ord(letter) for letter in "XHdcf")
_BEFORE_BARRIER = frozenset((_TERMINATE, _FLUSH, _DATA, _DONE, _FAIL))
_KINDS = _BEFORE_BARRIER | frozenset(b"QPBDECSF")
_SHIFTS = re.compile(r"encoding|names|config|settings|reset|discard|execute|u&", re.IGNORECASE)
"""What may change client_encoding, of which the server tells only at the end of a pipeline."""
_NO_SENSE = "The gateway cannot make sense of what it received."
UNREADABLE = Refuse(
    "The gateway cannot read the text in this encoding, so it was not run.",
    hint="SET client_encoding TO 'UTF8', and begin a new pipeline before texts beyond ASCII.",
    sqlstate="22021",
)
TOO_LONG = Refuse("The message is longer than the gateway reads.", hint="Send it in parts.", sqlstate="54000")
TOO_MANY = Refuse("There are too many prepared statements.", hint="Close those that are done.", sqlstate="53200")
NO_FAST_PATH = Refuse("Functions called by number cannot be held back.", hint="Call it with SELECT.")
_SHORT = 4096  # bytes of a Parse that is remembered in case that it comes again


def bind_of(portal: bytes, name: bytes, statement: PreparedStatement | None, body: bytes) -> Bind:
    """What the watch is told of a Bind."""
    text, types, token = (
        (statement.text, statement.types, statement.token) if statement is not None else (None, (), None)
    )
    return Bind(portal.decode("utf-8", "replace"), name.decode("utf-8", "replace"), text, types, body, token)


class GatewaySession(OwnAnswers):
    """State machine of a session: feed it, send and ask what it wants."""

    _before: tuple[bytes, bytes, PreparedStatement, Parse] | None = None
    """The last Parse that went straight on: its bytes, its name, and what it says."""

    @property
    def client_waits(self) -> bool:
        """Whether bytes of the client lie here that cannot be worked on yet."""
        full = len(self._expected) >= self._limits.owed
        return self._waiting is not None or ((self._client_waits or full) and self._client.waiting > 0)

    def client_data(self, data: bytes) -> None:
        """Bytes from the client."""
        try:
            if not data or self.over:
                return
            if not self._goes_straight(data):
                self._client.feed(data)
            if not self._client.empty:
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
            barrier = self._barrier
            if barrier is not None and frame.kind not in _BEFORE_BARRIER:
                # A Sync may pass in a transaction of the client's own, in which a denial will undo nothing anyway.
                owing = any(entry.kind in owed.ENDS_WITH_READY for entry in self._expected if entry is not barrier)
                in_block = not owing and (self.status != IDLE or self._began)
                if frame.kind != owed.SYNC or barrier.hold is None or (barrier.hold.undo and not in_block):
                    self._wait(frame)
                    return
            if self._skipping:
                if frame.kind in (owed.SYNC, _TERMINATE) and not frame.part:
                    self._take(frame)
            elif frame.part:
                if frame.kind == _DATA:
                    self.to_upstream.append(frame.raw)
                elif frame.part in ("first", "only"):
                    self._refuse(TOO_LONG, simple=frame.kind in (owed.QUERY, owed.CALL))
            elif frame.kind in _KINDS:
                self._take(frame)
            else:
                self._end("The client sent a message of an unknown kind.")

    def _take(self, frame: Frame) -> None:
        """Work on a whole message of a known kind."""
        kind = frame.kind
        if kind == owed.QUERY:
            text = self._read(frame, query_text(frame.body))
            if text is not None:
                self._ask_client(QueryText(text), self._run_query, frame)
        elif kind == owed.PARSE:
            parse = parse_body(frame.body)
            text = self._read(frame, parse.text)
            if text is not None and self._remembered + len(parse.text) > self._limits.statements:
                self._refuse(TOO_MANY)
            elif text is not None:
                request = Parse(parse.name.decode("utf-8", "replace"), text, parse.types)
                self._ask_client(request, self._prepare, frame, parse.name, PreparedStatement(text, parse.types))
        elif kind == owed.BIND:
            body = frame.body
            name, prepared = bind_names(body)
            statement = self._statements.get(prepared)
            bind = bind_of(name, prepared, statement, body)
            self._ask_client(bind, self._open_portal, frame, name, bind)
        elif kind == owed.DESCRIBE:
            what, name = target(frame.body)
            portal = self._portals.get(name) if what == ord("P") else None
            token = self._token_of(what, name)
            if token is not None:
                self._ask_client(
                    Describe(chr(what), name.decode("utf-8", "replace"), token), self._send_on, frame, owed.DESCRIBE
                )
            elif portal is None or not isinstance(portal.verdict, HoldRows):
                self._send(frame, owed.DESCRIBE)
            else:
                portal.asked = True
                self._send(frame, owed.DESCRIBE, portal.verdict).portal = portal
        elif kind == owed.EXECUTE:
            name, limit = execute_body(frame.body)
            portal = self._portals.get(name)
            if portal is not None and portal.token is not None:
                self._texts.add(None)
                self._ask_client(Fetch(portal.token, limit), self._send_on, frame, owed.EXECUTE)
            elif portal is not None and portal.epoch == self._epoch:
                self._run_portal(frame, portal)
            else:
                token = portal.verdict.token if portal and isinstance(portal.verdict, HoldRows) else None
                execute = Execute(name.decode("utf-8", "replace"), limit, portal.bind if portal else None, token)
                self._ask_client(execute, self._reopen_portal, frame, name, portal)
        elif kind == owed.CLOSE:
            what, name = target(frame.body)
            token = self._token_of(what, name)
            undo = self._replace(self._portals if what == ord("P") else self._statements, name, None)
            if token is not None:
                self._answer_own(OwnAnswer(CLOSED)).undo = undo
            else:
                self._send(frame, owed.CLOSE).undo = undo
        elif kind == owed.CALL:
            self._ask_client(Call(*call_body(frame.body)), self._run_call, frame)
        else:  # Sync, Flush, Terminate and what is copied go on as they are
            self.to_upstream.append(frame.raw)
            self._copying = self._copying and kind not in (_DONE, _FAIL)
            if kind == owed.SYNC and not self._copying:  # while data come in, the server ignores it as well
                self._skipping = self._executed = False
                self._texts.clear()
                self._push(owed.SYNC)

    def _read(self, frame: Frame, text: bytes) -> str | None:
        """Text as the server reads it; None if that is unsure or impossible."""
        decoded = None
        with suppress(UnicodeDecodeError):
            decoded = text.decode(self._encoding or "ascii")
        if not text.isascii():
            # What is not answered yet may change the encoding, of which the server tells before it is ready.
            last = next((entry for entry in reversed(self._expected) if entry.kind in owed.ENDS_WITH_READY), None)
            if last is not None:
                self._barrier = last
                self._wait(frame)
                return None
            if any(executed is None or _SHIFTS.search(executed) for executed in self._texts):
                decoded = None
        if decoded is None:
            self._refuse(UNREADABLE, simple=frame.kind == owed.QUERY)
        return decoded

    def _reopen_portal(self, verdict: Allow | HoldRows, frame: Frame, name: bytes, before: Portal | None) -> None:
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

    def _run_call(self, verdict: Allow | HoldRows, frame: Frame) -> None:
        if isinstance(verdict, HoldRows):
            self._refuse(NO_FAST_PATH, simple=True)
            return
        self._epoch += 1
        self._send(frame, owed.CALL)

    # What every kind of request needs: sent on, refused, asked about -------------------------------------------------

    def _wait(self, frame: Frame) -> None:
        self._waiting = frame
        if self._barrier is not None and not self._barrier.flushed:
            self._barrier.flushed = True
            self.to_upstream.append(FLUSH)

    def _refuse(self, refuse: Refuse, *, simple: bool = False) -> None:
        entry = self._push(owed.REFUSAL)
        entry.refused, entry.simple = refuse, simple
        if not simple:
            self._barrier = entry
        if len(self._expected) > 1:
            self.to_upstream.append(FLUSH)
        self._settle()

    def _ask_client(self, request: Request, then: Callable[..., None], *about: Any) -> None:
        """Ask whether it may run, and go on with the verdict."""
        self._with_verdict(self._consult(self.watch, "statement", request), request, then, *about)

    def _with_verdict(self, verdict: Any, request: Request, then: Callable[..., None], *about: Any) -> None:
        """Refuse it, or go on with the verdict, as soon as it is there."""
        if isinstance(verdict, Allow | HoldRows):
            then(verdict, *about)
            return
        if isinstance(verdict, OwnAnswer):
            self._answered_own(verdict, request, about)
            return
        if isinstance(verdict, SessionLookup):
            self._look_up(verdict, request, then, *about)
            return
        if type(verdict) is not Later:
            refuse = verdict if isinstance(verdict, Refuse) else STUMBLED
            self._refuse(refuse, simple=isinstance(request, QueryText | Call))
            return
        self._client_waits = True

        def answered(verdict: Any) -> None:
            self._client_waits = False
            if not self._skipping:  # else the server has failed meanwhile, and would not look at it
                self._with_verdict(verdict, request, then, *about)

        self.questions.append(Question("statement", (request,), answered, verdict.awaited))

    def _run_query(self, verdict: Allow | HoldRows, frame: Frame) -> None:
        self._epoch += 1
        self._send(frame, owed.QUERY, verdict if isinstance(verdict, HoldRows) else None)

    def _prepare(self, _: Allow | HoldRows, frame: Frame, name: bytes, statement: PreparedStatement) -> None:
        undo = self._replace(self._statements, name, statement)
        self._send(frame, owed.PARSE).undo = undo

    def _open_portal(self, verdict: Allow | HoldRows, frame: Frame, name: bytes, bind: Bind) -> None:
        portal = Portal(name, bind, verdict, self._serial + 1, self._epoch)
        undo = self._replace(self._portals, name, portal)
        self._send(frame, owed.BIND).undo = undo

    # Requests that need not be taken apart ------------------------------------------------------------------------------

    def _goes_straight(self, data: bytes) -> bool:
        """Whether these bytes were dealt with whole; else they go message by message."""
        if self._expected or self._client_waits or self._skipping or self._copying or not self._client.empty:
            return False
        if self._waiting is not None or self._barrier is not None:
            return False
        if data[0] == owed.QUERY:
            text = data[5:-1]
            if len(data) < 6 or LENGTH.unpack_from(data, 1)[0] != len(data) - 1 or data.find(0, 5) != len(data) - 1:
                return False
            if len(data) > self._limits.message or not text.isascii():
                return False
            request = QueryText(text.decode("ascii"))
            verdict = self._consult(self.watch, "statement", request)
            if type(verdict) is Allow:
                self._epoch += 1
                self._push(owed.QUERY)
                self.to_upstream.append(data)
            else:
                self._with_verdict(verdict, request, self._run_query, Frame(owed.QUERY, data))
            return True
        places = pipeline_of(data)
        return places is not None and self._straight_pipeline(data, *places)

    def _straight_pipeline(self, data: bytes, parsed: int, bound: int) -> bool:
        """Send it all if it is allowed; else the rest goes message by message."""
        if len(data) > self._limits.message:
            return False
        body, raw = data[parsed + 5 : bound], data[:parsed]
        name = bind_names(body)[1]
        statement = None if parsed else self._statements.get(name)
        if statement is not None and statement.token is not None:
            return False
        if parsed:
            # Many drivers send the same Parse again with every execution; that is not read again.
            before = self._before
            if before is None or before[0] != raw:
                parse = parse_body(raw[5:])
                if not parse.text.isascii():
                    return False
                statement = PreparedStatement(parse.text.decode("ascii"), parse.types)
                request = Parse(parse.name.decode("utf-8", "replace"), statement.text, parse.types)
                before = raw, parse.name, statement, request
                self._before = before if len(raw) <= _SHORT else None
            _, parsed_name, statement, request = before
            if parsed_name != name or self._remembered + len(statement.text) > self._limits.statements:
                return False
            verdict = self._consult(self.watch, "statement", request)
            if type(verdict) is not Allow:
                self._client.feed(data[parsed:])
                self._with_verdict(verdict, request, self._prepare, Frame(owed.PARSE, raw), name, statement)
                return True
        bind = bind_of(b"", name, statement, body)
        verdict = self._consult(self.watch, "statement", bind)
        if type(verdict) is Allow:
            self._serial += 2  # the portal is older than the end of its pipeline, with which it may go
            self._epoch += 1
            portal = Portal(b"", bind, verdict, self._serial - 1, self._epoch)
            entry = PendingReply(owed.PIPELINE, self._serial)
            parsing = (self._replace(self._statements, name, statement),) if parsed else ()
            entry.steps = (*parsing, self._replace(self._portals, b"", portal))
            self._expected.append(entry)
            self.to_upstream.append(data)
            return True
        if parsed and statement is not None:
            self._prepare(Allow(), Frame(owed.PARSE, raw), name, statement)
        if type(verdict) is HoldRows and not verdict.undo:
            self._send_held(data[parsed:], bound - parsed, bind, verdict)
        else:
            self._client.feed(data[bound:])
            self._with_verdict(verdict, bind, self._open_portal, Frame(owed.BIND, data[parsed:bound]), b"", bind)
        return True

    def _send_held(self, data: bytes, bound: int, bind: Bind, hold: HoldRows) -> None:
        """Rows will be held, and a denial undoes nothing: the Sync need not wait."""
        self._epoch += 1
        portal = Portal(b"", bind, hold, self._serial + 1, self._epoch, asked=True)
        undo = self._replace(self._portals, b"", portal)
        self._push(owed.BIND).undo = undo
        describing = self._push(owed.DESCRIBE, hold)
        describing.portal, describing.silent = portal, data[bound] != owed.DESCRIBE
        self._barrier = self._push(owed.EXECUTE, hold)
        self._barrier.portal = portal
        self._push(owed.SYNC)
        if describing.silent:
            data = data[:bound] + describe_portal(b"") + data[bound:]
        self.to_upstream.append(data)
