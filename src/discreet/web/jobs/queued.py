"""Work that waits for its turn, goes on and ends: what the store keeps of it, whatever it is about."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Self

from sqlalchemy import Row

ACTIVE = ("queued", "running")
"""States in which it is still to be done."""


@dataclass(frozen=True, kw_only=True)
class Queued:
    """Something that takes its time, and who asked for it."""

    id: int
    kind: str
    asker: str
    asked: dict[str, Any] = field(repr=False)
    state: str
    made: int
    started: int | None
    ended: int | None
    attempts: int
    step: str
    progress: int | None
    """Parts of a thousand; None where nobody knows."""
    problem: str | None
    remedy: str | None

    @classmethod
    def of(cls, row: Row[Any]) -> Self:
        """From a row that has a column for each of them."""
        found = row._mapping
        plain = {name: found[name] for name in cls.__dataclass_fields__ if name != "asked"}
        return cls(**plain, asked=json.loads(found["asked"]))

    @property
    def active(self) -> bool:
        """Is it still to be done by the machine?"""
        return self.state in ACTIVE

    @property
    def percent(self) -> int | None:
        """How far it is."""
        return None if self.progress is None or self.state != "running" else self.progress // 10
