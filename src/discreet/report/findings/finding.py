"""One finding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A sentence that says what was found, and what to do about it."""

    headline: str
    next_step: str
