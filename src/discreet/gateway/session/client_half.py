"""Client half of a session: forward, refuse, ask for a verdict, decode text.

If the watch allows it at once, its bytes are sent on as they came, and one entry stands for all that the server owes: it
answers a whole pipeline as it answers a text. If rows are to be held, the bytes go as they came, too, with what is owed entry
by entry. Anything else takes the way of single messages, with the verdicts that were given already.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from discreet.gateway.enforcement.interface import STUMBLED, Allow, Bind, HoldRows, Parse, QueryText, Request, Verdict
from discreet.gateway.protocol.framing import LENGTH, Frame
from discreet.gateway.protocol.messages import FLUSH, bind_names, describe_portal, parse_body
from discreet.gateway.session import state as owed
from discreet.gateway.session.server_half import Answering
from discreet.gateway.session.state import Later, PendingReply, Portal, PreparedStatement
from discreet.sql.statement_kinds import Refuse

# What every kind of request of a client needs: sent on, refused, asked about, and read as the server reads it.
_SHIFTS = re.compile(r"encoding|names|config|settings|reset|discard|execute|u&", re.IGNORECASE)
"""What may change client_encoding, of which the server tells only at the end of a pipeline."""
_VERDICTS = (Allow, HoldRows, Refuse)
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

    def _send(self, frame: Frame, kind: int, hold: HoldRows | None = None) -> PendingReply:
        self.to_upstream.append(frame.raw)
        self._serial += 1
        entry = PendingReply(kind, self._serial, hold)
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

    def _last_ready(self) -> PendingReply | None:
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
        self._send(frame, owed.QUERY, verdict if isinstance(verdict, HoldRows) else None)

    def _prepare(self, verdict: Verdict, frame: Frame, name: bytes, statement: PreparedStatement) -> None:
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


def bind_of(portal: bytes, name: bytes, statement: PreparedStatement | None, body: bytes) -> Bind:
    """What the watch is told of a Bind."""
    text, types = (statement.text, statement.types) if statement is not None else (None, ())
    return Bind(portal.decode("utf-8", "replace"), name.decode("utf-8", "replace"), text, types, body)


def _length(statement: Any) -> int:
    return len(statement.text) + 256 if isinstance(statement, PreparedStatement) else 0


_UNNAMED = b"\x00\x00\x00\x06P\x00"  # of a Describe: the portal without a name
_EXECUTE = b"\x00\x00\x00\x09\x00\x00\x00\x00\x00"  # the same, all of its rows
_SYNC = b"\x00\x00\x00\x04"
_SHORT = 4096  # bytes of a Parse that is remembered in case that it comes again


class Pipeline(NamedTuple):
    """Where the messages of a pipeline of one statement are."""

    parse: int
    """Where its Parse ends; 0 without one."""
    bind: int
    """Where its Bind ends."""


def pipeline_of(data: bytes) -> Pipeline | None:
    """The places in [Parse] Bind [Describe] Execute Sync, through the portal without a name; None if it is anything else.

    >>> pipeline_of(b"B\\0\\0\\0\\x0c\\0s\\0\\0\\0\\0\\0\\0" + b"E\\0\\0\\0\\x09\\0\\0\\0\\0\\0" + b"S\\0\\0\\0\\4")
    Pipeline(parse=0, bind=13)
    """
    size, parse = len(data), 0
    if size < 5:
        return None
    if data[0] == owed.PARSE:
        parse = 1 + LENGTH.unpack_from(data, 1)[0]
    if not 0 <= parse <= size - 6 or data[parse] != owed.BIND or data[parse + 5]:  # a named portal
        return None
    bind = parse + 1 + LENGTH.unpack_from(data, parse + 1)[0]
    place = bind
    if bind > parse and data[bind : bind + 1] == b"D":
        if data[bind + 1 : bind + 7] != _UNNAMED:
            return None
        place += 7
    rest = data[place:] if bind > parse else b""
    return Pipeline(parse, bind) if rest == b"E" + _EXECUTE + b"S" + _SYNC else None


class Straight(Asking):
    """Requests that need not be taken apart."""

    _before: tuple[bytes, bytes, PreparedStatement, Parse] | None = None
    """The last Parse that went straight on: its bytes, its name, and what it says."""

    def _goes_straight(self, data: bytes) -> bool:
        """Whether this was all there was to do about these bytes; else they are taken message by message."""
        if self._expected or self._client_waits or self._skipping or self._copying or not self._client.empty:
            return False
        if self._waiting is not None or self._barrier is not None:
            return False
        if data[0] == owed.QUERY:
            return self._straight_query(data)
        found = pipeline_of(data)
        return found is not None and self._straight_pipeline(data, *found)

    def _straight_query(self, data: bytes) -> bool:
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

    def _straight_pipeline(self, data: bytes, parsed: int, bound: int) -> bool:
        if len(data) > self._limits.message:
            return False
        body = data[parsed + 5 : bound]
        name = bind_names(body)[1]
        if not parsed:
            self._bind_straight(data, 0, bound, bind_of(b"", name, self._statements.get(name), body))
            return True
        if (found := self._parsed(data[:parsed], name)) is None:
            return False
        statement, request = found
        verdict = self._consult(self.watch, "statement", request)
        if type(verdict) is Allow:
            self._bind_straight(data, parsed, bound, bind_of(b"", name, statement, body), name, statement)
            return True
        self._client.feed(data[parsed:])
        self._with_verdict(verdict, request, self._prepare, Frame(owed.PARSE, data[:parsed]), name, statement)
        self._advance_client()
        return True

    def _bind_straight(
        self,
        data: bytes,
        parsed: int,
        bound: int,
        bind: Bind,
        name: bytes = b"",
        statement: PreparedStatement | None = None,
    ) -> None:
        """Send it all if it is allowed; else what was parsed is sent, and the rest goes message by message."""
        verdict = self._consult(self.watch, "statement", bind)
        if type(verdict) is Allow:
            self._send_pipeline(data, name, statement, bind, verdict)
            return
        if statement is not None:
            self._prepare(Allow(), Frame(owed.PARSE, data[:parsed]), name, statement)
        if type(verdict) is HoldRows and not verdict.undo:
            self._send_held(data[parsed:], bound - parsed, bind, verdict)
            return
        self._client.feed(data[bound:])
        self._with_verdict(verdict, bind, self._open_portal, Frame(owed.BIND, data[parsed:bound]), b"", bind)
        self._advance_client()

    def _send_held(self, data: bytes, bound: int, bind: Bind, hold: HoldRows) -> None:
        """Rows will be held, and nothing has to be undone if they are denied: the Sync need not wait for that."""
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

    def _parsed(self, raw: bytes, bound: bytes) -> tuple[PreparedStatement, Parse] | None:
        """What a Parse says, and how the watch is asked; None if it is not one to go straight on.

        Many drivers send the same again with every execution; that is not read again.
        """
        found = self._before
        if found is None or found[0] != raw:
            parse = parse_body(raw[5:])
            if not parse.text.isascii():
                return None
            statement = PreparedStatement(parse.text.decode("ascii"), parse.types)
            request = Parse(parse.name.decode("utf-8", "replace"), statement.text, parse.types)
            found = raw, parse.name, statement, request
            self._before = found if len(raw) <= _SHORT else None
        _, name, statement, request = found
        if name != bound or self._remembered + len(statement.text) > self._limits.statements:
            return None
        return statement, request

    def _send_pipeline(
        self, data: bytes, name: bytes, statement: PreparedStatement | None, bind: Bind, verdict: Allow
    ) -> None:
        self._serial += 2  # the portal is older than the end of its pipeline, with which it may go
        self._epoch += 1
        portal = Portal(b"", bind, verdict, self._serial - 1, self._epoch)
        entry = PendingReply(owed.PIPELINE, self._serial)
        if statement is None:
            entry.steps = (self._replace(self._portals, b"", portal),)
        else:
            parsed = self._replace(self._statements, name, statement)
            entry.steps = (parsed, self._replace(self._portals, b"", portal))
        self._expected.append(entry)
        self.to_upstream.append(data)

    def _advance_client(self) -> None:
        raise NotImplementedError
