"""Printer of the fragment: SQL that the server reads one way only.

Everything is in parentheses, every name in quotes, every output named; it is meant for `search_path = pg_catalog`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.sql.fragment import (
    Aggregate,
    AnyOf,
    Case,
    Cast,
    ColumnName,
    DerivedTable,
    Elements,
    FunctionCall,
    Join,
    Literal,
    Membership,
    Nested,
    NotCovered,
    Operator,
    OrderBy,
    Output,
    Parameter,
    Select,
    Series,
    SetQuery,
    Star,
    Table,
    Test,
    ValuesList,
    Window,
)

_IN_WORDS = frozenset(
    ("and", "or", "not", "like", "ilike", "not like", "not ilike", "is distinct from", "is not distinct from")
)


def quoted(name: str) -> str:
    """A name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def string(value: str) -> str:
    """A constant string, whatever standard_conforming_strings says: one with a backslash is written with E."""
    plain = "'" + value.replace("'", "''") + "'"
    return plain if "\\" not in value else "E" + plain.replace("\\", "\\\\")


def printed(node: Any) -> str:
    """A query or expression as SQL.

    >>> from discreet.sql.lexer import lexed
    >>> from discreet.sql.parser import parse_query
    >>> printed(parse_query(lexed("select a+1 from t where b like 'x%'")))
    'SELECT ("a" + 1) AS "?column?" FROM "t" AS "t" WHERE ("b" LIKE \\'x%\\')'
    """
    return _PRINTERS[type(node)](node)


def _list(nodes: Any) -> str:
    return ", ".join(printed(one) for one in nodes)


def _literal(node: Literal) -> str:
    if node.kind == "string":
        return string(node.text)
    return "NULL" if node.kind == "null" else node.text


def _column(node: ColumnName) -> str:
    return f"{quoted(node.table)}.{quoted(node.name)}" if node.table else quoted(node.name)


def _call(node: FunctionCall) -> str:
    if node.name == "extract":
        return f"EXTRACT({node.args[0].text} FROM {printed(node.args[1])})"
    if node.name == "position":
        return f"pg_catalog.strpos({_list(node.args)})"
    if node.name in ("coalesce", "nullif", "greatest", "least", "grouping"):
        return f"{node.name.upper()}({_list(node.args)})"
    return f"pg_catalog.{quoted(node.name)}({_list(node.args)})"


def _operation(node: Operator) -> str:
    sign = node.sign.upper() if node.sign in _IN_WORDS else node.sign
    if len(node.args) == 1:
        return f"({sign} {printed(node.args[0])})"
    return f"({f' {sign} '.join(printed(one) for one in node.args)})"


def _case(node: Case) -> str:
    whens = " ".join(f"WHEN {printed(one.condition)} THEN {printed(one.value)}" for one in node.whens)
    otherwise = f" ELSE {printed(node.otherwise)}" if node.otherwise is not None else ""
    return f"(CASE {whens}{otherwise} END)"


def _cast(node: Cast) -> str:
    return f"CAST({printed(node.inner)} AS {node.type})"


def _membership(node: Membership) -> str:
    return f"({printed(node.inner)} {'NOT ' * node.negated}IN ({_list(node.values)}))"


def _order(node: OrderBy) -> str:
    nulls = f" NULLS {node.nulls.upper()}" if node.nulls else ""
    return f"{printed(node.inner)}{' DESC' * node.descending}{nulls}"


def _aggregate(node: Aggregate) -> str:
    args = "DISTINCT " * node.distinct + (_list(node.args) if node.args or node.name != "count" else "*")
    within = f" WITHIN GROUP (ORDER BY {_list(node.within)})" if node.within else ""
    where = f" FILTER (WHERE {printed(node.where)})" if node.where is not None else ""
    return f"pg_catalog.{quoted(node.name)}({args}){within}{where}"


def _window(node: Window) -> str:
    if node.frame.startswith("="):
        raise NotCovered(f"the window {node.frame[1:]}, which is not defined")
    partition = f"PARTITION BY {_list(node.partition)}" if node.partition else ""
    order = f"ORDER BY {_list(node.order)}" if node.order else ""
    return f"{printed(node.inner)} OVER ({' '.join(part for part in (partition, order, node.frame) if part)})"


