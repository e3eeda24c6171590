"""Session state shared by both directions: pending replies, output, open questions."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.gateway.enforcement.verdicts import Token, Watch
from discreet.gateway.protocol.framing import COPIED, ROWS, Frame, Framer
from discreet.gateway.protocol.messages import EXECUTE_NOWHERE, error, ready
from discreet.gateway.refusals import Refuse

IDLE = ord("I")
MEBIBYTE = 1 << 20
RUN = MEBIBYTE
"""A row of more bytes than this comes in parts."""


@dataclass(frozen=True)
class MemoryLimits:
    """How much one session may keep in memory."""

    message: int = 16 * MEBIBYTE
    """Bytes of one message that must be judged; longer ones are refused."""
    statements: int = 16 * MEBIBYTE
    """Characters of all prepared statements that are remembered."""
    owed: int = 10_000
    """Messages that are sent on before the first of them is answered."""


@dataclass(eq=False, slots=True)
class Question:
    """A request that the watch did not answer at once. Answered through `Session.answer`."""

    request: Any
    then: Callable[[Any], None]
    awaited: Awaitable[Any] | None = None
    """What the watch gave in place of the answer."""


@dataclass(eq=False, slots=True)
class Later:
    """In place of an answer that takes its time."""

    awaited: Awaitable[Any] | None = None


def always_later(ask: Callable[..., Any], given: Any) -> Any:
    """The answer where the caller asks the questions by itself."""
    return Later()


class Conversation:
    """The state of a session, and the few things that happen from both sides."""

    def __init__(
        self,
        watch: Watch,
        *,
        limits: MemoryLimits,
        parameters: Mapping[str, str],
        consult: Callable[..., Any] = always_later,
    ) -> None:
        self.to_client: list[bytes] = []
        self.to_upstream: list[bytes] = []
        self.questions: list[Question] = []
        """What was not answered at once."""
        self.deliveries: list[tuple[Any, int]] = []
        """Tokens whose rows are in `to_client`, and how many rows."""
        self.over = False
        """The session cannot go on; what waits is sent, then both sides are closed."""
        self.status = IDLE
        self.watch = watch
        self._consult = consult
        self._limits = limits
        self._encoding = encoding_of(parameters.get("client_encoding", "UTF8"))
        self._expected: deque[PendingReply] = deque()
        self._serial = 0
        self._portals: dict[bytes, Portal] = {}
        """Those that the gateway answers itself."""
        self._statements: dict[bytes, PreparedStatement] = {}
        self._remembered = 0
        self._generation = 0
        self._barrier: PendingReply | None = None
        """What the client sends waits until this is answered."""
        self._waiting: Frame | None = None
        self._client = Framer(runs=COPIED, largest=limits.message)
        self._server = Framer(runs=ROWS, largest=RUN, parted=ROWS)
        self._skipping = False
        self._copying = False
        self._executed = False
        self._texts: set[str | None] = set()
        """Texts that may have run since the last Sync; None for one that is not known."""
        self._began = False
        self._client_waits = False

    @property
    def idle(self) -> bool:
        """Whether nothing is owed and no transaction is open."""
        return not self._expected and self.status == IDLE

    def _push(self, kind: int) -> PendingReply:
        self._serial += 1
        entry = PendingReply(kind, self._serial)
        self._expected.append(entry)
        return entry

    def _pop(self) -> PendingReply:
        entry = self._expected.popleft()
        if entry is self._barrier:
            self._barrier = None
        return entry

    def _tell(self, refuse: Refuse) -> None:
        """Answer the client with a refusal."""
        self.to_client.append(
            error(sqlstate=refuse.sqlstate, message=refuse.message, hint=refuse.hint, detail=refuse.detail)
        )

    def _settle(self) -> None:
        """Refusals whose turn has come."""
        while self._expected and self._expected[0].kind in (REFUSAL, OWN):
            entry = self._pop()
            if entry.kind == OWN:
                self.to_client.append(entry.payload)
                if entry.simple:
                    self.to_client.append(ready(self.status))
                if entry.token is not None:
                    self.deliveries.append((entry.token, entry.rows))
                continue
            if entry.refused is not None:
                self._tell(entry.refused)
            if entry.simple:
                self.to_client.append(ready(self.status))
            else:
                self._fail(undo=self._executed)

    def _fail(self, *, undo: bool) -> None:
        """Fail as the server does in the extended protocol: nothing until the next Sync.

        What was done and not committed is undone, as by an error, unless the client has a transaction of its own open:
        that one lives on.
        """
        self._skipping = True
        if undo and self.status == IDLE and not self._began:
            self.to_upstream.append(EXECUTE_NOWHERE)
            self._push(FAILURE)

    def _abandon(self) -> None:
        """Drop what was sent before the next Sync: the server does not answer it."""
        dropped = []
        while self._expected and self._expected[0].kind != SYNC:
            dropped.append(self._pop())
        for entry in reversed(dropped):
            if entry.undo is not None:
                entry.undo()
        self._skipping = not self._expected

    def _end(self, problem: str) -> None:
        """The other side broke the protocol: nothing can be told apart any more."""
        self.to_client.append(error(severity="FATAL", sqlstate="08P01", message=problem))
        self.over = True


def encoding_of(name: str) -> str | None:
    """Codec for a PostgreSQL encoding; None if none reads it the same way.

    >>> encoding_of("UTF8"), encoding_of("LATIN1"), encoding_of("WIN1252"), encoding_of("MULE_INTERNAL")
    ('utf-8', 'iso8859-1', 'cp1252', None)
    """
    if name.upper() in ("UTF8", "UNICODE", "SQL_ASCII"):
        return "utf-8"
    if not name.upper().startswith(("LATIN", "WIN", "KOI8", "ISO_8859")):
        return None  # of several bytes each: not worth the risk of reading them otherwise than the server does
    try:
        return codecs.lookup(name.upper().replace("WIN", "cp").replace("KOI8R", "koi8-r")).name
    except LookupError:
        return None


# What the server still owes the client, in order: one entry per message that was sent on and will be answered.
QUERY, PARSE, BIND, DESCRIBE, EXECUTE, CLOSE, SYNC, CALL = (ord(letter) for letter in "QPBDECSF")
REFUSAL = 1
"""Not sent on: what is before it is answered first, then the client is refused."""
FAILURE = 2
"""An Execute of ours that fails on purpose, so that the server undoes what is not committed; its error is ours."""
LOOKUP = 4
"""A question of the gateway's own on the client's session."""
OWN = 5
"""Answered by the gateway: its messages wait for their turn."""
PIPELINE = 3
"""One statement from its Parse or Bind to its Sync, sent on as a whole."""
ENDS_WITH_READY = frozenset((QUERY, SYNC, CALL, PIPELINE))


@dataclass(slots=True)
class PreparedStatement:
    """A statement prepared by a Parse that was seen here."""

    text: str
    types: tuple[int, ...]
    token: Any = None
    """Present if the gateway answers it itself."""


@dataclass(slots=True)
class Portal:
    """A portal that the gateway answers itself."""

    token: Token
    serial: int
    """Number of the entry that made it."""


class PendingReply:
    """Something the server owes. Most entries differ in little from what the class says."""

    undo: Callable[[], None] | None = None
    """Called if the server never comes to it."""
    steps: tuple[Callable[[], None], ...] = ()
    """Of a pipeline: the same for its Parse and its Bind; `number` says how many of them the server has done."""
    refused: Refuse | None = None
    """Of a refusal: what to say."""
    simple = False
    """Whether it is of the simple protocol, and ends with ReadyForQuery."""
    flushed = False
    """Whether the server was asked to answer at once."""
    payload = b""
    """Of an answer of the gateway's own: its messages."""
    rows = 0
    token: Token = None
    found: tuple[str | None, ...] | None = None
    """Of a question of the gateway's own: the row that came back."""
    done: Callable[[Any], None] | None = None
    number = 0

    def __init__(self, kind: int, serial: int) -> None:
        self.kind = kind
        self.serial = serial
        self.unseen: Mapping[int, int] = UNSEEN.get(kind, _NOTHING)
        """Which messages of the answer go to the client without being looked at, and what they mean for what is owed."""


MORE, STEP, DONE, ENDED, READY = range(5)
"""What a message that is passed on unseen means: more will follow; a step of a pipeline is done; the entry is answered; a
statement has ended; everything is answered."""
_NOTHING: Mapping[int, int] = {}
_RESULT = {**dict.fromkeys(b"DHdc", MORE), ord("C"): ENDED}
UNSEEN: Mapping[int, Mapping[int, int]] = {
    QUERY: {**_RESULT, ord("T"): MORE, ord("I"): MORE, ord("Z"): READY},
    PARSE: {ord("1"): DONE},
    BIND: {ord("2"): DONE},
    CLOSE: {ord("3"): DONE},
    DESCRIBE: {ord("t"): MORE, ord("T"): DONE, ord("n"): DONE},
    EXECUTE: {**_RESULT, ord("I"): DONE, ord("s"): DONE},
    SYNC: {ord("Z"): READY},
    CALL: {ord("V"): MORE, ord("Z"): READY},
    PIPELINE: {**_RESULT, **dict.fromkeys(b"12", STEP), **dict.fromkeys(b"nTI", MORE), ord("Z"): READY},
}
"""By kind of entry: the letters of answers that need not be looked at."""
