"""How a budget stands, in exact amounts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Budget:
    """What is allowed, spent and held back; `version` changes with every change of it."""

    name: str
    limit: Fraction
    spent: Fraction
    reserved: Fraction
    parts: int
    version: int

    @property
    def left(self) -> Fraction:
        """What can still be spent."""
        return self.limit - self.spent - self.reserved

    def to_dict(self) -> dict[str, object]:
        """For JSON; amounts as exact text."""
        amounts = {name: str(getattr(self, name)) for name in ("limit", "spent", "reserved", "left")}
        return {"name": self.name, **amounts, "parts": self.parts, "version": self.version}
