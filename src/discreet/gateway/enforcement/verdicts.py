"""Verdicts of a judge on requests of a session, and a deny-all watch.

A `Judge` is asked once per session who is governed; it answers with a `Watch` for that session, or with None, and then
nothing of the session is looked at. A request may be answered at once or by an awaitable. Whatever a watch raises, or
fails to answer in time, counts as a refusal: nothing passes because a judge stumbled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from discreet.gateway.protocol.messages import BindValues, bind_values
from discreet.gateway.refusals import Refuse

Token = Any
"""What a watch calls a statement or portal that the gateway answers itself. The gateway only hands it back."""


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

    text: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """A statement that the gateway answers itself gets its parameters."""

    token: Token
    body: bytes = field(repr=False)

    @property
    def values(self) -> BindValues:
        """Formats of the parameters, parameters, formats of the result; Malformed if they cannot be read."""
        return bind_values(self.body)


@dataclass(frozen=True, slots=True)
class Call:
    """A function is called by its OID (the fast path of large objects)."""


@dataclass(frozen=True, slots=True)
class Describe:
    """Columns and parameters of a statement or portal that the gateway answers."""

    kind: str
    """S for a statement, P for a portal."""
    token: Token


@dataclass(frozen=True, slots=True)
class Fetch:
    """Rows are fetched from a portal that the gateway answers itself; 0 for all."""

    token: Token
    limit: int


Request = QueryText | Parse | Bind | Call | Describe | Fetch


@dataclass(frozen=True, slots=True)
class Allow:
    """Let it pass."""


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """Answer with these messages; `token` is what a statement or portal is called later."""

    messages: bytes = field(repr=False)
    token: Token = None
    rows: int = 0


@dataclass(frozen=True, slots=True)
class SessionLookup:
    """Ask this on the client's session first; `then` gets the row, or None."""

    sql: str
    then: Any


Verdict = Allow | Refuse | OwnAnswer | SessionLookup
"""About a request."""


class Watch(Protocol):
    """Decides about one session of a governed user. Requests come one at a time."""

    def statement(self, request: Request) -> Verdict | Awaitable[Verdict]:
        """May this pass, or does the gateway answer it?"""

    def cursor(self, name: str) -> Token:
        """The cursor of this name that was declared in SQL, if the gateway answers it."""

    def delivered(self, token: Token, rows: int) -> Awaitable[None] | None:
        """Rows were handed to the network."""

    def lost(self, token: Token, rows: int) -> Awaitable[None] | None:
        """Rows were not sent: the client had gone before the first byte of them."""

    def transaction_ended(self) -> None:
        """The server is outside of any transaction."""

    def cancel(self) -> None:
        """The client cancels what runs for it on connections of the gateway's own."""

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

    def cursor(self, name: str) -> None:
        """There is none."""

    def delivered(self, token: Token, rows: int) -> None:
        """Nothing ever is."""

    def lost(self, token: Token, rows: int) -> None:
        """Nothing ever is."""

    def transaction_ended(self) -> None:
        """Nothing to remember."""

    def cancel(self) -> None:
        """Nothing runs."""

    def closed(self) -> None:
        """Nothing to close."""
