"""Catalog of a database: relations that lead to governed tables, and functions.

Asked on a connection of the gateway's own, now and then and after every change of definitions that it sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.policy.gateway_section import GovernedTable

Leaf = tuple[str, str]
"""A governed column: the name of its table, as the policy has it, and its own."""

FIRST = 16384
"""OIDs below are the server's own."""


@dataclass(frozen=True)
class ColumnSource:
    """Where a column of a relation comes from."""

    leaves: frozenset[Leaf] = frozenset()
    direct: bool = False
    """Whether it is a governed column as it is, and not computed from some."""


@dataclass(frozen=True)
class Relation:
    """Relation that leads to governed tables: such a table, its part, or a view."""

    oid: int
    schema: str
    name: str
    kind: str
    roots: frozenset[str]
    columns: Mapping[int, tuple[str, ColumnSource]] = field(default_factory=dict)
    """By their numbers, the columns that lead to governed ones."""
    others: frozenset[str] = frozenset()
    """The names of its other columns."""
    once: bool = True
    """Whether a row of it is about one row of each governed table."""

    @property
    def by_name(self) -> dict[str, ColumnSource]:
        """The same by their names."""
        return dict(self.columns.values())


@dataclass(frozen=True)
class Catalog:
    """A snapshot."""

    governed: Mapping[str, GovernedTable]
    relations: Mapping[int, Relation]
    """By OID, those that lead to governed tables."""
    schemas: Mapping[str, tuple[str, ...]]
    """Per name of any relation the schemas that have one of that name."""
    known: frozenset[int] = frozenset()
    """OIDs of all relations there were."""
    functions: frozenset[str] = frozenset()
    """Names of functions of one's own that nobody has vouched for."""
    volatile: frozenset[str] = frozenset()
    """Names of the server's own functions that have effects."""
    changing: frozenset[str] = frozenset()
    """Names of the server's own functions whose value depends on more than their arguments."""
    sets: frozenset[str] = frozenset()
    """Names of functions that give several rows for one."""
    operators: frozenset[str] = frozenset()
    """Operators that run somebody's code."""
    triggered: Mapping[str, str] = field(default_factory=dict)
    """Names of other tables, and of functions that run when they are written to and may read governed ones."""
    types: Mapping[Leaf, str] = field(default_factory=dict)
    """The types of columns of governed tables; those of domains are what they are made of."""
    unique: frozenset[str] = frozenset()
    """Governed tables in which nobody has two rows."""

    def named(self, name: str) -> list[Relation]:
        """All relations of this name, in any schema: the search path is unknown."""
        return self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> dict[str, list[Relation]]:
        relations: dict[str, list[Relation]] = {}
        for relation in self.relations.values():
            relations.setdefault(relation.name, []).append(relation)
        return relations

    @property
    def homes(self) -> frozenset[str]:
        """Schemas in which they are."""
        return frozenset(relation.schema for relation in self.relations.values())

    def is_new(self, oid: int) -> bool:
        """Whether a relation was made since: it may be a governed table, made again."""
        return oid >= FIRST and bool(self.known) and oid not in self.known

    def at(self, schema: str, name: str) -> Relation | None:
        """The relation of this name, if it leads to a governed table."""
        return next((relation for relation in self.named(name) if relation.schema == schema), None)

    def leaves(self, role: str | None = None) -> frozenset[Leaf]:
        """All governed columns, or those of one role."""
        return frozenset(leaf for table in self.governed.values() for leaf in leaves_of(table, role))


def leaves_of(table: GovernedTable, role: str | None = None) -> frozenset[Leaf]:
    """Governed columns of a table, or of one role: key, identifiers, quasi, sensitive."""
    roles = (role,) if role else ("key", "identifiers", "quasi", "sensitive")
    return frozenset((table.name, column) for its in roles for column in getattr(table, its))
