"""Executions of statements, and the names that statements and cursors are given in a session."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from discreet.gateway.analysis.cache import Understood
from discreet.gateway.enforcement.exposure_accounts import Granted
from discreet.sql.statement_kinds import Refuse, refused

NAMES = 2_000
"""So many names of a session are remembered."""
MEANINGS = 8
"""So many statements may stand behind one name."""
UNKNOWN = refused("the gateway has not seen what is behind this name.", hint="Prepare or declare it again.")
TOO_MANY = refused("too many statements have had this name.", hint="Use another name, or begin a new session.")


@dataclass(eq=False)
class Run:
    """One execution of a text: what a publication is called."""

    statements: tuple[tuple[Understood, ...], ...]
    """Per statement what may be behind it; several where a name may mean one of them."""
    digest: bytes
    """Of text and parameters: the same again tells the same again."""
    parameters: Mapping[str, Any]
    rows: int = 0
    """Rows of it that were judged already."""
    granted: list[Granted] = field(default_factory=list)
    open: bool = True
    """Whether nothing has come back yet."""

    def questions(self) -> tuple[Understood, ...]:
        """Statements that ask about sensitive columns."""
        return traits_of(self.statements).questions

    @property
    def reads(self) -> bool:
        """Whether it gives out anything of governed tables."""
        return traits_of(self.statements).reads

    @property
    def writes(self) -> bool:
        """Whether it changes anything, which a denial has to undo."""
        return traits_of(self.statements).writes


class Traits(NamedTuple):
    """What statements do, whatever they are executed with."""

    reads: bool
    writes: bool
    questions: tuple[Understood, ...]


@lru_cache(256)
def traits_of(statements: tuple[tuple[Understood, ...], ...]) -> Traits:
    """Looked at once: the same statements are executed again and again."""
    readings = [one for some in statements for one in some if one.reading is not None]
    asking = tuple(one for one in readings if one.reading is not None and one.reading.asked)
    return Traits(bool(readings), any(one.reading is not None and one.reading.writes for one in readings), asking)


class Names:
    """What the names of a session may stand for.

    Nothing is forgotten when a name is given anew: whether that succeeded is not known here, so a name stands for all
    statements that ever had it.
    """

    def __init__(self) -> None:
        self._known: dict[str, list[Understood]] = {}

    def give(self, name: str, statements: Sequence[Understood]) -> None:
        """A name is given to statements."""
        known = self._known.setdefault(name, [])
        known.extend(one for one in statements if one not in known)
        while len(self._known) > NAMES:
            del self._known[next(iter(self._known))]

    def behind(self, name: str) -> tuple[Understood, ...] | Refuse:
        """What may be behind a name."""
        found = self._known.get(name)
        if found is None:
            return UNKNOWN
        return tuple(found) if len(found) <= MEANINGS else TOO_MANY


def digest_of(text: bytes, parameters: Sequence[bytes | None] = ()) -> bytes:
    """Names an execution by its text and parameters, byte by byte."""
    told = hashlib.sha256(text)
    for one in parameters:
        told.update(b"-" if one is None else b"%d:" % len(one) + one)
    return told.digest()


def renewed(digest: bytes) -> bytes:
    """Behind a name other rows stand each time: what is told is never taken for told before."""
    return hashlib.sha256(digest + secrets.token_bytes(16)).digest()
