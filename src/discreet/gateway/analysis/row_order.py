"""Order of rows: a keyed hash wherever the server is free to choose.

The order on the disk says whose row was written last and, where a table was loaded in the order of a sensitive column, what is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.gateway.analysis.block_parts import Resolved, Source, has_aggregates, names_of, output_of
from discreet.gateway.analysis.people import parts_of, repeats, single
from discreet.sql.fragment import (
    Aggregate,
    AnyOf,
    Case,
    Cast,
    ColumnName,
    DerivedTable,
    FunctionCall,
    Literal,
    Membership,
    Nested,
    NotCovered,
    Operator,
    OrderBy,
    Output,
    Parameter,
    Select,
    SetQuery,
    Table,
    Test,
    ValuesList,
    Window,
    transformed,
    walk,
)

SEED = Cast(Parameter(1), "int8")
FIXED = "fixed"
"""Numbers of a scale that the expression says: equal ones are written alike."""
INTEGERS = frozenset(("int2", "int4", "int8"))
WHOLE = "whole"
"""Floating-point numbers of which equal ones are written alike."""
FLOATS = frozenset(("float4", "float8", WHOLE))
EXACT = INTEGERS | {FIXED, WHOLE, "bool", "date", "timestamp", "timestamptz", "text", "varchar", "uuid"}
"""Types of which equal values are the same in every respect; 1.0 and 1.00 are not."""
_NULL, _WORD = "null", "unknown"
_TEXTS = frozenset(
    ["lower", "upper", "initcap", "reverse", "md5", "btrim", "ltrim", "rtrim", "left", "right", "substr", "substring", "lpad", "rpad", "replace", "translate", "split_part"]
) | {"concat", "concat_ws", "to_char"}  # fmt: skip
_COUNTS = frozenset(
    ["ascii", "length", "char_length", "character_length", "octet_length", "bit_length", "strpos", "width_bucket"]
)
_DATES = {"date_trunc": "timestamptz", "to_timestamp": "timestamptz", "make_date": "date", "to_date": "date"}
_ADDED = frozenset(("sum", "avg", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"))


def kind_of(node: Any, resolved: Resolved) -> str:
    """The type of an expression; empty if it is not known."""
    if isinstance(node, ColumnName):
        source = resolved.sources[node.table]
        fixed = source.relation is not None and node.name in source.relation.fixed
        return FIXED if fixed else source.columns.get(node.name, "")
    if isinstance(node, Literal):
        number = "int8" if node.text.isdigit() else FIXED
        return {"number": number, "boolean": "bool", "null": _NULL}.get(node.kind, _WORD)
    if isinstance(node, Cast):
        return FIXED if node.type.startswith("numeric(") else node.type.partition("(")[0]
    if isinstance(node, Test | Membership | AnyOf) or (isinstance(node, Nested) and node.kind != "scalar"):
        return "bool"
    if isinstance(node, Nested):
        return kind_of(output_of(node.query, 0), resolved)
    if isinstance(node, Case):
        return _common([one.value for one in node.whens] + [node.otherwise] * (node.otherwise is not None), resolved)
    if isinstance(node, Operator):
        return _of_operator(node, resolved)
    if isinstance(node, FunctionCall):
        return _of_function(node, resolved)
    return "int8" if isinstance(node, Aggregate) and node.name == "count" else ""


def _common(values: list[Any], resolved: Resolved) -> str:
    kinds = {kind_of(one, resolved) for one in values} - {_NULL}
    kinds = kinds - {_WORD} or {"text"}
    if kinds <= INTEGERS:
        return "int8"
    return kinds.pop() if len(kinds) == 1 else ""


def _of_operator(node: Operator, resolved: Resolved) -> str:
    kinds = {kind_of(one, resolved) for one in node.args}
    if node.sign == "||":
        return "text"
    if node.sign not in ("+", "-", "*", "/", "%"):
        return "" if node.sign in ("^", "&", "|", "#", "<<", ">>") else "bool"
    if kinds <= INTEGERS:
        return "int8"
    if kinds <= INTEGERS | {FIXED} and node.sign in "+-*":
        return FIXED
    if kinds <= INTEGERS | {FIXED, "numeric"}:
        return "numeric"
    if kinds <= INTEGERS | FLOATS | {FIXED, "numeric"}:
        return "float8"
    if node.sign in "+-" and "date" in kinds and kinds <= INTEGERS | {"date"}:
        return "date" if kinds != {"date"} else "int8"
    return ""


def _of_function(node: FunctionCall, resolved: Resolved) -> str:
    name, first = node.name, kind_of(node.args[0], resolved) if node.args else ""
    if name in _TEXTS:
        return "text"
    if name in _COUNTS:
        return "int4"
    if name in ("coalesce", "greatest", "least"):
        return _common(list(node.args), resolved)
    if name == "nullif":  # the first as it is compared with the second
        return first if kind_of(node.args[1], resolved) in (first, _NULL) else _common(list(node.args), resolved)
    if name == "abs" and first in INTEGERS:
        return first
    if name in ("extract", "date_part"):
        return FIXED if name == "extract" else WHOLE
    if name in ("floor", "ceil", "ceiling", "round", "trunc"):
        said = len(node.args) == 1 or isinstance(node.args[1], Literal)
        if first in INTEGERS and len(node.args) == 1:
            return WHOLE
        return FIXED if said and first in INTEGERS | {FIXED, "numeric"} else "float8" if first in FLOATS else ""
    return _DATES.get(name, "")


def is_total(node: Aggregate, resolved: Resolved, *, settled: bool = False) -> bool:
    """Whether an aggregate is the same in any order of rows, perhaps once it is settled."""
    kinds = {kind_of(one, resolved) for one in node.args} - {_NULL}
    if node.name == "count" or node.name in ("bool_and", "bool_or", "every"):
        return True
    if node.name in _ADDED:
        return kinds <= INTEGERS | {FIXED, "numeric"} | (FLOATS if settled else frozenset())
    if node.name in ("percentile_cont", "percentile_disc", "mode"):
        within = {kind_of(one.inner, resolved) for one in node.within}
        return within <= (EXACT | FLOATS | {"numeric"} if node.name == "percentile_cont" else EXACT)
    return node.name in ("min", "max") and kinds <= (EXACT | {"numeric"} if settled else EXACT)


def is_determined(query: Any, resolved: Resolved, *, settled: bool = False) -> bool:
    """Whether a query has the same rows however the server goes about it.

    Not so where it is free to choose: LIMIT and windows without a total order, one of several equal values for a group,
    sums of floating-point numbers, arrays. Two statements with such a part need not be about the same people.
    """
    for one in walk(query):
        if isinstance(one, Window) or (isinstance(one, SetQuery) and not (one.kind == "union" and one.every)):
            return False
        if isinstance(one, Select | SetQuery | ValuesList) and (one.limit is not None or one.offset is not None):
            return False
        if isinstance(one, Select):
            groups = [*(it for some in one.groups or () for it in some)]
            groups += [it.inner for it in one.items] if one.distinct else []
            if not all(kind_of(it, resolved) in EXACT for it in groups):
                return False
        if isinstance(one, Aggregate) and not is_total(one, resolved, settled=settled):
            return False
    return True


def settled_aggregates(query: Any, resolved: Resolved) -> Any:
    """A query whose numbers do not depend on an order without need.

    Floating-point numbers are added up as decimal ones, of which no sum loses anything, and the largest of equal numbers is
    written with all the digits that any of them has.
    """

    def settled(node: Any) -> Any:
        if not isinstance(node, Aggregate) or len(node.args) != 1 or node.within:
            return node
        kind = kind_of(node.args[0], resolved)
        if node.name in _ADDED and kind in FLOATS:
            whole = "float4" if node.name == "sum" and kind == "float4" else "float8"
            return Cast(replace(node, args=(Cast(node.args[0], "numeric"),)), whole)
        if node.name in ("min", "max") and kind == "numeric":
            digits = Aggregate("max", (FunctionCall("scale", node.args),), False, node.where)
            return FunctionCall("round", (node, digits))
        return node

    return transformed(query, settled)


def hashed(columns: Sequence[Any]) -> Any:
    """A keyed hash of some columns, in which nobody can read an order."""
    found: Any = SEED
    for column in columns:
        found = FunctionCall(
            "hashtextextended", (FunctionCall("coalesce", (Cast(column, "text"), Literal("string", "-"))), found)
        )
    return found


def order_key(select: Select, resolved: Resolved) -> tuple[ColumnName, ...]:
    """Columns by whose hash the rows of a block are ordered: keys, and what else tells rows apart."""
    parts = [resolved.sources[part.alias] for part in parts_of(select.source)]
    governed = [one for one in parts if one.table is not None]
    keys = [ColumnName(one.alias, name) for one in governed for name in _telling_apart(one)]
    if governed and all(map(_has_key, governed)) and not repeats(select, resolved, {one.alias for one in governed}):
        return tuple(dict.fromkeys(keys))
    aliases = {one.alias for one in parts}
    shown = [one for one in walk(select.items) if isinstance(one, ColumnName) and one.table in aliases]
    return tuple(dict.fromkeys((*keys, *(one for one in shown if not resolved.sensitive(one)))))


def _telling_apart(source: Source) -> tuple[str, ...]:
    """The key of a governed table, and where several rows may have it, more columns."""
    table = source.table
    if table is None or single(source):
        return table.key if table is not None else ()
    found = next(iter(_keys_of_rows(source)), None)
    rest = found if found is not None else (name for name in source.columns if name not in table.sensitive)
    return tuple(dict.fromkeys((*table.key, *sorted(rest))))


def _keys_of_rows(source: Source) -> list[frozenset[str]]:
    """Public columns that no two rows have alike."""
    relation, table = source.relation, source.table
    if relation is None or table is None:
        return []
    return [one for one in relation.unique if one <= relation.filled and one.isdisjoint(table.sensitive)]


def _has_key(source: Source) -> bool:
    return single(source) or bool(_keys_of_rows(source))


def in_keyed_order(query: Any, resolved: Resolved) -> Any:
    """A query that sees governed rows in the order of a keyed hash."""
    tables = [one for one in walk(query) if isinstance(one, Table) and one.alias in resolved.sources]
    if not any(resolved.sources[one.alias].table is not None for one in tables):
        return query
    settled = not any(isinstance(one, Window) for one in walk(query))
    query = _ordered(settled_aggregates(query, resolved) if settled else query, resolved)
    # Its own LIMIT cuts rows that are in order now.
    if is_determined(replace(query, limit=None, offset=None), resolved, settled=settled):
        return query

    def fenced(node: Any) -> Any:
        source = resolved.sources.get(node.alias) if isinstance(node, Table) else None
        if source is None or source.table is None:
            return node
        names = tuple(source.columns)
        columns = tuple(ColumnName(node.alias, name) for name in _telling_apart(source) or names)
        items = tuple(Output(ColumnName(node.alias, name), name) for name in names)
        inner = Select(items, node, order=(OrderBy(hashed(columns)),), offset=Literal("number", "0"))
        return DerivedTable(inner, node.alias, names)

    return transformed(query, fenced)


def _ordered(query: Any, resolved: Resolved) -> Any:
    """Rows in an order that leaves none but equal ones beside each other."""
    if isinstance(query, SetQuery) or (isinstance(query, Select) and query.distinct):
        return _around(query, resolved)
    if not isinstance(query, Select):
        return query
    if has_aggregates(query):
        columns = tuple(dict.fromkeys(one for some in query.groups or () for one in some))
        which = (FunctionCall("grouping", columns),) if len(query.groups or ()) > 1 else ()
        return replace(query, order=(*query.order, OrderBy(hashed((*columns, *which))))) if columns else query
    keys = order_key(query, resolved)
    return replace(query, order=(*query.order, OrderBy(hashed(keys)))) if keys else query


def _around(query: Any, resolved: Resolved) -> Select:
    """A query that only outputs can order, within one ordered by their hash."""
    alias = f"rows_{resolved.salt}"
    names = names_of(query)
    columns = tuple(ColumnName(alias, f"c{place}") for place in range(len(names)))

    def output(node: Any) -> ColumnName:
        if isinstance(query, SetQuery):
            return columns[int(node.text) - 1]
        place = next((place for place, one in enumerate(query.items) if one.inner == node), None)
        if place is None:
            raise NotCovered("ORDER BY something that DISTINCT does not show", "add it to the list")
        return columns[place]

    order = (*(replace(one, inner=output(one.inner)) for one in query.order), OrderBy(hashed(columns)))
    inner = DerivedTable(
        replace(query, order=(), limit=None, offset=None), alias, tuple(column.name for column in columns)
    )
    items = tuple(Output(column, name) for column, name in zip(columns, names, strict=True))
    resolved.sources[alias] = Source(alias, {column.name: "" for column in columns}, query=query)
    return Select(items, inner, order=order, limit=query.limit, offset=query.offset)
