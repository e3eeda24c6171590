"""Aggregates in fewer forms: CASE as FILTER, sums of a column and constants as sums of the column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.gateway.analysis.block_parts import Resolved
from discreet.gateway.analysis.condition_grid import constant_of, exact_number, is_constant
from discreet.sql.fragment import (
    Aggregate,
    AnyOf,
    Case,
    Cast,
    ColumnName,
    Elements,
    FunctionCall,
    Literal,
    Membership,
    Operator,
    Test,
    conjunction,
    conjuncts,
    transformed,
    walk,
)


def replaced_conditions(node: Aggregate) -> Aggregate:
    """CASE in an aggregate as FILTER: sum(CASE WHEN c THEN x END), count(CASE ...)."""
    if len(node.args) != 1 or node.distinct:
        return node
    arg = node.args[0]
    if not isinstance(arg, Case) or len(arg.whens) != 1:
        return node
    when, otherwise = arg.whens[0], arg.otherwise
    empty = otherwise is None or (isinstance(otherwise, Literal) and otherwise.kind == "null")
    both = conjunction([*conjuncts(node.where), when.condition])
    if node.name == "count" and empty:
        return Aggregate("count", () if is_constant(when.value) else (when.value,), False, both)
    if empty:
        return Aggregate(node.name, (when.value,), False, both, node.within)
    if (
        node.name == "sum"
        and isinstance(otherwise, Literal)
        and otherwise.kind == "number"
        and float(otherwise.text) == 0
    ):
        return Aggregate("sum", (when.value,), False, both)
    return node


def truth_of(node: Aggregate, resolved: Resolved) -> Any:
    """The condition c of sum((c)::int) or avg((c)::int); None for other aggregates."""
    arg = node.args[0] if len(node.args) == 1 and node.name in ("sum", "avg") and not node.distinct else None
    if not isinstance(arg, Cast) or arg.type not in ("int4", "int8", "int2"):
        return None
    inner = arg.inner
    if isinstance(inner, ColumnName):
        return inner if resolved.sources[inner.table].columns.get(inner.name) == "bool" else None
    condition = isinstance(inner, Test | Membership | AnyOf) or (isinstance(inner, Operator) and inner.sign in _TRUTHS)
    return inner if condition else None


def weighted_truth(node: Aggregate, resolved: Resolved) -> Aggregate:
    """sum(x * (c)::int) as sum(x) where c; power(x, 2) as x * x."""
    arg = node.args[0] if len(node.args) == 1 and node.name in ("sum", "avg") and not node.distinct else None
    if isinstance(arg, FunctionCall) and arg.name in ("power", "pow") and arg.args[1] == Literal("number", "2"):
        return replace(node, args=(Operator("*", (arg.args[0], arg.args[0])),))
    if isinstance(arg, Operator) and arg.sign == "*" and node.name == "sum":
        for factor, other in (arg.args, arg.args[::-1]):
            truth = truth_of(Aggregate("sum", (factor,)), resolved)
            if truth is not None:
                return replace(node, args=(other,), where=conjunction([*conjuncts(node.where), truth]))
    return node


_TRUTHS = frozenset(("=", "<>", "<", ">", "<=", ">=", "and", "or", "not", "like", "ilike", "not like", "not ilike"))


def fractions_apart(node: Any) -> Any:
    """percentile_cont(ARRAY[...]) as an array of percentiles."""

    def apart(one: Any) -> Any:
        if not isinstance(one, Aggregate) or not one.within or not one.args or not isinstance(one.args[0], Elements):
            return one
        return Elements(tuple(Aggregate(one.name, (it,), False, one.where, one.within) for it in one.args[0].values))

    several = any(
        isinstance(one, Aggregate) and one.within and one.args and isinstance(one.args[0], Elements)
        for one in walk(node)
    )
    return transformed(node, apart) if several else node


def linear(node: Any) -> tuple[float, Any, float]:
    """An argument as factor, column and offset: 2 * x + 1."""
    if isinstance(node, Cast) and node.type in ("numeric", "float8") and not is_constant(node):
        return linear(node.inner)
    if isinstance(node, Operator) and len(node.args) == 2:
        left, right = node.args
        if is_constant(right) and not is_constant(left) and node.sign in "+-*/":
            number = number_of(right)
            factor, inner, offset = linear(left)
            if node.sign in "+-":
                return factor, inner, offset + (number if node.sign == "+" else -number)
            if node.sign == "*":
                return factor * number, inner, offset * number
            if number:
                return factor / number, inner, offset / number
        elif is_constant(left) and not is_constant(right) and node.sign in "+-*":
            number = number_of(left)
            factor, inner, offset = linear(right)
            if node.sign == "*":
                return factor * number, inner, offset * number
            return (factor, inner, offset + number) if node.sign == "+" else (-factor, inner, number - offset)
    if isinstance(node, Operator) and len(node.args) == 1 and node.sign in "+-":
        factor, inner, offset = linear(node.args[0])
        return (factor, inner, offset) if node.sign == "+" else (-factor, inner, -offset)
    return 1.0, node, 0.0


def number_of(node: Any) -> float:
    """A constant in an aggregate."""
    return float(exact_number(constant_of(node)))


def without_widening(node: Any) -> Any:
    """The column without a cast that widens it."""
    while isinstance(node, Cast) and node.type in ("numeric", "float8", "int8"):
        node = node.inner
    return node
