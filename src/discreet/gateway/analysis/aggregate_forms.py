"""Aggregates in fewer forms: CASE as FILTER, sums of a column and constants as sums of the column."""

from __future__ import annotations

from typing import Any

from discreet.gateway.analysis.condition_grid import constant_of, exact_number, is_constant
from discreet.sql.fragment import (
    Aggregate,
    Case,
    Cast,
    Literal,
    Operator,
    Test,
    When,
    conjunction,
    conjuncts,
)


def replaced_conditions(node: Aggregate) -> Aggregate:
    """CASE in an aggregate as FILTER: sum(CASE WHEN c THEN x END), count(CASE ...), sum((c)::int)."""
    if len(node.args) != 1 or node.distinct:
        return node
    arg = node.args[0]
    if isinstance(arg, Cast) and arg.type in ("int4", "int8", "int2") and node.name in ("sum", "avg"):
        inner = arg.inner
        if isinstance(inner, Test) or (isinstance(inner, Operator) and inner.sign in _TRUTHS):
            arg = Case((When(inner, Literal("number", "1")),), Literal("number", "0"))
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


_TRUTHS = frozenset(("=", "<>", "<", ">", "<=", ">=", "and", "or", "not", "like", "ilike", "not like", "not ilike"))


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
