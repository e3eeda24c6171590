"""What the sessions of a gateway share, and what one session remembers of its statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from discreet.gateway.analysis.relations import Relations, Setting
from discreet.gateway.analysis.statements import AskedStatement
from discreet.gateway.enforcement.answers import AnsweringRules, Served
from discreet.gateway.enforcement.audit import Notes
from discreet.gateway.enforcement.exposure_accounts import ExposureAccount, Granted
from discreet.gateway.enforcement.exposure_limits import ExposureLimit, ExposureLimits
from discreet.gateway.own_connection import OwnConnections
from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.refusals import Refuse


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
    """A portal or cursor over a result that is released once it is fetched from."""

    prepared: OwnStatement
    formats: tuple[int, ...] = ()
    values: tuple[bytes | None, ...] = ()
    results: tuple[int, ...] = ()
    served: Served | None = None
    at: int = 0
    granted: list[Granted] = field(default_factory=list)
    hold: bool = False


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
