"""The closed fragment of SQL that the gateway understands: its nodes, and how a tree of them is walked and rebuilt.

A statement is a tree of these nodes, or it is not in the fragment. No node has a field that the printer leaves out, so
nothing that was written can be dropped without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar, cast


class NotCovered(Exception):
    """A statement outside the fragment: the construct, and a form that works."""

    def __init__(self, construct: str, instead: str = "") -> None:
        super().__init__(construct)
        self.construct, self.instead = construct, instead


class SqlNode:
    """Part of a statement."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Literal(SqlNode):
    """A constant. `kind` is string, number, boolean or null; strings take the type that the server gives them."""

    kind: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Parameter(SqlNode):
    """A parameter of the extended protocol, from 1 on."""

    number: int


@dataclass(frozen=True, slots=True)
class ColumnName(SqlNode):
    """A column, by the name of its table if it was given."""

    table: str
    name: str


@dataclass(frozen=True, slots=True)
class FunctionCall(SqlNode):
    """A function of the server, from the allow-list."""

    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Operator(SqlNode):
    """An operator, from the allow-list; one operand if it stands before it."""

    sign: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Test(SqlNode):
    """IS NULL, IS NOT TRUE and the like."""

    inner: Any
    what: str


@dataclass(frozen=True, slots=True)
class Cast(SqlNode):
    """A value as another type, from the allow-list."""

    inner: Any
    type: str


@dataclass(frozen=True, slots=True)
class When(SqlNode):
    """A branch of a CASE."""

    condition: Any
    value: Any


@dataclass(frozen=True, slots=True)
class Case(SqlNode):
    """CASE with conditions; a CASE with an operand is written as one with equations."""

    whens: tuple[When, ...]
    otherwise: Any = None


@dataclass(frozen=True, slots=True)
class Membership(SqlNode):
    """IN a list of values."""

    inner: Any
    values: tuple[Any, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Elements(SqlNode):
    """ARRAY[...], or the operand of = ANY (...)."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(SqlNode):
    """Equals any element of an array."""

    inner: Any
    array: Any


@dataclass(frozen=True, slots=True)
class OrderBy(SqlNode):
    """A key of an order. `nulls` is first, last, or empty for the server's default."""

    inner: Any
    descending: bool = False
    nulls: str = ""


@dataclass(frozen=True, slots=True)
class Aggregate(SqlNode):
    """An aggregate, from the allow-list; `within` is the order of WITHIN GROUP."""

    name: str
    args: tuple[Any, ...]
    distinct: bool = False
    where: Any = None
    within: tuple[OrderBy, ...] = ()


@dataclass(frozen=True, slots=True)
class Window(SqlNode):
    """A window function, or an aggregate over a window."""

    inner: Any
    partition: tuple[Any, ...] = ()
    order: tuple[OrderBy, ...] = ()
    frame: str = ""


@dataclass(frozen=True, slots=True)
class Nested(SqlNode):
    """A sub-select as an expression: scalar, exists, or in."""

    kind: str
    query: Any
    inner: Any = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Output(SqlNode):
    """An output and its name."""

    inner: Any
    name: str


@dataclass(frozen=True, slots=True)
class Star(SqlNode):
    """All columns, of one table if it is named."""

    table: str = ""


@dataclass(frozen=True, slots=True)
class Table(SqlNode):
    """A table or view of the database."""

    schema: str
    name: str
    alias: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DerivedTable(SqlNode):
    """A sub-select in FROM, a common table expression, or a view's definition."""

    query: Any
    alias: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Series(SqlNode):
    """generate_series over constants."""

    args: tuple[Any, ...]
    alias: str
    column: str


@dataclass(frozen=True, slots=True)
class Join(SqlNode):
    """Two parts of FROM. `kind` is inner, left, right, full or cross."""

    kind: str
    left: Any
    right: Any
    on: Any = None
    using: tuple[str, ...] = ()
    natural: bool = False


@dataclass(frozen=True, slots=True)
class Select(SqlNode):
    """A query block. `groups` are grouping sets; None where nothing is grouped by."""

    items: tuple[Any, ...]
    source: Any = None
    where: Any = None
    groups: tuple[tuple[Any, ...], ...] | None = None
    having: Any = None
    distinct: bool = False
    order: tuple[OrderBy, ...] = ()
    limit: Any = None
    offset: Any = None


@dataclass(frozen=True, slots=True)
class ValuesList(SqlNode):
    """VALUES."""

    rows: tuple[Elements, ...]
    order: tuple[OrderBy, ...] = ()
    limit: Any = None
    offset: Any = None


@dataclass(frozen=True, slots=True)
class SetQuery(SqlNode):
    """UNION, INTERSECT or EXCEPT of two queries."""

    kind: str
    every: bool
    left: Any
    right: Any
    order: tuple[OrderBy, ...] = ()
    limit: Any = None
    offset: Any = None


QUERIES = (Select, ValuesList, SetQuery)
N = TypeVar("N")


@cache
def _parts(kind: Any) -> tuple[str, ...]:
    """Names of the fields of a kind of node."""
    return tuple(field.name for field in fields(kind))


def children(node: Any) -> Iterator[Any]:
    """The nodes directly within one, in order."""
    for name in _parts(cast(Any, type(node))):
        yield from _nodes(getattr(node, name))


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, SqlNode):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _nodes(one)


def walk(node: Any, *, into: Callable[[Any], bool] = lambda _: True) -> Iterator[Any]:
    """A node and all within it; below those of which `into` is false it does not look."""
    waiting = [node] if isinstance(node, SqlNode) else list(_nodes(node))[::-1]
    while waiting:
        one = waiting.pop()
        yield one
        if into(one):
            waiting.extend(list(children(one))[::-1])


def same_block(node: Any) -> bool:
    """For `walk`: whether what is within a node belongs to the same query block."""
    return not isinstance(node, (*QUERIES, Nested))


def rebuilt(node: N, change: Callable[[Any], Any]) -> N:
    """The same tree with `change` applied to each node directly within this one."""
    if not isinstance(node, SqlNode):
        return node
    new = {}
    for name in _parts(cast(Any, type(node))):
        before = getattr(node, name)
        after = _changed(before, change)
        if after is not before:
            new[name] = after
    return replace(node, **new) if new else node  # type: ignore[type-var]


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, SqlNode):
        return change(value)
    if isinstance(value, tuple):
        after = tuple(_changed(one, change) for one in value)
        return after if any(a is not b for a, b in zip(after, value, strict=True)) else value
    return value


def transformed(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied from the leaves up; it gives back what stands in place of a node."""
    if isinstance(node, tuple):
        return tuple(transformed(one, change) for one in node)
    if not isinstance(node, SqlNode):
        return node
    return change(rebuilt(node, lambda inner: transformed(inner, change)))


TRUE = Literal("boolean", "true")


def conjuncts(condition: Any) -> tuple[Any, ...]:
    """What must all be true, taken apart at AND."""
    if condition is None or condition == TRUE:
        return ()
    if isinstance(condition, Operator) and condition.sign == "and":
        return tuple(one for arg in condition.args for one in conjuncts(arg))
    return (condition,)


def conjunction(conditions: Any) -> Any:
    """All of some conditions; None without any."""
    found = None
    for one in conditions:
        found = one if found is None else Operator("and", (found, one))
    return found