def _nested(node: Nested) -> str:
    query = printed(node.query)
    if node.kind == "exists":
        return f"(EXISTS ({query}))"
    return f"({query})" if node.kind == "scalar" else f"({printed(node.inner)} {'NOT ' * node.negated}IN ({query}))"


def _named(names: tuple[str, ...]) -> str:
    return f" ({', '.join(map(quoted, names))})" if names else ""


def _table(node: Table) -> str:
    place = f"{quoted(node.schema)}." if node.schema else ""
    return f"{place}{quoted(node.name)} AS {quoted(node.alias)}{_named(node.columns)}"


def _derived(node: DerivedTable) -> str:
    return f"({printed(node.query)}) AS {quoted(node.alias)}{_named(node.columns)}"


def _series(node: Series) -> str:
    return f"pg_catalog.generate_series({_list(node.args)}) AS {quoted(node.alias)} ({quoted(node.column)})"


def _join(node: Join) -> str:
    left, right = printed(node.left), printed(node.right)
    if isinstance(node.right, Join):
        right = f"({right})"
    natural = "NATURAL " * node.natural
    on = f" ON {printed(node.on)}" if node.on is not None else ""
    using = f" USING ({', '.join(map(quoted, node.using))})" if node.using else ""
    return f"{left} {natural}{node.kind.upper()} JOIN {right}{on}{using}"


def _item(node: Output) -> str:
    return f"{printed(node.inner)} AS {quoted(node.name)}"


def _star(node: Star) -> str:
    return f"{quoted(node.table)}.*" if node.table else "*"


def _tail(node: Any) -> str:
    parts = []
    if node.order:
        parts.append(f" ORDER BY {_list(node.order)}")
    if node.limit is not None:
        parts.append(f" LIMIT {printed(node.limit)}")
    if node.offset is not None:
        parts.append(f" OFFSET {printed(node.offset)}")
    return "".join(parts)


def _select(node: Select) -> str:
    parts = ["SELECT " + "DISTINCT " * node.distinct + _list(node.items)]
    if node.source is not None:
        parts.append(f"FROM {printed(node.source)}")
    if node.where is not None:
        parts.append(f"WHERE {printed(node.where)}")
    if node.groups is not None:
        sets = [f"({_list(one)})" for one in node.groups]
        plain = len(sets) == 1 and node.groups[0]
        parts.append(f"GROUP BY {_list(node.groups[0])}" if plain else f"GROUP BY GROUPING SETS ({', '.join(sets)})")
    if node.having is not None:
        parts.append(f"HAVING {printed(node.having)}")
    return " ".join(parts) + _tail(node)


def _rows(node: ValuesList) -> str:
    return "VALUES " + ", ".join(f"({_list(row.values)})" for row in node.rows) + _tail(node)


def _combined(node: SetQuery) -> str:
    kind = node.kind.upper() + " ALL" * node.every
    return f"({printed(node.left)}) {kind} ({printed(node.right)})" + _tail(node)


_PRINTERS: dict[type, Callable[[Any], str]] = {
    Literal: _literal,
    Parameter: lambda node: f"${node.number}",
    ColumnName: _column,
    FunctionCall: _call,
    Operator: _operation,
    Test: lambda node: f"({printed(node.inner)} IS {node.what.upper()})",
    Cast: _cast,
    Case: _case,
    Membership: _membership,
    Elements: lambda node: f"ARRAY[{_list(node.values)}]",
    AnyOf: lambda node: f"({printed(node.inner)} = ANY ({printed(node.array)}))",
    OrderBy: _order,
    Aggregate: _aggregate,
    Window: _window,
    Nested: _nested,
    Output: _item,
    Star: _star,
    Table: _table,
    DerivedTable: _derived,
    Series: _series,
    Join: _join,
    Select: _select,
    ValuesList: _rows,
    SetQuery: _combined,
}
