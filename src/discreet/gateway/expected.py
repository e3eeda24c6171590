"""What the server still owes the client, in order: one entry per message that was sent on and will be answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.gateway.judge import Allow, Bind, Hold, Refuse
from discreet.gateway.messages import Column

QUERY, PARSE, BIND, DESCRIBE, EXECUTE, CLOSE, SYNC, CALL = (ord(letter) for letter in "QPBDECSF")
REFUSAL = 1
"""Not sent on: what stands before it is answered first, then the client is told no."""
FAILURE = 2
"""An Execute of ours that fails on purpose, so that the server undoes what is not committed; its error is ours."""
ENDS_WITH_READY = frozenset((QUERY, SYNC, CALL))


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
    """Something the server owes."""

    __slots__ = (
        "columns",
        "copying",
        "flushed",
        "formats",
        "hold",
        "kind",
        "number",
        "passes",
        "portal",
        "refused",
        "serial",
        "silent",
        "simple",
        "undo",
    )

    def __init__(
        self,
        kind: int,
        serial: int,
        *,
        portal: Portal | None = None,
        hold: Hold | None = None,
        silent: bool = False,
        undo: Any = None,
        refused: Refuse | None = None,
        simple: bool = False,
    ) -> None:
        self.kind = kind
        self.serial = serial
        self.portal = portal
        """The portal that is described or executed."""
        self.passes = kind == QUERY and hold is None
        """Whether its rows need not be looked at."""
        self.hold = hold
        """Present if its rows are held."""
        self.silent = silent
        """Whether the client did not ask for it, and is not told."""
        self.undo = undo
        """Called if the server never comes to it."""
        self.refused = refused
        """Present once its rows will not be given out."""
        self.simple = simple
        """Whether a refusal is of the simple protocol, and ends with ReadyForQuery."""
        self.columns: tuple[Column, ...] | None = None
        self.copying = False
        """Whether a COPY to the client goes on."""
        self.formats: tuple[int, ...] = ()
        self.flushed = False
        """Whether the server was asked to answer at once."""
        self.number = 0
