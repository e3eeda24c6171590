"""Verdicts of a judge on what a session asks: the interface, and a deny-all watch.

A `Judge` is asked once per session who is governed; it answers with a `Watch` for that session, or with None, and then
nothing of the session is looked at. Every method may answer at once or return an awaitable. Whatever a watch raises, or
fails to answer in time, counts as a refusal: nothing passes because a judge stumbled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.gateway.protocol.messages import BindValues, ResultColumn, bind_values
from discreet.gateway.refusals import Refuse
from discreet.gateway.session.held_rows import HeldResult

Token = Any
"""What a watch calls a publication: everything that one portal or statement gives out. The gateway only hands it back."""


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody who has just been let in by the database server."""

    user: str
    database: str
    application: str
    address: str
    """Where the client calls from; empty for a Unix socket."""
    encrypted: bool
    """Whether the client speaks TLS with the gateway."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """What the server has said about the session, such as client_encoding and TimeZone."""


@dataclass(frozen=True, slots=True)
class QueryText:
    """A text of the simple protocol; it may hold several statements."""

    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    """A statement is prepared. Nothing is given out yet."""

    name: str
    text: str
    types: tuple[int, ...]


class Bind:
    """A prepared statement gets its parameters. `text` is None where it was not prepared by a Parse seen here.

    Parameters and formats are read when they are looked at: most statements are judged by their text alone. If they
    cannot be read, looking raises, which is a refusal like everything that a watch raises.
    """

    __slots__ = ("_body", "_values", "portal", "statement", "text", "token", "types")

    def __init__(
        self, portal: str, statement: str, text: str | None, types: tuple[int, ...], body: bytes, token: Any = None
    ) -> None:
        self.token = token
        """Present if the gateway answers the statement itself."""
        self.portal, self.statement, self.text, self.types = portal, statement, text, types
        self._body = body
        self._values: BindValues | None = None

    @property
    def values(self) -> BindValues:
        """Formats of the parameters, parameters, formats of the result."""
        if self._values is None:
            self._values = bind_values(self._body)
        return self._values

    def __repr__(self) -> str:
        return f"Bind({self.portal!r}, {self.statement!r}, {self.text!r}, {self.types!r})"


@dataclass(frozen=True, slots=True)
class Execute:
    """Rows are fetched from a portal of which the gateway cannot be sure what is behind it.

    Either it was not bound here (a cursor declared in SQL), and `bound` is None; or something else was executed since it
    was bound or last fetched from, which may have put another portal in its place. `token` is then the one it had.
    """

    portal: str
    limit: int
    bound: Bind | None
    token: Token


@dataclass(frozen=True, slots=True)
class Call:
    """A function is called by its OID (the fast path of large objects)."""

    function: int
    formats: tuple[int, ...]
    arguments: tuple[bytes | None, ...] = field(repr=False)
    result_format: int


@dataclass(frozen=True, slots=True)
class Describe:
    """Columns and parameters are asked of a statement or portal that the gateway answers itself."""

    kind: str
    """S for a statement, P for a portal."""
    name: str
    token: Any


@dataclass(frozen=True, slots=True)
class Fetch:
    """Rows are fetched from a portal that the gateway answers itself; 0 for all."""

    token: Any
    limit: int


Request = QueryText | Parse | Bind | Execute | Call | Describe | Fetch


@dataclass(frozen=True, slots=True)
class Allow:
    """Let it pass unseen."""


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """OwnAnswer it with these messages; the server never sees it. `token` is what a statement or portal is called later."""

    messages: bytes = field(repr=False)
    token: Any = None
    rows: int = 0


@dataclass(frozen=True, slots=True)
class SessionLookup:
    """Ask the server this on the client's own session first; `then` gets the one row, or None if it failed."""

    sql: str
    then: Any


@dataclass(frozen=True, slots=True)
class HoldRows:
    """Run it, and hold its rows until they have been judged."""

    token: Token
    undo: bool = True
    """Whether a denial must undo what the statement did, as an error would. Costs a round trip to the server; a watch
    that knows that the statement only reads sets it to False. Applies to the extended protocol outside a transaction block."""


