"""Session of a governed user, without I/O: bytes and questions in and out.

The order of a pipeline is kept as the server would keep it. A refusal or an answer of the gateway's own waits until
everything before it is answered; after a refusal, as after an error, what follows is skipped up to the next Sync.

A request that the watch allows at once is sent on as it came, and one entry means all that the server owes: it answers a
whole pipeline as it answers a text. Anything else takes the way of single messages, with the verdicts that were given
already.
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
    Fetch,
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
    complete,
    execute_body,
    parse_body,
    query_text,
    target,
)
from discreet.gateway.refusals import Refuse
from discreet.gateway.session import state as owed
from discreet.gateway.session.own_answers import OwnAnswers
from discreet.gateway.session.result_messages import CLOSED
from discreet.gateway.session.state import Later, PendingReply, PreparedStatement, Question

_TERMINATE, _FLUSH, _DATA, _DONE, _FAIL = (ord(letter) for letter in "XHdcf")
_BEFORE_BARRIER = frozenset((_TERMINATE, _FLUSH, _DATA, _DONE, _FAIL))
_KINDS = _BEFORE_BARRIER | frozenset(b"QPBDECSF")
_SHIFTS = re.compile(r"encoding|names|config|settings|reset|discard|execute|u&", re.IGNORECASE)
"""What may change client_encoding, of which the server tells only at the end of a pipeline."""
_DEALLOCATE = re.compile(r'deallocate\s+(?:prepare\s+)?(?:"((?:[^"]|"")+)"|([a-z_]\w*))\s*;?\s*', re.IGNORECASE)
_NO_SENSE = "The gateway cannot make sense of what it received."
UNREADABLE = Refuse(
    "The gateway cannot read the text in this encoding, so it was not run.",
    hint="SET client_encoding TO 'UTF8', and begin a new pipeline before texts beyond ASCII.",
    sqlstate="22021",
)
TOO_LONG = Refuse("The message is longer than the gateway reads.", hint="Send it in parts.", sqlstate="54000")
TOO_MANY = Refuse("There are too many prepared statements.", hint="Close those that are done.", sqlstate="53200")
_SHORT = 4096  # bytes of a Parse that is remembered in case that it comes again


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
            self._advance_client()
        except Malformed:
            self._end(_NO_SENSE)

    def _advance_client(self) -> None:
        while not self._client_waits and not self.over and len(self._expected) < self._limits.owed:
            frame, self._waiting = self._waiting or self._client.next(), None
            if frame is None:
                return
            if self._barrier is not None and frame.kind not in _BEFORE_BARRIER:
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
                self._query(text, frame)
        elif kind == owed.PARSE:
            parse = parse_body(frame.body)
            text = self._read(frame, parse.text)
            if text is not None and self._remembered + len(parse.text) > self._limits.statements:
                self._refuse(TOO_MANY)
            elif text is not None:
                statement = PreparedStatement(text, parse.types)
                self._ask(Parse(text, parse.types), self._prepare, frame, parse.name, statement)
        elif kind == owed.BIND:
            self._bind(frame, *bind_names(frame.body))
        elif kind == owed.DESCRIBE:
            what, name = target(frame.body)
            token = self._token_of(what, name)
            if token is not None:
                self._ask(Describe(chr(what), token), self._send_on, frame, kind)
            else:
                self._send(frame, kind)
        elif kind == owed.EXECUTE:
            name, limit = execute_body(frame.body)
            token = self._token_of(ord("P"), name)
            if token is not None:
                self._ask(Fetch(token, limit), self._send_on, frame, kind)
                return
            self._executed = True
            if name:  # it may be of an earlier pipeline
                self._texts.add(None)
            self._send(frame, kind)
        elif kind == owed.CLOSE:
            what, name = target(frame.body)
            token = self._token_of(what, name)
            undo = self._replace(self._portals if what == ord("P") else self._statements, name, None)
            if token is not None:
                self._answer_own(OwnAnswer(CLOSED)).undo = undo
            else:
                self._send(frame, owed.CLOSE).undo = undo
        elif kind == owed.CALL:
            self._ask(Call(), self._send_on, frame, kind)
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

    def _ask(self, request: Request, then: Callable[..., None], *about: Any) -> None:
        """Ask whether it may run, and go on with the verdict."""
        self._with_verdict(self._consult(self.watch.statement, request), request, then, *about)

    def _with_verdict(self, verdict: Any, request: Request, then: Callable[..., None], *about: Any) -> None:
        """Refuse it, or go on with the verdict, as soon as it is there."""
        if isinstance(verdict, Allow):
            then(*about)
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

        self.questions.append(Question(request, answered, verdict.awaited))

    def _query(self, text: str, frame: Frame) -> None:
        deallocated = _DEALLOCATE.fullmatch(text) if text[:1] in "dD" else None
        if deallocated is not None:
            name = (deallocated[1] or deallocated[2].lower()).replace('""', '"').encode()
            if self._token_of(ord("S"), name) is not None:  # the server does not know it
                self._replace(self._statements, name, None)
                self._answer_own(OwnAnswer(complete("DEALLOCATE")), simple=True)
                return
        self._ask(QueryText(text), self._send_on, frame, owed.QUERY)

    def _send_on(self, frame: Frame, kind: int) -> None:
        self._send(frame, kind)

    def _prepare(self, frame: Frame, name: bytes, statement: PreparedStatement) -> None:
        undo = self._replace(self._statements, name, statement)
        self._send(frame, owed.PARSE).undo = undo

    def _bind(self, frame: Frame, name: bytes, prepared: bytes) -> None:
        statement = self._statements.get(prepared)
        if statement is not None and statement.token is not None:
            self._ask(Bind(statement.token, frame.body), self._send_on, frame, name)
            return
        self._texts.add(statement.text if statement is not None else None)
        undo = self._replace(self._portals, name, None)
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
            self._query(text.decode("ascii"), Frame(owed.QUERY, data))
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
                request = Parse(statement.text, parse.types)
                before = raw, parse.name, statement, request
                self._before = before if len(raw) <= _SHORT else None
            _, parsed_name, statement, request = before
            if parsed_name != name or self._remembered + len(statement.text) > self._limits.statements:
                return False
            verdict = self._consult(self.watch.statement, request)
            if type(verdict) is not Allow:
                self._client.feed(data[parsed:])
                self._with_verdict(verdict, request, self._prepare, Frame(owed.PARSE, raw), name, statement)
                return True
        self._serial += 1
        entry = PendingReply(owed.PIPELINE, self._serial)
        parsing = (self._replace(self._statements, name, statement),) if parsed else ()
        entry.steps = (*parsing, self._replace(self._portals, b"", None))
        self._expected.append(entry)
        self.to_upstream.append(data)
        return True
