"""Statement cache: each text understood once."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from discreet.errors import RequestError
from discreet.gateway.analysis.analyse import NotUnderstood, Reading, look, query_of
from discreet.sql import statement_kinds as kinds
from discreet.sql.catalog import Catalog
from discreet.sql.lexer import Statement, Unreadable
from discreet.sql.lexer import statements as split
from discreet.sql.predicates import PredicateReader
from discreet.sql.row_constraints import EVERYTHING, Values
from discreet.sql.statement_kinds import (
    QUERIES,
    WRITES,
    Refuse,
    StatementKind,
    classify,
    refused,
    sets,
    shifts,
    touches,
)

KEPT, MOST = 4 << 20, 1_000
"""Characters of texts that are remembered, and texts: what was understood takes much more room than the text."""

ALIKE = 4096
"""Texts that are remembered without their numbers."""
_NUMBER = re.compile(r"(?<![\w$.\\])\d+(?![\w$.])")
"""A number that stands alone: no part of a name, of another number or of an escape."""

UNREADABLE = refused(
    "the gateway cannot read this text with certainty.",
    hint="Write it plainly: no Unicode escapes, no dollar signs in names, no unfinished strings or comments.",
)
NOT_UNDERSTOOD = refused(
    "the gateway does not understand this statement on governed tables.", hint="Write it as a plain SELECT."
)
MOVES = refused(
    "values of governed tables cannot be copied into other tables, or decide about what is written.",
    hint="Read them with SELECT.",
)
REKEYS = refused(
    "the key of a governed table says whom a row is about, and stays as it is through the gateway.",
    hint="Ask the operator of the gateway to change it.",
)


@dataclass(frozen=True, eq=False)
class Understood:
    """One statement."""

    kind: StatementKind
    reading: Reading | None = None
    """Present if it gives out, or asks about, what is in governed tables."""
    copied: Statement | None = None
    """Of COPY to the client: the statement."""
    shifts: bool = False
    """Whether the same text may be about other people next time."""
    written: frozenset[str] = frozenset()
    """Governed tables that it writes to."""
    sets: bool = False
    """Whether it may change settings."""
    _fixed: dict[Any, Mapping[str, Values]] = field(default_factory=dict, repr=False)

    def fixed(self, parameters: Mapping[str, Any]) -> Mapping[str, Values]:
        """The columns that its conditions fix for every row, with these parameters."""
        if self.reading is None:
            return {}
        key = tuple(sorted(parameters.items()))
        found = self._fixed.get(key)
        if found is None:
            try:
                found = PredicateReader(parameters).of_query(self.reading.tree, {}).fixed
            except (RequestError, RecursionError):
                found = {EVERYTHING: None}
            renamed, misnamed = self.reading.renamed, self.reading.misnamed
            known = {name: None if name in misnamed else its for name, its in found.items()}
            found = {**known, **{renamed[name]: its for name, its in found.items() if name in renamed}}
            if self.reading.mixed:  # what holds of the least of some does not hold of each
                found = dict.fromkeys(found)
            if len(self._fixed) >= 64:
                self._fixed.clear()
            self._fixed[key] = found
        return found


@dataclass(frozen=True, eq=False)
class Text:
    """All statements of a text, or why it is refused."""

    statements: tuple[Understood, ...] = ()
    refuse: Refuse | None = None
    digest: bytes = b""

    @cached_property
    def written(self) -> frozenset[str]:
        """Governed tables that it writes to."""
        return frozenset().union(*(one.written for one in self.statements))

    @cached_property
    def sets(self) -> bool:
        """Whether it may change settings."""
        return any(one.sets for one in self.statements)

    @cached_property
    def passes(self) -> bool:
        """Whether nothing in it concerns governed tables, cursors or prepared statements."""
        return all(one.kind.what == kinds.PASS for one in self.statements)


class Texts:
    """Remembers what was understood, as long as definitions stay the same."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._known: OrderedDict[str, Text] = OrderedDict()
        self._size = 0
        self._alike: dict[str, Text] = {}
        """Texts that pass, whichever numbers stand in them: what passes does so by its words."""

    def understand(self, text: str) -> Text:
        """What a text is."""
        found = self._known.get(text)
        if found is not None:
            return found
        alike = None if '"' in text else _NUMBER.sub("0", text)
        found = self._alike.get(alike) if alike is not None else None
        if found is not None:
            return found
        found = understood(text, self.catalog)
        if found.passes and found.refuse is None and alike is not None:
            if len(self._alike) >= ALIKE:
                self._alike.clear()
            self._alike[alike] = found
        else:
            self._known[text] = found
            self._size += len(text)
            while self._size > KEPT or len(self._known) > MOST:
                oldest, _ = self._known.popitem(last=False)
                self._size -= len(oldest)
        return found


def understood(text: str, catalog: Catalog) -> Text:
    """What a text is, looked at afresh."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    try:
        found = tuple(_understood(one, catalog) for one in split(text))
    except Unreadable:
        return Text(refuse=UNREADABLE, digest=digest)
    except NotUnderstood:
        return Text(refuse=NOT_UNDERSTOOD, digest=digest)
    except _Refused as problem:
        return Text(refuse=problem.refuse, digest=digest)
    return Text(found, digest=digest)


class _Refused(Exception):
    def __init__(self, refuse: Refuse) -> None:
        self.refuse = refuse


def _understood(statement: Statement, catalog: Catalog) -> Understood:
    kind = classify(statement, catalog)
    if isinstance(kind, Refuse):
        raise _Refused(kind)
    if kind.what == kinds.PASS:
        return Understood(kind, sets=sets(statement))
    if kind.what == kinds.COPY:
        if kind.name == "from" or not touches(statement, catalog):
            roots = {root for name in statement.names for one in catalog.named(name) for root in one.roots}
            return Understood(StatementKind(kinds.PASS), written=frozenset(roots))
        query = query_of(statement)
        if query.verb not in QUERIES:
            raise _Refused(MOVES)
        reading = look(query.text, catalog)
        if reading.moves or reading.writes:
            raise _Refused(MOVES)
        if not reading.tables:
            return Understood(StatementKind(kinds.PASS))
        return Understood(kind, reading, copied=statement, shifts=reading.outside or shifts(query, catalog))
    if kind.what == kinds.RUN and not kind.body:
        return Understood(kind)
    body = Statement(statement.tokens[kind.body :])
    if kind.body and body.verb not in QUERIES | WRITES:
        raise NotUnderstood
    unread = Understood(kind if kind.body else StatementKind(kinds.PASS), sets=sets(statement))
    if not touches(body, catalog):
        return unread
    reading = look(body.text, catalog)
    if reading.moves:
        raise _Refused(MOVES)
    if reading.rekeys:
        raise _Refused(REKEYS)
    if not reading.tables:
        return unread
    written = reading.tables if reading.writes else frozenset()
    if reading.writes and not reading.projections:
        return replace(unread, written=written)
    return Understood(kind, reading, shifts=reading.outside or shifts(body, catalog), written=written)