Verdict = Allow | Refuse | HoldRows | OwnAnswer | SessionLookup
"""About a request."""


@dataclass(frozen=True, slots=True)
class ReleaseRows:
    """All rows may go."""

    notice: str = ""
    """If not empty, the client is told by a notice."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Only these rows may go; the others are left out, and the count in the command tag is that of the rows that went."""

    rows: NDArray[np.bool_]
    """One per row."""
    notice: str = ""


@dataclass(frozen=True, slots=True)
class MaskCells:
    """All rows may go, these cells as NULL."""

    cells: NDArray[np.bool_]
    """Shape (columns, rows), as `Held.cells()` has it."""
    notice: str = ""


Decision = ReleaseRows | Keep | MaskCells | Refuse
"""About rows that are held."""


class Watch(Protocol):
    """Decides about one session of a governed user. Requests come one at a time; rows may be asked about meanwhile."""

    def statement(self, request: Request) -> Verdict | Awaitable[Verdict]:
        """May this run, and must what it gives out be held?"""

    def described(self, token: Token, columns: tuple[ResultColumn, ...]) -> Refuse | Awaitable[Refuse | None] | None:
        """The columns of a result that will be held, before its rows. A refusal here spares holding them."""

    def result(self, token: Token, held: HeldResult) -> Decision | Awaitable[Decision]:
        """May these rows go? Called for every chunk of a portal, with the same token."""

    def delivered(self, token: Token, rows: int) -> Awaitable[None] | None:
        """Released rows were handed to the network."""

    def lost(self, token: Token, rows: int) -> Awaitable[None] | None:
        """Released rows were not sent: the client had gone before the first byte of them."""

    def report(self, fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
        """An error or notice of the server as the user may see it; None keeps a notice back."""

    def changed(self, name: str, value: str) -> None:
        """The server reports that a parameter of the session changed (client_encoding, session_authorization, ...)."""

    def transaction_ended(self) -> None:
        """The server is outside of any transaction."""

    def closed(self) -> None:
        """The session is over."""


class Judge(Protocol):
    """Decides who is governed."""

    def admit(self, who: Who) -> Watch | Awaitable[Watch | None] | None:
        """The watch over a session that has just been authenticated, or None to let it be."""


class Open:
    """Governs nobody: everything passes, unseen."""

    def admit(self, who: Who) -> Watch | None:
        """Nobody is governed."""
        return None


STUMBLED = Refuse(
    "The gateway could not decide about this request, so nothing was given out.",
    hint="Try again; if it stays like this, tell the operator of the gateway.",
)
"""The answer in place of a judge that failed."""


class Closed:
    """Refuses everything: the watch of a session to which nothing may be given."""

    def __init__(self, refuse: Refuse = STUMBLED) -> None:
        self._refuse = refuse

    def statement(self, request: Request) -> Verdict:
        """No."""
        return self._refuse

    def described(self, token: Token, columns: tuple[ResultColumn, ...]) -> Refuse | None:
        """No."""
        return self._refuse

    def result(self, token: Token, held: HeldResult) -> Decision:
        """No."""
        return self._refuse

    def delivered(self, token: Token, rows: int) -> None:
        """Nothing ever is."""

    def lost(self, token: Token, rows: int) -> None:
        """Nothing ever is."""

    def report(self, fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
        """Only what cannot hold a value."""
        return withheld(fields)

    def changed(self, name: str, value: str) -> None:
        """Nothing to remember."""

    def transaction_ended(self) -> None:
        """Nothing to remember."""

    def closed(self) -> None:
        """Nothing to close."""


def withheld(fields: Mapping[str, str]) -> dict[str, str]:
    """An error or notice without anything that can hold a value: severity and code only.

    >>> withheld({"S": "ERROR", "C": "22P02", "M": 'invalid input syntax: "Ada"'})["M"]
    'The text of this message is withheld.'
    """
    kept = {letter: fields[letter] for letter in ("S", "V", "C") if letter in fields}
    return kept | {"M": "The text of this message is withheld."}
