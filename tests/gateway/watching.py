"""Judges for tests: small, and each with one habit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.gateway import Allow, Column, Held, Hold, Refuse, Release, Watch, Who
from discreet.gateway.session.session import GatewaySession


class Watching:
    """Lets everything pass, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.columns: list[tuple[Any, tuple[Column, ...]]] = []
        self.results: list[tuple[Any, Held]] = []
        self.told: list[tuple[str, Any, int]] = []
        self.changes: list[tuple[str, str]] = []
        self.over = 0

    def statement(self, request: Any) -> Any:
        self.asked.append(request)
        return Allow()

    def described(self, token: Any, columns: tuple[Column, ...]) -> Any:
        self.columns.append((token, columns))

    def result(self, token: Any, held: Held) -> Any:
        self.results.append((token, held))
        return Release()

    def delivered(self, token: Any, rows: int) -> Any:
        self.told.append(("delivered", token, rows))

    def lost(self, token: Any, rows: int) -> Any:
        self.told.append(("lost", token, rows))

    def report(self, fields: Mapping[str, str], notice: bool) -> Mapping[str, str] | None:
        return fields

    def changed(self, name: str, value: str) -> None:
        self.changes.append((name, value))

    def closed(self) -> None:
        self.over += 1


class Holding(Watching):
    """Holds everything; `decide` says what becomes of it."""

    def __init__(self, decide: Callable[[Held], Any] = lambda held: Release(), *, undo: bool = True) -> None:
        super().__init__()
        self.decide = decide
        self.undo = undo

    def statement(self, request: Any) -> Any:
        super().statement(request)
        return Hold(len(self.asked), undo=self.undo)

    def result(self, token: Any, held: Held) -> Any:
        super().result(token, held)
        return self.decide(held)


class Slowly(Holding):
    """Holds everything, looks at every cell, and answers only after others had their turn; every third time at once."""

    _turn = 0

    def statement(self, request: Any) -> Any:
        return self._later(super().statement(request))

    def described(self, token: Any, columns: tuple[Column, ...]) -> Any:
        return self._later(super().described(token, columns))

    def result(self, token: Any, held: Held) -> Any:
        if not held.copy:
            held.cells()
        return self._later(super().result(token, held))

    def _later(self, answer: Any) -> Any:
        self._turn += 1
        return self._wait(answer) if self._turn % 3 else answer

    @staticmethod
    async def _wait(answer: Any) -> Any:
        await asyncio.sleep(0)
        return answer


class Denying(Holding):
    """Denies every result whose first column is called `secret`, and refuses texts that hold the word `forbidden`."""

    def statement(self, request: Any) -> Any:
        verdict = super().statement(request)
        return Refuse("Not this.", hint="Ask for less.") if "forbidden" in getattr(request, "text", "") else verdict

    def result(self, token: Any, held: Held) -> Any:
        self.results.append((token, held))
        hidden = held.copy or (held.columns is not None and held.columns[0].name == "secret")
        return Refuse("Too much.", hint="Ask for less.") if hidden else Release()


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
            answer = getattr(session.watch, question.method)(*question.arguments)
        except Exception:
            answer = Refuse("failed")
        session.answer(question, answer)
