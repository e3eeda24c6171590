"""What the server still owes the client, in order: one entry per message that was sent on and will be answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from discreet.gateway.enforcement.interface import Allow, Bind, Hold
from discreet.gateway.protocol.messages import Column
from discreet.sql.statement_kinds import Refuse

QUERY, PARSE, BIND, DESCRIBE, EXECUTE, CLOSE, SYNC, CALL = (ord(letter) for letter in "QPBDECSF")
REFUSAL = 1
"""Not sent on: what stands before it is answered first, then the client is told no."""
FAILURE = 2
"""An Execute of ours that fails on purpose, so that the server undoes what is not committed; its error is ours."""
PIPELINE = 3
"""One statement from its Parse or Bind to its Sync, sent on as a whole."""
ENDS_WITH_READY = frozenset((QUERY, SYNC, CALL, PIPELINE))


@dataclass(slots=True)
class Statement:
    """A statement prepared by a Parse that was seen here."""

    text: str
    types: tuple[int, ...]


@dataclass(slots=True)
class Portal:
    """A portal, and what was decided about it."""

    name: bytes
    bind: Bind | None
    verdict: Allow | Hold
    serial: int
    """Number of the entry that made it."""
    epoch: int
    """How many executions there had been when it was last surely itself."""
    asked: bool = False
    """Whether a description of it is on its way or was seen."""
    columns: tuple[Column, ...] | None = None
    refused: Refuse | None = None
    chunks: int = 0


class Entry:
    """Something the server owes. Most entries differ in little from what the class says."""

    portal: Portal | None = None
    """The portal that is described or executed."""
    hold: Hold | None = None
    """Present if its rows are held."""
    silent = False
    """Whether the client did not ask for it, and is not told."""
    undo: Callable[[], None] | None = None
    """Called if the server never comes to it."""
    steps: tuple[Callable[[], None], ...] = ()
    """Of a pipeline: the same for its Parse and its Bind; `number` says how many of them the server has done."""
    refused: Refuse | None = None
    """Present once its rows will not be given out."""
    simple = False
    """Whether a refusal is of the simple protocol, and ends with ReadyForQuery."""
    columns: tuple[Column, ...] | None = None
    copying = False
    """Whether a COPY to the client goes on."""
    formats: tuple[int, ...] = ()
    flushed = False
    """Whether the server was asked to answer at once."""
    number = 0

    def __init__(self, kind: int, serial: int, hold: Hold | None = None) -> None:
        self.kind = kind
        self.serial = serial
        self.unseen: Mapping[int, int] = _NOTHING if hold is not None else UNSEEN.get(kind, _NOTHING)
        """Which messages of the answer go to the client without being looked at, and what they mean for what is owed."""
        if hold is not None:
            self.hold = hold


MORE, STEP, DONE, ENDED, READY = range(5)
"""What a message that is passed on unseen means: more will follow; a step of a pipeline is done; the entry is answered; a
statement has ended; everything is answered."""
_NOTHING: Mapping[int, int] = {}
UNSEEN: Mapping[int, Mapping[int, int]] = {
    QUERY: {ord("T"): MORE, ord("D"): MORE, ord("I"): MORE, ord("C"): ENDED, ord("Z"): READY},
    PARSE: {ord("1"): DONE},
    BIND: {ord("2"): DONE},
    CLOSE: {ord("3"): DONE},
    DESCRIBE: {ord("t"): MORE, ord("T"): DONE, ord("n"): DONE},
    EXECUTE: {ord("D"): MORE, ord("I"): DONE, ord("s"): DONE, ord("C"): ENDED},
    SYNC: {ord("Z"): READY},
    PIPELINE: {
        **dict.fromkeys(b"12", STEP),
        **dict.fromkeys(b"nTDI", MORE),
        ord("C"): ENDED,
        ord("Z"): READY,
    },
}
"""By kind of entry: the letters of answers that need not be looked at where nothing is held."""
