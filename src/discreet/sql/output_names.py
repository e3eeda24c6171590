"""Names that the server gives to outputs without AS."""

from __future__ import annotations

from typing import Any

from discreet.sql.fragment import (
    Aggregate,
    Case,
    Cast,
    ColumnName,
    Elements,
    FunctionCall,
    Nested,
    Output,
    Select,
    SetQuery,
    Window,
)


def output_name(node: Any) -> str:
    """The name that the server gives an output without AS."""
    return _named(node)[0] or "?column?"


def _named(node: Any) -> tuple[str, int]:
    """A name and how much it counts: 2 for a name of its own, 1 for that of a type."""
    if isinstance(node, ColumnName):
        return node.name, 2
    if isinstance(node, FunctionCall | Aggregate):
        return node.name, 2
    if isinstance(node, Window):
        return _named(node.inner)
    if isinstance(node, Cast):
        name, strength = _named(node.inner)
        if strength > 1:
            return name, strength
        return node.type.removesuffix("[]").partition("(")[0], 1
    if isinstance(node, Case):
        name, strength = _named(node.otherwise) if node.otherwise is not None else ("", 0)
        return (name, strength) if strength > 1 else ("case", 1)
    if isinstance(node, Nested):
        if node.kind == "exists":
            return "exists", 2
        if node.kind == "scalar":
            query = node.query
            while isinstance(query, SetQuery):
                query = query.left
            first = query.items[0] if isinstance(query, Select) and query.items else None
            return (first.name, 2) if isinstance(first, Output) else ("", 0)
        return "", 0
    if isinstance(node, Elements):
        return "array", 2
    return "", 0
