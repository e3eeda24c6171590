"""Refusals: no, in words for the person who asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refuse:
    """Say no; in words for the person who asked."""

    message: str
    hint: str = ""
    sqlstate: str = "42501"
    detail: str = ""


def refused(what: str, *, hint: str) -> Refuse:
    """A refusal of the gateway; the code is that of a missing privilege."""
    return Refuse(f"Refused: {what}", hint=hint)
