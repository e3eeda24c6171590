"""What sessions of a gateway share, and remember of their statements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from discreet.gateway.analysis.relations import Relations, Setting
from discreet.gateway.analysis.statements import AskedStatement
from discreet.gateway.enforcement.answers import AnsweringRules, Served
from discreet.gateway.enforcement.audit import Notes
from discreet.gateway.enforcement.exposure_accounts import ExposureAccount, Granted
from discreet.gateway.enforcement.exposure_limits import ExposureLimit, ExposureLimits
from discreet.gateway.enforcement.verdicts import OwnAnswer, Verdict
from discreet.gateway.own_connection import OwnConnections
from discreet.gateway.protocol.messages import ResultColumn, complete
from discreet.gateway.refusals import Refuse, refused
from discreet.gateway.session import result_messages as wire

Result = TypeVar("Result")


class SessionHost(Protocol):
    """What the sessions of a gateway share."""

    relations: Relations
    limits: ExposureLimits
    notes: Notes
    own: OwnConnections
    clock: Callable[[], float]

    @property
    def enforces(self) -> bool:
        """Whether decisions are acted on, and not only written down."""

    def rules(self, limit: ExposureLimit) -> AnsweringRules:
        """What answering needs, with the weights of a limit's context."""

    async def refused_table(self, user: str, tables: frozenset[str]) -> Refuse | None:
        """Why nothing about these tables is answered to a user: no right, or a hole in the grants."""

    async def work(self, account: ExposureAccount, task: Callable[..., Result], *given: Any) -> Result:
        """Do something for a user on a thread; a user has a few of them at a time."""

    def salt(self) -> str:
        """A suffix for hidden names."""

    async def denied(self, account: ExposureAccount) -> Refuse | None:
        """Count a denial; a refusal where there were too many."""

    async def look_again(self) -> None:
        """Read the catalog again."""

    def observe(self, event: str, **labels: Any) -> None:
        """Something was decided."""


@dataclass(eq=False)
class OwnStatement:
    """A statement that the gateway answers itself."""

    ask: AskedStatement
    setting: Setting
    types: tuple[int, ...]
    known: tuple[tuple[int, ...], tuple[ResultColumn, ...]] | None = None


@dataclass(eq=False)
class OwnPortal:
    """A portal or cursor over a result of the gateway's own."""

    prepared: OwnStatement
    formats: tuple[int, ...] = ()
    values: tuple[bytes | None, ...] = ()
    results: tuple[int, ...] = ()
    served: Served | None = None
    at: int = 0
    granted: list[Granted] = field(default_factory=list)
    hold: bool = False

    @property
    def wanted(self) -> tuple[int, ...]:
        """The formats in which rows are read; COPY says itself which."""
        ask = self.prepared.ask
        return self.results if ask.kind != "copy" else (int(ask.form.format == "binary"),)


def close_each(step: Callable[[Granted], Awaitable[None]], opened: OwnPortal) -> Awaitable[None] | None:
    """Settle what a portal was granted, the last first."""
    granted, opened.granted = opened.granted[::-1], []

    async def each() -> None:
        for one in granted:
            await step(one)

    return each() if granted else None


def fetched(opened: OwnPortal, count: int | None, *, described: bool, formats: tuple[int, ...]) -> Verdict:
    """The next rows of a cursor; all of them if `count` is None."""
    served = opened.served
    if count == -1 or served is None:
        return refused("this form of FETCH or MOVE.", hint="Use FETCH n, FETCH FORWARD n or FETCH ALL.")
    if any(formats):
        return refused("rows of a cursor in binary format.", hint="Ask for text.")
    rows = served.rows[opened.at :] if count is None else served.rows[opened.at : opened.at + count]
    opened.at += len(rows)
    begin = wire.row_description(served.columns) if described else b""
    return OwnAnswer(begin + rows.content + complete(f"FETCH {len(rows)}"))


def shaped(ask: AskedStatement, served: Served) -> bytes:
    """A result as the messages that its statement asked for."""
    if ask.kind == "copy":
        return wire.copied(served.columns, served.rows, ask.form)
    return wire.selected(served.columns, served.rows)


def plans_in(plan: Any) -> list[Any]:
    """A plan and all that is released before it."""
    found, waiting = [], [plan]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting.extend(inner for _, inner in one.before)
    return found


def with_formats(columns: tuple[ResultColumn, ...], formats: tuple[int, ...]) -> tuple[ResultColumn, ...]:
    """Columns in the formats that the client asked for."""
    if not formats:
        return columns
    codes = formats * len(columns) if len(formats) == 1 else formats
    return tuple(replace(one, format=code) for one, code in zip(columns, codes, strict=False))
