"""A watch that refuses everything, and says why."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.gateway.enforcement.interface import Closed, Decision, Request, Token, Verdict, withheld
from discreet.gateway.protocol.messages import Column
from discreet.gateway.session.held_rows import Held
from discreet.sql.statement_kinds import Refuse


class Refusing(Closed):
    """The watch over a session to which nothing may be given."""

    def __init__(self, refuse: Refuse) -> None:
        self._refuse = refuse

    def statement(self, request: Request) -> Verdict:
        """No."""
        return self._refuse

    def described(self, token: Token, columns: tuple[Column, ...]) -> Refuse | None:
        """No."""
        return self._refuse

    def result(self, token: Token, held: Held) -> Decision:
        """No."""
        return self._refuse

    def report(self, fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
        """Only what cannot hold a value."""
        return withheld(fields)
