"""Parts of query blocks: what is in FROM, outputs, aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.gateway.analysis.relations import Relation
from discreet.policy.gateway_section import GovernedTable
from discreet.sql.fragment import (
    QUERIES,
    Aggregate,
    ColumnName,
    Nested,
    OrderBy,
    Output,
    Select,
    SetQuery,
    ValuesList,
    Window,
    children,
    walk,
)

Leaf = tuple[str, str]
"""A sensitive column: the new name of its part of FROM, and its own."""


def output_of(query: Any, place: int) -> Any:
    """The expressions that an output of a query is made of."""
    if isinstance(query, SetQuery):
        return (output_of(query.left, place), output_of(query.right, place))
    if isinstance(query, ValuesList):
        return tuple(row.values[place] for row in query.rows)
    return query.items[place].inner


def names_of(query: Any) -> list[str]:
    """The names of a resolved query's outputs."""
    if isinstance(query, SetQuery):
        return names_of(query.left)
    if isinstance(query, ValuesList):
        return [f"column{place}" for place in range(1, len(query.rows[0].values) + 1)]
    return [one.name for one in query.items]


def has_aggregates(select: Select) -> bool:
    """Whether a block gives out groups: it groups, or has an aggregate that is no window's own function."""
    if select.groups is not None or select.having is not None:
        return True
    return any(True for _ in aggregates_of((select.items, tuple(one.inner for one in select.order))))


def aggregates_of(node: Any) -> Any:
    """Aggregates over the rows of a block, not those of its windows or of sub-selects."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting.extend(reversed(one))
        elif isinstance(one, Aggregate):
            yield one
        elif isinstance(one, Window):
            inner = one.inner
            waiting.extend([one.order, one.partition])
            waiting.append(getattr(inner, "where", None))
            waiting.append(inner.args)
        elif isinstance(one, OrderBy | Output | Nested):
            waiting.append(one.inner)
        elif one is not None and not isinstance(one, (*QUERIES, str)):
            waiting.extend(reversed(list(children(one))))


@dataclass(frozen=True)
class Source:
    """A part of FROM under its new name."""

    alias: str
    columns: Mapping[str, str]
    """Names and types; an empty type is not known."""
    relation: Relation | None = None
    writable: bool = False
    """Whether the user may change what is in it."""
    query: Any = None
    """Of a sub-select: the resolved query."""

    @property
    def table(self) -> GovernedTable | None:
        """The governed table, if it is one."""
        return self.relation.governed if self.relation is not None else None


@dataclass
class Resolved:
    """A statement whose names are settled."""

    query: Any
    sources: dict[str, Source] = field(default_factory=dict)
    """Every part of FROM anywhere in it, by its new name."""
    salt: str = ""
    zone: str = ""
    """The time zone of the client's session."""
    lookups: set[str] = field(default_factory=set)
    """Tables that say something of a sensitive code, and are asked about it alone."""

    def sensitive(self, node: Any) -> frozenset[Leaf]:
        """Sensitive columns of governed tables in a node, sub-selects and what they give out included."""
        found: set[Leaf] = set()
        waiting, seen = [node], set()
        while waiting:
            for one in walk(waiting.pop()):
                if not isinstance(one, ColumnName):
                    continue
                source = self.sources[one.table]
                if source.table is not None and one.name in source.table.sensitive:
                    found.add((one.table, one.name))
                elif source.query is not None and one.table not in seen:
                    seen.add(one.table)
                    waiting.append(source.query)
        return frozenset(found)

    def occurrence(self, alias: str) -> str:
        """Which part of FROM it is, where the same table stands there twice."""
        relation = self.sources[alias].relation
        twice = sum(one.relation is not None and one.relation is relation for one in self.sources.values()) > 1
        return f"#{alias.partition('_')[0]}" if twice else ""

    def roles(self, column: ColumnName) -> frozenset[str]:
        """What a column names: key, identifier, or what it is made of."""
        source = self.sources[column.table]
        if source.table is not None:
            table = source.table
            pairs = (("key", table.key), ("identifier", table.identifiers), ("sensitive", table.sensitive))
            return frozenset(role for role, names in pairs if column.name in names)
        if source.query is not None:
            inner = output_of(source.query, list(source.columns).index(column.name))
            return frozenset(role for one in walk(inner) if isinstance(one, ColumnName) for role in self.roles(one))
        return frozenset()
