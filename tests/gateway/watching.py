"""Judges for tests: small, and each with one habit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from discreet.gateway import Allow, Bind, Parse, Query, Refuse, Watch, Who
from discreet.gateway.enforcement.verdicts import Describe, Fetch, OwnAnswer
from discreet.gateway.protocol.data_rows import DataRows
from discreet.gateway.protocol.messages import ResultColumn, complete
from discreet.gateway.session import result_messages as wire
from discreet.gateway.session.session import GatewaySession


class Watching:
    """Lets everything pass, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.told: list[tuple[str, Any, int]] = []
        self.over = 0

    def statement(self, request: Any) -> Any:
        self.asked.append(request)
        return Allow()

    def cursor(self, name: str) -> Any:
        return None

    def delivered(self, token: Any, rows: int) -> Any:
        self.told.append(("delivered", token, rows))

    def lost(self, token: Any, rows: int) -> Any:
        self.told.append(("lost", token, rows))

    def transaction_ended(self) -> None:
        """Nothing to forget."""

    def cancel(self) -> None:
        """Nothing runs."""

    def closed(self) -> None:
        self.over += 1


class Slowly(Watching):
    """Answers only after others had their turn; every third time at once."""

    _turn = 0

    def statement(self, request: Any) -> Any:
        self._turn += 1
        answer = super().statement(request)
        return self._wait(answer) if self._turn % 3 else answer

    @staticmethod
    async def _wait(answer: Any) -> Any:
        await asyncio.sleep(0)
        return answer


class Refusing(Watching):
    """Refuses texts that hold the word `forbidden`."""

    def statement(self, request: Any) -> Any:
        verdict = super().statement(request)
        return Refuse("Not this.", hint="Ask for less.") if "forbidden" in getattr(request, "text", "") else verdict


COLUMN = ResultColumn("own", 0, 0, 25, -1, -1, 0)


class Answering(Refusing):
    """Answers texts that hold the word `owned` itself: five rows, in parts where they are fetched in parts."""

    def statement(self, request: Any) -> Any:
        verdict = super().statement(request)
        if isinstance(request, Query | Parse) and isinstance(verdict, Allow) and "owned" in request.text:
            if isinstance(request, Query):
                return OwnAnswer(wire.selected([COLUMN], DataRows.of([b"%d" % n] for n in range(5))), "simple", 5)
            return OwnAnswer(wire.PARSED, request.text)
        if isinstance(request, Bind):
            assert request.values.parameters is not None
            return OwnAnswer(wire.BOUND, [0])
        if isinstance(request, Describe):
            types = wire.parameter_description(()) if request.kind == "S" else b""
            return OwnAnswer(types + wire.row_description([COLUMN]))
        if isinstance(request, Fetch):
            first = request.token[0]
            last = min(5, first + request.limit) if request.limit else 5
            request.token[0] = last
            ended = wire.SUSPENDED if request.limit and last - first == request.limit else complete("SELECT 5")
            return OwnAnswer(
                DataRows.of([b"%d" % n] for n in range(first, last)).content + ended, "portal", last - first
            )
        return verdict


@dataclass
class By:
    """A judge that gives every session a new watch, and keeps them all."""

    make: Callable[[], Watch | None]
    watches: list[Any] = field(default_factory=list)
    who: list[Who] = field(default_factory=list)

    def admit(self, who: Who) -> Any:
        self.who.append(who)
        watch = self.make()
        self.watches.append(watch)
        return watch

    @property
    def last(self) -> Any:
        return self.watches[-1]


def answer_all(session: GatewaySession) -> None:
    """Answer every question of a session at once; a watch that raises has refused."""
    while session.questions:
        question = session.questions.pop(0)
        try:
            answer = session.watch.statement(question.request)
        except Exception:
            answer = Refuse("failed")
        session.answer(question, answer)
