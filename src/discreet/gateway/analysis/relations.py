"""Relations of the database as statements name them: governed tables, views on them, and look-up tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from discreet.policy.gateway_section import GovernedTable

NUMERIC = frozenset(("int2", "int4", "int8", "numeric", "float4", "float8"))
DATES = frozenset(("date", "timestamp", "timestamptz"))


@dataclass(frozen=True)
class Relation:
    """A table or view, by its OID."""

    oid: int
    schema: str
    name: str
    kind: str
    """r table, p partitioned table, v view, m materialised view, f foreign table."""
    columns: Mapping[str, str]
    """The type of each column; a domain's is what it is made of."""
    governed: GovernedTable | None = None
    leads: bool = False
    """Whether reading it reads a governed table."""
    unique: tuple[frozenset[str], ...] = ()
    """Columns of which no two rows have the same values."""
    definition: str = ""
    """Of a view: the query."""
    filled: frozenset[str] = frozenset()
    """Columns that are NOT NULL."""
    secured: bool = False
    """Whether row level security chooses its rows."""
    loose: bool = False
    """Whether a user of the gateway owns it or its schema, and may put something else in its place."""
    reaches: frozenset[str] = frozenset()
    """Governed tables that are read with it."""
    defined: Mapping[int, tuple[bool, bool]] = field(default_factory=dict)
    """Of a view: what it reads, whether its owner may, and whether any user of the gateway may write to that."""
    fixed: frozenset[str] = frozenset()
    """Columns of numbers that all have as many digits behind the point."""


_TO_THE_GATEWAY = r"u&\"|discreet|\b(?:declare|fetch|move|close)\b"
"""Names in another spelling, SHOW discreet.exposure, and cursors, which are followed by their names."""


@dataclass(frozen=True)
class Relations:
    """All relations of the database, as of one look."""

    by_oid: Mapping[int, Relation]
    names: frozenset[str] = field(default_factory=frozenset)
    """Names of relations that lead to governed tables."""
    tables: Mapping[str, GovernedTable] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Iterable[Relation]) -> Relations:
        """With what is found by name."""
        every = {one.oid: one for one in found}
        tables = {one.governed.name: one.governed for one in every.values() if one.governed is not None}
        return cls(every, frozenset(one.name for one in every.values() if one.leads), tables)

    def governed(self, oids: Iterable[int]) -> frozenset[str]:
        """Governed tables that are read with some relations."""
        found = [self.by_oid[oid] for oid in oids if oid in self.by_oid]
        direct = {one.governed.name for one in found if one.governed is not None}
        return frozenset(direct.union(*(one.reaches for one in found)))

    def may_concern(self, text: str) -> bool:
        """Whether a text may name one of them or speak to the gateway itself; most do not, and need not be read further."""
        return self._noticed.search(text) is not None

    @cached_property
    def _noticed(self) -> re.Pattern[str]:
        spelled = {spelling for name in self.names for spelling in (name, name.replace('"', '""'))}
        words = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))
        return re.compile(rf"{words}{'|' if words else ''}{_TO_THE_GATEWAY}", re.IGNORECASE)


@dataclass(frozen=True)
class Named:
    """What a name means to the user: the relation, and what they may do with it themselves."""

    oid: int
    may_read: bool
    may_write: bool


@dataclass(frozen=True)
class Setting:
    """The state of the client's session that statements depend on."""

    names: Mapping[tuple[str, str], Named | None]
    """By schema (empty if none was written) and name."""
    settings: Mapping[str, str] = field(default_factory=dict)
    now: str = ""
    """The time at which the statement arrived, with its zone."""
    today: str = ""
    user: str = ""
    wrote: bool = False
    """Whether the transaction has written, which other connections do not see."""
