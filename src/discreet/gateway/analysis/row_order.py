"""Order of rows: by a keyed hash, in which nobody can read anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.gateway.analysis.block_parts import Resolved
from discreet.gateway.analysis.people import parts_of
from discreet.sql.fragment import (
    Aggregate,
    Cast,
    ColumnName,
    DerivedTable,
    FunctionCall,
    Literal,
    OrderBy,
    Output,
    Parameter,
    Select,
    SetQuery,
    Table,
    Window,
    transformed,
    walk,
)

SEED = Cast(Parameter(1), "int8")


def hashed(columns: Sequence[Any]) -> Any:
    """A keyed hash of some columns, in which nobody can read an order."""
    found: Any = SEED
    for column in columns:
        found = FunctionCall(
            "hashtextextended", (FunctionCall("coalesce", (Cast(column, "text"), Literal("string", "-"))), found)
        )
    return found


def order_key(select: Select, resolved: Resolved) -> tuple[ColumnName, ...]:
    """The keys of all governed tables in FROM."""
    tables = [(part.alias, resolved.sources[part.alias].table) for part in parts_of(select.source)]
    return tuple(ColumnName(alias, name) for alias, table in tables if table is not None for name in table.key)


def in_keyed_order(query: Any, resolved: Resolved) -> Any:
    """A query in which windows, LIMIT and lists of values see governed rows in the order of a keyed hash.

    The order of a table on the disk says whose row was written last.
    """

    groups = tuple(one for some in query.groups or () for one in some) if isinstance(query, Select) else ()
    ordered = isinstance(query, Select) and not query.distinct and all(isinstance(one, ColumnName) for one in groups)
    if groups and ordered:
        query = replace(query, order=(*query.order, OrderBy(hashed(groups))))

    def shows(one: Any) -> bool:
        lists = isinstance(one, Aggregate) and one.name in ("array_agg", "string_agg")
        cut = isinstance(one, Select | SetQuery) and (one.limit is not None or one.offset is not None)
        return lists or isinstance(one, Window) or (cut and not (one is query and ordered))

    def fenced(node: Any) -> Any:
        table = (
            resolved.sources[node.alias].table if isinstance(node, Table) and node.alias in resolved.sources else None
        )
        if table is None:
            return node
        names = tuple(resolved.sources[node.alias].columns)
        columns = tuple(ColumnName(node.alias, name) for name in table.key or names)
        items = tuple(Output(ColumnName(node.alias, name), name) for name in names)
        inner = Select(items, node, order=(OrderBy(hashed(columns)),), offset=Literal("number", "0"))
        return DerivedTable(inner, node.alias, names)

    return transformed(query, fenced) if any(map(shows, walk(query))) else query
